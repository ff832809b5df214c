//! The `K`/`V` text form of a hash: property lists, directories, lock digests.
//!
//! `K <length>\n<key>\nV <length>\n<value>\n` repeated, ended by a terminator line (`END` on disk, `PROPS-END`
//! in dump streams). The incremental form adds `D <length>\n<key>\n`: delete a key. Lengths count bytes, the
//! payload may hold anything. Decoders hand out slices of their input and allocate nothing.

use std::ops::Range;

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

/// The position of one entry in the input, bytes; `value` is `None` for a deletion.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EntryPlace {
    /// The key.
    pub key: Range<usize>,
    /// The value, or `None` for `D`.
    pub value: Option<Range<usize>>,
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

    /// Continues at another place of the input, which must be the start of an entry.
    pub fn move_to(&mut self, at: usize) {
        self.at = at.min(self.input.len());
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
        let place = self.next_place()?;
        Ok(place.map(|place| Entry {
            key: &self.input[place.key],
            value: place.value.map(|value| &self.input[value]),
        }))
    }

    /// As [`Reader::next_entry`], but returns the position of the entry.
    ///
    /// # Errors
    /// As [`Reader::next_entry`].
    #[inline]
    pub fn next_place(&mut self) -> Result<Option<EntryPlace>> {
        if self.failed {
            return Err(malformed());
        }
        let result = self.place();
        self.failed = result.is_err();
        result
    }

    #[inline]
    fn place(&mut self) -> Result<Option<EntryPlace>> {
        let Some(length) = self.plain_length(b'K') else {
            return self.other_place();
        };
        let key = self.key(length)?;
        let value = Some(self.value()?);
        Ok(Some(EntryPlace { key, value }))
    }

    /// The position of an entry that does not begin with a plain `K` line.
    fn other_place(&mut self) -> Result<Option<EntryPlace>> {
        if self.terminator == Terminator::Eof && self.at == self.input.len() {
            return Ok(None);
        }
        let rest = &self.input[self.at..];
        let Some(line) = self.line() else {
            // In stored files the last line may lack its newline.
            let is_end = self.terminator == Terminator::End && rest == b"END";
            self.at += if is_end { rest.len() } else { 0 };
            return match is_end {
                true => Ok(None),
                false => Err(wrong("missing terminator")),
            };
        };
        if Some(line) == self.terminator.line() {
            return Ok(None);
        }
        if let Some(length) = line.strip_prefix(b"K ") {
            let key = self.key(read_length(length, KEY_LENGTH)?)?;
            let value = Some(self.value()?);
            return Ok(Some(EntryPlace { key, value }));
        }
        match line.strip_prefix(b"D ") {
            Some(length) if self.incremental => Ok(Some(EntryPlace {
                key: self.key(read_length(length, KEY_LENGTH)?)?,
                value: None,
            })),
            _ => Err(malformed()),
        }
    }

    /// Reads `<tag> <length>` and the end of the line, if the length is as Subversion writes it: one to nine digits.
    /// Reads nothing and returns `None` otherwise.
    #[inline]
    fn plain_length(&mut self, tag: u8) -> Option<usize> {
        let digits = match &self.input[self.at..] {
            [first, b' ', digits @ ..] if *first == tag => digits,
            _ => return None,
        };
        let mut length = 0;
        for (count, &byte) in digits.iter().enumerate().take(10) {
            match byte {
                b'0'..=b'9' => length = 10 * length + usize::from(byte - b'0'),
                b'\n' if count > 0 => {
                    self.at += 2 + count + 1;
                    return Some(length);
                }
                _ => return None,
            }
        }
        None
    }

    /// The next line; `None` if it has no end.
    fn line(&mut self) -> Option<&'a [u8]> {
        let rest = &self.input[self.at..];
        let length = memchr::memchr(b'\n', rest)?;
        self.at += length + 1;
        Some(&rest[..length])
    }

    fn key(&mut self, length: usize) -> Result<Range<usize>> {
        self.payload(length, "malformed key data", "malformed key data")
    }

    /// The `V` line and the value.
    #[inline]
    fn value(&mut self) -> Result<Range<usize>> {
        let length = match self.plain_length(b'V') {
            Some(length) => length,
            None => {
                let line = self.line().ok_or_else(malformed)?;
                let length = line.strip_prefix(b"V ").ok_or_else(malformed)?;
                read_length(length, "malformed value length")?
            }
        };
        self.payload(length, "missing terminator", "malformed value data")
    }

    /// The next `length` bytes and the end of the line; `short` is wrong if there are too few bytes, `bad` if no line ends there.
    #[inline]
    fn payload(&mut self, length: usize, short: &str, bad: &str) -> Result<Range<usize>> {
        let start = self.at;
        match self.input[start..].get(length) {
            None => Err(wrong(short)),
            Some(b'\n') => {
                self.at += length + 1;
                Ok(start..start + length)
            }
            Some(_) => Err(wrong(bad)),
        }
    }
}

