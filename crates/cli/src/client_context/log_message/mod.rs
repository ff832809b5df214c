//! The log message of a commit: from `-m`, from a file, or written in an editor.
//!
//! [`LogMessageOptions`] are the options as typed. [`LogMessage::new`] checks them and reads the file, before anything else is done.
//! The work of the command calls [`LogMessage::describe`] when it knows the nodes that will change: without a message in the options, that
//! is when the editor starts. The file that was edited stays until [`LogMessage::finish`]: it is removed after the commit, and named in the
//! error of a commit that failed.
//!
//! [`editor`] runs the editor, [`charset`] converts texts.

pub mod charset;
pub mod editor;

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::{self, Read as _};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use base::{Cancel, Code, Error, Props, Result, disk_path, props};
use client::commit_item::CommitItem;

use self::charset::TextEncoding;
use self::editor::EditRequest;
use super::prompt::{Echo, Prompter};
use super::revprop_arg::{self, RevpropArg};
use super::{AccessOptions, ClientContext};
use crate::args::operand;
use crate::local_path;
use crate::out::Out;

/// The options for a text: a log message, or the comment of a lock.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct MessageOptions {
    /// use ARG as the message
    #[arg(short, long)]
    pub message: Option<OsString>,
    /// read the message from file ARG; '-' is standard input
    #[arg(short = 'F', long, value_parser = existing_file())]
    pub file: Option<OsString>,
    /// accept a message that looks like a path, and a message file that is under version control
    #[arg(long)]
    pub force_log: bool,
    /// the message is in the character set ARG
    #[arg(long)]
    pub encoding: Option<String>,
}

/// The options of commands that commit.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct LogMessageOptions {
    #[command(flatten)]
    pub text: MessageOptions,
    /// write the message with the editor ARG
    #[arg(long)]
    pub editor_cmd: Option<String>,
    /// set a property of the new revision: NAME[=VALUE]
    #[arg(long, action = clap::ArgAction::Append, value_parser = revprop_arg::parser())]
    pub with_revprop: Vec<RevpropArg>,
}

impl LogMessageOptions {
    /// True if there is a message, a message file or a revision property: options for a commit only.
    pub fn is_given(&self) -> bool {
        self.text.message.is_some() || self.text.file.is_some() || !self.with_revprop.is_empty()
    }
}

/// What a text is for: the words of messages about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextKind {
    /// A log message.
    Log,
    /// The comment of a lock.
    LockComment,
}

impl MessageOptions {
    /// Checks the options and reads the file. Returns the text as it was given, if it was.
    ///
    /// # Errors
    /// `CL_ARG_PARSING_ERROR` for both a text and a file; `CL_LOG_MESSAGE_IS_PATHNAME`; `errno` of the file.
    pub fn read(&self, kind: TextKind) -> Result<Option<Vec<u8>>> {
        if self.message.is_some() && self.file.is_some() {
            let message = "--message (-m) and --file (-F) are mutually exclusive";
            return Err(Error::new(Code::CL_ARG_PARSING_ERROR, message));
        }
        let text = match (&self.message, &self.file) {
            (Some(message), _) => message.as_bytes().to_vec(),
            (None, Some(file)) => read_file(file)?,
            (None, None) => return Ok(None),
        };
        let is_path = self.message.is_some() && fs::symlink_metadata(OsStr::from_bytes(&text)).is_ok();
        if is_path && !self.force_log {
            let what = match kind {
                TextKind::Log => "log message",
                TextKind::LockComment => "lock comment",
            };
            let message =
                format!("The {what} is a pathname (was -F intended?); use '--force-log' to override");
            return Err(Error::new(Code::CL_LOG_MESSAGE_IS_PATHNAME, message));
        }
        Ok(Some(text))
    }
}

/// The log message of one commit.
pub struct LogMessage {
    /// The text of the options, as it was given.
    text: Option<Vec<u8>>,
    encoding: TextEncoding,
    revprops: Vec<RevpropArg>,
    editor_cmd: Option<String>,
    /// The editor of the configuration.
    configured_editor: Option<String>,
    prompter: Arc<Prompter>,
    /// The file that was edited last, while it exists.
    edited: Option<PathBuf>,
}

impl LogMessage {
    /// Checks the options and reads the message file.
    ///
    /// # Errors
    /// Those of [`MessageOptions::read`].
    pub fn new(options: &LogMessageOptions, access: &AccessOptions, out: &Out) -> Result<LogMessage> {
        Ok(LogMessage {
            text: options.text.read(TextKind::Log)?,
            encoding: TextEncoding::new(options.text.encoding.as_deref(), out.charset()),
            revprops: options.with_revprop.clone(),
            editor_cmd: options.editor_cmd.clone(),
            configured_editor: None,
            prompter: Arc::new(Prompter::new(access.is_interactive(), out.share(), Cancel::new())),
            edited: None,
        })
    }

