//! The operational log: one line for each operation of a client, in Subversion's form.
//!
//! `PID TIME ADDRESS USER REPOSITORY TEXT`; an error is `… ERR FILE LINE NUMBER MESSAGE`, further links of its chain
//! `ERR-`.

use std::fmt::{self, Write as _};
use std::net::IpAddr;
use std::path::Path;

use base::{Date, Error, Result};

use super::file::LogFile;
use crate::clock::now;

/// The operational log.
pub struct OperationLog(LogFile);

/// The origin of a line.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Origin<'a> {
    pub(crate) peer: Option<IpAddr>,
    pub(crate) user: Option<&'a str>,
    /// The repository's name, URI-encoded.
    pub(crate) repository: Option<&'a str>,
}

impl Origin<'_> {
    /// Returns an origin of which only the peer is known.
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

    /// Opens the file again. If that fails the old one stays.
    ///
    /// # Errors
    /// The system's, naming the file.
    pub fn reopen(&self) -> Result<()> {
        self.0.reopen()
    }

    /// Adds the line of an operation.
    pub(crate) fn operation(&self, origin: Origin<'_>, text: &str) {
        let mut line = head(origin);
        _ = writeln!(line, "{}", OneLine(text));
        self.0.add(&line);
    }

    /// Adds the lines of an error.
    pub(crate) fn error(&self, origin: Origin<'_>, error: &Error) {
        self.links("ERR", origin, error);
    }

    /// Adds the lines of a warning.
    pub(crate) fn warning(&self, origin: Origin<'_>, error: &Error) {
        self.links("WARN", origin, error);
    }

    /// Adds one line for each link of an error's chain.
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
        OneLine(origin.user.unwrap_or("-")),
        origin.repository.unwrap_or("-")
    );
    line
}

/// Displays text on one line: control characters as `\xNN` or `\u{NNNN}`, all others as they are.
pub(crate) struct OneLine<T>(pub(crate) T);

impl<T: fmt::Display> fmt::Display for OneLine<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(Escaped(f), "{}", self.0)
    }
}

/// A formatter that escapes control characters.
struct Escaped<'a, 'b>(&'a mut fmt::Formatter<'b>);

impl fmt::Write for Escaped<'_, '_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let mut rest = text;
        while let Some(at) = rest.find(breaks_lines) {
            self.0.write_str(&rest[..at])?;
            let c = rest[at..].chars().next().unwrap_or_default();
            match u32::from(c) {
                code @ 0..=0xff => write!(self.0, "\\x{code:02x}")?,
                code => write!(self.0, "\\u{{{code:x}}}")?,
            }
            rest = &rest[at + c.len_utf8()..];
        }
        self.0.write_str(rest)
    }
}

/// Returns whether a character is a control character, or one that programs take for the end of a line or that changes the
/// direction of text.
fn breaks_lines(c: char) -> bool {
    c.is_control() || matches!(c, '\u{2028}' | '\u{2029}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Appends a message in the incumbent's form: bytes outside of printable ASCII, and the backslash, are escaped as in C.
fn escape(text: &str, out: &mut String) {
    for byte in text.bytes() {
        match byte {
            b'\\' => out.push_str("\\\\"),
            b'\x08' => out.push_str("\\b"),
            b'\t' => out.push_str("\\t"),
            b'\n' => out.push_str("\\n"),
            b'\x0b' => out.push_str("\\v"),
            b'\r' => out.push_str("\\r"),
            b' '..=b'~' => out.push(char::from(byte)),
            _ => _ = write!(out, "\\x{byte:02x}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_escaped_as_the_incumbent_escapes_them() {
        let mut shown = String::new();
        escape(
            "a\tb\rc\u{b}d\u{c}e\u{8}f\u{7}g\u{1b}h\\i\"j'k\u{7f}l\u{e4}\n",
            &mut shown,
        );
        assert_eq!(shown, r#"a\tb\rc\vd\x0ce\bf\x07g\x1bh\\i"j'k\x7fl\xc3\xa4\n"#);
    }

    #[test]
    fn a_line_stays_one_line() {
        let shown = OneLine("a b\\c\n1 2 \u{9b}31m\u{2028}x\u{e9}").to_string();
        assert_eq!(shown, "a b\\c\\x0a1 2 \\x9b31m\\u{2028}x\u{e9}");
        let origin = Origin {
            user: Some("eve\n1 2 alice"),
            ..Origin::default()
        };
        assert!(head(origin).ends_with(" - eve\\x0a1 2 alice - "));
    }
}
