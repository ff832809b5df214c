//! Digests: MD5 and SHA-1 of texts, Subversion's FNV-1a variant of stored items.
//!
//! MD5 limits the speed of every job that reads whole texts: one stream runs at a twentieth of memcpy. Callers with
//! many independent texts pass them together ([`md5_many`], [`Md5Stream::update_many`]).

mod block_functions;
mod fnv;
mod md5;
#[cfg(target_arch = "x86_64")]
mod md5_avx2;
#[cfg(target_arch = "x86_64")]
mod md5_avx512;
mod md5_lanes;
#[cfg(target_arch = "x86_64")]
mod pair_x86;
mod text;

use std::fmt;

use sha1::Digest as _;

pub use block_functions::{InstructionSet, limit_instruction_set};
pub use fnv::{FnvStream, fnv1a_32x4};
pub use md5::{Md5Stream, md5_many};
pub use text::TextDigests;

/// An MD5 digest. All zeros means "unknown" on disk and on the wire and matches anything.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Md5(pub [u8; 16]);

/// A SHA-1 digest.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Sha1(pub [u8; 20]);

impl Md5 {
    /// The digest of the empty text.
    pub const EMPTY: Md5 = Md5([
        0xd4, 0x1d, 0x8c, 0xd9, 0x8f, 0x00, 0xb2, 0x04, 0xe9, 0x80, 0x09, 0x98, 0xec, 0xf8, 0x42, 0x7e,
    ]);

    /// Parses 32 hexadecimal digits.
    pub fn parse_hex(text: &[u8]) -> Option<Self> {
        parse_hex(text).map(Md5)
    }

    /// True unless both are known and differ.
    pub fn matches(&self, other: &Md5) -> bool {
        self == other || self.is_unknown() || other.is_unknown()
    }

    /// True for all zeros.
    pub fn is_unknown(&self) -> bool {
        self.0 == [0; 16]
    }
}

impl Sha1 {
    /// Digest of one text.
    pub fn of(bytes: &[u8]) -> Self {
        Sha1(sha1::Sha1::digest(bytes).into())
    }

    /// Parses 40 hexadecimal digits.
    pub fn parse_hex(text: &[u8]) -> Option<Self> {
        parse_hex(text).map(Sha1)
    }
}

/// A SHA-1 digest that is being computed.
#[derive(Clone, Default)]
pub struct Sha1Stream(sha1::Sha1);

impl Sha1Stream {
    /// Starts with no bytes.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds bytes.
    pub fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// Returns the digest of all bytes added.
    pub fn finish(self) -> Sha1 {
        Sha1(self.0.finalize().into())
    }
}

fn parse_hex<const N: usize>(text: &[u8]) -> Option<[u8; N]> {
    if text.len() != 2 * N {
        return None;
    }
    let mut out = [0; N];
    for (byte, pair) in out.iter_mut().zip(text.chunks_exact(2)) {
        let (high, low) = (DIGITS[usize::from(pair[0])], DIGITS[usize::from(pair[1])]);
        if high | low > 15 {
            return None;
        }
        *byte = high << 4 | low;
    }
    Some(out)
}

/// The value of each byte as a hexadecimal digit; above 15 for other bytes.
const DIGITS: [u8; 256] = {
    let mut values = [u8::MAX; 256];
    let mut digit = 0;
    while digit < 16 {
        values[b"0123456789abcdef"[digit] as usize] = digit as u8;
        values[b"0123456789ABCDEF"[digit] as usize] = digit as u8;
        digit += 1;
    }
    values
};

macro_rules! digest_traits {
    ($($type:ident)*) => {$(
        impl fmt::Display for $type {
            /// Prints lower-case hexadecimal digits.
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                const DIGITS: &[u8; 16] = b"0123456789abcdef";
                let mut text = [[0u8; 2]; size_of::<$type>()];
                for (digits, byte) in text.iter_mut().zip(self.0) {
                    *digits = [DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]];
                }
                f.write_str(std::str::from_utf8(text.as_flattened()).expect("because digits are ASCII"))
            }
        }
        impl fmt::Debug for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self, f)
            }
        }
    )*};
}
digest_traits!(Md5 Sha1);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_digests() {
        assert_eq!(Md5::of(b"END\n").to_string(), "2d2977d1c96f487abe4a1e202dd03b4e");
        assert_eq!(Md5::of(b""), Md5::EMPTY);
        assert_eq!(
            Sha1::of(b"").to_string(),
            "da39a3ee5e6b4b0d3255bfef95601890afd80709"
        );
        assert_eq!(
            Md5::parse_hex(b"2D2977d1c96f487abe4a1e202dd03b4e"),
            Some(Md5::of(b"END\n"))
        );
        assert_eq!(Md5::parse_hex(b"2d29"), None);
    }

    #[test]
    fn unknown_matches_anything() {
        assert!(Md5([0; 16]).matches(&Md5::EMPTY) && Md5::EMPTY.matches(&Md5([0; 16])));
        assert!(!Md5::EMPTY.matches(&Md5::of(b"x")));
    }

    #[test]
    fn item_checksum_of_real_items() {
        // Revision 0's changed-paths item and its node-rev would need fixtures; this one is the specification's
        // sample: the file representation of `Hello, world!\n` in a format 8 revision.
        let item = b"DELTA\nSVN\x02\x00\x00\x0e\x02\x0f\x01\x8e\x0eHello, world!\nENDREP\n";
        assert_eq!(fnv1a_32x4(item), 0x2fc0_156c);
    }
}
