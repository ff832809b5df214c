//! The error type: a chain of (number, message), outermost link first.
//!
//! It is the chain that the wire sends and that programs print, so no layer translates. A link without a message
//! shows the number's default text. [`Error::context`] adds a link with the same number, [`Error::wrap`] one with
//! another number. There is deliberately no `From<std::io::Error>`: each place that does I/O must name its path
//! ([`Error::io`]).
//!
//! Compare numbers ([`Error::code`], [`Error::has`]), never texts.

use std::fmt;
use std::io;
use std::path::Path;

use crate::disk_path;
use crate::error_codes::{Code, os_text};

/// The result of every function of the project that can fail.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// A chain of errors, outermost first. One pointer wide, so `Result<T>` stays small.
#[derive(Clone, PartialEq, Eq)]
pub struct Error(Box<Link>);

/// One link of the chain.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Link {
    code: Code,
    message: Option<String>,
    cause: Option<Error>,
}

impl Link {
    /// The number of this link.
    pub fn code(&self) -> Code {
        self.code
    }

    /// The message of this link, if it has one of its own.
    pub fn message(&self) -> Option<&str> {
        self.message.as_deref()
    }

    /// The message of this link, or the default text of its number.
    pub fn text(&self) -> String {
        match &self.message {
            Some(message) => message.clone(),
            None => self.code.text(),
        }
    }
}

impl Error {
    /// Makes an error with a message of its own.
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Error(Box::new(Link {
            code,
            message: Some(message.into()),
            cause: None,
        }))
    }

    /// Makes an error that shows the default text of `code`.
    pub fn bare(code: Code) -> Self {
        Error(Box::new(Link {
            code,
            message: None,
            cause: None,
        }))
    }

    /// Makes an error of a failed system call: the number is the `errno`, the message is
    /// `<what> '<path>': <system's text>`, for example `Can't open file '/x': No such file or directory`.
    pub fn io(what: &str, path: &Path, error: &io::Error) -> Self {
        Error::os(error, &format!("{what} '{}'", disk_path::shown(path)))
    }

    /// Makes an error of a failed system call that concerns no file: `<what>: <system's text>`.
    pub fn os(error: &io::Error, what: &str) -> Self {
        let (code, text) = match raw_os_error(error) {
            Some(errno) => (Code(errno), os_text(errno)),
            None if error.kind() == io::ErrorKind::UnexpectedEof => {
                (Code::STREAM_UNEXPECTED_EOF, Code::STREAM_UNEXPECTED_EOF.text())
            }
            None => (Code::BASE, error.to_string()),
        };
        Error::new(code, format!("{what}: {text}"))
    }

    /// Rebuilds a chain from its links, outermost first; `None` if there are none.
    pub fn from_links(links: impl IntoIterator<Item = (Code, Option<String>)>) -> Option<Self> {
        let links: Vec<_> = links.into_iter().collect();
        links.into_iter().rev().fold(None, |cause, (code, message)| {
            Some(Error(Box::new(Link { code, message, cause })))
        })
    }

    /// Puts a link with the same number and `message` on top.
    pub fn context(self, message: impl Into<String>) -> Self {
        let code = self.code();
        self.wrap(code, message)
    }

    /// Puts a link with another number and `message` on top.
    pub fn wrap(self, code: Code, message: impl Into<String>) -> Self {
        Error(Box::new(Link {
            code,
            message: Some(message.into()),
            cause: Some(self),
        }))
    }

    /// Puts a link with another number and no message of its own on top.
    pub fn wrap_bare(self, code: Code) -> Self {
        Error(Box::new(Link {
            code,
            message: None,
            cause: Some(self),
        }))
    }

    /// Appends `other`'s chain below this chain's innermost link, separated by a link with the number of
    /// a composed error: both failures stay readable.
    pub fn compose(self, other: Error) -> Self {
        let mut links: Vec<_> = self.links().map(|l| (l.code, l.message.clone())).collect();
        links.push((Code::COMPOSED_ERROR, None));
        links.extend(other.links().map(|l| (l.code, l.message.clone())));
        Error::from_links(links).expect("because there are at least three links")
    }

    /// The outermost number.
    pub fn code(&self) -> Code {
        self.0.code
    }

    /// The outermost message, or the default text of its number.
    pub fn message(&self) -> String {
        self.0.text()
    }

    /// The innermost link: what went wrong first.
    pub fn root_cause(&self) -> &Link {
        self.links()
            .last()
            .expect("because a chain has at least one link")
    }

    /// True if any link of the chain has this number.
    pub fn has(&self, code: Code) -> bool {
        self.links().any(|link| link.code == code)
    }

    /// All links, outermost first.
    pub fn links(&self) -> impl Iterator<Item = &Link> {
        std::iter::successors(Some(&*self.0), |link| link.cause.as_ref().map(|c| &*c.0))
    }
}

