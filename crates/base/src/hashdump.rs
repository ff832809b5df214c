//! The `K`/`V` text form of a hash: property lists, directories, lock digests.
//!
//! `K <length>\n<key>\nV <length>\n<value>\n` repeated, ended by a terminator line (`END` on disk, `PROPS-END`
//! in dump streams). The incremental form adds `D <length>\n<key>\n`: delete a key. Lengths count bytes, the
//! payload may hold anything. Decoders hand out slices of their input and allocate nothing.

use crate::error::{Error, Result};
use crate::error_codes::Code;

/// One entry of a hash dump; `value` is `None` for a deletion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry<'a> {
    /// The key.
    pub key: &'a [u8],
    /// The value, or `None` for `D`.
    pub value: Option<&'a [u8]>,
}

/// Reads entries one after the other from a slice.
#[derive(Clone, Debug)]
pub struct Reader<'a> {
    input: &'a [u8],
    at: usize,
    terminator: Terminator,
    incremental: bool,
    failed: bool,
}

/// What ends the entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Terminator {
    /// The line `END`.
    End,
    /// The line `PROPS-END`.
    PropsEnd,
    /// The end of the input: the appended records of a transaction's children file.
    Eof,
}

impl Terminator {
    fn line(self) -> Option<&'static [u8]> {
        match self {
            Terminator::End => Some(b"END"),
            Terminator::PropsEnd => Some(b"PROPS-END"),
            Terminator::Eof => None,
        }
    }
}

impl<'a> Reader<'a> {
    /// A reader of `input`. With `incremental`, `D` entries are accepted.
    pub fn new(input: &'a [u8], terminator: Terminator, incremental: bool) -> Self {
        Reader {
            input,
            at: 0,
            terminator,
            incremental,
            failed: false,
        }
    }

    /// Number of bytes consumed so far; after the last entry it includes the terminator line.
    pub fn consumed(&self) -> usize {
        self.at
    }

    /// The next entry; `None` after the terminator. Once failed, it keeps failing.
    ///
    /// # Errors
    /// `MALFORMED_FILE` if the input is not a hash dump or stops before its terminator.
    pub fn next_entry(&mut self) -> Result<Option<Entry<'a>>> {
        if self.failed {
            return Err(malformed());
        }
        let result = self.entry();
        self.failed = result.is_err();
        result
    }

    fn entry(&mut self) -> Result<Option<Entry<'a>>> {
        if self.terminator == Terminator::Eof && self.at == self.input.len() {
            return Ok(None);
        }
        let line = self.line()?;
        if Some(line) == self.terminator.line() {
            return Ok(None);
        }
        if let Some(length) = line.strip_prefix(b"K ") {
            let key = self.payload(length)?;
            let line = self.line()?;
            let length = line.strip_prefix(b"V ").ok_or_else(malformed)?;
            let value = Some(self.payload(length)?);
            return Ok(Some(Entry { key, value }));
        }
        match line.strip_prefix(b"D ") {
            Some(length) if self.incremental => Ok(Some(Entry {
                key: self.payload(length)?,
                value: None,
            })),
            _ => Err(malformed()),
        }
    }

    fn line(&mut self) -> Result<&'a [u8]> {
        let rest = &self.input[self.at..];
        let length = memchr::memchr(b'\n', rest).ok_or_else(malformed)?;
        self.at += length + 1;
        Ok(&rest[..length])
    }

    fn payload(&mut self, length: &[u8]) -> Result<&'a [u8]> {
        let length = parse_length(length).ok_or_else(malformed)?;
        let rest = &self.input[self.at..];
        if rest.len() <= length || rest[length] != b'\n' {
            return Err(malformed());
        }
        self.at += length + 1;
        Ok(&rest[..length])
    }
}

/// Appends one `K`/`V` entry.
pub fn write_entry(out: &mut Vec<u8>, key: &[u8], value: &[u8]) {
    write_part(out, b'K', key);
    write_part(out, b'V', value);
}

