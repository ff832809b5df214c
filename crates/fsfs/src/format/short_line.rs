//! Files of one line: `uuid`, `fs-type`, `min-unpacked-rev`. Read as the incumbent reads them: what follows the line is not looked
//! at, a line without its end is none.

use std::path::Path;

use base::{Code, Error, Result, Revnum};

/// The first line of the text of a file, without its end, which must be among the first `limit` bytes.
///
/// # Errors
/// 70014 (end of file) if there is no end of a line, `MALFORMED_FILE` if it comes too late.
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

/// The number with which a text begins.
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
    if digits == 0 {
        return Err(failed("Invalid revision number found parsing"));
    }
    Revnum::parse(&text[..digits]).ok_or_else(|| failed("Revision number longer than 10 digits"))
}

/// Longest line of `uuid`, its end included, bytes.
pub(crate) const UUID_LIMIT: usize = 37;

/// Longest line of other files, its end included, bytes.
pub(crate) const LIMIT: usize = 80;

/// What the incumbent's portability library calls the end of a file.
const APR_EOF: Code = Code(70014);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_those_of_the_incumbent() {
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
    fn numbers_begin_a_line() {
        assert_eq!(leading_revision(b"12 x").expect("a number"), Revnum(12));
        for text in [&b""[..], b" 1", b"-1", b"x1", b"99999999999999999999999"] {
            let error = leading_revision(text).expect_err("no number");
            assert_eq!(error.code(), Code::REVNUM_PARSE_FAILURE);
        }
    }
}
