//! Revision numbers.

use std::fmt;

/// A revision number, 0 upwards. "No revision" is `Option<Revnum>`, never a magic number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Revnum(pub u64);

impl Revnum {
    /// The empty revision that every repository starts with.
    pub const ZERO: Revnum = Revnum(0);

    /// The largest number that Subversion's signed 64-bit type holds.
    pub const MAX: Revnum = Revnum(i64::MAX as u64);

    /// Parses ASCII digits without sign; `None` for anything else or above [`Revnum::MAX`].
    pub fn parse(text: &[u8]) -> Option<Self> {
        let mut number = 0u64;
        for byte in text {
            let digit = byte.wrapping_sub(b'0');
            if digit > 9 {
                return None;
            }
            number = number.checked_mul(10)?.checked_add(digit.into())?;
        }
        (!text.is_empty() && number <= Self::MAX.0).then_some(Revnum(number))
    }

    /// The next revision.
    pub fn next(self) -> Self {
        Revnum(self.0.saturating_add(1))
    }

    /// The previous revision, if this is not revision 0.
    pub fn prev(self) -> Option<Self> {
        self.0.checked_sub(1).map(Revnum)
    }
}

impl fmt::Display for Revnum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_decimal_parses() {
        assert_eq!(Revnum::parse(b"12"), Some(Revnum(12)));
        for bad in [
            &b""[..],
            b"-1",
            b"+1",
            b" 1",
            b"1x",
            b"9223372036854775808",
            b"99999999999999999999",
        ] {
            assert_eq!(Revnum::parse(bad), None);
        }
    }
}
