//! Small files of one line, read as the incumbent reads them: bytes after the line are ignored, and a line without a
//! newline is an error.
//!
//! | file | content | longest line with its newline | since format |
//! |---|---|---|---|
//! | `fs-type` | `fsfs` | 80 bytes | 1 |
//! | `uuid` | the UUID; the next line is the instance ID since format 7 | 37 bytes | 1 |
//! | `current` | the youngest revision, decimal; formats 1 and 2 have two counters after it | | 1 |
//! | `min-unpacked-rev` | the first revision that is not packed, decimal | 80 bytes | 4 |
//!
//! `current` is parsed up to the first byte that is no digit, whether a newline follows or not.

use std::path::Path;

use base::{Code, Error, Result, Revnum};

use base::number::{parse_base36, push_base36};

/// Returns the first line of a text without its newline, which must be among the first `limit` bytes. `path` is for
/// messages.
///
/// # Errors
/// 70014 (end of file) without a newline, `MALFORMED_FILE` if it comes too late.
pub(crate) fn first_line<'a>(text: &'a [u8], limit: usize, path: &Path) -> Result<&'a [u8]> {
    let start = &text[..text.len().min(limit)];
    match memchr::memchr2(b'\n', 0, start) {
        Some(end) if start[end] == b'\n' => Ok(&start[..end]),
        None if start.len() == limit => Err(Error::new(
            Code::MALFORMED_FILE,
            format!("Can't read length line in file '{}'", path.display()),
        )),
        _ => Err(Error::new(
            APR_EOF,
            format!("Can't read file '{}': End of file found", path.display()),
        )),
    }
}

/// Returns the revision number at the start of a text: at most ten digits and 2^31 - 1.
///
/// # Errors
/// `REVNUM_PARSE_FAILURE`.
pub(crate) fn leading_revision(text: &[u8]) -> Result<Revnum> {
    let text = text.split(|byte| *byte == 0).next().unwrap_or_default();
    let digits = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let failed = |what: &str| {
        let shown = String::from_utf8_lossy(text);
        Error::new(Code::REVNUM_PARSE_FAILURE, format!("{what} '{shown}'"))
    };
    match digits {
        0 if text.starts_with(b"-") => Err(failed("Negative revision number found parsing")),
        0 => Err(failed("Invalid revision number found parsing")),
        1..=10 => Revnum::parse(&text[..digits])
            .filter(|rev| i32::try_from(rev.0).is_ok())
            .ok_or_else(|| failed("Revision number too large")),
        _ => Err(failed("Revision number longer than 10 digits")),
    }
}

/// Returns the youngest revision of the text of `current`; with `has_ids`, the two counters must follow.
///
/// # Errors
/// `REVNUM_PARSE_FAILURE`; `FS_CORRUPT` without the counters.
pub(crate) fn youngest_of_current(text: &[u8], has_ids: bool) -> Result<Revnum> {
    let rev = leading_revision(text)?;
    let line = text.split(|byte| *byte == b'\n').next().unwrap_or_default();
    if has_ids && NextIds::parse(line).is_none() {
        return Err(Error::new(Code::FS_CORRUPT, CORRUPT_CURRENT));
    }
    Ok(rev)
}

/// The message about `current` without its counters.
pub(crate) const CORRUPT_CURRENT: &str = "Corrupt 'current' file";

/// The next node ID and the next copy ID of the whole filesystem. Formats 1 and 2 have them in `current`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NextIds {
    pub(crate) node: u64,
    pub(crate) copy: u64,
}

impl NextIds {
    /// Parses the line of `current` without its newline.
    pub(crate) fn parse(line: &[u8]) -> Option<NextIds> {
        let mut fields = line.split(|&byte| byte == b' ').skip(1);
        let ids = NextIds {
            node: parse_base36(fields.next()?)?,
            copy: parse_base36(fields.next()?)?,
        };
        fields.next().is_none().then_some(ids)
    }

    /// Returns the contents of `current`.
    pub(crate) fn current(self, youngest: Revnum) -> String {
        let mut text = format!("{youngest} ");
        push_base36(&mut text, self.node);
        text.push(' ');
        push_base36(&mut text, self.copy);
        text.push('\n');
        text
    }
}

/// The longest line of `uuid` with its newline, bytes.
pub(crate) const UUID_LIMIT: usize = 37;

/// The longest line of other files with its newline, bytes.
pub(crate) const LIMIT: usize = 80;

/// The code of "end of file" in the portability library of the incumbent.
const APR_EOF: Code = Code(70014);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_as_by_the_incumbent() {
        let line = |text: &[u8]| first_line(text, 5, Path::new("f")).map(<[u8]>::to_vec);
        let code = |text: &[u8]| line(text).expect_err("no line").code();
        assert_eq!(line(b"four\nx").expect("a line"), b"four");
        assert_eq!(line(b"\n").expect("a line"), b"");
        assert_eq!(code(b""), APR_EOF);
        assert_eq!(code(b"four"), APR_EOF);
        assert_eq!(code(b"a\0\n"), APR_EOF);
        assert_eq!(code(b"fives"), Code::MALFORMED_FILE);
        assert_eq!(code(b"fives\n"), Code::MALFORMED_FILE);
    }

    #[test]
    fn the_next_ids_of_current_round_trip() {
        let ids = NextIds { node: 36, copy: 1 };
        assert_eq!(ids.current(Revnum(7)), "7 10 1\n");
        assert_eq!(NextIds::parse(b"7 10 1"), Some(ids));
        for bad in [&b""[..], b"7", b"7 10", b"7 10 ", b"7 10 1 ", b"7 10 -"] {
            assert_eq!(NextIds::parse(bad), None, "{}", bad.escape_ascii());
        }
    }

    #[test]
    fn the_number_at_the_start_is_read() {
        assert_eq!(leading_revision(b"12 x").expect("a number"), Revnum(12));
        for text in [&b""[..], b" 1", b"-1", b"x1", b"99999999999999999999999"] {
            let error = leading_revision(text).expect_err("no number");
            assert_eq!(error.code(), Code::REVNUM_PARSE_FAILURE);
        }
    }
}
