//! `svnmucc`: several actions on URLs of one repository, in one commit.
//!
//! [`options`] has the options, [`actions`] parses the actions. The work is in `client::multi_commit`.

mod actions;
mod options;

use std::borrow::Cow;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::process::ExitCode;

use base::{Code, Error, Props, RelPath, Result, Url, props};
use clap::{CommandFactory as _, FromArgMatches as _};
use client::multi_commit::{MultiCommit, TextOfPut};

use self::actions::{Action, ActionKind};
pub use self::options::SvnmuccArgs;
use crate::args::{self, ArgumentError, date};
use crate::client_context::ClientContext;
use crate::client_context::log_message::editor::{self, EditRequest};
use crate::client_context::log_message::{read_file, revprops_with};
use crate::local_path;
use crate::out::Out;
use crate::version;

/// Runs the tool with the words after its name.
pub fn run(mut out: Out, argv: Vec<OsString>) -> ExitCode {
    let parsed = args::parse_flat(options::command(), argv).and_then(|matches| {
        let parsed = SvnmuccArgs::from_arg_matches(&matches);
        parsed.map_err(|error| ArgumentError::Failed(args::definition_error(error)))
    });
    let given = match parsed {
        Ok(given) => given,
        Err(error) => {
            print_argument_error(out, error);
            return ExitCode::FAILURE;
        }
    };
    let outcome = start(given, &mut out);
    out.finish(outcome)
}

fn print_argument_error(mut out: Out, error: ArgumentError) {
    match error {
        ArgumentError::Failed(error) => out.print_error(&error),
        error => {
            let program = out.program().to_owned();
            let hint = format!("Type '{program} --help' for usage.\n");
            out.raw_stderr(&error.message_with_hint(&program, &hint));
        }
    }
}

fn start(given: SvnmuccArgs, out: &mut Out) -> Result<ExitCode> {
    given.access.check()?;
    let asks_for_help = given.operands.first().is_some_and(|word| {
        let word = word.to_string_lossy();
        matches!(&*word, "help" | "?")
    });
    if given.help || asks_for_help {
        out.print(&options::usage(out.program(), &SvnmuccArgs::command()))?;
        return Ok(ExitCode::SUCCESS);
    }
    if given.version {
        out.print(&version::of_client("svnmucc", false, false))?;
        return Ok(ExitCode::SUCCESS);
    }
    let message = given.log_message(out)?;
    let mut words = given.operands.clone();
    if let Some(file) = &given.extra_args {
        words.extend(actions::words_of_file(file)?);
    }
    let actions = actions::parse(&words, given.root_url.as_ref(), out)?;
    if actions.is_empty() {
        let usage = options::usage(out.program(), &SvnmuccArgs::command());
        out.print_stderr(&usage);
        return Ok(ExitCode::FAILURE);
    }
    ClientContext::run(given.access.clone(), out, |context, out| {
        commit(context, &given, &actions, message, out)
    })?;
    Ok(ExitCode::SUCCESS)
}

fn commit(
    context: &ClientContext,
    given: &SvnmuccArgs,
    actions: &[Action],
    message: Option<Vec<u8>>,
    out: &mut Out,
) -> Result<()> {
    let anchors: Vec<Url> = actions.iter().flat_map(Action::anchors).collect();
    let anchor = actions::anchor(&anchors)?;
    let mut commit = MultiCommit::new(context.open_without_redirects(&anchor)?, given.revision)?;
    for action in actions {
        apply(&mut commit, action, &anchor)?;
    }
    let message = match message {
        Some(message) => Some(message),
        None => edited_message(context, out)?,
    };
    // An unchanged message gives up without an error.
    let Some(message) = message else {
        return Ok(());
    };
    let info = commit.commit(given.revprops(message)?)?;
    let author = info.author.as_deref().unwrap_or("(no author)");
    let date = info
        .date
        .map_or_else(|| "(no date)".to_owned(), |date| date.to_string());
    out.line(&format!("r{} committed by {author} at {date}", info.rev))?;
    match &info.post_commit_error {
        Some(error) => out.line(&format!("\nWarning: {error}")),
        None => Ok(()),
    }
}

