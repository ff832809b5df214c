//! Writing the pack file of a shard with logical addressing: items in a new order, and one pair of indexes.
//!
//! Items are copied as they are, with their checksums. A shard with very many items is split into ranges of revisions, so that
//! the memory for items is bounded.

use std::path::Path;

use base::checksum::Md5;
use base::{Cancel, Code, Error, Result, Revnum};

use super::order::{self, ItemPositions, NodeRecord, sort_path};
use super::source::{SourceReader, SourceRevision};
use crate::format::footer::Footer;
use crate::format::l2p;
use crate::format::noderev::{MAX_NODEREV, NodeRev};
use crate::format::p2l::{ItemKind, P2lEntry, P2lWriter};
use crate::format::rep_header::{MAX_HEADER, RepHeader};
use crate::format::rep_line::RepLocation;
use crate::store::disk::{Create, DiskWriter};
use crate::tree::Fs;

/// Most bytes of revision files in memory while a range is placed.
const MAX_KEPT_BYTES: u64 = 64 << 20;

/// Bytes that are collected before they are written.
const BUFFER: usize = 256 << 10;

/// Writes the pack file of the shard that begins with `first`; it is not made durable. A range has at most `max_items` items,
/// unless a single revision has more.
pub(super) fn write(
    fs: &Fs,
    first: Revnum,
    path: &Path,
    max_items: usize,
    cancel: &Cancel,
) -> Result<Box<dyn DiskWriter>> {
    let count = fs.format().shard_size;
    let file = fs.disk().write(path, Create::New);
    let file = file.map_err(|e| Error::io("Can't create file", path, &e))?;
    let mut pack = PackWriter {
        path,
        file,
        buffer: Vec::with_capacity(2 * BUFFER),
        written: 0,
        max_items,
        block: fs.conf().block_size.min(4096),
        first,
        p2l: P2lWriter::new(first, fs.conf().p2l_page_size),
        l2p: vec![Vec::new(); usize::try_from(count).unwrap_or_default()],
    };
    let mut rev = first;
    while rev.0 < first.0 + count {
        rev = pack_range(fs, &mut pack, rev, first.0 + count, cancel)?;
    }
    pack.finish(fs.conf().l2p_page_size)
}

/// Places the items of one range, which begins with revision `start`; returns the first revision after it.
fn pack_range(
    fs: &Fs,
    pack: &mut PackWriter<'_>,
    start: Revnum,
    end: u64,
    cancel: &Cancel,
) -> Result<Revnum> {
    let mut sources: Vec<SourceRevision> = Vec::new();
    let (mut count, mut budget) = (0, MAX_KEPT_BYTES);
    let mut rev = start;
    while rev.0 < end {
        cancel.check()?;
        let source = SourceRevision::read(fs, rev, &mut budget)?;
        count += source.entries.len();
        if count > pack.max_items && !sources.is_empty() {
            break;
        }
        sources.push(source);
        rev = Revnum(rev.0 + 1);
    }
    let range = RevisionRange {
        items: sources
            .iter()
            .flat_map(|source| source.entries.iter().copied())
            .collect(),
        sources,
        reader: SourceReader::new(fs),
        start,
    };
    if range.items.len() > pack.max_items {
        // A single very large revision keeps its order.
        for item in &range.items {
            range.copy(item, pack)?;
        }
        return Ok(rev);
    }
    let positions = ItemPositions::of(&range.items);
    let nodes = range.nodes(&positions)?;
    let order = order::order(
        &range.items,
        &positions,
        nodes,
        fs.conf().max_linear_deltification,
        &mut |at| range.base_of(&range.items[at as usize]),
    )?;
    for (done, at) in order.into_iter().enumerate() {
        if done % 1024 == 0 {
            cancel.check()?;
        }
        range.copy(&range.items[at as usize], pack)?;
    }
    Ok(rev)
}

/// The revisions of one range, whose items are placed together.
struct RevisionRange<'a> {
    sources: Vec<SourceRevision>,
    items: Vec<P2lEntry>,
    reader: SourceReader<'a>,
    start: Revnum,
}

