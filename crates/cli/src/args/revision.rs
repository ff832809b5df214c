//! The argument of `-r`: `N`, `HEAD`, `{DATE}`, `A:B`.

use base::{Code, Error, Result, Revnum};
pub use client::revision::Revision;
use client::revision::saturating;

use super::date;

/// The argument of `-r`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RevisionRangeArg {
    /// The revision before the colon, or the only one.
    pub start: Revision,
    /// The revision after the colon.
    pub end: Option<Revision>,
}

impl RevisionRangeArg {
    /// Parses the argument of `-r`.
    ///
    /// # Errors
    /// `CL_ARG_PARSING_ERROR` with the whole argument.
    pub fn parse(text: &str) -> Result<Self> {
        let read = || {
            let (start, rest) = first(text)?;
            if rest.is_empty() {
                return Some(RevisionRangeArg { start, end: None });
            }
            let (end, rest) = first(rest.strip_prefix(':')?)?;
            let end = Some(end);
            rest.is_empty().then_some(RevisionRangeArg { start, end })
        };
        read().ok_or_else(|| {
            Error::new(
                Code::CL_ARG_PARSING_ERROR,
                format!("Syntax error in revision argument '{text}'"),
            )
        })
    }
}

/// Parses the argument of `svnlook`'s `-r`, a C integer. Empty text is revision 0.
///
/// # Errors
/// `CL_ARG_PARSING_ERROR`.
pub fn plain_number(text: &str) -> Result<Revnum> {
    let digits = text.trim_start_matches([' ', '\t', '\n', '\x0b', '\x0c', '\r']);
    let (minus, digits) = match digits.as_bytes().first() {
        Some(b'-') => (true, &digits[1..]),
        Some(b'+') => (false, &digits[1..]),
        _ => (false, digits),
    };
    let number = match digits {
        "" if text.is_empty() => Some(Revnum::ZERO),
        _ => saturating(digits),
    };
    number
        .filter(|number| !minus || *number == Revnum::ZERO)
        .ok_or_else(|| Error::new(Code::CL_ARG_PARSING_ERROR, "Invalid revision number supplied"))
}

/// Parses the first revision and returns it with the rest of the text.
fn first(text: &str) -> Option<(Revision, &str)> {
    Revision::parse_first(text, &date::parse)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn revision_ranges_parse() {
        let number = |n| Revision::Number(Revnum(n));
        for (text, start, end) in [
            ("5", number(5), None),
            ("rr5", number(5), None),
            ("r1:r2", number(1), Some(number(2))),
            ("head:0", Revision::Head, Some(number(0))),
            ("99999999999999999999", Revision::Number(Revnum::MAX), None),
            ("PREV", Revision::Previous, None),
        ] {
            assert_eq!(
                RevisionRangeArg::parse(text),
                Ok(RevisionRangeArg { start, end }),
                "{text}"
            );
        }
        for text in [
            "",
            "+0",
            " 0",
            "-1",
            "R0",
            "0:",
            ":0",
            "1:2:3",
            "{}",
            "{2030-01-01",
            "0x",
        ] {
            assert!(RevisionRangeArg::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn plain_numbers_are_c_integers() {
        for (text, number) in [("", 0), (" 7", 7), ("+7", 7), ("-0", 0), ("007", 7)] {
            assert_eq!(plain_number(text), Ok(Revnum(number)), "{text}");
        }
        assert_eq!(plain_number("99999999999999999999"), Ok(Revnum::MAX));
        for text in ["HEAD", "r0", "-1", "0.5", "1:2", "-", " "] {
            assert!(plain_number(text).is_err(), "{text}");
        }
    }
}
