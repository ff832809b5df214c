//! Names from a peer that are not UTF-8, as text that no name in a repository equals.
//!
//! A byte that is not UTF-8 becomes [`SUBSTITUTE`] and the character of its value. Names with control characters are refused, so such
//! a path is looked up and answered as one that does not exist. The bytes can be restored, for messages and for values.

use std::borrow::Cow;

/// Stands before each character that replaces a byte which is not UTF-8.
const SUBSTITUTE: char = '\u{1a}';

/// Returns `bytes` as text, with substitutes for those that are not UTF-8.
pub fn with_substitutes(bytes: &[u8]) -> Cow<'_, str> {
    if let Ok(text) = std::str::from_utf8(bytes) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(2 * bytes.len());
    for chunk in bytes.utf8_chunks() {
        out.push_str(chunk.valid());
        for byte in chunk.invalid() {
            out.extend([SUBSTITUTE, char::from(*byte)]);
        }
    }
    Cow::Owned(out)
}

/// Returns the bytes that [`with_substitutes`] has made this text of; `None` if they are the text itself.
pub fn bytes_not_utf8(text: &str) -> Option<Vec<u8>> {
    if !text.contains(SUBSTITUTE) {
        return None;
    }
    let mut out = Vec::with_capacity(text.len());
    let mut found = false;
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        let byte = rest.clone().next().and_then(|next| u8::try_from(next).ok());
        match byte {
            Some(byte @ 0x80..) if c == SUBSTITUTE => {
                rest.next();
                found = true;
                out.push(byte);
            }
            _ => out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }
    found.then_some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_restored() {
        for (bytes, text) in [
            (&b"a/\xc3\xa4\xff\xfe"[..], "a/\u{e4}\u{1a}\u{ff}\u{1a}\u{fe}"),
            (b"\x80b\0", "\u{1a}\u{80}b\0"),
        ] {
            assert_eq!(with_substitutes(bytes), text);
            assert_eq!(bytes_not_utf8(text).as_deref(), Some(bytes));
        }
        assert_eq!(with_substitutes(b"a\x1ab"), "a\u{1a}b");
        assert_eq!(bytes_not_utf8("a\u{1a}b\u{ff}"), None);
    }
}
