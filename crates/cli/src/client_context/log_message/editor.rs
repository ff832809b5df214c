//! Runs the user's editor with a text.
//!
//! The text is in a file with a new name in a folder, and the editor is a shell command that gets the name: `EDITOR "svn-commit.tmp"`. A file
//! that is as before, in size and time, counts as unchanged; its time is set back first, so that a quick editor is noticed.

use std::env;
use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime};

use base::child_signals::with_open_signals;
use base::{Code, Error, Result, disk_path};

use crate::interrupt;

/// One use of an editor.
pub struct EditRequest<'a> {
    /// The shell command.
    pub command: &'a OsString,
    /// The folder of the file; empty is the current directory.
    pub folder: &'a Path,
    /// The beginning of the file's name.
    pub name: &'a str,
    /// The text, in the user's character set.
    pub text: &'a [u8],
}

impl EditRequest<'_> {
    /// Runs the editor and removes the file. Returns the text, or `None` if it was not changed.
    ///
    /// # Errors
    /// As [`EditRequest::run`]; `errno` if the file cannot be removed, after the error of the editor if it has one too.
    pub fn run_once(&self) -> Result<Option<Vec<u8>>> {
        let mut file = None;
        let edited = self.run(&mut file);
        let removed = file.map_or(Ok(()), |path| {
            fs::remove_file(&path).map_err(|e| Error::io("Can't remove file", file_name(&path), &e))
        });
        match (edited, removed) {
            (Err(error), Err(other)) => Err(error.compose(other)),
            (edited, removed) => edited.and_then(|edited| removed.map(|()| edited)),
        }
    }

    /// Runs the editor. Returns the text, or `None` if it was not changed. `file` gets the path of the file as soon as there is one; the
    /// caller removes it.
    ///
    /// # Errors
    /// `EXTERNAL_PROGRAM` for an editor that fails; `errno` of the file.
    pub fn run(&self, file: &mut Option<PathBuf>) -> Result<Option<Vec<u8>>> {
        let (path, mut handle) = self.create()?;
        *file = Some(path.clone());
        let written = handle.write_all(self.text).and_then(|()| {
            let earlier = SystemTime::now() - Duration::from_secs(2);
            handle.set_modified(earlier)
        });
        written.map_err(|e| Error::io("Can't write to", &path, &e))?;
        drop(handle);
        let before = times(&path)?;
        self.start(&path)?;
        if times(&path)? == before {
            return Ok(None);
        }
        let mut text = Vec::new();
        let mut edited = File::open(&path).map_err(|e| Error::io("Can't open file", file_name(&path), &e))?;
        edited
            .read_to_end(&mut text)
            .map_err(|e| Error::io("Can't read file", file_name(&path), &e))?;
        Ok(Some(text))
    }

    /// Makes a file with a name that does not exist: `svn-commit.tmp`, then `svn-commit.2.tmp` and so on.
    fn create(&self) -> Result<(PathBuf, File)> {
        for number in 1..=MOST_NAMES {
            let name = match number {
                1 => format!("{}.tmp", self.name),
                _ => format!("{}.{number}.tmp", self.name),
            };
            let path = self.folder.join(name);
            match OpenOptions::new().write(true).create_new(true).open(&path) {
                Ok(file) => return Ok((path, file)),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(Error::io("Can't open file", &path, &error)),
            }
        }
        let message = format!(
            "Unable to make name for '{}'",
            disk_path::shown(&self.folder.join(self.name))
        );
        Err(Error::new(Code::IO_UNIQUE_NAMES_EXHAUSTED, message))
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "the editor is a shell command, as everywhere else"
    )]
    fn start(&self, path: &Path) -> Result<()> {
        let name = file_name(path).as_os_str().to_string_lossy();
        let mut line = self.command.clone();
        line.push(format!(" \"{name}\""));
        let mut command = Command::new("/bin/sh");
        command.arg0("sh").arg("-c").arg(&line);
        if !self.folder.as_os_str().is_empty() {
            command.current_dir(self.folder);
        }
        let status = interrupt::without_int(|| with_open_signals(|| command.spawn())?.wait())
            .map_err(|e| Error::os(&e, "Can't start '/bin/sh'"))?;
        if status.into_raw() == 0 {
            return Ok(());
        }
        let message = format!(
            "system('{}') returned {}",
            line.to_string_lossy(),
            status.into_raw()
        );
        Err(Error::new(Code::EXTERNAL_PROGRAM, message))
    }
}

fn times(path: &Path) -> Result<(SystemTime, u64)> {
    let stat = || fs::metadata(path).and_then(|about| Ok((about.modified()?, about.len())));
    stat().map_err(|e| Error::io("Can't stat", file_name(path), &e))
}

/// Returns the name that messages show: the editor runs in the file's folder, and gets the name alone.
fn file_name(path: &Path) -> &Path {
    Path::new(path.file_name().unwrap_or_default())
}

/// Returns the shell command of the user's editor: of the option `--editor-cmd`, of the environment, and of the configuration.
///
/// # Errors
/// `CL_NO_EXTERNAL_EDITOR` for a command of blanks.
pub fn command(option: Option<&str>, configured: Option<&str>) -> Result<OsString> {
    let variable = |name| env::var_os(name).filter(|value: &OsString| !value.is_empty());
    let command = option
        .filter(|command| !command.is_empty())
        .map(OsString::from)
        .or_else(|| variable("SVN_EDITOR"))
        .or_else(|| {
            configured
                .filter(|command| !command.is_empty())
                .map(OsString::from)
        })
        .or_else(|| variable("VISUAL"))
        .or_else(|| variable("EDITOR"))
        .unwrap_or_else(|| OsString::from(DEFAULT_EDITOR));
    let is_blank = command
        .as_encoded_bytes()
        .iter()
        .all(|byte| byte.is_ascii_whitespace());
    if is_blank {
        let message = "The EDITOR, SVN_EDITOR or VISUAL environment variable or 'editor-cmd' run-time configuration option is \
                       empty or consists solely of whitespace. Expected a shell command.";
        return Err(Error::new(Code::CL_NO_EXTERNAL_EDITOR, message));
    }
    Ok(command)
}

/// The editor of users who have chosen none: the name that distributions give to the system's one.
const DEFAULT_EDITOR: &str = "editor";
/// How many names of files are tried.
const MOST_NAMES: u32 = 99_999;
