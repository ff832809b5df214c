//! Percent-encoding of URLs: the codec, and the bytes that stay as they are.
//!
//! [`decode`] leaves a `%` without two hexadecimal digits as it is; [`is_well_formed`] finds one. Encoded bytes outside of
//! ASCII are always `%XX`.

use std::borrow::Cow;

pub use percent_encoding::AsciiSet;
use percent_encoding::{NON_ALPHANUMERIC, percent_decode, percent_encode};

/// The path of a URL, over `svn://` and over HTTP: letters, digits and `!$&'()*+,-./:=@_~` stay.
pub const URL_PATH: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'!')
    .remove(b'$')
    .remove(b'&')
    .remove(b'\'')
    .remove(b'(')
    .remove(b')')
    .remove(b'*')
    .remove(b'+')
    .remove(b',')
    .remove(b'-')
    .remove(b'.')
    .remove(b'/')
    .remove(b':')
    .remove(b'=')
    .remove(b'@')
    .remove(b'_')
    .remove(b'~');

/// As [`URL_PATH`], and `%` stays: for a URL whose escapes are escapes already.
pub const URL_PATH_AND_PERCENT: &AsciiSet = &URL_PATH.remove(b'%');

/// The path of a file in a URL: letters, digits and `/-._~` stay.
pub const FILE_PATH: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'/')
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

/// Returns the parts of `bytes` with those of `set` as `%XX`, with capital digits. A part is one escape, or a run of bytes
/// that stay.
pub fn encode<'a>(bytes: &'a [u8], set: &'static AsciiSet) -> impl Iterator<Item = &'a str> {
    percent_encode(bytes, set)
}

/// Decodes `%XX`. Borrows if there is none.
pub fn decode(text: &[u8]) -> Cow<'_, [u8]> {
    percent_decode(text).into()
}

/// True if two hexadecimal digits follow each `%`.
pub fn is_well_formed(text: &[u8]) -> bool {
    let mut rest = text.iter();
    while let Some(byte) = rest.next() {
        let mut digit = || rest.next().is_some_and(u8::is_ascii_hexdigit);
        if *byte == b'%' && !(digit() && digit()) {
            return false;
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    fn encoded(bytes: &[u8], set: &'static AsciiSet) -> String {
        encode(bytes, set).collect()
    }

    #[test]
    fn each_set_keeps_its_bytes() {
        let all: Vec<u8> = (0..=255).collect();
        let kept = |set: &'static AsciiSet| -> Vec<u8> {
            let kept = all.iter().filter(|byte| encoded(&[**byte], set).len() == 1);
            kept.copied()
                .filter(|byte| !byte.is_ascii_alphanumeric())
                .collect()
        };
        assert_eq!(kept(URL_PATH_AND_PERCENT), b"!$%&'()*+,-./:=@_~");
        assert_eq!(kept(URL_PATH), b"!$&'()*+,-./:=@_~");
        assert_eq!(kept(FILE_PATH), b"-./_~");
    }

    #[test]
    fn escapes_have_capital_digits_and_stand_alone() {
        assert_eq!(encoded("a é%".as_bytes(), URL_PATH), "a%20%C3%A9%25");
        let parts: Vec<&str> = encode(b"ab&c d", URL_PATH).collect();
        assert_eq!(parts, ["ab&c", "%20", "d"]);
    }

    #[test]
    fn decoding_leaves_what_is_no_escape() {
        for (text, decoded) in [
            ("a%20b", "a b"),
            ("%c3%A9", "é"),
            ("%", "%"),
            ("%2", "%2"),
            ("%zz%41", "%zzA"),
            ("%+1", "%+1"),
            ("%%41", "%A"),
        ] {
            assert_eq!(*decode(text.as_bytes()), *decoded.as_bytes(), "{text}");
        }
        assert!(is_well_formed(b"a%20%c3") && is_well_formed(b""));
        assert!(!is_well_formed(b"%2") && !is_well_formed(b"a%") && !is_well_formed(b"%%41"));
    }
}