impl RevisionRange<'_> {
    fn source(&self, item: &P2lEntry) -> &SourceRevision {
        let at = item.rev.0 - self.start.0;
        let source = &self.sources[at as usize];
        debug_assert_eq!(source.rev(), item.rev);
        source
    }

    fn nodes(&self, positions: &ItemPositions) -> Result<Vec<NodeRecord>> {
        let mut nodes = Vec::new();
        for (at, item) in (0u32..).zip(&self.items) {
            if item.kind != ItemKind::NodeRev {
                continue;
            }
            let bytes = self.reader.start(self.source(item), item, MAX_NODEREV as u64)?;
            let (node, _) = NodeRev::parse(&bytes)?.ok_or_else(|| corrupt(item, "is no node-revision"))?;
            let text = match node.text.map(|text| text.location) {
                Some(RepLocation::Rev(rev, item)) if rev >= self.start => Some((rev.0, item)),
                _ => None,
            };
            if let Some(address) = text
                && positions.find(address).is_none()
            {
                return Err(corrupt(item, "names a text that is not there"));
            }
            nodes.push(NodeRecord {
                sort_path: sort_path(node.created_path.as_str().as_bytes()),
                node: node.id.node,
                rev: item.rev.0,
                count: node.count,
                text,
                item: at,
            });
        }
        Ok(nodes)
    }

    /// Returns the base of a text, if that is in the range.
    fn base_of(&self, item: &P2lEntry) -> Result<Option<(u64, u64)>> {
        let start = self.reader.start(self.source(item), item, MAX_HEADER as u64)?;
        match RepHeader::parse(&start)? {
            Some((RepHeader::Delta { rev, item, .. }, _)) if rev >= self.start => Ok(Some((rev.0, item))),
            _ => Ok(None),
        }
    }

    fn copy(&self, item: &P2lEntry, pack: &mut PackWriter<'_>) -> Result<()> {
        pack.begin(item)?;
        self.reader
            .each_piece(self.source(item), item, &mut |piece| pack.append(piece))
    }
}

/// Writes a pack file.
struct PackWriter<'a> {
    path: &'a Path,
    file: Box<dyn DiskWriter>,
    buffer: Vec<u8>,
    /// Bytes that are written to the file.
    written: u64,
    /// Most items of one range.
    max_items: usize,
    block: u64,
    first: Revnum,
    p2l: P2lWriter,
    l2p: Vec<Vec<Option<u64>>>,
}

impl PackWriter<'_> {
    fn position(&self) -> u64 {
        self.written + self.buffer.len() as u64
    }

    /// Adds padding before an item, and the item to the indexes.
    fn begin(&mut self, item: &P2lEntry) -> Result<()> {
        self.pad(item)?;
        let offset = self.position();
        self.p2l.push(&P2lEntry { offset, ..*item });
        let offsets = (item.rev.0 - self.first.0) as usize;
        let offsets = self
            .l2p
            .get_mut(offsets)
            .ok_or_else(|| corrupt(item, "is of another shard"))?;
        // The source has checked that the number is below the length of its file.
        let number = item.item as usize;
        if offsets.len() <= number {
            offsets.resize(number + 1, None);
        }
        offsets[number] = Some(offset);
        Ok(())
    }

    /// Adds padding: an item that would cross the end of a block starts with the next block, if the padding is short.
    fn pad(&mut self, item: &P2lEntry) -> Result<()> {
        let rest = self.position().next_multiple_of(self.block) - self.position();
        let needed = item.size
            + if item.kind == ItemKind::NodeRev {
                NODE_REV_MARGIN
            } else {
                0
            };
        if rest > 0 && needed > rest && rest < (self.block / 50).max(512) {
            self.p2l.push(&P2lEntry {
                offset: self.position(),
                size: rest,
                kind: ItemKind::Unused,
                rev: self.first,
                item: 0,
                checksum: 0,
            });
            self.append(&vec![0; rest as usize])?;
        }
        Ok(())
    }

    fn append(&mut self, bytes: &[u8]) -> Result<()> {
        self.buffer.extend_from_slice(bytes);
        if self.buffer.len() >= BUFFER {
            self.flush()?;
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<()> {
        let failed = |e| Error::io("Can't write to file", self.path, &e);
        self.file.append(&self.buffer).map_err(failed)?;
        self.written += self.buffer.len() as u64;
        self.buffer.clear();
        Ok(())
    }

    fn finish(mut self, l2p_page_size: u64) -> Result<Box<dyn DiskWriter>> {
        let l2p_offset = self.position();
        let mut index = Vec::new();
        let page_size = usize::try_from(l2p_page_size).unwrap_or(usize::MAX);
        l2p::encode(&mut index, self.first, page_size, &self.l2p);
        let l2p_md5 = Md5::of(&index);
        self.append(&index)?;
        let p2l_offset = self.position();
        index.clear();
        self.p2l.finish(l2p_offset, &mut index);
        let p2l_md5 = Md5::of(&index);
        self.append(&index)?;
        let footer_offset = self.position();
        let mut bytes = Vec::new();
        let footer = Footer {
            l2p_offset,
            l2p_md5,
            p2l_offset,
            p2l_md5,
            footer_offset,
        };
        footer.encode(&mut bytes);
        self.append(&bytes)?;
        self.flush()?;
        Ok(self.file)
    }
}

/// Bytes that must be free after a node-revision in its block, as in the incumbent.
const NODE_REV_MARGIN: u64 = 80;

fn corrupt(item: &P2lEntry, what: &str) -> Error {
    let message = format!("Item {} of r{} {what}", item.item, item.rev);
    Error::new(Code::FS_CORRUPT, message)
}
