//! Records one after the other, each with the part of its path that differs from the path before.
//!
//! | field | encoding |
//! |---|---|
//! | bytes of the path that are equal in the record before | index integer, 0 in the first record |
//! | length of the rest of the path | index integer |
//! | rest of the path | bytes |
//! | revision of the first entry | index integer |
//! | number of entries | index integer; 0 in blocks of higher levels |
//! | length of the payload | index integer |
//! | payload | a list ([`super::list`]), or offset and length of a block |

use std::ops::Range;

use base::Revnum;

use super::{HistoryEntry, HistoryIndexError, cmp_paths, list, shared_prefix};
use base::number::{push_uint, take_uint};

/// The fields of a record besides its path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RecordHead {
    /// Bytes of the path that are equal in the record before.
    pub(crate) shared: usize,
    /// Where the rest of the path is.
    pub(crate) suffix: Range<usize>,
    /// The revision of the first entry.
    pub(crate) first: Revnum,
    /// The number of entries; 0 in blocks of higher levels.
    pub(crate) count: usize,
    /// Where the payload is.
    pub(crate) payload: Range<usize>,
}

/// A record with its whole path and its entries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Record {
    pub(crate) path: Vec<u8>,
    pub(crate) entries: Vec<HistoryEntry>,
}

/// Appends records.
#[derive(Debug, Default)]
pub(crate) struct RecordEncoder {
    pub(crate) bytes: Vec<u8>,
    last_path: Vec<u8>,
}

impl RecordEncoder {
    /// Appends a record.
    pub(crate) fn push(&mut self, path: &[u8], first: Revnum, count: usize, payload: &[u8]) {
        let shared = shared_prefix(&self.last_path, path);
        let suffix = &path[shared..];
        push_uint(&mut self.bytes, shared as u64);
        push_uint(&mut self.bytes, suffix.len() as u64);
        self.bytes.extend_from_slice(suffix);
        push_uint(&mut self.bytes, first.0);
        push_uint(&mut self.bytes, count as u64);
        push_uint(&mut self.bytes, payload.len() as u64);
        self.bytes.extend_from_slice(payload);
        self.last_path.truncate(shared);
        self.last_path.extend_from_slice(suffix);
    }

    /// Appends a record with one entry.
    pub(crate) fn push_entry(&mut self, path: &[u8], entry: &HistoryEntry) {
        let mut payload = Vec::with_capacity(20);
        list::encode(&mut payload, None, entry);
        self.push(path, entry.rev, 1, &payload);
    }

    /// Appends a record with the entries of another one.
    pub(crate) fn push_record(&mut self, record: &Record) {
        let mut payload = Vec::with_capacity(record.entries.len() + 20);
        let mut last = None;
        for entry in &record.entries {
            list::encode(&mut payload, last, entry);
            last = Some(entry);
        }
        if let Some(first) = record.entries.first() {
            self.push(&record.path, first.rev, record.entries.len(), &payload);
        }
    }
}

/// Parses the record at `at`, whose predecessor has a path of `last_len` bytes. Returns it and where it ends.
pub(crate) fn parse_head(
    bytes: &[u8],
    at: usize,
    last_len: usize,
) -> Result<(RecordHead, usize), HistoryIndexError> {
    head(bytes, at, last_len).ok_or(HistoryIndexError::Record)
}

fn head(bytes: &[u8], at: usize, last_len: usize) -> Option<(RecordHead, usize)> {
    let mut rest = bytes.get(at..)?;
    let take_range = |rest: &mut &[u8]| -> Option<Range<usize>> {
        let length = usize::try_from(take_uint(rest)?).ok()?;
        let start = bytes.len() - rest.len();
        *rest = rest.get(length..)?;
        Some(start..start + length)
    };
    let shared = usize::try_from(take_uint(&mut rest)?).ok()?;
    if shared > last_len {
        return None;
    }
    let suffix = take_range(&mut rest)?;
    if shared + suffix.len() > super::MAX_PATH {
        return None;
    }
    let first = Revnum(take_uint(&mut rest)?);
    let count = usize::try_from(take_uint(&mut rest)?).ok()?;
    let payload = take_range(&mut rest)?;
    let head = RecordHead {
        shared,
        suffix,
        first,
        count,
        payload,
    };
    Some((head, bytes.len() - rest.len()))
}

/// The records in `bytes`, with their whole paths.
pub(crate) struct RecordReader {
    bytes: Vec<u8>,
    at: usize,
    path: Vec<u8>,
    /// The revision of the last record; `None` before the first.
    last: Option<Revnum>,
}

impl RecordReader {
    /// Starts at the first record.
    pub(crate) fn new(bytes: Vec<u8>) -> Self {
        RecordReader {
            bytes,
            at: 0,
            path: Vec::new(),
            last: None,
        }
    }

    /// Returns the next record.
    pub(crate) fn next_record(&mut self) -> Result<Option<Record>, HistoryIndexError> {
        if self.at == self.bytes.len() {
            return Ok(None);
        }
        let (head, end) = parse_head(&self.bytes, self.at, self.path.len())?;
        self.at = end;
        let path = [&self.path[..head.shared], &self.bytes[head.suffix.clone()]].concat();
        if let Some(last) = self.last
            && cmp_paths(&self.path, &path).then(last.cmp(&head.first)).is_ge()
        {
            return Err(HistoryIndexError::Order);
        }
        self.last = Some(head.first);
        self.path.clone_from(&path);
        let entries = list::parse(&self.bytes[head.payload], head.first, head.count)?;
        Ok(Some(Record { path, entries }))
    }
}
