//! A block of a segment, as it is read.
//!
//! | field | encoding |
//! |---|---|
//! | level | 1 byte; 0 for leaves |
//! | records | see [`super::record`] |
//! | checksum | 8 bytes: the first half of the MD5 of the segment's salt, the block's offset (8 bytes, little-endian), and the fields above |

use std::cmp::Ordering;

use base::Revnum;
use base::checksum::Md5;

use super::record::{RecordHead, parse_head};
use super::{HistoryEntry, HistoryIndexError, cmp_paths, list};
use base::number::take_uint;

/// The number that the checksums of a segment's blocks begin with: a block of another segment has another one.
pub(crate) type Salt = [u8; 16];

/// Bytes of a checksum.
pub(crate) const CHECKSUM_LENGTH: usize = 8;

/// A parsed block.
#[derive(Debug)]
pub(crate) struct IndexBlock {
    level: usize,
    bytes: Vec<u8>,
    records: Vec<RecordHead>,
}

/// Where a block is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct BlockPlace {
    pub(crate) offset: u64,
    /// Bytes, with the checksum.
    pub(crate) length: u64,
}

impl IndexBlock {
    /// Parses a block that should be at `offset` and have this level.
    pub(crate) fn parse(
        salt: &Salt,
        offset: u64,
        level: usize,
        bytes: &[u8],
    ) -> Result<Self, HistoryIndexError> {
        let (content, stored) = bytes
            .split_last_chunk::<CHECKSUM_LENGTH>()
            .ok_or(HistoryIndexError::Checksum)?;
        if checksum(salt, offset, content) != *stored {
            return Err(HistoryIndexError::Checksum);
        }
        let (&stored_level, content) = content.split_first().ok_or(HistoryIndexError::Level)?;
        if usize::from(stored_level) != level {
            return Err(HistoryIndexError::Level);
        }
        let mut records = Vec::new();
        let (mut at, mut path, mut last) = (0, Vec::new(), None::<Revnum>);
        let mut whole = Vec::new();
        while at < content.len() {
            let (head, end) = parse_head(content, at, path.len())?;
            whole.clear();
            whole.extend_from_slice(&path[..head.shared]);
            whole.extend_from_slice(&content[head.suffix.clone()]);
            if let Some(last) = last
                && cmp_paths(&path, &whole).then(last.cmp(&head.first)).is_ge()
            {
                return Err(HistoryIndexError::Order);
            }
            last = Some(head.first);
            std::mem::swap(&mut path, &mut whole);
            if (head.count == 0) != (level > 0) {
                return Err(HistoryIndexError::Record);
            }
            records.push(head);
            at = end;
        }
        Ok(IndexBlock {
            level,
            bytes: content.to_vec(),
            records,
        })
    }

    /// Bytes of memory.
    pub(crate) fn bytes(&self) -> usize {
        size_of::<Self>() + self.bytes.len() + self.records.len() * size_of::<RecordHead>()
    }

    /// The number of records.
    pub(crate) fn len(&self) -> usize {
        self.records.len()
    }

    /// True for a leaf.
    pub(crate) fn is_leaf(&self) -> bool {
        self.level == 0
    }

    /// The last record at or before a path and revision, and whether it has this path.
    pub(crate) fn find(&self, path: &[u8], rev: Revnum) -> Option<(usize, bool)> {
        let mut found = None;
        let mut at_path = Vec::new();
        for (at, head) in self.records.iter().enumerate() {
            at_path.truncate(head.shared);
            at_path.extend_from_slice(&self.bytes[head.suffix.clone()]);
            match cmp_paths(&at_path, path) {
                Ordering::Less => found = Some((at, false)),
                Ordering::Equal if head.first <= rev => found = Some((at, true)),
                Ordering::Equal | Ordering::Greater => break,
            }
        }
        found
    }

    /// The bytes of the records.
    pub(crate) fn records(&self) -> &[u8] {
        &self.bytes
    }

    /// The entries of a record of a leaf.
    pub(crate) fn entries(&self, at: usize) -> Result<Vec<HistoryEntry>, HistoryIndexError> {
        let head = self.records.get(at).ok_or(HistoryIndexError::Record)?;
        list::parse(&self.bytes[head.payload.clone()], head.first, head.count)
    }

    /// The block that a record of a higher level names.
    pub(crate) fn child(&self, at: usize) -> Result<BlockPlace, HistoryIndexError> {
        let head = self.records.get(at).ok_or(HistoryIndexError::Record)?;
        let mut payload = &self.bytes[head.payload.clone()];
        let numbers = (take_uint(&mut payload), take_uint(&mut payload));
        match (numbers, payload) {
            ((Some(offset), Some(length)), []) => Ok(BlockPlace { offset, length }),
            _ => Err(HistoryIndexError::Record),
        }
    }
}

/// The checksum of a block at `offset` with this level and these records.
pub(crate) fn checksum(salt: &Salt, offset: u64, content: &[u8]) -> [u8; CHECKSUM_LENGTH] {
    let mut digest = base::checksum::TextDigests::new(false);
    digest.update(salt);
    digest.update(&offset.to_le_bytes());
    digest.update(content);
    let (Md5(md5), _) = digest.finish();
    let mut half = [0; CHECKSUM_LENGTH];
    half.copy_from_slice(&md5[..CHECKSUM_LENGTH]);
    half
}
