//! The operational log: one line for each thing a client asked for, in Subversion's form.
//!
//! `PID TIME ADDRESS USER REPOSITORY TEXT`; an error is `… ERR FILE LINE NUMBER MESSAGE`, further links of its chain
//! `ERR-`. A line is one write to a file opened for appending, so several processes may share it. The file can be
//! opened anew under the same name, for whoever rotates logs.

use std::fmt::Write as _;
use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::net::IpAddr;
use std::path::{Path, PathBuf};

use base::{Date, Error, Result};
use parking_lot::Mutex;

use crate::service::now;

/// Where lines go.
pub struct OperationLog {
    path: Option<PathBuf>,
    file: Mutex<Box<dyn std::io::Write + Send>>,
}

/// Who caused a line.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Origin<'a> {
    pub(crate) peer: Option<IpAddr>,
    pub(crate) user: Option<&'a str>,
    /// The repository's name; must be URI-encoded already.
    pub(crate) repository: Option<&'a str>,
}

impl Origin<'_> {
    /// A peer of whom nothing else is known.
    pub(crate) fn at(peer: Option<IpAddr>) -> Self {
        Origin {
            peer,
            ..Origin::default()
        }
    }
}

impl OperationLog {
    /// Appends to the file at `path`.
    ///
    /// # Errors
    /// The system's, naming the file.
    pub fn open(path: &Path) -> Result<Self> {
        // Whoever serves may leave the directory in which it was started.
        let path = &std::path::absolute(path).map_err(|e| Error::io("Can't open file", path, &e))?;
        let file = append_to(path)?;
        Ok(OperationLog {
            path: Some(path.to_owned()),
            file: Mutex::new(Box::new(file)),
        })
    }

    /// Writes to standard error.
    pub fn stderr() -> Self {
        OperationLog {
            path: None,
            file: Mutex::new(Box::new(std::io::stderr())),
        }
    }

    /// Opens the file anew; if that fails the old one stays.
    ///
    /// # Errors
    /// The system's, naming the file.
    pub fn reopen(&self) -> Result<()> {
        if let Some(path) = &self.path {
            *self.file.lock() = Box::new(append_to(path)?);
        }
        Ok(())
    }

    pub(crate) fn operation(&self, origin: Origin<'_>, text: &str) {
        let mut line = head(origin);
        line.push_str(text);
        line.push('\n');
        self.write(&line);
    }

    pub(crate) fn error(&self, origin: Origin<'_>, error: &Error) {
        let mut lines = String::new();
        for (at, link) in error.links().enumerate() {
            lines.push_str(&head(origin));
            let word = if at == 0 { "ERR" } else { "ERR-" };
            _ = write!(lines, "{word} - 0 {} ", link.code().0);
            escape(&link.text(), &mut lines);
            lines.push('\n');
        }
        self.write(&lines);
    }

    fn write(&self, text: &str) {
        // A full disk must not stop a conversation: the line is lost.
        _ = self.file.lock().write_all(text.as_bytes());
    }
}

fn append_to(path: &Path) -> Result<File> {
    OpenOptions::new()
        .append(true)
        .create(true)
        .open(path)
        .map_err(|e| Error::io("Can't open file", path, &e))
}

fn head(origin: Origin<'_>) -> String {
    let mut line = format!("{} {} ", std::process::id(), Date(now()));
    match origin.peer {
        Some(peer) => _ = write!(line, "{} ", peer.to_canonical()),
        None => line.push_str("- "),
    }
    _ = write!(
        line,
        "{} {} ",
        origin.user.unwrap_or("-"),
        origin.repository.unwrap_or("-")
    );
    line
}

/// Control bytes of a message must not break lines.
fn escape(text: &str, out: &mut String) {
    for c in text.chars() {
        match c {
            '\\' => out.push_str("\\\\"),
            c if c.is_ascii_control() => _ = write!(out, "\\x{:02x}", c as u32),
            c => out.push(c),
        }
    }
}
