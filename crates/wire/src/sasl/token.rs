//! Tokens as svn:// carries them: base64 with a line feed behind every 76 characters and at the end.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// Returns the form of a token on the wire.
pub fn encode(token: &[u8]) -> Vec<u8> {
    let text = STANDARD.encode(token);
    let lines = text.as_bytes().chunks(76);
    lines.flat_map(|line| [line, b"\n"].concat()).collect()
}

/// Returns the bytes of a token. As in the incumbent, characters that are not of the alphabet are skipped, the first `=` ends the
/// token, and an incomplete group of characters at the end does not count.
pub fn decode(text: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3);
    let (mut group, mut count) = (0u32, 0);
    for letter in text {
        let value = match letter {
            b'A'..=b'Z' => letter - b'A',
            b'a'..=b'z' => letter - b'a' + 26,
            b'0'..=b'9' => letter - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            b'=' => {
                let padded = (group << (6 * (4 - count))).to_be_bytes();
                bytes.extend_from_slice(match count {
                    2 => &padded[1..2],
                    3 => &padded[1..3],
                    _ => &[],
                });
                break;
            }
            _ => continue,
        };
        group = group << 6 | u32::from(value);
        count += 1;
        if count == 4 {
            bytes.extend_from_slice(&group.to_be_bytes()[1..]);
            (group, count) = (0, 0);
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn tokens_are_those_of_subversion() {
        assert_eq!(encode(b"\0alice\0secret"), b"AGFsaWNlAHNlY3JldA==\n");
        assert_eq!(encode(b""), b"");
        let long = encode(&[0; 60]);
        assert_eq!((long[76], long.len()), (b'\n', 82));
    }

    /// Each was accepted or refused so by svnserve 1.14.2.
    #[test]
    fn decoding_is_lenient() {
        let token = b"\0alice\0secret";
        for text in [
            "AGFsaWNlAHNlY3JldA==",
            "AGFs\naWNlAHNlY3JldA==\n",
            "AGFs#aWNlAHNlY3JldA==",
            "AGFsaWNlAHNlY3JldA==####",
        ] {
            assert_eq!(decode(text.as_bytes()), token, "{text}");
        }
        assert_eq!(decode(b"AGFsaWNlAHNlY3JldA"), b"\0alice\0secre");
        assert_eq!(decode(b"!!!!"), b"");
        assert_eq!(decode(b"===="), b"");
        assert_eq!(decode(b"A==="), b"");
    }

    proptest! {
        #[test]
        fn round_trip(token: Vec<u8>) {
            prop_assert_eq!(decode(&encode(&token)), token);
        }

        #[test]
        fn any_bytes_decode(text: Vec<u8>) {
            prop_assert!(decode(&text).len() <= text.len());
        }
    }
}
