//! All header lines of a record, for tools that pass records on.

use crate::{Code, Error, Result};

/// The headers of one record, in the order of the stream. A header that is repeated keeps its position and takes the
/// last value, as in the incumbent. Names and values are bytes without NUL.
///
/// The buffers are reused from record to record. They are bounded: a longer block is an error.
#[derive(Debug, Default)]
pub struct HeaderBlock {
    text: Vec<u8>,
    fields: Vec<Field>,
}

/// The position of a header in the text.
#[derive(Clone, Copy, Debug)]
struct Field {
    name: (usize, usize),
    value: (usize, usize),
}

impl HeaderBlock {
    /// Returns the value of a header.
    pub fn get(&self, name: &str) -> Option<&[u8]> {
        let field = self.find(name.as_bytes())?;
        Some(self.slice(self.fields[field].value))
    }

    /// The names and values, in the order of the stream.
    pub fn iter(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        self.fields
            .iter()
            .map(|field| (self.slice(field.name), self.slice(field.value)))
    }

    pub(super) fn clear(&mut self) {
        self.text.clear();
        self.fields.clear();
    }

    /// Adds a header.
    ///
    /// # Errors
    /// `STREAM_MALFORMED_DATA` if the block becomes too large.
    pub(super) fn push(&mut self, name: &[u8], value: &[u8]) -> Result<()> {
        // The incumbent's headers are C strings.
        let value = &value[..memchr::memchr(0, value).unwrap_or(value.len())];
        if self.text.len() + name.len() + value.len() > MAX_BYTES {
            return Err(too_large());
        }
        let known = self.find(name);
        let mut add = |part: &[u8]| {
            let start = self.text.len();
            self.text.extend_from_slice(part);
            (start, self.text.len())
        };
        let value = add(value);
        match known {
            Some(at) => self.fields[at].value = value,
            None if self.fields.len() == MAX_FIELDS => return Err(too_large()),
            None => {
                let name = add(name);
                self.fields.push(Field { name, value });
            }
        }
        Ok(())
    }

    fn find(&self, name: &[u8]) -> Option<usize> {
        self.fields
            .iter()
            .position(|field| self.slice(field.name) == name)
    }

    fn slice(&self, (start, end): (usize, usize)) -> &[u8] {
        &self.text[start..end]
    }
}

fn too_large() -> Error {
    Error::new(
        Code::STREAM_MALFORMED_DATA,
        "Dump stream contains a record with too many headers",
    )
}

/// Largest block, bytes. Two paths and some digests fit many times.
const MAX_BYTES: usize = 16 << 20;
/// Largest number of different headers. Subversion writes up to fifteen.
const MAX_FIELDS: usize = 1024;
