//! The history of a node: copies, predecessors, and the revisions in which it changed.
//!
//! Copies are lazy: copying a directory makes one new node-revision, and all nodes below keep theirs, which do not
//! record the copy. So whether a node was copied depends on its whole path: the youngest copy root of the node and
//! its ancestors decides.
//!
//! Between two copies, a history is the chain of predecessors of one node-revision, all made at one path. The history
//! index has their revisions, so that they need not be read one by one.

use std::sync::Arc;

use base::{Code, Error, FsPath, Result, Revnum};

use crate::format::id::{IdPart, IdTail};
use crate::format::noderev::NodeRev;
use crate::tree::Fs;
use crate::tree::history_index::{IndexCursor, IndexLookup};
use crate::tree::node::Node;
use crate::tree::root::Root;

/// Walks back through the revisions in which a node changed, as `svnlook history` prints them. The copy of an
/// ancestor counts as a change of every node inside.
pub struct History {
    fs: Fs,
    next: Position,
    copies_crossed: bool,
    index: IndexLookup,
    /// The node-revision at the location that was returned last.
    last: Option<NodeItem>,
}

/// The state of a walk.
enum Position {
    /// Next is the youngest change at or before this location.
    Start {
        path: FsPath,
        rev: Revnum,
    },
    /// Next is the youngest change at or before this node-revision, whose path and closest copy are known.
    At {
        path: FsPath,
        noderev: Arc<NodeRev>,
        copy: Option<ClosestCopy>,
    },
    /// As `At`, for a node-revision of which only the entry in the history index is known.
    Indexed {
        path: FsPath,
        cursor: IndexCursor,
        copy: Option<ClosestCopy>,
    },
    /// A copy was returned; its source is next.
    CopySource(Revnum, FsPath),
    End,
}

/// The copy that a node came with: its own or that of an ancestor.
#[derive(Clone)]
struct ClosestCopy {
    rev: Revnum,
    destination: FsPath,
    /// The node-revision at the path in the revision of the copy.
    there: Arc<NodeRev>,
}

/// A committed node-revision, named by the revision that made it and its item there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NodeItem {
    rev: Revnum,
    item: u64,
}

impl Node {
    /// The closest copy at or above this path that made the node: revision and destination of the copy.
    ///
    /// # Errors
    /// `FS_CORRUPT` and the system's.
    pub fn closest_copy(&self) -> Result<Option<(Revnum, FsPath)>> {
        Ok(closest_copy(self)?.map(|copy| (copy.rev, copy.destination)))
    }

    /// The revision of the first node-revision of the node.
    ///
    /// # Errors
    /// `FS_NOT_REVISION_ROOT` for a node that a transaction made; `FS_CORRUPT`.
    pub fn origin_rev(&self) -> Result<Revnum> {
        let node = self.noderev().node_id();
        if node == IdPart::ROOT {
            return Ok(Revnum::ZERO);
        }
        match node.revision() {
            None => Err(not_a_revision(self.root())),
            Some(rev) if rev != Revnum::ZERO => Ok(rev),
            // Formats 1 and 2 do not record it in the ID.
            Some(_) => self.first_noderev_rev(),
        }
    }

    fn first_noderev_rev(&self) -> Result<Revnum> {
        let mut at = self.noderev().id;
        let mut predecessor = self.noderev().predecessor;
        // Each step must lower the count, so that a cycle of predecessors ends.
        let mut left = self.noderev().count;
        while let Some(id) = predecessor {
            left = left.checked_sub(1).ok_or_else(|| {
                Error::new(
                    Code::FS_CORRUPT,
                    format!("Node '{id}' has more predecessors than it counts"),
                )
            })?;
            at = id;
            predecessor = self.fs().noderev(&id)?.predecessor;
        }
        at.rev().ok_or_else(|| not_a_revision(self.root()))
    }

    /// The history of this node.
    ///
    /// # Errors
    /// `FS_NOT_REVISION_ROOT` in a transaction.
    pub fn history(&self) -> Result<History> {
        let rev = self
            .root()
            .revision()
            .ok_or_else(|| not_a_revision(self.root()))?;
        let next = Position::Start {
            path: self.path().clone(),
            rev,
        };
        Ok(History {
            fs: self.fs().clone(),
            next,
            copies_crossed: false,
            index: IndexLookup::default(),
            last: None,
        })
    }
}

