//! The order of items in a pack with logical addressing.
//!
//! Any order is valid. This one is the incumbent's, so that packs are the same byte for byte, and it places items together that
//! are read together. First all changed-path lists, then all property lists, newest first. Then the trees: node-revisions sorted
//! by path, the newest of each path (its *head*) before its text, and the texts of a path in the order in which a delta chain is
//! read. The older node-revisions come last: only histories need them.
//!
//! This module does no I/O: a callback finds the base of a delta, and is called only where the base matters.

use base::Result;

use crate::format::id::IdPart;
use crate::format::p2l::{ItemKind, P2lEntry};

/// The address of an item: revision and item number.
pub(super) type Address = (u64, u64);

/// The fields of a node-revision that determine the order.
#[derive(Clone, Debug)]
pub(super) struct NodeRecord {
    /// The path at which it was created, as [`sort_path`] returns it.
    pub(super) sort_path: Box<[u8]>,
    pub(super) node: IdPart,
    pub(super) rev: u64,
    /// Number of predecessors.
    pub(super) count: u64,
    /// The address of its text, if that is in the range that is being ordered.
    pub(super) text: Option<Address>,
    /// Its index among the items of the range.
    pub(super) item: u32,
}

/// Returns a path that sorts paths with `trunk` and `branch` before all others.
pub(super) fn sort_path(path: &[u8]) -> Box<[u8]> {
    let mut sorted: Box<[u8]> = path.into();
    for (word, first) in [(&b"trunk"[..], 1), (b"branch", 2)] {
        let found: Vec<usize> = memchr::memmem::find_iter(path, word).collect();
        found.into_iter().for_each(|at| sorted[at] = first);
    }
    sorted
}

/// Indexes of items, by address.
pub(super) struct ItemPositions(Vec<(Address, u32)>);

impl ItemPositions {
    pub(super) fn of(items: &[P2lEntry]) -> Self {
        let mut positions: Vec<_> = (0u32..)
            .zip(items)
            .map(|(at, item)| ((item.rev.0, item.item), at))
            .collect();
        positions.sort_unstable();
        ItemPositions(positions)
    }

    pub(super) fn find(&self, address: Address) -> Option<u32> {
        let at = self
            .0
            .binary_search_by_key(&address, |position| position.0)
            .ok()?;
        Some(self.0[at].1)
    }
}

/// Returns the order of the items of a range of revisions: indexes into `items`, each once. `base_of` returns the item of the
/// range that is the base of a text, if there is one.
pub(super) fn order(
    items: &[P2lEntry],
    positions: &ItemPositions,
    mut nodes: Vec<NodeRecord>,
    max_linear: u64,
    base_of: &mut dyn FnMut(u32) -> Result<Option<Address>>,
) -> Result<Vec<u32>> {
    let mut out = OrderedItems::new(items.len());
    for kind in [ItemKind::Changes, ItemKind::FileProps, ItemKind::DirProps] {
        let of_kind = (0u32..).zip(items).filter(|(_, item)| item.kind == kind);
        let mut of_kind: Vec<_> = of_kind.map(|(at, item)| ((item.rev.0, item.item), at)).collect();
        of_kind.sort_unstable_by(|a, b| b.cmp(a));
        of_kind.into_iter().for_each(|(_, at)| out.push_once(at));
    }
    sort_by_path(&mut nodes);
    let nodes = sort_by_delta_chain(nodes, max_linear, positions, base_of)?;
    for (node, is_head) in &nodes {
        if *is_head {
            out.push_once(node.item);
        }
        if let Some(text) = node.text.and_then(|address| positions.find(address)) {
            out.push_once(text);
        }
    }
    nodes.iter().for_each(|(node, _)| out.push_once(node.item));
    // Items without a reference: texts of files that were deleted in the transaction that added them.
    (0u32..).zip(items).for_each(|(at, _)| out.push_once(at));
    Ok(out.order)
}

/// Sorts the node-revisions by path and node, the newest first.
pub(super) fn sort_by_path(nodes: &mut [NodeRecord]) {
    nodes.sort_unstable_by(|a, b| {
        let by_path = a.sort_path.cmp(&b.sort_path);
        by_path.then_with(|| (b.node, b.rev, b.item).cmp(&(a.node, a.rev, a.item)))
    });
}