/// Appends one `D` entry.
pub fn write_delete(out: &mut Vec<u8>, key: &[u8]) {
    write_part(out, b'D', key);
}

/// Appends a whole hash, entries in the given order, and the terminator line.
pub fn write<'a>(
    out: &mut Vec<u8>,
    entries: impl IntoIterator<Item = (&'a [u8], &'a [u8])>,
    terminator: Terminator,
) {
    for (key, value) in entries {
        write_entry(out, key, value);
    }
    if let Some(line) = terminator.line() {
        out.extend_from_slice(line);
        out.push(b'\n');
    }
}

/// Reads a property list that ends with `END`; whatever follows it is ignored.
///
/// # Errors
/// `MALFORMED_FILE` if it is no hash dump or a name is not UTF-8.
pub fn read_props(input: &[u8]) -> Result<crate::props::Props> {
    let mut reader = Reader::new(input, Terminator::End, false);
    let mut props = crate::props::Props::new();
    while let Some(entry) = reader.next_entry()? {
        let name = std::str::from_utf8(entry.key).map_err(|_| malformed())?;
        props.insert(name.to_owned(), entry.value.unwrap_or_default().to_vec());
    }
    Ok(props)
}

/// Appends a property list, sorted by name.
pub fn write_props(out: &mut Vec<u8>, props: &crate::props::Props, terminator: Terminator) {
    write(
        out,
        props
            .iter()
            .map(|(name, value)| (name.as_bytes(), value.as_slice())),
        terminator,
    );
}

fn write_part(out: &mut Vec<u8>, tag: u8, bytes: &[u8]) {
    out.push(tag);
    out.push(b' ');
    out.extend_from_slice(bytes.len().to_string().as_bytes());
    out.push(b'\n');
    out.extend_from_slice(bytes);
    out.push(b'\n');
}

fn parse_length(digits: &[u8]) -> Option<usize> {
    if digits.is_empty() || digits.len() > 19 || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    std::str::from_utf8(digits).ok()?.parse().ok()
}

pub(crate) fn malformed() -> Error {
    Error::new(Code::MALFORMED_FILE, "Serialized hash malformed")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::props::Props;

    #[test]
    fn empty_hash_is_four_bytes() {
        let mut out = Vec::new();
        write_props(&mut out, &Props::new(), Terminator::End);
        assert_eq!(out, b"END\n");
        assert!(read_props(b"END\n").expect("empty").is_empty());
    }

    #[test]
    fn payloads_may_hold_anything() {
        let props = Props::from([("a".into(), b"END\nK 1\n\0".to_vec()), ("b b".into(), Vec::new())]);
        let mut out = Vec::new();
        write_props(&mut out, &props, Terminator::End);
        assert_eq!(read_props(&out).expect("what was written"), props);
    }

    #[test]
    fn truncation_anywhere_is_an_error() {
        let mut out = Vec::new();
        write_props(
            &mut out,
            &Props::from([("name".into(), b"value".to_vec())]),
            Terminator::End,
        );
        for end in 0..out.len() {
            assert_eq!(
                read_props(&out[..end]).expect_err("cut").code(),
                Code::MALFORMED_FILE
            );
        }
    }

    #[test]
    fn deletions_need_the_incremental_form() {
        let input = b"D 1\na\nPROPS-END\n";
        let mut reader = Reader::new(input, Terminator::PropsEnd, true);
        assert_eq!(
            reader.next_entry().expect("entry"),
            Some(Entry {
                key: b"a",
                value: None
            })
        );
        assert_eq!(reader.next_entry().expect("end"), None);
        assert_eq!(reader.consumed(), input.len());
        assert!(
            Reader::new(input, Terminator::PropsEnd, false)
                .next_entry()
                .is_err()
        );
    }

    #[test]
    fn huge_lengths_do_not_allocate() {
        assert!(read_props(b"K 9223372036854775807\nx\n").is_err());
    }
}
