//! An open directory of the walk.

use std::collections::HashMap;

use base::{Depth, FsPath, RelPath, Result, Revnum};
use delta::editor::DirToken;
use fsfs::{DirEntries, DirEntry, Node};

use crate::access::Subtree;
use crate::report::reported_paths::Reported;

/// The node that the client has at a path, and its revision.
#[derive(Clone)]
pub(super) struct SourceNode {
    pub rev: Revnum,
    pub node: Node,
}

/// An open directory.
pub(super) struct Frame {
    pub token: DirToken,
    pub path: RelPath,
    pub source: Option<SourceNode>,
    pub target: Node,
    pub old: DirEntries,
    pub new: DirEntries,
    pub old_at: usize,
    pub new_at: usize,
    pub pass: Pass,
    pub handled: HashMap<Box<str>, HandledSides>,
    pub held: Depth,
    pub requested: Depth,
    pub seen: Subtree,
    /// The revision of the copy that brought the entries here unchanged; `None` until it is looked up.
    pub copied_in_rev: Option<Revnum>,
    dropped: DroppedPaths,
}

/// The paths of a frame that are dropped while the walk is below it.
#[derive(Clone, Copy, Default)]
struct DroppedPaths {
    path: bool,
    source: bool,
    target: bool,
}

/// Paths longer than this many bytes are dropped while the walk is below their directory. The paths of all open
/// directories of a deep tree would take memory that grows with the square of its depth.
const LONG: usize = 1 << 10;

#[derive(Clone, Copy)]
pub(super) enum Pass {
    Reported,
    Deletions,
    Entries,
}

/// The sides of a name that the pass over the reported entries has handled.
#[derive(Clone, Copy, Default)]
pub(super) struct HandledSides {
    pub old: bool,
    pub new: bool,
}

impl SourceNode {
    pub fn child_of(&self, entry: DirEntry<'_>) -> Result<SourceNode> {
        let node = self.node.child_of(entry)?;
        Ok(SourceNode { rev: self.rev, node })
    }
}

impl Frame {
    /// `limits`: the depth at which the client holds the directory, and the requested one.
    pub fn new(
        token: DirToken,
        path: RelPath,
        source: Option<SourceNode>,
        target: Node,
        start_empty: bool,
        limits: (Depth, Depth),
        seen: Subtree,
    ) -> Result<Frame> {
        let (held, requested) = limits;
        let old = match &source {
            Some(source) if !start_empty && requested != Depth::Empty => source.node.entries()?,
            Some(_) | None => DirEntries::default(),
        };
        let new = match requested {
            Depth::Empty => DirEntries::default(),
            _ => target.entries()?,
        };
        Ok(Frame {
            token,
            path,
            source,
            target,
            old,
            new,
            old_at: 0,
            new_at: 0,
            pass: Pass::Reported,
            handled: HashMap::new(),
            held,
            requested,
            seen,
            copied_in_rev: None,
            dropped: DroppedPaths::default(),
        })
    }

    /// Prepares for the walk below `child`: drops long paths that the child's paths contain.
    pub fn suspend(&mut self, child: &Frame) {
        if child.path.len() > LONG {
            self.path = RelPath::empty();
            self.dropped.path = true;
        }
        if is_long_parent(&self.target, &child.target) {
            self.target = self.target.at(FsPath::root());
            self.dropped.target = true;
        }
        if let (Some(source), Some(below)) = (&mut self.source, &child.source)
            && is_long_parent(&source.node, &below.node)
        {
            source.node = source.node.at(FsPath::root());
            self.dropped.source = true;
        }
    }

    /// Restores what [`Frame::suspend`] dropped, after the walk has left `child`.
    pub fn resume(&mut self, child: &Frame) {
        let dropped = std::mem::take(&mut self.dropped);
        if dropped.path {
            self.path = child.path.parent().unwrap_or_default();
        }
        if dropped.target {
            self.target = in_parent_of(&self.target, &child.target);
        }
        if let (Some(source), Some(below), true) = (&mut self.source, &child.source, dropped.source) {
            source.node = in_parent_of(&source.node, &below.node);
        }
    }

    /// True if the client has nothing here, wants everything and may see it: every entry of the target will be sent,
    /// and everything below.
    pub fn is_all_new(&self) -> bool {
        self.old.is_empty()
            && self.handled.is_empty()
            && self.held == Depth::Infinity
            && matches!(self.requested, Depth::Infinity | Depth::Unknown)
            && self.seen == Subtree::All
    }

    pub fn handled(&self, name: &str) -> HandledSides {
        if self.handled.is_empty() {
            return HandledSides::default();
        }
        self.handled.get(name).copied().unwrap_or_default()
    }

    /// Marks a child that the report mentions; `reported` is `None` if it mentions only something below the child, and holds `None` if
    /// the client does not have the child. Returns whether the child is to be compared now.
    pub fn mark_reported(
        &mut self,
        name: &str,
        reported: Option<&Option<Reported>>,
        is_in_target: bool,
    ) -> bool {
        match reported {
            Some(None) => {
                self.mark_handled(name, true, false);
                false
            }
            Some(Some(reported)) if reported.depth == Depth::Exclude => {
                // If it is not in the target, the old entry is left to the pass of deletions.
                self.mark_handled(name, is_in_target, is_in_target);
                false
            }
            Some(Some(_)) | None => {
                self.mark_handled(name, true, true);
                true
            }
        }
    }

    fn mark_handled(&mut self, name: &str, old: bool, new: bool) {
        let handled = self.handled.entry(name.into()).or_default();
        handled.old |= old;
        handled.new |= new;
    }
}

fn is_long_parent(dir: &Node, child: &Node) -> bool {
    child.path().len() > LONG && child.path().rel_str_below(dir.path()) == Some(child.path().basename())
}

fn in_parent_of(dir: &Node, child: &Node) -> Node {
    dir.at(child.path().parent().unwrap_or_else(FsPath::root))
}
