//! The footer of a revision or pack file with logical addressing (format 7 and later): where its two indexes start,
//! and their digests.
//!
//! | field | encoding |
//! |---|---|
//! | L2P offset | decimal, bytes from the start of the file; also the end of the items |
//! | L2P MD5 | 32 hexadecimal digits |
//! | P2L offset | decimal, bytes from the start of the file; also the end of the L2P index |
//! | P2L MD5 | 32 hexadecimal digits |
//! | length | one byte: the length of the text before it; the last byte of the file |
//!
//! The fields of the text are separated by single spaces.

use base::checksum::Md5;
use base::{Error, Revnum};

use super::{decode_error, quoted};
use base::number::parse_decimal;

decode_error! {
    /// Why a footer is not usable.
    FooterError {
        Length => FS_CORRUPT, "Invalid revision footer: bad length";
        L2pOffset => INCORRECT_PARAMS, "Invalid L2P offset in revision footer";
        P2lOffset => INCORRECT_PARAMS, "Invalid P2L offset in revision footer";
        L2pChecksum => BAD_CHECKSUM_PARSE, "Invalid L2P checksum in revision footer";
        P2lChecksum => BAD_CHECKSUM_PARSE, "Invalid P2L checksum in revision footer";
        Missing => FS_CORRUPT, "Invalid revision footer: a field is missing";
        Order => FS_CORRUPT, "P2L offset must be larger than L2P offset in revision footer";
        Extra => FS_CORRUPT, "Invalid revision footer: something follows it";
    }
}

impl FooterError {
    /// The error for a file that begins with revision `first_rev` and ends with `tail`, in the words of the
    /// incumbent.
    pub fn of(self, first_rev: Revnum, tail: &[u8]) -> Error {
        let message = match self {
            FooterError::L2pOffset => format!("Invalid L2P offset in r{first_rev} footer"),
            FooterError::P2lOffset => format!("Invalid P2L offset in r{first_rev} footer"),
            FooterError::Missing => format!("Invalid r{first_rev} footer"),
            FooterError::L2pChecksum | FooterError::P2lChecksum => {
                "Invalid character in hex checksum".to_owned()
            }
            FooterError::Length | FooterError::Order | FooterError::Extra => self.text().to_owned(),
        };
        let number = match self {
            FooterError::L2pOffset => fields(tail).next(),
            FooterError::P2lOffset => fields(tail).nth(2),
            _ => None,
        };
        // A number that is too large has no second message.
        match number.filter(|text| parse_decimal(text).is_none()) {
            Some(text) => {
                let text = format!("Could not convert '{}' into a number", quoted(text));
                Error::new(self.code(), text).context(message)
            }
            None => Error::new(self.code(), message),
        }
    }
}

/// The fields of the footer at the end of `tail`.
fn fields(tail: &[u8]) -> impl Iterator<Item = &[u8]> {
    let (length, rest) = tail
        .split_last()
        .map_or((0, tail), |(&length, rest)| (length, rest));
    let text = &rest[rest.len().saturating_sub(usize::from(length))..];
    // The incumbent treats the text as a C string, so only the part before a NUL counts.
    let nul = memchr::memchr(0, text);
    text[..nul.unwrap_or(text.len())]
        .split(|&byte| byte == b' ')
        .filter(|field| !field.is_empty())
}

/// A parsed footer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Footer {
    /// Start of the L2P index, which is the end of the items, bytes.
    pub l2p_offset: u64,
    /// Digest of the L2P index.
    pub l2p_md5: Md5,
    /// Start of the P2L index, which is the end of the L2P index, bytes.
    pub p2l_offset: u64,
    /// Digest of the P2L index.
    pub p2l_md5: Md5,
    /// Start of the footer, which is the end of the P2L index, bytes.
    pub footer_offset: u64,
}

/// The longest footer, bytes, with its length byte.
pub const MAX_FOOTER: usize = 256;

impl Footer {
    /// Parses the footer at the end of `tail`, the last bytes of a file of `file_len` bytes.
    pub fn parse(tail: &[u8], file_len: u64) -> Result<Self, FooterError> {
        let (&length, rest) = tail.split_last().ok_or(FooterError::Length)?;
        let start = rest
            .len()
            .checked_sub(usize::from(length))
            .ok_or(FooterError::Length)?;
        let footer_offset = file_len
            .checked_sub(1 + u64::from(length))
            .ok_or(FooterError::Length)?;
        // The incumbent treats the text as a C string, so only the part before a NUL counts.
        let text = &rest[start..];
        let nul = memchr::memchr(0, text);
        let mut fields = text[..nul.unwrap_or(text.len())]
            .split(|&b| b == b' ')
            .filter(|field| !field.is_empty());
        let mut field = || fields.next().ok_or(FooterError::Missing);
        let offset = |field| parse_decimal(field).filter(|offset| *offset < footer_offset);
        let l2p_offset = offset(field()?).ok_or(FooterError::L2pOffset)?;
        let l2p_md5 = Md5::parse_hex(field()?).ok_or(FooterError::L2pChecksum)?;
        let p2l_offset = offset(field()?).ok_or(FooterError::P2lOffset)?;
        let p2l_md5 = Md5::parse_hex(field()?).ok_or(FooterError::P2lChecksum)?;
        if fields.next().is_some() || nul.is_some() {
            return Err(FooterError::Extra);
        }
        if l2p_offset >= p2l_offset {
            return Err(FooterError::Order);
        }
        Ok(Footer {
            l2p_offset,
            l2p_md5,
            p2l_offset,
            p2l_md5,
            footer_offset,
        })
    }

    /// Appends the footer and its length byte.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let text = format!(
            "{} {} {} {}",
            self.l2p_offset, self.l2p_md5, self.p2l_offset, self.p2l_md5
        );
        out.extend_from_slice(text.as_bytes());
        // Two digests and two 64-bit numbers take at most 107 bytes.
        out.push(text.len() as u8);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const REAL: &[u8] = b"809 b981925895ff8d8083d6423753c32461 843 f5ae084d04cb3227c1cdb9e2c84a4975I";

    #[test]
    fn a_real_footer_round_trips() {
        let footer = Footer::parse(REAL, 1007).expect("valid");
        assert_eq!(
            (footer.l2p_offset, footer.p2l_offset, footer.footer_offset),
            (809, 843, 933)
        );
        let mut out = Vec::new();
        footer.encode(&mut out);
        assert_eq!(out, REAL);
    }

    #[test]
    fn offsets_outside_the_file_are_refused() {
        assert_eq!(Footer::parse(REAL, 900), Err(FooterError::P2lOffset));
        assert_eq!(Footer::parse(b"", 0), Err(FooterError::Length));
        assert_eq!(Footer::parse(b"abcd", 4), Err(FooterError::Length));
        let swapped = b"843 b981925895ff8d8083d6423753c32461 809 f5ae084d04cb3227c1cdb9e2c84a4975I";
        assert_eq!(Footer::parse(swapped, 1007), Err(FooterError::Order));
    }

    #[test]
    fn only_the_text_before_a_nul_counts() {
        let with = |text: &[u8]| [text, &[text.len() as u8]].concat();
        let real = &REAL[..REAL.len() - 1];
        assert_eq!(Footer::parse(&with(b"\0x"), 1007), Err(FooterError::Missing));
        assert_eq!(
            Footer::parse(&with(&[real, b"\0"].concat()), 1007),
            Err(FooterError::Extra)
        );
    }
}
