//! The forms of numbers in the files of FSFS and FSX.
//!
//! | form | encoding | used in |
//! |---|---|---|
//! | decimal | ASCII digits without sign | most text files |
//! | base 36 | digits `0-9a-z` | IDs, transaction names |
//! | index integer | 7 bits a byte, low bits first; the top bit is set on all bytes but the last; at most 10 bytes | L2P and P2L indexes, packed data of FSX |
//! | signed index integer | an index integer: 2n for n >= 0, -1 - 2n for n < 0 | as index integers |
//!
//! The big-endian integers of svndiff are in crate `delta`.

use crate::Revnum;

/// Parses ASCII digits without sign; `None` for anything else or beyond 64 bits.
pub fn parse_decimal(digits: &[u8]) -> Option<u64> {
    parse_radix(digits, 10)
}

/// Why a field is not a revision number. The incumbent has different error codes for the two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BadRev {
    /// It does not begin with a digit.
    NoDigit,
    /// Other bytes follow the digits, or the number is too large.
    Trailing,
}

/// Parses a revision number.
pub fn parse_rev(field: &[u8]) -> Result<Revnum, BadRev> {
    Revnum::parse(field).ok_or(match field.first() {
        Some(b'0'..=b'9') => BadRev::Trailing,
        _ => BadRev::NoDigit,
    })
}

/// Parses digits `0-9a-z`; `None` for anything else or beyond 64 bits.
pub fn parse_base36(digits: &[u8]) -> Option<u64> {
    parse_radix(digits, 36)
}

/// Parses ASCII digits at the front of `text` and moves past them; `None` if there is none, or beyond 64 bits.
pub fn take_decimal(text: &mut &[u8]) -> Option<u64> {
    take_radix(text, 10)
}

/// Parses digits `0-9a-z` at the front of `text` and moves past them; `None` if there is none, or beyond 64 bits.
pub fn take_base36(text: &mut &[u8]) -> Option<u64> {
    take_radix(text, 36)
}

fn parse_radix(mut digits: &[u8], radix: u64) -> Option<u64> {
    let number = take_radix(&mut digits, radix)?;
    digits.is_empty().then_some(number)
}

#[inline]
fn take_radix(text: &mut &[u8], radix: u64) -> Option<u64> {
    let mut number = 0u64;
    let mut length = 0;
    for &byte in *text {
        let digit = match byte {
            b'0'..=b'9' => u64::from(byte - b'0'),
            b'a'..=b'z' if radix == 36 => u64::from(byte - b'a') + 10,
            _ => break,
        };
        number = number.checked_mul(radix)?.checked_add(digit)?;
        length += 1;
    }
    *text = &text[length..];
    (length > 0).then_some(number)
}

/// Appends a number in base 36.
pub fn push_base36(out: &mut String, number: u64) {
    push_digits::<36>(out, number);
}

/// Appends a decimal number.
pub fn push_decimal(out: &mut String, number: u64) {
    push_digits::<10>(out, number);
}

fn push_digits<const RADIX: u64>(out: &mut String, number: u64) {
    let mut digits = [0u8; 20];
    let mut at = digits.len();
    let mut rest = number;
    loop {
        at -= 1;
        digits[at] = b"0123456789abcdefghijklmnopqrstuvwxyz"[(rest % RADIX) as usize];
        rest /= RADIX;
        if rest == 0 {
            break;
        }
    }
    out.push_str(std::str::from_utf8(&digits[at..]).expect("because digits are ASCII"));
}

/// Parses an index integer at the front of `input` and moves past it; `None` if it is cut off or does not fit 64
/// bits.
pub fn take_uint(input: &mut &[u8]) -> Option<u64> {
    let mut value = 0u64;
    for (at, &byte) in input.iter().take(10).enumerate() {
        let bits = u64::from(byte & 0x7f);
        let shift = 7 * at as u32;
        if shift == 63 && bits > 1 {
            return None;
        }
        value |= bits << shift;
        if byte & 0x80 == 0 {
            *input = &input[at + 1..];
            return Some(value);
        }
    }
    None
}

/// Parses a signed index integer: an even number for 0 and above, an odd one for below.
pub fn take_int(input: &mut &[u8]) -> Option<i64> {
    Some(signed(take_uint(input)?))
}

/// The signed number that is stored as `raw`: an even number for 0 and above, an odd one for below.
pub fn signed(raw: u64) -> i64 {
    let half = (raw >> 1) as i64;
    if raw & 1 == 0 { half } else { -1 - half }
}

/// The form in which a signed number is stored; see [`signed`].
pub fn unsigned(value: i64) -> u64 {
    if value < 0 {
        (((-1 - value) as u64) << 1) | 1
    } else {
        (value as u64) << 1
    }
}

/// Appends an index integer.
pub fn push_uint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Appends a signed index integer.
pub fn push_int(out: &mut Vec<u8>, value: i64) {
    push_uint(out, unsigned(value));
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn base36_has_no_other_digits() {
        assert_eq!(parse_base36(b"10"), Some(36));
        assert_eq!(parse_base36(b"zz"), Some(35 * 36 + 35));
        for bad in [&b""[..], b"A", b"-1", b"3w5e11264sgsg"] {
            assert_eq!(parse_base36(bad), None, "{bad:?}");
        }
        assert_eq!(parse_base36(b"3w5e11264sgsf"), Some(u64::MAX));
        assert_eq!(parse_decimal(b"1a"), None);
    }

    #[test]
    fn index_integers_of_the_specification() {
        // -124 and 664 of the sample index, 1047767 of its filler.
        for (bytes, value) in [(&[0xf7, 0x01][..], -124), (&[0xb0, 0x0a], 664)] {
            let mut input = bytes;
            assert_eq!(take_int(&mut input), Some(value));
            let mut out = Vec::new();
            push_int(&mut out, value);
            assert_eq!(out, bytes);
        }
        let mut input = &[0xd7, 0xf9, 0x3f][..];
        assert_eq!(take_uint(&mut input), Some(1_047_767));
        assert_eq!(take_uint(&mut &[0x80; 10][..]), None);
        assert_eq!(take_uint(&mut &[0xff; 9][..]), None);
    }

    proptest! {
        #[test]
        fn round_trips(unsigned: u64, signed in i64::MIN / 2..i64::MAX / 2) {
            let (mut out, mut text) = (Vec::new(), String::new());
            push_uint(&mut out, unsigned);
            push_int(&mut out, signed);
            push_base36(&mut text, unsigned);
            let mut input = &out[..];
            prop_assert_eq!(take_uint(&mut input), Some(unsigned));
            prop_assert_eq!(take_int(&mut input), Some(signed));
            prop_assert_eq!(input.len(), 0);
            prop_assert_eq!(parse_base36(text.as_bytes()), Some(unsigned));
        }
    }
}
