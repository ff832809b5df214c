//! Programs that compare two texts: the option `--diff-cmd`.
//!
//! The program gets the words of `-x` (or `-u`), the labels with `-L`, and two temporary files. It writes to standard output itself.

use std::borrow::Cow;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::Path;
use std::process::Command;

use base::{Code, Error, Result, disk_path};
use ra::user_program;
use tempfile::NamedTempFile;

use crate::out::Out;

/// A program that compares two texts.
#[derive(Clone, Copy, Debug)]
pub struct DiffProgram<'a> {
    /// The name or the path of the program.
    pub name: &'a OsStr,
    /// The argument of `-x`, as the program gets it.
    pub extensions: Option<&'a OsStr>,
}

impl DiffProgram<'_> {
    /// Runs the program.
    ///
    /// # Errors
    /// `EXTERNAL_PROGRAM` for an exit code that does not mean equal or different files.
    pub fn run(&self, labels: [&str; 2], files: [&Path; 2], out: &mut Out) -> Result<()> {
        let mut arguments: Vec<Cow<'_, OsStr>> = Vec::new();
        let words = self.extensions.unwrap_or_default().as_bytes();
        let words = words.split(u8::is_ascii_whitespace);
        arguments.extend(
            words
                .filter(|word| !word.is_empty())
                .map(|word| OsStr::from_bytes(word).into()),
        );
        if arguments.is_empty() {
            arguments.push(OsStr::new("-u").into());
        }
        for label in labels {
            let label = disk_path::bytes_of_text(label.as_bytes())?;
            arguments.push(OsStr::new("-L").into());
            arguments.push(OsString::from_vec(label.into_owned()).into());
        }
        let prepare = |command: &mut Command| _ = command.args(&arguments).args(files);
        out.flush()?;
        let name = disk_path::shown(self.name);
        let code = match user_program::spawn(self.name, prepare).and_then(|mut child| child.wait()) {
            Ok(status) => status.code().unwrap_or(-1),
            Err(error) => {
                let text = Error::os(&error, &format!("exec of '{name}' failed")).message();
                out.print_stderr(&text);
                255
            }
        };
        match code {
            // The exit codes of diff: 0 for equal files, 1 for different files.
            0 | 1 => Ok(()),
            _ => {
                // As with every path that the incumbent prints, the empty one is the current directory.
                let name = if name.is_empty() { ".".into() } else { name };
                let message = format!("'{name}' returned {code}");
                Err(Error::new(Code::EXTERNAL_PROGRAM, message))
            }
        }
    }
}

/// Makes a temporary file and writes to it.
///
/// # Errors
/// `errno`; those of `write`.
pub fn temporary_file(write: impl FnOnce(&mut File) -> Result<()>) -> Result<NamedTempFile> {
    let made = tempfile::Builder::new().prefix("svn-").tempfile();
    let mut file = made.map_err(|e| Error::io("Can't create temporary file", Path::new("svn"), &e))?;
    write(file.as_file_mut())?;
    Ok(file)
}

/// Returns the error for a temporary file that could not be written.
pub fn write_failed(error: &io::Error) -> Error {
    Error::io("Can't write to file", Path::new("svn"), error)
}
