//! Writing the pack file of a shard with logical addressing: items in a new order, and one pair of indexes.
//!
//! Items are copied as they are, with their checksums.

use std::path::Path;

use base::{Cancel, Code, Error, Result, Revnum};

use super::order::{self, ItemPositions, NodeRecord, sort_path};
use super::pack_file::PackFile;
use super::range::RevisionRange;
use crate::format::l2p;
use crate::format::noderev::{MAX_NODEREV, NodeRev};
use crate::format::p2l::{ItemKind, P2lEntry, P2lWriter};
use crate::format::rep_header::{MAX_HEADER, RepHeader};
use crate::format::rep_line::RepLocation;
use crate::store::disk::DiskWriter;
use crate::tree::Fs;

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
    let mut pack = PackWriter {
        file: PackFile::create(fs.disk(), path)?,
        block: fs.conf().block_size.min(4096),
        first,
        p2l: P2lWriter::new(first, fs.conf().p2l_page_size),
        l2p: vec![Vec::new(); usize::try_from(count).unwrap_or_default()],
    };
    let mut rev = first;
    while rev.0 < first.0 + count {
        let (range, next) = RevisionRange::read(fs, rev, first.0 + count, max_items, cancel)?;
        pack_range(fs, &range, &mut pack, cancel)?;
        rev = next;
    }
    pack.finish(fs.conf().l2p_page_size)
}

/// Places the items of one range.
fn pack_range(fs: &Fs, range: &RevisionRange<'_>, pack: &mut PackWriter<'_>, cancel: &Cancel) -> Result<()> {
    if range.is_too_long {
        return range.items.iter().try_for_each(|item| pack.copy(range, item));
    }
    let positions = ItemPositions::of(&range.items);
    let nodes = nodes(range, &positions)?;
    let order = order::order(
        &range.items,
        &positions,
        nodes,
        fs.conf().max_linear_deltification,
        &mut |at| base_of(range, &range.items[at as usize]),
    )?;
    for (done, at) in order.into_iter().enumerate() {
        if done % 1024 == 0 {
            cancel.check()?;
        }
        pack.copy(range, &range.items[at as usize])?;
    }
    Ok(())
}

fn nodes(range: &RevisionRange<'_>, positions: &ItemPositions) -> Result<Vec<NodeRecord>> {
    let mut nodes = Vec::new();
    for (at, item) in (0u32..).zip(&range.items) {
        if item.kind != ItemKind::NodeRev {
            continue;
        }
        let bytes = range.first_bytes(item, MAX_NODEREV as u64)?;
        let (node, _) = NodeRev::parse(&bytes)?.ok_or_else(|| corrupt(item, "is no node-revision"))?;
        let text = match node.text.map(|text| text.location) {
            Some(RepLocation::Rev(rev, item)) if rev >= range.start => Some((rev.0, item)),
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
fn base_of(range: &RevisionRange<'_>, item: &P2lEntry) -> Result<Option<(u64, u64)>> {
    let start = range.first_bytes(item, MAX_HEADER as u64)?;
    match RepHeader::parse(&start)? {
        Some((RepHeader::Delta { rev, item, .. }, _)) if rev >= range.start => Ok(Some((rev.0, item))),
        _ => Ok(None),
    }
}

/// Writes a pack file.
struct PackWriter<'a> {
    file: PackFile<'a>,
    block: u64,
    first: Revnum,
    p2l: P2lWriter,
    l2p: Vec<Vec<Option<u64>>>,
}

impl PackWriter<'_> {
    /// Appends an item.
    fn copy(&mut self, range: &RevisionRange<'_>, item: &P2lEntry) -> Result<()> {
        self.begin(item)?;
        range.each_piece(item, &mut |piece| self.file.append(piece))
    }

    /// Adds padding before an item, and the item to the indexes.
    fn begin(&mut self, item: &P2lEntry) -> Result<()> {
        self.pad(item)?;
        let offset = self.file.position();
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
        let position = self.file.position();
        let rest = position.next_multiple_of(self.block) - position;
        let needed = item.size
            + if item.kind == ItemKind::NodeRev {
                NODE_REV_MARGIN
            } else {
                0
            };
        if rest > 0 && needed > rest && rest < (self.block / 50).max(512) {
            self.p2l.push(&P2lEntry {
                offset: position,
                size: rest,
                kind: ItemKind::Unused,
                rev: self.first,
                item: 0,
                checksum: 0,
            });
            self.file.append(&vec![0; rest as usize])?;
        }
        Ok(())
    }

    fn finish(mut self, l2p_page_size: u64) -> Result<Box<dyn DiskWriter>> {
        let (mut l2p, mut p2l) = (Vec::new(), Vec::new());
        let page_size = usize::try_from(l2p_page_size).unwrap_or(usize::MAX);
        l2p::encode(&mut l2p, self.first, page_size, &self.l2p);
        self.p2l.finish(self.file.position(), &mut p2l);
        self.file.finish(&l2p, &p2l)
    }
}

/// Bytes that must be free after a node-revision in its block, as in the incumbent.
const NODE_REV_MARGIN: u64 = 80;

pub(super) fn corrupt(item: &P2lEntry, what: &str) -> Error {
    let message = format!("Item {} of r{} {what}", item.item, item.rev);
    Error::new(Code::FS_CORRUPT, message)
}