impl NodeItem {
    fn of(noderev: &NodeRev) -> Option<Self> {
        match noderev.id.tail {
            IdTail::Rev(rev, item) => Some(NodeItem { rev, item }),
            IdTail::Txn(_) => None,
        }
    }
}

impl Root {
    /// The node at a path that a history returned, without a look-up of the path: the history names the node-revision.
    ///
    /// # Errors
    /// `FS_CORRUPT` if it is not the one at this path, because the history index differs from the repository; the index
    /// is not used any more then. The system's.
    pub fn node_of_item(&self, path: &FsPath, item: NodeItem) -> Result<Node> {
        let noderev = self.fs().noderev_of_item(item.rev, item.item)?;
        let is_own = Some(item.rev) == self.revision();
        if noderev.id.rev() == Some(item.rev) && (!is_own || noderev.created_path == *path) {
            return Ok(Node::new(self.clone(), path.clone(), noderev));
        }
        Err(self.fs().refuse_history_index(path.rel_str(), item.rev))
    }
}

impl History {
    /// The next older location. The first call returns the youngest change at or before the start. Does not cross
    /// copies unless `cross_copies`.
    ///
    /// # Errors
    /// `FS_NOT_FOUND` if the starting point does not exist; `FS_CORRUPT` and the system's.
    pub fn prev(&mut self, cross_copies: bool) -> Result<Option<(Revnum, FsPath)>> {
        loop {
            match std::mem::replace(&mut self.next, Position::End) {
                Position::End => return Ok(None),
                Position::CopySource(..) if !cross_copies => return Ok(None),
                Position::CopySource(rev, path) => {
                    self.copies_crossed = true;
                    self.next = Position::Start { path, rev };
                }
                Position::Start { path, rev } => {
                    let root = self.fs.root(rev)?;
                    let node = match root.try_node(&path)? {
                        Some(node) => node,
                        None if self.copies_crossed => return Ok(None),
                        None => return Err(root.not_found(&path)),
                    };
                    let copy = closest_copy(&node)?;
                    let noderev = node.shared_noderev();
                    self.next = Position::At { path, noderev, copy };
                }
                Position::At { path, noderev, copy } => return self.report(path, noderev, copy).map(Some),
                Position::Indexed { path, cursor, copy } => {
                    return self.report_indexed(path, cursor, copy).map(Some);
                }
            }
        }
    }

    /// The node-revision at the location that [`History::prev`] returned last; see [`Root::node_of_item`].
    pub fn last_item(&self) -> Option<NodeItem> {
        self.last
    }

    /// Returns the youngest change at or before a node-revision, and sets the position for the next call.
    fn report(
        &mut self,
        path: FsPath,
        noderev: Arc<NodeRev>,
        copy: Option<ClosestCopy>,
    ) -> Result<(Revnum, FsPath)> {
        let created = noderev.id.rev().ok_or_else(|| {
            Error::new(
                Code::FS_CORRUPT,
                format!("Node '{}' is not committed", noderev.id),
            )
        })?;
        if let Some(copy) = &copy
            && copy.rev >= created
        {
            return self.report_copy(copy, path);
        }
        self.last = NodeItem::of(&noderev);
        if noderev.predecessor.is_some()
            && let Some(mut cursor) = self.fs.find_in_index(&mut self.index, &path, &noderev)?
            && cursor.step(&self.fs)?
        {
            let reported = (created, path.clone());
            self.next = Position::Indexed { path, cursor, copy };
            return Ok(reported);
        }
        if let Some(id) = noderev.predecessor {
            let predecessor = self.fs.noderev(&id)?;
            // Each step must go back, so that a cycle of predecessors ends.
            if id.rev().is_none_or(|rev| rev >= created) {
                return Err(Error::new(
                    Code::FS_CORRUPT,
                    format!("Predecessor '{id}' of node '{}' is not older", noderev.id),
                ));
            }
            self.next = Position::At {
                path: path.clone(),
                noderev: predecessor,
                copy,
            };
        }
        Ok((created, path))
    }