    /// Takes the editor, the character set of messages and the terminal of a context.
    ///
    /// # Errors
    /// `BAD_CONFIG_VALUE`.
    pub fn use_context(&mut self, context: &ClientContext) -> Result<()> {
        let config = &context.config().config;
        self.configured_editor = config.text("helpers", "editor-cmd")?;
        self.encoding
            .set_default(config.text("miscellany", "log-encoding")?.as_deref());
        self.prompter = context.prompter();
        Ok(())
    }

    /// Refuses a message of the options that has a NUL. [`LogMessage::describe`] does so too; a command calls this to do so after the checks of
    /// its operands, and before it looks at the repository.
    ///
    /// # Errors
    /// `CL_BAD_LOG_MESSAGE`.
    pub fn check(&self) -> Result<()> {
        match &self.text {
            Some(text) if text.contains(&0) => Err(Error::new(
                Code::CL_BAD_LOG_MESSAGE,
                "Log message contains a zero byte",
            )),
            _ => Ok(()),
        }
    }

    /// Returns the revision properties of the commit that changes `items`; `None` if the user gives up. Runs the editor if the options have
    /// no message.
    ///
    /// # Errors
    /// `INCORRECT_PARAMS` for a property of Subversion's own; `CL_INSUFFICIENT_ARGS` without a message and a terminal; those of the
    /// editor and of the character set.
    pub fn describe(&mut self, items: &[CommitItem]) -> Result<Option<Props>> {
        match self.message(items)? {
            Some(message) => revprops_with(&self.revprops, message).map(Some),
            None => Ok(None),
        }
    }

    /// Ends the use of the edited file: removes it after a success, names it in an error.
    ///
    /// # Errors
    /// The one of `outcome`; `errno` if the file cannot be removed.
    pub fn finish<T>(&mut self, outcome: Result<T>) -> Result<T> {
        let Some(path) = self.edited.take() else {
            return outcome;
        };
        match outcome {
            Ok(done) => {
                fs::remove_file(&path).map_err(|e| Error::io("Can't remove file", &path, &e))?;
                Ok(done)
            }
            Err(error) => Err(with_leftover(&error, &path)),
        }
    }

    /// As [`LogMessage::describe`], for a command that checks the revision properties later: returns the message alone.
    ///
    /// # Errors
    /// As [`LogMessage::describe`].
    pub fn message(&mut self, items: &[CommitItem]) -> Result<Option<Vec<u8>>> {
        self.check()?;
        if let Some(text) = &self.text {
            let read = self.encoding.read_text(text);
            return read
                .map(Some)
                .map_err(|error| error.context("Error normalizing log message to internal format"));
        }
        if !self.prompter.is_interactive() {
            let message = "Cannot invoke editor to get log message when non-interactive";
            return Err(Error::new(Code::CL_INSUFFICIENT_ARGS, message));
        }
        loop {
            if let Some(message) = self.edit(items)? {
                return Ok(Some(message));
            }
            let question = "\nLog message unchanged or not specified\n(a)bort, (c)ontinue, (e)dit:\n";
            let answer = self.prompter.ask(question, Echo::Shown)?;
            match answer.bytes().next().map(|letter| letter.to_ascii_lowercase()) {
                Some(b'a') => {
                    if let Some(file) = self.edited.take() {
                        // A file that the editor has removed is gone already.
                        _ = fs::remove_file(file);
                    }
                    return Ok(None);
                }
                Some(b'c') => return Ok(Some(Vec::new())),
                _ => {}
            }
        }
    }

    /// Runs the editor once. `None` for a message that has no text.
    fn edit(&mut self, items: &[CommitItem]) -> Result<Option<Vec<u8>>> {
        let mut text = format!("\n{SEPARATOR}\n\n");
        for item in items {
            text.push_str(&format!("{item}\n"));
        }
        let command = editor::command(self.editor_cmd.as_deref(), self.configured_editor.as_deref()).map_err(|error| {
            let message = "Could not use external editor to fetch log message; consider setting the $SVN_EDITOR environment \
                           variable or using the --message (-m) or --file (-F) options";
            let code = error.code();
            match code {
                Code::CL_NO_EXTERNAL_EDITOR => error.wrap(code, message),
                _ => error,
            }
        })?;
        let request = EditRequest {
            command: &command,
            folder: Path::new(""),
            name: "svn-commit",
            text: &self.encoding.write_text(&text),
        };
        let edited = request.run(&mut self.edited)?;
        let Some(bytes) = edited else {
            return Ok(None);
        };
        let message = self
            .encoding
            .read_text(&bytes)
            .map_err(|error| error.context("Error normalizing edited contents to internal format"))?;
        let message = before_separator(&message);
        let is_blank = message.iter().all(|byte| byte.is_ascii_whitespace());
        Ok((!is_blank).then(|| message.to_vec()))
    }
}

