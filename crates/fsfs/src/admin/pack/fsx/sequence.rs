//! [`Sequence`]: the order in which the node-revisions and contents of a range are placed.

use std::collections::HashMap;

use base::{Cancel, Code, Error, Result};

use super::noderev;
use crate::admin::pack::order::{Address, ItemPositions, NodeRecord, sort_by_path, sort_path};
use crate::admin::pack::range::RevisionRange;
use crate::format::p2l::ItemKind;
use crate::format::rep_line::{Rep, RepLocation};
use crate::store::fsx::in_file;

/// The order of the node-revisions and contents of a range.
pub(super) struct Sequence {
    pub(super) steps: Vec<Step>,
    /// Of each item of the range, whether it has a place.
    pub(super) is_placed: Vec<bool>,
}

/// A step of a [`Sequence`]. Items are named by their places in the range.
pub(super) enum Step {
    NodeRev(u32),
    Content(u32, Rep),
    /// What follows belongs to another node.
    EndOfNode,
}

impl Sequence {
    /// Reads the node-revisions of a range.
    pub(super) fn of(range: &RevisionRange<'_>, cancel: &Cancel) -> Result<Self> {
        let Referrers { mut nodes, reps } = Referrers::read(range, cancel)?;
        let mut planned = SequenceBuilder {
            range,
            positions: ItemPositions::of(&range.items),
            reps,
            sequence: Sequence {
                steps: Vec::new(),
                is_placed: vec![false; range.items.len()],
            },
        };
        for kind in [ItemKind::FileProps, ItemKind::DirProps] {
            for item in range.items.iter().filter(|item| item.kind == kind) {
                planned.content((item.rev.0, item.item))?;
                planned.step(Step::EndOfNode);
            }
        }
        sort_by_path(&mut nodes);
        let is_same =
            |one: &NodeRecord, other: &NodeRecord| one.node == other.node && one.sort_path == other.sort_path;
        for of_node in nodes.chunk_by(is_same) {
            for node in of_node {
                planned.step(Step::NodeRev(node.item));
                if let Some(text) = node.text {
                    planned.content(text)?;
                }
            }
            planned.step(Step::EndOfNode);
        }
        Ok(planned.sequence)
    }
}

/// A sequence that is being made.
struct SequenceBuilder<'r> {
    range: &'r RevisionRange<'r>,
    positions: ItemPositions,
    reps: HashMap<Address, Rep>,
    sequence: Sequence,
}

impl SequenceBuilder<'_> {
    fn step(&mut self, step: Step) {
        self.sequence.steps.push(step);
    }

    /// Places a content, unless it has a place.
    fn content(&mut self, address: Address) -> Result<()> {
        let Some(rep) = self.reps.get(&address) else {
            return Ok(());
        };
        let at = self.positions.find(address);
        let Some(at) = at.filter(|at| self.range.items[*at as usize].kind.is_rep()) else {
            let message = format!("Item {} of r{} is no content", address.1, address.0);
            return Err(Error::new(Code::FS_CORRUPT, message));
        };
        if !std::mem::replace(&mut self.sequence.is_placed[at as usize], true) {
            self.sequence.steps.push(Step::Content(at, *rep));
        }
        Ok(())
    }
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
