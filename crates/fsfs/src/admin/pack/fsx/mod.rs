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
//! | [`groups`] | containers that are being filled |
//! | [`writer`] | the pack file and its indexes |

mod groups;
mod writer;

use std::collections::HashMap;
use std::path::Path;

use base::{Cancel, Code, Error, Result, Revnum};

use self::groups::{ChangesGroup, NodeRevGroup, RepGroup};
use self::writer::FsxPackWriter;
use super::order::{Address, ItemPositions, NodeRecord, sort_by_path, sort_path};
use super::range::RevisionRange;
use crate::format::fsx::noderev::FsxNodeRev;
use crate::format::p2l::{ItemKind, P2lEntry};
use crate::format::rep_line::{Rep, RepLocation};
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
    let Referrers { mut nodes, reps } = Referrers::read(range, cancel)?;
    let mut contents = Contents {
        fs,
        range,
        positions: ItemPositions::of(&range.items),
        reps,
        is_placed: vec![false; range.items.len()],
        group: RepGroup::new(),
    };
    for kind in [ItemKind::FileProps, ItemKind::DirProps] {
        for item in range.items.iter().filter(|item| item.kind == kind) {
            cancel.check()?;
            contents.add((item.rev.0, item.item), pack)?;
            contents.group.end_of_node(range, pack)?;
        }
    }
    sort_by_path(&mut nodes);
    let mut noderevs = NodeRevGroup::default();
    for of_node in nodes.chunk_by(|one, other| one.node == other.node && one.sort_path == other.sort_path) {
        for node in of_node {
            cancel.check()?;
            let item = &range.items[node.item as usize];
            noderevs.add(item, noderev(range, item)?, pack)?;
            if let Some(text) = node.text {
                contents.add(text, pack)?;
            }
        }
        contents.group.end_of_node(range, pack)?;
    }
    noderevs.close(pack)?;
    contents.group.close(range, pack)?;
    // Contents without a reference: texts of files that were deleted in the transaction that added them.
    for (item, is_placed) in range.items.iter().zip(contents.is_placed) {
        if !is_placed && item.kind.is_rep() {
            pack.copy(range, item)?;
        }
    }
    Ok(())
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

/// The node-revisions of a range, and the rep lines that they have.
struct Referrers {
    nodes: Vec<NodeRecord>,
    /// The rep lines of contents in the range.
    reps: HashMap<Address, Rep>,
}

impl Referrers {
    fn read(range: &RevisionRange<'_>, cancel: &Cancel) -> Result<Self> {
        let (mut nodes, mut reps) = (Vec::new(), HashMap::new());
        for (at, item) in (0u32..).zip(&range.items) {
            if item.kind != ItemKind::NodeRev {
                continue;
            }
            cancel.check()?;
            let stored = noderev(range, item)?;
            let node = in_file(stored.into_noderev(), range.path(item))?;
            let mut address = |rep: Option<Rep>| match rep?.location {
                RepLocation::Rev(rev, number) if rev >= range.start => {
                    reps.insert((rev.0, number), rep?);
                    Some((rev.0, number))
                }
                _ => None,
            };
            address(node.props);
            nodes.push(NodeRecord {
                text: address(node.text),
                sort_path: sort_path(node.created_path.as_str().as_bytes()),
                node: node.node_id(),
                rev: item.rev.0,
                count: node.count,
                item: at,
            });
        }
        Ok(Referrers { nodes, reps })
    }
}

/// The contents of a range.
struct Contents<'r> {
    fs: &'r Fs,
    range: &'r RevisionRange<'r>,
    positions: ItemPositions,
    reps: HashMap<Address, Rep>,
    is_placed: Vec<bool>,
    group: RepGroup,
}

impl Contents<'_> {
    /// Places a content, unless it has a place.
    fn add(&mut self, address: Address, pack: &mut FsxPackWriter<'_>) -> Result<()> {
        let Some(rep) = self.reps.get(&address) else {
            return Ok(());
        };
        let at = self.positions.find(address);
        let item = at.map(|at| (at as usize, &self.range.items[at as usize]));
        let Some((at, item)) = item.filter(|(_, item)| item.kind.is_rep()) else {
            let message = format!("Item {} of r{} is no content", address.1, address.0);
            return Err(Error::new(Code::FS_CORRUPT, message));
        };
        if std::mem::replace(&mut self.is_placed[at], true) {
            return Ok(());
        }
        if rep.expanded > MAX_CONTAINED {
            return pack.copy(self.range, item);
        }
        let text = TextReader::new(self.fs, Some(rep), None)?.read_shared()?;
        self.group.add(item, &text, self.range, pack)
    }
}

/// Longer contents are not put into containers, bytes: a container is decompressed whole to read one of them.
const MAX_CONTAINED: u64 = 128 << 10;