/// Returns the revision properties of a commit with this message.
///
/// # Errors
/// `CLIENT_PROPERTY_NAME` for a property of Subversion's own.
pub fn revprops_with(args: &[RevpropArg], message: Vec<u8>) -> Result<Props> {
    let mut revprops = revprop_arg::to_props(args)?;
    revprops.insert(props::LOG.to_owned(), message);
    Ok(revprops)
}

/// The part of an edited text that is the message.
fn before_separator(text: &[u8]) -> &[u8] {
    let end = memchr_positions(text, SEPARATOR.as_bytes())
        .find(|at| *at == 0 || matches!(text[at - 1], b'\n' | b'\r'))
        .unwrap_or(text.len());
    let text = &text[..end];
    let zero = text.iter().position(|byte| *byte == 0).unwrap_or(text.len());
    &text[..zero]
}

fn memchr_positions<'a>(text: &'a [u8], wanted: &'a [u8]) -> impl Iterator<Item = usize> + 'a {
    text.windows(wanted.len())
        .enumerate()
        .filter(move |(_, window)| *window == wanted)
        .map(|(at, _)| at)
}

/// Appends the name of the edited file to the error of a commit.
fn with_leftover(error: &Error, path: &Path) -> Error {
    let code = error.code();
    let links = error
        .links()
        .map(|link| (link.code(), link.message().map(str::to_owned)))
        .chain([
            (
                code,
                Some("Your commit message was left in a temporary file:".to_owned()),
            ),
            (code, Some(format!("   '{}'", disk_path::shown(path)))),
        ]);
    Error::from_links(links).expect("because there are at least three links")
}

/// The value parser of `-F`: a file that exists, or `-`. It is read later.
pub fn existing_file() -> impl clap::builder::TypedValueParser<Value = OsString> {
    use clap::builder::TypedValueParser as _;
    clap::builder::OsStringValueParser::new().try_map(|name: OsString| -> Result<OsString> {
        if name != "-" {
            let path = file_path(&name)?;
            fs::metadata(&path).map_err(|e| Error::io("Can't open file", &shown(&path), &e))?;
        }
        Ok(name)
    })
}

/// Reads the file of `-F`; `-` is standard input.
///
/// # Errors
/// `errno`.
pub fn read_file(name: &OsStr) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    if name == "-" {
        io::stdin()
            .read_to_end(&mut bytes)
            .map_err(|e| Error::os(&e, "Can't read stdin"))?;
        return Ok(bytes);
    }
    let path = file_path(name)?;
    let mut file = fs::File::open(&path).map_err(|e| Error::io("Can't open file", &shown(&path), &e))?;
    file.read_to_end(&mut bytes)
        .map_err(|e| Error::io("Can't read file", &shown(&path), &e))?;
    Ok(bytes)
}

fn file_path(name: &OsStr) -> Result<PathBuf> {
    Ok(local_path::of_text(&operand::tidy(&operand::text(name)?)))
}

fn shown(path: &Path) -> PathBuf {
    match path.as_os_str().is_empty() {
        true => PathBuf::from("."),
        false => path.to_owned(),
    }
}

/// The line that separates a message from what is not part of it.
const SEPARATOR: &str = "--This line, and those below, will be ignored--";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_ends_at_a_line_that_begins_with_the_separator() {
        for (text, message) in [
            (format!("a\n{SEPARATOR}x\nb"), "a\n"),
            (format!("a{SEPARATOR}\nb"), &*format!("a{SEPARATOR}\nb")),
            (format!("a{SEPARATOR}\n{SEPARATOR}"), &*format!("a{SEPARATOR}\n")),
            (format!("{SEPARATOR}\nb"), ""),
            ("a\0b".to_owned(), "a"),
        ] {
            assert_eq!(before_separator(text.as_bytes()), message.as_bytes());
        }
    }

    #[test]
    fn the_left_over_file_is_named_at_the_end_of_the_chain() {
        let error = Error::bare(Code::FS_NOT_FOUND).context("outer");
        let texts: Vec<_> = with_leftover(&error, Path::new("x"))
            .links()
            .map(|link| link.text())
            .collect();
        assert_eq!(texts.len(), 4);
        assert_eq!(texts[3], "   'x'");
    }
}
