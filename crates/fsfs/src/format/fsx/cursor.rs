//! [`Cursor`]: the unread rest of some bytes, with the error that names what could not be decoded and where.
//!
//! FSX has two integers of variable length. Both have 7 bits in a byte, and the top bit is set on all bytes but the last:
//!
//! | form | order | used in |
//! |---|---|---|
//! | [`Cursor::be`] | the high bits first, as in svndiff | property lists, directories, frames of packed data, svndiff |
//! | [`Cursor::le`] | the low bits first, as in the indexes of FSFS | indexes, packed data |
//!
//! A signed number is stored as the unsigned number of [`base::number::signed`] in one of both forms.

use base::{Code, Error};
use delta::svndiff::varint;

/// Why stored bytes cannot be decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DecodeError {
    code: Code,
    subject: &'static str,
    what: &'static str,
    at: u64,
}

impl DecodeError {
    /// The fault `what` of `subject`, at byte `at` of it.
    pub(crate) fn new(subject: Subject, what: &'static str, at: u64) -> Self {
        DecodeError {
            code: subject.code,
            subject: subject.name,
            what,
            at,
        }
    }

    /// The error number.
    pub(crate) fn code(&self) -> Code {
        self.code
    }

    /// True if more bytes could complete the value.
    pub(crate) fn is_early_end(&self) -> bool {
        self.what == EARLY_END
    }
}

impl From<DecodeError> for Error {
    fn from(e: DecodeError) -> Error {
        Error::new(e.code, format!("{}: {} at byte {}", e.subject, e.what, e.at))
    }
}

/// What is being decoded: its name for messages, and the error number of its faults.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Subject {
    pub(crate) name: &'static str,
    pub(crate) code: Code,
}

impl Subject {
    /// A subject with the error number of a corrupt file.
    pub(crate) const fn file(name: &'static str) -> Self {
        Subject {
            name,
            code: Code::FS_CORRUPT,
        }
    }
}

const EARLY_END: &str = "data ends early";

/// Bytes that are being decoded.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
    subject: Subject,
}

impl<'a> Cursor<'a> {
    /// Starts at the first byte.
    pub(crate) fn new(bytes: &'a [u8], subject: Subject) -> Self {
        Cursor {
            bytes,
            at: 0,
            subject,
        }
    }

    /// The number of bytes that were read.
    pub(crate) fn at(&self) -> usize {
        self.at
    }

    /// The unread bytes.
    pub(crate) fn rest(&self) -> &'a [u8] {
        &self.bytes[self.at..]
    }

    /// True if all bytes were read.
    pub(crate) fn is_empty(&self) -> bool {
        self.at == self.bytes.len()
    }

    /// The fault `what` at this place.
    pub(crate) fn fault(&self, what: &'static str) -> DecodeError {
        DecodeError::new(self.subject, what, self.at as u64)
    }

    /// The fault of bytes that end inside of a value.
    pub(crate) fn early_end(&self) -> DecodeError {
        self.fault(EARLY_END)
    }

    /// Reads an integer with the low bits first.
    pub(crate) fn le(&mut self) -> Result<u64, DecodeError> {
        let mut rest = self.rest();
        match base::number::take_uint(&mut rest) {
            Some(value) => {
                self.at = self.bytes.len() - rest.len();
                Ok(value)
            }
            None if rest.len() < varint::MAX_LEN => Err(self.early_end()),
            None => Err(self.fault("an integer is too large")),
        }
    }

    /// Reads an integer with the high bits first.
    pub(crate) fn be(&mut self) -> Result<u64, DecodeError> {
        let mut rest = self.rest();
        match varint::read(&mut rest) {
            Ok(value) => {
                self.at = self.bytes.len() - rest.len();
                Ok(value)
            }
            Err(varint::VarintFault::Incomplete) => Err(self.early_end()),
            Err(_) => Err(self.fault("an integer is too large")),
        }
    }

    /// Reads an integer with the low bits first that counts things of at least `least` bytes each, which follow.
    pub(crate) fn le_count(&mut self, least: usize) -> Result<usize, DecodeError> {
        let count = self.le()?;
        self.bounded_count(count, least)
    }

    /// As [`Cursor::le_count`], with the high bits first.
    pub(crate) fn be_count(&mut self, least: usize) -> Result<usize, DecodeError> {
        let count = self.be()?;
        self.bounded_count(count, least)
    }

    fn bounded_count(&self, count: u64, least: usize) -> Result<usize, DecodeError> {
        match usize::try_from(count) {
            Ok(count) if count <= self.rest().len() / least.max(1) => Ok(count),
            _ => Err(self.fault("a count is larger than the data")),
        }
    }

    /// Reads `length` bytes.
    pub(crate) fn take(&mut self, length: u64) -> Result<&'a [u8], DecodeError> {
        let taken = usize::try_from(length).ok();
        match taken.and_then(|length| self.rest().get(..length)) {
            Some(taken) => {
                self.at += taken.len();
                Ok(taken)
            }
            None => Err(self.early_end()),
        }
    }

    /// Reads up to the next `end`, which is read but not returned.
    pub(crate) fn until(&mut self, end: u8) -> Result<&'a [u8], DecodeError> {
        match memchr::memchr(end, self.rest()) {
            Some(length) => {
                let taken = &self.rest()[..length];
                self.at += length + 1;
                Ok(taken)
            }
            None => Err(self.early_end()),
        }
    }

    /// Checks that all bytes were read.
    pub(crate) fn finish(&self) -> Result<(), DecodeError> {
        match self.is_empty() {
            true => Ok(()),
            false => Err(self.fault("data follows the end")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SUBJECT: Subject = Subject::file("test");

    #[test]
    fn both_integers_of_one_value() {
        for (le, be, value) in [
            (&[0x00][..], &[0x00][..], 0),
            (&[0x7f], &[0x7f], 127),
            (&[0x90, 0x03], &[0x83, 0x10], 400),
            (&[0x80, 0x80, 0x40], &[0xc0, 0x80, 0x00], 1 << 20),
        ] {
            assert_eq!(Cursor::new(le, SUBJECT).le(), Ok(value));
            assert_eq!(Cursor::new(be, SUBJECT).be(), Ok(value));
        }
    }

    #[test]
    fn faults_have_their_place() {
        let mut cursor = Cursor::new(&[0x01, 0x80], SUBJECT);
        assert_eq!(cursor.le(), Ok(1));
        let e = cursor.le().expect_err("the integer is cut");
        assert!(e.is_early_end());
        assert_eq!(Error::from(e).message(), "test: data ends early at byte 1");
        assert_eq!(
            Cursor::new(&[0xff; 10], SUBJECT)
                .be()
                .map_err(|e| e.is_early_end()),
            Err(false)
        );
        assert!(Cursor::new(&[0xff; 11], SUBJECT).le().is_err());
        let mut cursor = Cursor::new(&[0x09, 0x00], SUBJECT);
        assert!(cursor.le_count(1).is_err());
    }
}
