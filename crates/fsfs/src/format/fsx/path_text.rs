//! Paths in node-revisions and changed-path lists that are text. Source: section 5 of the description of FSX.
//!
//! A byte that cannot be stored is written as 0x1B and then the byte + 0x40 (modulo 256). Writers escape the bytes below
//! 0x20; those of Subversion on some machines also all bytes from 0x80 on. Readers accept both. Paths in directories,
//! property lists and packed data are not escaped.

use std::borrow::Cow;

use base::FsPath;

const ESCAPE: u8 = 0x1b;
const SHIFT: u8 = 0x40;

/// Decodes an absolute path; `None` if it is malformed.
pub(crate) fn decode(text: &[u8]) -> Option<FsPath> {
    let bytes = match memchr::memchr(ESCAPE, text) {
        None => Cow::Borrowed(text),
        Some(_) => {
            let mut bytes = Vec::with_capacity(text.len());
            let mut rest = text.iter();
            while let Some(&byte) = rest.next() {
                bytes.push(match byte {
                    ESCAPE => rest.next()?.wrapping_sub(SHIFT),
                    byte => byte,
                });
            }
            Cow::Owned(bytes)
        }
    };
    FsPath::parse_bytes(&bytes).ok()
}

/// Appends the text form of a path.
pub(crate) fn encode(path: &FsPath, out: &mut Vec<u8>) {
    for &byte in path.as_str().as_bytes() {
        if byte < 0x20 {
            out.push(ESCAPE);
            out.push(byte + SHIFT);
        } else {
            out.push(byte);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn bytes_from_0x80_on_are_read_in_both_forms() {
        let path = FsPath::parse("/é").expect("canonical");
        assert_eq!(decode(b"/\xc3\xa9"), Some(path.clone()));
        assert_eq!(decode(b"/\x1b\x03\x1b\xe9"), Some(path));
        assert_eq!(decode(b"/\x1b\x41"), FsPath::parse("/\x01").ok());
    }

    #[test]
    fn malformed_paths_are_refused() {
        for bad in [
            &b""[..],
            b"a",
            b"/a/",
            b"/a\x1b",
            b"/\x1b\x40",
            b"/a//b",
            b"/\xff",
        ] {
            assert_eq!(decode(bad), None, "{bad:?}");
        }
    }

    proptest! {
        #[test]
        fn every_path_is_read_as_it_was_written(name in "[\x01-.0-é ʀ]{1,12}") {
            prop_assume!(name != "." && name != "..");
            let path = FsPath::root().join_str(&name);
            let mut out = Vec::new();
            encode(&path, &mut out);
            prop_assert!(!out.contains(&b'\n'));
            prop_assert_eq!(decode(&out), Some(path));
        }
    }
}
