//! The end of a segment.
//!
//! A segment begins with [`MAGIC`]. Its blocks follow, then the footer:
//!
//! | field | encoding |
//! |---|---|
//! | version | index integer, 1 |
//! | UUID of the repository | length as an index integer, bytes |
//! | first and last revision | two index integers |
//! | fingerprint of the last revision | 16 bytes |
//! | offset and length of the root block | two index integers |
//! | number of levels | index integer |
//! | number of entries | index integer |
//! | length of the fields above | 4 bytes, little-endian |
//! | checksum of the fields above | 8 bytes: the first half of their MD5 |
//! | [`MAGIC`] | 8 bytes |

use base::Revnum;
use base::checksum::Md5;

use super::block::{BlockPlace, CHECKSUM_LENGTH, Salt};
use super::{HistoryIndexError, MAX_BLOCK, MAX_LEVELS};
use base::number::{push_uint, take_uint};

/// The first and the last bytes of a segment.
pub(crate) const MAGIC: &[u8; 8] = b"svenhist";

/// A read of this many bytes at the end contains the footer.
pub(crate) const TAIL_LENGTH: usize = 512;

const VERSION: u64 = 1;

/// Longest UUID, bytes.
const MAX_UUID: usize = 128;

/// The repository and the revisions that a segment is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SegmentIdentity {
    /// The UUID. The instance ID is no part of the identity: it changes with an upgrade or a recovery, which change no
    /// revision.
    pub(crate) uuid: String,
    pub(crate) first: Revnum,
    pub(crate) last: Revnum,
    /// A digest of nodes of the last revision.
    pub(crate) fingerprint: [u8; 16],
}

/// The footer of a segment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Footer {
    pub(crate) identity: SegmentIdentity,
    pub(crate) root: BlockPlace,
    /// The number of levels of blocks.
    pub(crate) levels: usize,
    /// The number of entries.
    pub(crate) entries: u64,
}

impl SegmentIdentity {
    /// The salt of the segment's checksums.
    pub(crate) fn salt(&self) -> Salt {
        let mut bytes = Vec::new();
        self.encode(&mut bytes);
        Md5::of(&bytes).0
    }

    fn encode(&self, out: &mut Vec<u8>) {
        push_uint(out, VERSION);
        push_uint(out, self.uuid.len() as u64);
        out.extend_from_slice(self.uuid.as_bytes());
        push_uint(out, self.first.0);
        push_uint(out, self.last.0);
        out.extend_from_slice(&self.fingerprint);
    }

    fn take(bytes: &mut &[u8]) -> Option<Self> {
        let length = usize::try_from(take_uint(bytes)?).ok()?;
        let (uuid, rest) = bytes.split_at_checked(length.min(MAX_UUID + 1))?;
        let uuid = String::from_utf8(uuid.to_vec())
            .ok()
            .filter(|uuid| uuid.len() <= MAX_UUID)?;
        *bytes = rest;
        let (first, last) = (Revnum(take_uint(bytes)?), Revnum(take_uint(bytes)?));
        let (fingerprint, rest) = bytes.split_first_chunk::<16>()?;
        *bytes = rest;
        (first <= last).then_some(SegmentIdentity {
            uuid,
            first,
            last,
            fingerprint: *fingerprint,
        })
    }
}

impl Footer {
    /// Appends the footer.
    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        let start = out.len();
        self.identity.encode(out);
        push_uint(out, self.root.offset);
        push_uint(out, self.root.length);
        push_uint(out, self.levels as u64);
        push_uint(out, self.entries);
        let checksum = checksum(&out[start..]);
        let length = (out.len() - start) as u32;
        out.extend_from_slice(&length.to_le_bytes());
        out.extend_from_slice(&checksum);
        out.extend_from_slice(MAGIC);
    }

    /// Parses the footer at the end of `tail`, which is the end of a file of `file_length` bytes.
    pub(crate) fn parse(tail: &[u8], file_length: u64) -> Result<Self, HistoryIndexError> {
        let rest = tail.strip_suffix(MAGIC).ok_or(HistoryIndexError::Magic)?;
        let (rest, stored) = rest
            .split_last_chunk::<CHECKSUM_LENGTH>()
            .ok_or(HistoryIndexError::Magic)?;
        let (rest, length) = rest.split_last_chunk::<4>().ok_or(HistoryIndexError::Magic)?;
        let start = usize::try_from(u32::from_le_bytes(*length))
            .ok()
            .and_then(|length| rest.len().checked_sub(length))
            .ok_or(HistoryIndexError::Footer)?;
        let mut fields = &rest[start..];
        if checksum(fields) != *stored {
            return Err(HistoryIndexError::Footer);
        }
        let after = (tail.len() - start) as u64;
        let blocks_end = file_length.checked_sub(after).ok_or(HistoryIndexError::Footer)?;
        if take_uint(&mut fields) != Some(VERSION) {
            return Err(HistoryIndexError::Version);
        }
        let footer = Self::take(&mut fields).ok_or(HistoryIndexError::Footer)?;
        let end = footer.root.offset.checked_add(footer.root.length);
        let is_inside = footer.root.offset >= MAGIC.len() as u64 && end.is_some_and(|end| end <= blocks_end);
        let is_bounded = footer.root.length <= MAX_BLOCK && (1..=MAX_LEVELS).contains(&footer.levels);
        match is_inside && is_bounded && fields.is_empty() {
            true => Ok(footer),
            false => Err(HistoryIndexError::Footer),
        }
    }

    fn take(fields: &mut &[u8]) -> Option<Self> {
        Some(Footer {
            identity: SegmentIdentity::take(fields)?,
            root: BlockPlace {
                offset: take_uint(fields)?,
                length: take_uint(fields)?,
            },
            levels: usize::try_from(take_uint(fields)?).ok()?,
            entries: take_uint(fields)?,
        })
    }
}

fn checksum(bytes: &[u8]) -> [u8; CHECKSUM_LENGTH] {
    let mut half = [0; CHECKSUM_LENGTH];
    half.copy_from_slice(&Md5::of(bytes).0[..CHECKSUM_LENGTH]);
    half
}
