//! Writing a segment: blocks, bottom up, then the footer.
//!
//! Only the block under construction of each level is held. The caller takes the bytes from time to time.

use base::Revnum;

use super::block::{BlockPlace, Salt, checksum};
use super::footer::{Footer, MAGIC, SegmentIdentity};
use super::record::{Record, RecordEncoder};
use super::{BLOCK_TARGET, HistoryEntry, LIST_TARGET, list};
use base::number::push_uint;

/// Encodes one segment.
pub(crate) struct SegmentEncoder {
    identity: SegmentIdentity,
    salt: Salt,
    /// Bytes that the caller has not taken yet.
    out: Vec<u8>,
    /// The offset of the next block.
    offset: u64,
    levels: Vec<BlockEncoder>,
    record: PendingRecord,
    entries: u64,
}

/// A block under construction.
#[derive(Default)]
struct BlockEncoder {
    records: RecordEncoder,
    /// Path and revision of the first record.
    first: Option<(Vec<u8>, Revnum)>,
}

/// The record that more entries may be added to.
#[derive(Default)]
struct PendingRecord {
    path: Vec<u8>,
    first: Revnum,
    last: Option<HistoryEntry>,
    count: usize,
    payload: Vec<u8>,
}

impl SegmentEncoder {
    /// Begins a segment.
    pub(crate) fn new(identity: SegmentIdentity) -> Self {
        SegmentEncoder {
            salt: identity.salt(),
            identity,
            out: MAGIC.to_vec(),
            offset: MAGIC.len() as u64,
            levels: vec![BlockEncoder::default()],
            record: PendingRecord::default(),
            entries: 0,
        }
    }

    /// Adds the entries of a record. Records ascend by path and revision.
    pub(crate) fn add(&mut self, record: &Record) {
        if record.path != self.record.path {
            self.end_record();
            self.record.path.clone_from(&record.path);
        }
        for entry in &record.entries {
            if self.record.payload.len() >= LIST_TARGET {
                self.end_record();
            }
            let pending = &mut self.record;
            if pending.count == 0 {
                pending.first = entry.rev;
                pending.last = None;
            }
            list::encode(&mut pending.payload, pending.last.as_ref(), entry);
            pending.last = Some(*entry);
            pending.count += 1;
            self.entries += 1;
        }
    }

    /// Takes the bytes that are final.
    pub(crate) fn take_output(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.out)
    }

    /// The number of bytes that [`SegmentEncoder::take_output`] would return.
    pub(crate) fn output_len(&self) -> usize {
        self.out.len()
    }

    /// Ends the segment; returns the last bytes.
    pub(crate) fn finish(mut self) -> Vec<u8> {
        self.end_record();
        let mut level = 0;
        let root = loop {
            let (path, first, place) = self.end_block(level);
            if level + 1 == self.levels.len() {
                break place;
            }
            level += 1;
            self.push(level, path, first, 0, place_payload(place));
        };
        let footer = Footer {
            identity: self.identity,
            root,
            levels: level + 1,
            entries: self.entries,
        };
        footer.encode(&mut self.out);
        self.out
    }

    fn end_record(&mut self) {
        let pending = &mut self.record;
        if pending.count == 0 {
            return;
        }
        let path = pending.path.clone();
        let (first, count) = (pending.first, std::mem::take(&mut pending.count));
        let payload = std::mem::take(&mut pending.payload);
        self.push(0, path, first, count, payload);
    }

    /// Adds a record to the block of a level. A block that is full is ended before, which adds a record to the level
    /// above, where the same applies.
    fn push(
        &mut self,
        mut level: usize,
        mut path: Vec<u8>,
        mut first: Revnum,
        count: usize,
        payload: Vec<u8>,
    ) {
        let (mut count, mut payload) = (count, payload);
        loop {
            if level == self.levels.len() {
                self.levels.push(BlockEncoder::default());
            }
            let ended = self.levels[level].is_full().then(|| self.end_block(level));
            let block = &mut self.levels[level];
            block.records.push(&path, first, count, &payload);
            block.first.get_or_insert((path, first));
            let Some(above) = ended else { return };
            (path, first, count, payload) = (above.0, above.1, 0, place_payload(above.2));
            level += 1;
        }
    }

    /// Writes the block of a level. Returns its first path and revision, and where it is.
    fn end_block(&mut self, level: usize) -> (Vec<u8>, Revnum, BlockPlace) {
        let block = std::mem::take(&mut self.levels[level]);
        let start = self.out.len();
        self.out.push(level as u8);
        self.out.extend_from_slice(&block.records.bytes);
        let checksum = checksum(&self.salt, self.offset, &self.out[start..]);
        self.out.extend_from_slice(&checksum);
        let place = BlockPlace {
            offset: self.offset,
            length: (self.out.len() - start) as u64,
        };
        self.offset += place.length;
        let (path, first) = block.first.unwrap_or_default();
        (path, first, place)
    }
}

impl BlockEncoder {
    fn is_full(&self) -> bool {
        // A path that is longer than a block would otherwise leave room for one record in each.
        let first = self.first.as_ref().map_or(0, |(path, _)| path.len());
        self.records.bytes.len() >= BLOCK_TARGET + first
    }
}

fn place_payload(place: BlockPlace) -> Vec<u8> {
    let mut payload = Vec::with_capacity(12);
    push_uint(&mut payload, place.offset);
    push_uint(&mut payload, place.length);
    payload
}
