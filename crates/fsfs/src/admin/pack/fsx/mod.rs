//! Writing the pack file of a shard of FSX: items are gathered in containers, which share strings, digests and texts.
//!
//! The order is free. First all changed-path lists, oldest first. Then representations and node-revisions, each in containers of
//! their own that are written when they are full: the property lists of files and of directories, oldest first, and then the trees,
//! sorted by path and node with the newest node-revision first, each with its text. So what is similar shares a container.
//!
//! In a container a text is not a delta. It is rebuilt and compared with its digest when it is packed. Long texts stay the deltas
//! that they are, and so do those of a container that would not be smaller ([`RepGroup`]). A delta may have a text of a container as
//! its base.
//!
//! | module | subject |
//! |---|---|
//! | [`sequence`] | the order of the items |
//! | [`groups`] | containers that are being filled |
//! | [`writer`] | the pack file and its indexes |

mod groups;
mod sequence;
mod writer;

use std::path::Path;
use std::sync::Arc;

use base::ordered::{Limits, cores, in_order};
use base::{Cancel, Result, Revnum};

use self::groups::{ChangesGroup, NodeRevGroup, RepGroup};
use self::sequence::{Sequence, Step};
use self::writer::FsxPackWriter;
use super::range::RevisionRange;
use crate::format::fsx::noderev::FsxNodeRev;
use crate::format::p2l::{ItemKind, P2lEntry};
use crate::store::disk::DiskWriter;
use crate::store::fsx::in_file;
use crate::tree::Fs;
use crate::tree::rep::TextReader;

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
    let mut pack = FsxPackWriter::create(fs, first, path)?;
    let mut rev = first;
    while rev.0 < first.0 + count {
        let (range, next) = RevisionRange::read(fs, rev, first.0 + count, max_items, cancel)?;
        pack_range(fs, &range, &mut pack, cancel)?;
        rev = next;
    }
    pack.finish()
}

/// Places the items of one range.
fn pack_range(
    fs: &Fs,
    range: &RevisionRange<'_>,
    pack: &mut FsxPackWriter<'_>,
    cancel: &Cancel,
) -> Result<()> {
    pack_changes(range, pack, cancel)?;
    let is_changes = |item: &P2lEntry| matches!(item.kind, ItemKind::Changes | ItemKind::ChangesContainer);
    if range.is_too_long {
        let mut rest = range.items.iter().filter(|item| !is_changes(item));
        return rest.try_for_each(|item| pack.copy(range, item));
    }
    let sequence = Sequence::of(range, cancel)?;
    let (mut noderevs, mut contents) = (NodeRevGroup::default(), RepGroup::new());
    let read = |step| {
        let item = read_item(fs, range, step);
        let bytes = item.as_ref().map_or(0, ItemToPlace::bytes);
        (item, bytes)
    };
    in_order(cores(), READ_AHEAD, sequence.steps, read, |item| {
        cancel.check()?;
        match item? {
            ItemToPlace::NodeRev(item, node) => noderevs.add(item, *node, pack),
            ItemToPlace::Content(item, text) => contents.add(item, &text, range, pack),
            ItemToPlace::LongContent(item) => pack.copy(range, item),
            ItemToPlace::EndOfNode => contents.end_of_node(range, pack),
        }
    })?;
    noderevs.close(pack)?;
    contents.close(range, pack)?;
    // Contents without a reference: texts of files that were deleted in the transaction that added them.
    for (item, is_placed) in range.items.iter().zip(sequence.is_placed) {
        if !is_placed && item.kind.is_rep() {
            pack.copy(range, item)?;
        }
    }
    Ok(())
}

/// What other threads have read while this one fills containers.
const READ_AHEAD: Limits = Limits {
    tasks: 256,
    bytes: 16 << 20,
};

/// An item that was read.
enum ItemToPlace<'r> {
    NodeRev(&'r P2lEntry, Box<FsxNodeRev>),
    Content(&'r P2lEntry, Arc<Vec<u8>>),
    /// A content that stays the delta that it is.
    LongContent(&'r P2lEntry),
    EndOfNode,
}

impl ItemToPlace<'_> {
    /// The bytes of memory that it takes, roughly.
    fn bytes(&self) -> usize {
        match self {
            ItemToPlace::NodeRev(item, _) => item.size as usize,
            ItemToPlace::Content(_, text) => text.len(),
            ItemToPlace::LongContent(_) | ItemToPlace::EndOfNode => 0,
        }
    }
}

/// Reads the item of a step.
fn read_item<'r>(fs: &Fs, range: &'r RevisionRange<'_>, step: Step) -> Result<ItemToPlace<'r>> {
    Ok(match step {
        Step::NodeRev(at) => {
            let item = &range.items[at as usize];
            ItemToPlace::NodeRev(item, Box::new(noderev(range, item)?))
        }
        Step::Content(at, rep) if rep.expanded > MAX_CONTAINED => {
            ItemToPlace::LongContent(&range.items[at as usize])
        }
        Step::Content(at, rep) => {
            let text = TextReader::new(fs, Some(&rep), None)?.read_shared()?;
            ItemToPlace::Content(&range.items[at as usize], text)
        }
        Step::EndOfNode => ItemToPlace::EndOfNode,
    })
}

fn pack_changes(range: &RevisionRange<'_>, pack: &mut FsxPackWriter<'_>, cancel: &Cancel) -> Result<()> {
    let mut group = ChangesGroup::default();
    for item in &range.items {
        if matches!(item.kind, ItemKind::Changes | ItemKind::ChangesContainer) {
            cancel.check()?;
            group.add(item, range, pack)?;
        }
    }
    group.close(range, pack)
}

fn noderev(range: &RevisionRange<'_>, item: &P2lEntry) -> Result<FsxNodeRev> {
    in_file(FsxNodeRev::parse(&range.checked_bytes(item)?), range.path(item))
}

/// Longer contents are not put into containers, bytes: a container is decompressed whole to read one of them.
const MAX_CONTAINED: u64 = 128 << 10;
