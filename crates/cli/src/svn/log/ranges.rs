//! The argument of `-c`: changes, that is revisions and ranges of them.

use base::{Code, Error, Result, Revnum};

use crate::args::revision::{Revision, RevisionRangeArg};

/// The ranges of an argument of `-c`, in its order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangeArg(pub Vec<RevisionRangeArg>);

impl ChangeArg {
    /// Parses a list of changes, which blanks and commas separate.
    ///
    /// # Errors
    /// `CL_ARG_PARSING_ERROR`.
    pub fn parse(text: &str) -> Result<ChangeArg> {
        let words = text.split([',', ' ', '\t', '\n', '\r']);
        words
            .filter(|word| !word.is_empty())
            .map(change)
            .collect::<Result<_>>()
            .map(ChangeArg)
    }
}

/// Parses one change: `N`, `-N` or `N-M`. The log of a change does not depend on its direction.
fn change(word: &str) -> Result<RevisionRangeArg> {
    let wrong = |message: String| Err(Error::new(Code::CL_ARG_PARSING_ERROR, message));
    let (is_negative, unsigned) = match word.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, word),
    };
    let (mut start, rest) = c_number(unsigned.trim_start_matches('r'));
    let mut end = start;
    let mut rest = rest;
    if let Some(second) = rest.strip_prefix('-') {
        if is_negative || start < 0 {
            return wrong(format!("Negative number in range ({word}) not supported with -c"));
        }
        (end, rest) = c_number(second.trim_start_matches('r'));
    }
    if !rest.is_empty() {
        return wrong(format!("Non-numeric change argument ({word}) given to -c"));
    }
    if start == 0 {
        return wrong("There is no change 0".to_owned());
    }
    if start == end {
        (start, end) = (start.abs(), end.abs());
    }
    Ok(RevisionRangeArg {
        start: revision(start),
        end: Some(revision(end)),
    })
}

/// A negative number is no revision, and what is not given means the youngest.
fn revision(number: i64) -> Revision {
    u64::try_from(number).map_or(Revision::Head, |number| Revision::Number(Revnum(number)))
}

/// Parses the number at the beginning as C does: a sign and digits, 0 without digits, the largest value if it is too large. Returns
/// the rest, too.
fn c_number(text: &str) -> (i64, &str) {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let digits = unsigned.bytes().take_while(u8::is_ascii_digit).count();
    if digits == 0 {
        return (0, text);
    }
    let (digits, rest) = unsigned.split_at(digits);
    let number = digits.parse().unwrap_or(i64::MAX);
    (if text.starts_with('-') { -number } else { number }, rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_and_ranges() {
        let range = |start, end| {
            let number = |n| Revision::Number(Revnum(n));
            RevisionRangeArg {
                start: number(start),
                end: Some(number(end)),
            }
        };
        for (text, expected) in [
            ("3", vec![range(3, 3)]),
            ("-r3,+4", vec![range(3, 3), range(4, 4)]),
            (" 2, 5-4 ,,r1-r2", vec![range(2, 2), range(5, 4), range(1, 2)]),
            ("3-", vec![range(3, 0)]),
            ("", vec![]),
        ] {
            assert_eq!(ChangeArg::parse(text), Ok(ChangeArg(expected)), "{text}");
        }
        for text in ["0", "-", "r", "x", "3x", "2-3-4", "-2-3", "2-HEAD", "2:3"] {
            assert!(ChangeArg::parse(text).is_err(), "{text}");
        }
    }
}