    /// As [`History::report`], for an entry of the history index.
    fn report_indexed(
        &mut self,
        path: FsPath,
        mut cursor: IndexCursor,
        copy: Option<ClosestCopy>,
    ) -> Result<(Revnum, FsPath)> {
        let entry = cursor.entry();
        if let Some(copy) = &copy
            && copy.rev >= entry.rev
        {
            let expected = (copy.there.id.tail, copy.there.count);
            let found = (IdTail::Rev(entry.rev, entry.item), entry.count);
            // Another node of the same revision and count was at this path before the copy replaced it.
            if expected != found && !self.last_follows(&copy.there)? {
                return Err(cursor.refuse(&self.fs));
            }
            return self.report_copy(copy, path);
        }
        self.last = Some(NodeItem {
            rev: entry.rev,
            item: entry.item,
        });
        if cursor.step(&self.fs)? {
            let reported = (entry.rev, path.clone());
            self.next = Position::Indexed { path, cursor, copy };
            return Ok(reported);
        }
        // The chain ends here or continues at another path, or the index ends: the repository decides.
        let noderev = self.fs.noderev_of_item(entry.rev, entry.item);
        let is_same = |noderev: &Arc<NodeRev>| {
            let found = (noderev.id.rev(), noderev.count);
            found == (Some(entry.rev), entry.count) && noderev.created_path == path
        };
        match noderev.ok().filter(is_same) {
            Some(noderev) => self.report(path, noderev, copy),
            None => {
                self.fs.check_may_wait()?;
                Err(cursor.refuse(&self.fs))
            }
        }
    }

    /// True if the predecessor of the node-revision that was reported last is this one.
    fn last_follows(&self, expected: &NodeRev) -> Result<bool> {
        let Some(last) = self.last else {
            return Ok(false);
        };
        let last = self.fs.noderev_of_item(last.rev, last.item)?;
        Ok(last.predecessor.is_some_and(|id| id == expected.id))
    }

    /// Returns the revision of a copy; the source is next. The node-revision came with the copy, or was changed together
    /// with it: both are one change.
    fn report_copy(&mut self, copy: &ClosestCopy, path: FsPath) -> Result<(Revnum, FsPath)> {
        self.last = NodeItem::of(&copy.there);
        self.next = match self.source(copy, &path)? {
            Some((rev, path)) => Position::CopySource(rev, path),
            None => Position::End,
        };
        Ok((copy.rev, path))
    }

    /// The location of the node before the copy.
    fn source(&self, copy: &ClosestCopy, path: &FsPath) -> Result<Option<(Revnum, FsPath)>> {
        let destination = self.fs.root(copy.rev)?.node(&copy.destination)?;
        let (Some((rev, source)), Some(below)) = (
            &destination.noderev().copyfrom,
            path.rel_str_below(&copy.destination),
        ) else {
            return Ok(None);
        };
        if *rev >= copy.rev {
            return Err(Error::new(
                Code::FS_CORRUPT,
                format!("Copy of '{source}' is not younger than its source"),
            ));
        }
        Ok(Some((*rev, source.join_str(below))))
    }
}

fn closest_copy(node: &Node) -> Result<Option<ClosestCopy>> {
    let root = node.root();
    let Some((rev, destination)) = root.youngest_copy(node.path())? else {
        return Ok(None);
    };
    let (copy_root, rev) = match rev {
        Some(Revnum::ZERO) => return Ok(None),
        Some(rev) => (node.fs().root(rev)?, rev),
        // A copy of the transaction itself has no revision.
        None => return Ok(None),
    };
    if !destination.contains(node.path()) {
        return Ok(None);
    }
    // The node may have been added below the destination later, or in the same revision.
    let Some(there) = copy_root.try_node(node.path())? else {
        return Ok(None);
    };
    let is_related = there.noderev().is_related(node.noderev());
    let was_added = there.created_rev() == Some(rev) && there.predecessor_id().is_none();
    Ok((is_related && !was_added).then(|| ClosestCopy {
        rev,
        destination,
        there: there.shared_noderev(),
    }))
}

fn not_a_revision(root: &Root) -> Error {
    let name = root.txn_name().unwrap_or_default();
    Error::new(
        Code::FS_NOT_REVISION_ROOT,
        format!("Transaction '{name}' is not a revision root"),
    )
}
