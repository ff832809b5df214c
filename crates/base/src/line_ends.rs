//! Line ends of texts that are stored with line feeds.

use std::borrow::Cow;

use crate::{Code, Error, Result};

/// Makes line feeds of all line ends of a text, which must be alike: LF, CR LF, or CR alone.
///
/// # Errors
/// `IO_INCONSISTENT_EOL` if they are not.
pub fn with_line_feeds(text: &[u8]) -> Result<Cow<'_, [u8]>> {
    let mut style: Option<&[u8]> = None;
    let mut out = Vec::new();
    let mut rest = text;
    while let Some(at) = memchr::memchr2(b'\r', b'\n', rest) {
        let length = if rest[at..].starts_with(b"\r\n") { 2 } else { 1 };
        let end = &rest[at..at + length];
        if *style.get_or_insert(end) != end {
            return Err(Error::new(
                Code::IO_INCONSISTENT_EOL,
                "Inconsistent line ending style",
            ));
        }
        if end == b"\n" {
            // Nothing to change so far, nor from here on.
            rest = &rest[at + 1..];
            continue;
        }
        out.extend_from_slice(&rest[..at]);
        out.push(b'\n');
        rest = &rest[at + length..];
    }
    match style {
        Some(end) if end != b"\n" => {
            out.extend_from_slice(rest);
            Ok(Cow::Owned(out))
        }
        _ => Ok(Cow::Borrowed(text)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_ends_are_alike_and_become_line_feeds() {
        for (text, expected) in [
            ("", ""),
            ("a", "a"),
            ("a\n\nb\n", "a\n\nb\n"),
            ("a\r\nb\r\n", "a\nb\n"),
            ("a\rb", "a\nb"),
            ("\r\r", "\n\n"),
        ] {
            assert_eq!(
                &*with_line_feeds(text.as_bytes()).expect("alike"),
                expected.as_bytes()
            );
        }
        for mixed in ["a\r\nb\rc", "a\nb\r\n", "\r\n\n", "\n\r", "a\r\r\n", "a\nb\r"] {
            assert_eq!(
                with_line_feeds(mixed.as_bytes()).expect_err("mixed").code(),
                Code::IO_INCONSISTENT_EOL
            );
        }
    }
}