/// What is wrong with the length of a key.
const KEY_LENGTH: &str = "malformed key length";

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

/// Reads a length as C does: white space and a plus sign may stand before it.
fn read_length(text: &[u8], what: &str) -> Result<usize> {
    let number = text.trim_ascii_start();
    let digits = number
        .strip_prefix(b"+")
        .or(number.strip_prefix(b"-"))
        .unwrap_or(number);
    let is_number = !digits.is_empty() && digits.iter().all(u8::is_ascii_digit);
    let parsed = match number.starts_with(b"-") {
        false if is_number => std::str::from_utf8(digits)
            .ok()
            .and_then(|text| text.parse().ok()),
        _ => None,
    };
    parsed.ok_or_else(|| {
        let text = String::from_utf8_lossy(text);
        let message = match is_number {
            true => format!("Number '{text}' is out of range '[0, {}]'", u64::MAX),
            false => format!("Could not convert '{text}' into a number"),
        };
        Error::new(Code::INCORRECT_PARAMS, message)
            .wrap(Code::MALFORMED_FILE, format!("Serialized hash {what}"))
    })
}

fn wrong(what: &str) -> Error {
    Error::new(Code::MALFORMED_FILE, format!("Serialized hash {what}"))
}

pub(crate) fn malformed() -> Error {
    wrong("malformed")
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
        // The last line may lack its newline.
        assert!(read_props(&out[..out.len() - 1]).is_ok());
        for end in 0..out.len() - 1 {
            assert_eq!(
                read_props(&out[..end]).expect_err("cut").code(),
                Code::MALFORMED_FILE
            );
        }
    }

    /// The messages of `svnlook` 1.14.2.
    #[test]
    fn what_is_wrong_is_said_as_the_incumbent_says_it() {
        let length = |part: &str, reason: &str| {
            vec![
                format!("Serialized hash malformed {part} length"),
                reason.to_owned(),
            ]
        };
        let range = "is out of range '[0, 18446744073709551615]'";
        for (input, lines) in [
            ("", vec!["Serialized hash missing terminator".to_owned()]),
            ("ENX\n", vec!["Serialized hash malformed".to_owned()]),
            (
                "K 3\nabc\nV 1\nx\nEN",
                vec!["Serialized hash missing terminator".to_owned()],
            ),
            ("K 3\nab", vec!["Serialized hash malformed key data".to_owned()]),
            (
                "K 3\nabcd\nV 1\nx\nEND\n",
                vec!["Serialized hash malformed key data".to_owned()],
            ),
            (
                "K 3\nabc\nX 1\nx\nEND\n",
                vec!["Serialized hash malformed".to_owned()],
            ),
            ("K 3\nabc\nV", vec!["Serialized hash malformed".to_owned()]),
            ("K x\n", length("key", "Could not convert 'x' into a number")),
            ("K -1\n", length("key", &format!("Number '-1' {range}"))),
            (
                "K 3\nabc\nV 3 \n",
                length("value", "Could not convert '3 ' into a number"),
            ),
            (
                "K 3\nabc\nV 9\nx\nEND\n",
                vec!["Serialized hash missing terminator".to_owned()],
            ),
            (
                "K 3\nabc\nV 1\nxx\nEND\n",
                vec!["Serialized hash malformed value data".to_owned()],
            ),
        ] {
            let error = read_props(input.as_bytes()).expect_err("damaged");
            let found: Vec<String> = error
                .links()
                .map(|link| link.message().unwrap_or("").to_owned())
                .collect();
            assert_eq!(found, lines, "{input:?}");
        }
        let props = read_props(b"K  +3\nabc\nV 01\nx\nEND").expect("lengths as C reads them");
        assert_eq!(props.get("abc").map(Vec::as_slice), Some(&b"x"[..]));
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