/// Sorts the node-revisions (which are sorted by path) in the order in which their texts are to be placed; true marks the first
/// of each path.
fn sort_by_delta_chain(
    nodes: Vec<NodeRecord>,
    max_linear: u64,
    positions: &ItemPositions,
    base_of: &mut dyn FnMut(u32) -> Result<Option<Address>>,
) -> Result<Vec<(NodeRecord, bool)>> {
    let (mut ordered, mut rest) = (Vec::with_capacity(nodes.len()), Vec::new());
    let mut path = 0u32;
    let mut before: Option<&[u8]> = None;
    let mut of_path = Vec::with_capacity(nodes.len());
    for node in &nodes {
        let is_head = before != Some(&node.sort_path);
        path += u32::from(is_head);
        before = Some(&node.sort_path);
        of_path.push((path, is_head));
    }
    for (node, (path, is_head)) in nodes.into_iter().zip(of_path) {
        let roundness = node.count & node.count.wrapping_neg();
        let is_base = roundness >= max_linear && roundness >= node.count / 4;
        if node.count < max_linear || is_base {
            ordered.push((node, is_head));
        } else {
            rest.push(Some((node, is_head, path)));
        }
    }
    // Follows the delta chain of each path once; records of one path are adjacent.
    let mut wanted: Option<(u32, Option<Address>)> = None;
    for slot in &mut rest {
        let Some((node, is_head, path)) = slot.take_if(|(node, _, path)| match &mut wanted {
            Some((at, text)) if at == path => *text == node.text,
            none => {
                *none = Some((*path, node.text));
                true
            }
        }) else {
            continue;
        };
        if let Some(at) = node.text.and_then(|address| positions.find(address))
            && let Some(base) = base_of(at)?
            && positions.find(base).is_some()
        {
            wanted = Some((path, Some(base)));
        }
        ordered.push((node, is_head));
    }
    ordered.extend(
        rest.into_iter()
            .flatten()
            .map(|(node, is_head, _)| (node, is_head)),
    );
    Ok(ordered)
}

/// A list of items that takes each item once.
struct OrderedItems {
    order: Vec<u32>,
    done: Vec<bool>,
}

impl OrderedItems {
    fn new(count: usize) -> Self {
        OrderedItems {
            order: Vec::with_capacity(count),
            done: vec![false; count],
        }
    }

    fn push_once(&mut self, item: u32) {
        let done = &mut self.done[item as usize];
        if !*done {
            *done = true;
            self.order.push(item);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::Revnum;

    #[test]
    fn trunk_and_branches_come_first() {
        assert_eq!(&*sort_path(b"/trunk/a"), b"/\x01runk/a");
        assert_eq!(&*sort_path(b"/branches/trunk"), b"/\x02ranches/\x01runk");
        assert_eq!(&*sort_path(b"/tags"), b"/tags");
    }

    fn item(rev: u64, item: u64, kind: ItemKind) -> P2lEntry {
        P2lEntry {
            offset: 0,
            size: 1,
            kind,
            rev: Revnum(rev),
            item,
            checksum: 0,
        }
    }

    #[test]
    fn every_item_is_placed_once_even_one_that_nobody_refers_to() {
        let items = [
            item(1, 3, ItemKind::FileText),
            item(1, 4, ItemKind::NodeRev),
            item(1, 1, ItemKind::Changes),
            item(2, 3, ItemKind::FileText),
            item(2, 4, ItemKind::NodeRev),
            item(2, 1, ItemKind::Changes),
            item(2, 5, ItemKind::FileProps),
        ];
        let node = |rev, at| NodeRecord {
            sort_path: sort_path(b"/f"),
            node: IdPart::permanent(0, Revnum(1)),
            rev,
            count: rev - 1,
            text: (rev == 2).then_some((2, 3)),
            item: at,
        };
        let order = order(
            &items,
            &ItemPositions::of(&items),
            vec![node(1, 1), node(2, 4)],
            16,
            &mut |_| Ok(None),
        );
        assert_eq!(order.expect("nothing can fail"), [5, 2, 6, 4, 3, 1, 0]);
    }
}
