//! The header of a representation: its first line, which says how the body makes the content.
//!
//! | line | body |
//! |---|---|
//! | `PLAIN` | the content itself |
//! | `DELTA` | svndiff against the empty text |
//! | `DELTA <rev> <item> <length>` | svndiff against another representation |
//!
//! `<rev>` is the revision of the delta base. `<item>` is its offset from the start of that revision (physical
//! addressing) or its item number (logical addressing). `<length>` is the length of its body in bytes, below 2^63.
//! All are decimal. The body follows the header, and the line `ENDREP` follows the body. The lines are the same in
//! all formats; svndiff is version 0 in all, version 1 since format 2, version 2 since format 8.

use base::Revnum;

use super::decode_error;
use base::number::{BadRev, parse_decimal, parse_rev};

decode_error! {
    /// Why a representation's first line is not usable.
    RepHeaderError {
        Malformed => FS_CORRUPT, "Malformed representation header";
        Revision => REVNUM_PARSE_FAILURE, "Invalid revision number found parsing a representation header";
        Number => INCORRECT_PARAMS, "Could not convert a number of a representation header";
    }
}

/// A parsed header: what the body is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RepHeader {
    /// The content itself.
    Plain,
    /// svndiff against the empty text.
    SelfDelta,
    /// svndiff against the content of another representation.
    Delta {
        /// The revision of the base.
        rev: Revnum,
        /// The item of the base.
        item: u64,
        /// The length of the body of the base, bytes.
        length: u64,
    },
}

/// The longest header, bytes: `DELTA`, three 64-bit numbers, three spaces, newline.
pub const MAX_HEADER: usize = 5 + 3 * (1 + 20) + 1;

impl RepHeader {
    /// Parses the header at the front of `input`. Returns it with its length, or `None` if more bytes are needed.
    pub fn parse(input: &[u8]) -> Result<Option<(Self, usize)>, RepHeaderError> {
        let window = &input[..input.len().min(MAX_HEADER)];
        let Some(end) = memchr::memchr(b'\n', window) else {
            return if window.len() == MAX_HEADER {
                Err(RepHeaderError::Malformed)
            } else {
                Ok(None)
            };
        };
        let header = match &window[..end] {
            b"PLAIN" => RepHeader::Plain,
            b"DELTA" => RepHeader::SelfDelta,
            line => Self::parse_base(line.strip_prefix(b"DELTA ").ok_or(RepHeaderError::Malformed)?)?,
        };
        Ok(Some((header, end + 1)))
    }

    fn parse_base(text: &[u8]) -> Result<Self, RepHeaderError> {
        let mut fields = text.split(|&b| b == b' ');
        let mut field = || fields.next().ok_or(RepHeaderError::Malformed);
        let rev = parse_rev(field()?).map_err(|e| match e {
            BadRev::NoDigit => RepHeaderError::Revision,
            BadRev::Trailing => RepHeaderError::Malformed,
        })?;
        let item = parse_decimal(field()?).ok_or(RepHeaderError::Number)?;
        let length = parse_decimal(field()?).filter(|&length| length <= i64::MAX as u64);
        let length = length.ok_or(RepHeaderError::Number)?;
        match fields.next() {
            None => Ok(RepHeader::Delta { rev, item, length }),
            Some(_) => Err(RepHeaderError::Malformed),
        }
    }

    /// Appends the line.
    pub fn encode(&self, out: &mut Vec<u8>) {
        match self {
            RepHeader::Plain => out.extend_from_slice(b"PLAIN\n"),
            RepHeader::SelfDelta => out.extend_from_slice(b"DELTA\n"),
            RepHeader::Delta { rev, item, length } => {
                out.extend_from_slice(format!("DELTA {rev} {item} {length}\n").as_bytes());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_round_trips() {
        for text in [
            "PLAIN\n",
            "DELTA\n",
            "DELTA 2 3 4023\n",
            "DELTA 9223372036854775807 18446744073709551615 0\n",
        ] {
            let (header, length) = RepHeader::parse(text.as_bytes())
                .expect("valid")
                .expect("complete");
            let mut out = Vec::new();
            header.encode(&mut out);
            assert_eq!((out.as_slice(), length), (text.as_bytes(), text.len()));
        }
    }

    #[test]
    fn a_cut_header_needs_more_and_a_wrong_one_fails() {
        assert_eq!(RepHeader::parse(b"DELTA 2 3"), Ok(None));
        for (bad, error) in [
            (&b"DELTA 2 3\n"[..], RepHeaderError::Malformed),
            (b"DELTA 2 3 4 5\n", RepHeaderError::Malformed),
            (b"DELTA 2x3 4\n", RepHeaderError::Malformed),
            (b"DELTA  2 3 4\n", RepHeaderError::Revision),
            (b"DELTA 2 x 4\n", RepHeaderError::Number),
            (b"delta\n", RepHeaderError::Malformed),
            (b"\n", RepHeaderError::Malformed),
            (&[b'D'; 200], RepHeaderError::Malformed),
        ] {
            assert_eq!(RepHeader::parse(bad), Err(error));
        }
    }
}
