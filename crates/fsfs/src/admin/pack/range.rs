//! [`RevisionRange`]: the revisions whose items are placed together.
//!
//! A shard with very many items is split into ranges of revisions, so that the memory for items is bounded.

use std::path::Path;

use base::{Cancel, Result, Revnum};

use super::source::{SourceReader, SourceRevision};
use crate::format::p2l::P2lEntry;
use crate::store::fsx::indexes::check_item;
use crate::tree::Fs;

/// Most bytes of revision files in memory while a range is placed.
const MAX_KEPT_BYTES: u64 = 64 << 20;

/// The revisions of one range.
pub(super) struct RevisionRange<'a> {
    sources: Vec<SourceRevision>,
    /// All items, in the order of revisions and of offsets in their files.
    pub(super) items: Vec<P2lEntry>,
    reader: SourceReader<'a>,
    /// The first revision.
    pub(super) start: Revnum,
    /// True for a single revision with too many items: they keep their order.
    pub(super) is_too_long: bool,
}

impl<'a> RevisionRange<'a> {
    /// Opens the range that begins with revision `start`, with at most `max_items` items unless it is a single revision. Returns
    /// the first revision after it too, at most `end`.
    pub(super) fn read(
        fs: &'a Fs,
        start: Revnum,
        end: u64,
        max_items: usize,
        cancel: &Cancel,
    ) -> Result<(Self, Revnum)> {
        let mut sources: Vec<SourceRevision> = Vec::new();
        let (mut count, mut budget) = (0, MAX_KEPT_BYTES);
        let mut rev = start;
        while rev.0 < end {
            cancel.check()?;
            let source = SourceRevision::read(fs, rev, &mut budget)?;
            count += source.entries.len();
            if count > max_items && !sources.is_empty() {
                break;
            }
            sources.push(source);
            rev = Revnum(rev.0 + 1);
        }
        let items: Vec<P2lEntry> = sources
            .iter()
            .flat_map(|source| source.entries.iter().copied())
            .collect();
        let range = RevisionRange {
            is_too_long: items.len() > max_items,
            items,
            sources,
            reader: SourceReader::new(fs),
            start,
        };
        Ok((range, rev))
    }

    fn source(&self, item: &P2lEntry) -> &SourceRevision {
        let at = item.rev.0 - self.start.0;
        let source = &self.sources[at as usize];
        debug_assert_eq!(source.rev(), item.rev);
        source
    }

    /// The path of the file with an item.
    pub(super) fn path(&self, item: &P2lEntry) -> &Path {
        self.source(item).path()
    }

    /// Calls `take` for the bytes of an item, in pieces.
    pub(super) fn each_piece(
        &self,
        item: &P2lEntry,
        take: &mut dyn FnMut(&[u8]) -> Result<()>,
    ) -> Result<()> {
        self.reader.each_piece(self.source(item), item, take)
    }

    /// The first bytes of an item, at most `most`.
    pub(super) fn first_bytes(&self, item: &P2lEntry, most: u64) -> Result<Vec<u8>> {
        self.reader.start(self.source(item), item, most)
    }

    /// The bytes of an item, compared with its checksum.
    ///
    /// # Errors
    /// `CHECKSUM_MISMATCH`; the system's.
    pub(super) fn checked_bytes(&self, item: &P2lEntry) -> Result<Vec<u8>> {
        let bytes = self.first_bytes(item, item.size)?;
        check_item(&bytes, item.offset, item.checksum)?;
        Ok(bytes)
    }
}