impl fmt::Display for Error {
    /// Prints `E160013: message: E…: message`, outermost first: for logs. Programs print link by link.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, link) in self.links().enumerate() {
            if at > 0 {
                f.write_str(": ")?;
            }
            write!(f, "{}: {}", link.code, link.text())?;
        }
        Ok(())
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for Error {}

/// Adds a link to the error of a result, in place.
pub trait ResultExt<T> {
    /// Keeps the number, adds a message on top.
    fn context(self, message: impl FnOnce() -> String) -> Result<T>;
    /// Replaces the outermost number, adds a message on top.
    fn wrap(self, code: Code, message: impl FnOnce() -> String) -> Result<T>;
}

impl<T> ResultExt<T> for Result<T> {
    fn context(self, message: impl FnOnce() -> String) -> Result<T> {
        self.map_err(|e| e.context(message()))
    }

    fn wrap(self, code: Code, message: impl FnOnce() -> String) -> Result<T> {
        self.map_err(|e| e.wrap(code, message()))
    }
}

/// The system's number of an error, also of one whose text contains another one's: errors of temporary files name their path, and have no
/// other trace of the number.
fn raw_os_error(error: &io::Error) -> Option<i32> {
    error.raw_os_error().or_else(|| {
        let text = error.get_ref()?.to_string();
        let (number, _) = text.split_once("(os error ")?.1.split_once(')')?;
        number.parse().ok()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn context_keeps_the_number_and_wrap_replaces_it() {
        let e = Error::new(Code::FS_CORRUPT, "inner")
            .context("middle")
            .wrap(Code::FS_GENERAL, "outer");
        let codes: Vec<_> = e.links().map(Link::code).collect();
        assert_eq!(codes, [Code::FS_GENERAL, Code::FS_CORRUPT, Code::FS_CORRUPT]);
        assert!(e.has(Code::FS_CORRUPT) && !e.has(Code::FS_NOT_FOUND));
        assert_eq!(e.root_cause().message(), Some("inner"));
    }

    #[test]
    fn a_link_without_message_shows_the_default_text() {
        assert_eq!(
            Error::bare(Code::RA_NOT_AUTHORIZED).message(),
            "Authorization failed"
        );
    }

    #[test]
    fn io_errors_name_the_path_and_carry_errno() {
        let e = Error::io(
            "Can't open file",
            Path::new("/x"),
            &io::Error::from_raw_os_error(2),
        );
        assert_eq!(e.code(), Code(2));
        assert_eq!(e.message(), "Can't open file '/x': No such file or directory");
    }

    #[test]
    fn the_number_is_found_in_an_error_that_contains_another() {
        // As a temporary file says it.
        let full = io::Error::from_raw_os_error(28);
        let wrapped = io::Error::new(full.kind(), format!("{full} at path \"/x\""));
        let e = Error::os(&wrapped, "Can't write");
        assert_eq!(e.code(), Code(28));
        assert_eq!(e.message(), "Can't write: No space left on device");
        assert_eq!(
            Error::os(&io::Error::other("text"), "Can't write").code(),
            Code::BASE
        );
    }

    #[test]
    fn composed_chains_keep_both_failures() {
        let e = Error::bare(Code::FS_CORRUPT).compose(Error::bare(Code::CANCELLED));
        assert_eq!(e.links().count(), 3);
        assert!(e.has(Code::COMPOSED_ERROR) && e.has(Code::CANCELLED));
    }
}