fn apply(commit: &mut MultiCommit, action: &Action, anchor: &Url) -> Result<()> {
    let below = |url: &Url| -> RelPath { url.relative_to(anchor).unwrap_or_default() };
    match &action.kind {
        ActionKind::Mkdir { url } => commit.mkdir(&below(url)),
        ActionKind::Copy { rev, from, to } => commit.copy(&below(from), *rev, &below(to)),
        ActionKind::Move { from, to } => commit.rename(&below(from), &below(to)),
        ActionKind::Delete { url } => commit.delete(&below(url)),
        ActionKind::Put { file, url } => commit.put(&below(url), open_text(file)?),
        ActionKind::Prop { name, value, url } => {
            let parse_date = |text: &str| date::parse(text);
            commit.set_prop(&below(url), name, value.as_deref(), &parse_date)
        }
    }
}

/// Opens the text of `put`; `-` is standard input.
fn open_text(file: &str) -> Result<TextOfPut> {
    let path = local_path::of_text(file);
    let reader: Box<dyn Read> = match file {
        "-" => Box::new(io::stdin()),
        _ => Box::new(File::open(&path).map_err(|e| Error::io("Can't open file", &path, &e))?),
    };
    Ok(TextOfPut { path, reader })
}

/// Returns the log message that the user writes in an editor; `None` if it was not changed.
fn edited_message(context: &ClientContext, out: &mut Out) -> Result<Option<Vec<u8>>> {
    if !context.is_interactive() {
        let message = "Cannot invoke editor to get log message when non-interactive";
        return Err(Error::new(Code::CL_INSUFFICIENT_ARGS, message));
    }
    out.flush()?;
    let configured = context.config().config.text("helpers", "editor-cmd")?;
    let request = EditRequest {
        command: &editor::command(None, configured.as_deref())?,
        folder: Path::new(""),
        name: "svnmucc-commit",
        text: b"",
    };
    let Some(bytes) = request.run_once()? else {
        return Ok(None);
    };
    stored_text(&bytes, out)
        .map(Some)
        .map_err(|error| error.context("Error normalizing edited contents to internal format"))
}

/// Returns a text in the form that is stored: in UTF-8, with line feeds.
fn stored_text(bytes: &[u8], out: &Out) -> Result<Vec<u8>> {
    let text = out.charset().read(bytes)?;
    with_line_feeds(text.as_bytes())
}

fn with_line_feeds(text: &[u8]) -> Result<Vec<u8>> {
    base::with_line_feeds(text).map(Cow::into_owned)
}

impl SvnmuccArgs {
    /// Returns the log message of the options, if they have one.
    fn log_message(&self, out: &Out) -> Result<Option<Vec<u8>>> {
        let has_log = self.with_revprop.iter().any(|arg| arg.name == props::LOG);
        let sources = [self.message.is_some(), self.file.is_some(), has_log];
        if sources.iter().filter(|is_given| **is_given).count() > 1 {
            let message = "--message (-m), --file (-F), and --with-revprop=svn:log are mutually exclusive";
            return Err(Error::new(Code::CL_ARG_PARSING_ERROR, message));
        }
        let text = match (&self.message, &self.file) {
            (Some(message), _) => with_line_feeds(message.as_bytes()),
            (None, Some(file)) => {
                let bytes = read_file(file)?;
                // As in Subversion's program, the message ends before a NUL.
                stored_text(bytes.split(|byte| *byte == 0).next().unwrap_or_default(), out)
            }
            (None, None) => match self.with_revprop.iter().rfind(|arg| arg.name == props::LOG) {
                Some(arg) => with_line_feeds(&arg.value),
                None => return Ok(None),
            },
        };
        text.map(Some)
            .map_err(|error| error.context("Error normalizing log message to internal format"))
    }

    fn revprops(&self, message: Vec<u8>) -> Result<Props> {
        let others: Vec<_> = self
            .with_revprop
            .iter()
            .filter(|arg| arg.name != props::LOG)
            .cloned()
            .collect();
        revprops_with(&others, message)
    }
}
