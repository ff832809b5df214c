//! The operational log: one line for each thing a client asked for, in Subversion's form.
//!
//! `PID TIME ADDRESS USER REPOSITORY TEXT`; an error is `… ERR FILE LINE NUMBER MESSAGE`, further links of its chain
//! `ERR-`.

use std::fmt::Write as _;
use std::net::IpAddr;
use std::path::Path;

use base::{Date, Error, Result};

use crate::log_file::LogFile;
use crate::service::now;

/// Where lines go.
pub struct OperationLog(LogFile);

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
        LogFile::open(path).map(OperationLog)
    }

    /// Writes to standard error.
    pub fn stderr() -> Self {
        OperationLog(LogFile::stderr())
    }

    /// Opens the file anew; if that fails the old one stays.
    ///
    /// # Errors
    /// The system's, naming the file.
    pub fn reopen(&self) -> Result<()> {
        self.0.reopen()
    }

    pub(crate) fn operation(&self, origin: Origin<'_>, text: &str) {
        let mut line = head(origin);
        line.push_str(text);
        line.push('\n');
        self.0.add(&line);
    }

    pub(crate) fn error(&self, origin: Origin<'_>, error: &Error) {
        self.links("ERR", origin, error);
    }

    pub(crate) fn warning(&self, origin: Origin<'_>, error: &Error) {
        self.links("WARN", origin, error);
    }

    fn links(&self, word: &str, origin: Origin<'_>, error: &Error) {
        let mut lines = String::new();
        for (at, link) in error.links().enumerate() {
            lines.push_str(&head(origin));
            let dash = if at == 0 { "" } else { "-" };
            _ = write!(lines, "{word}{dash} - 0 {} ", link.code().0);
            escape(&link.text(), &mut lines);
            lines.push('\n');
        }
        self.0.add(&lines);
    }
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
