//! Checking the tree of one revision: every node-revision that it made, and every content of these.
//!
//! Other node-revisions are checked with the revision that made them. So only node-revisions of the revision itself are walked,
//! and of a directory only those entries that differ from its predecessor, provided that the predecessor belongs to the run. (A
//! run over a range checks all entries of other directories.) Mergeinfo counts are checked by the difference to the
//! predecessor's, too.
//!
//! The walk has an explicit stack and a set of visited nodes: no tree is too deep, and a directory inside itself is found.

use std::collections::HashSet;
use std::sync::Arc;

use base::{Code, Error, NodeKind, Result, Revnum, hashdump};

use super::content::{CheckOrigin, ContentBatch};
use crate::format::dir::{DirEntries, DirEntry};
use crate::format::fs_format::BackEnd;
use crate::format::id::{IdTail, NodeRevId, TxnId};
use crate::format::noderev::NodeRev;
use crate::format::rep_line::{Rep, RepLocation};
use crate::store::cache::Key;
use crate::tree::Fs;
use crate::tree::rep::TextReader;

/// The revision or transaction that is checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TreeOwner {
    Revision(Revnum),
    Transaction(TxnId),
}

/// The check of one tree.
pub(super) struct TreeCheck<'a, 'b, 's> {
    fs: &'a Fs,
    batch: &'b mut ContentBatch<'s, 'a>,
    owner: TreeOwner,
    /// Revisions before this one are not checked in this run.
    since: Revnum,
    origin: CheckOrigin,
}

impl<'a, 'b, 's> TreeCheck<'a, 'b, 's> {
    pub(super) fn new(
        fs: &'a Fs,
        batch: &'b mut ContentBatch<'s, 'a>,
        owner: TreeOwner,
        since: Revnum,
        revision: usize,
    ) -> Self {
        let origin = CheckOrigin {
            revision,
            sequence: 0,
        };
        TreeCheck {
            fs,
            batch,
            owner,
            since,
            origin,
        }
    }

    /// Returns the current point of the walk: errors at it come after those of the contents that were reached before.
    pub(super) fn origin(&self) -> CheckOrigin {
        self.origin
    }

    /// Walks the tree.
    ///
    /// # Errors
    /// `FS_CORRUPT`; those of reading. The batch returns wrong digests.
    pub(super) fn run(&mut self) -> Result<()> {
        let root = self.root()?;
        let mut seen = HashSet::from([root.id]);
        let mut stack = vec![root];
        while let Some(node) = stack.pop() {
            for child in self.node(&node)? {
                if !seen.insert(child.id) {
                    let message = format!("Node '{}' is at two places of its revision's tree", child.id);
                    return Err(Error::new(Code::FS_CORRUPT, message));
                }
                stack.push(child);
            }
            self.batch.flush_if_full()?;
        }
        Ok(())
    }

    fn root(&self) -> Result<Arc<NodeRev>> {
        let rev = match self.owner {
            TreeOwner::Transaction(txn) => return self.fs.txn_root_noderev(txn),
            TreeOwner::Revision(rev) => rev,
        };
        let root = self.fs.root_noderev(rev)?;
        let stored = self.fs.with_rev_file(rev, |file| file.root_item(rev))?;
        if root.id.tail != IdTail::Rev(rev, stored) {
            return Err(corrupt(format!("Root node of r{rev} is '{}'", root.id)));
        }
        match (&root.predecessor, rev.prev()) {
            (None, None) => Ok(root),
            (Some(predecessor), Some(before)) => {
                // The incumbent reads the predecessor by its ID, and reports damage there.
                let expected = self.fs.root_noderev(before);
                let expected = expected.map_err(|e| self.fs.noderev(predecessor).err().unwrap_or(e))?;
                if *predecessor != expected.id {
                    let message = format!(
                        "r{rev}'s root node's predecessor is '{predecessor}' but should be '{}'",
                        expected.id
                    );
                    return Err(corrupt(message));
                }
                Ok(root)
            }
            (None, Some(_)) => Err(corrupt(format!(
                "r{rev}'s root node's predecessor is unexpectedly '(null)'"
            ))),
            (Some(_), None) => Err(corrupt(format!("r{rev}'s root node has a predecessor"))),
        }
    }

    /// Checks a node-revision and its contents; returns the children that the owner has made.
    fn node(&mut self, node: &NodeRev) -> Result<Vec<Arc<NodeRev>>> {
        let predecessor = self.predecessor(node)?;
        let children = match node.kind {
            NodeKind::Dir => self.directory(node, predecessor.as_deref())?,
            _ => {
                if let Some(text) = &node.text {
                    self.content(node, text)?;
                }
                if self.counts_mergeinfo() && node.mergeinfo_count != u64::from(node.has_mergeinfo) {
                    let count = node.mergeinfo_count;
                    return Err(corrupt(format!(
                        "Invalid mergeinfo count {count} on file node '{}'",
                        node.id
                    )));
                }
                Vec::new()
            }
        };
        if let Some(props) = &node.props {
            self.props(node, props)?;
        }
        Ok(children)
    }

    fn predecessor(&self, node: &NodeRev) -> Result<Option<Arc<NodeRev>>> {
        let Some(id) = &node.predecessor else {
            if node.count != 0 {
                let message = format!("Node '{}' has no predecessor but counts {}", node.id, node.count);
                return Err(corrupt(message));
            }
            return Ok(None);
        };
        let is_older = match self.owner {
            TreeOwner::Revision(rev) => id.rev().is_some_and(|before| before < rev),
            TreeOwner::Transaction(_) => id.rev().is_some(),
        };
        if !is_older {
            return Err(corrupt(format!(
                "Predecessor '{id}' of node '{}' is not older",
                node.id
            )));
        }
        let predecessor = self.fs.noderev(id)?;
        if predecessor.id != *id || predecessor.kind != node.kind {
            return Err(corrupt(format!(
                "Predecessor of node '{}' is not '{id}'",
                node.id
            )));
        }
        if predecessor.count.checked_add(1) != Some(node.count) {
            let message = format!(
                "Predecessor count mismatch: {} has {}, but {id} has {}",
                node.id, node.count, predecessor.count
            );
            return Err(corrupt(message));
        }
        Ok(Some(predecessor))
    }

    fn directory(&mut self, node: &NodeRev, predecessor: Option<&NodeRev>) -> Result<Vec<Arc<NodeRev>>> {
        let entries = self.entries(node)?;
        let checked = predecessor.filter(|p| {
            matches!(self.owner, TreeOwner::Revision(_)) && p.id.rev().is_some_and(|rev| rev >= self.since)
        });
        let (before, mut mergeinfo) = match checked {
            Some(p) => {
                let inside = i128::from(p.mergeinfo_count) - i128::from(p.has_mergeinfo);
                (self.fs.dir_entries(p)?, inside)
            }
            None => (DirEntries::default(), 0),
        };
        mergeinfo += i128::from(node.has_mergeinfo);
        let mut children = Vec::new();
        for (old, new) in entries.differences(&before) {
            if let Some(old) = old {
                mergeinfo -= i128::from(self.fs.noderev(&old.id()?)?.mergeinfo_count);
            }
            if let Some(new) = new {
                let child = self.child(node, &new)?;
                mergeinfo += i128::from(child.mergeinfo_count);
                if self.is_own(&child.id) {
                    children.push(child);
                }
            }
        }
        if self.counts_mergeinfo() && mergeinfo != i128::from(node.mergeinfo_count) {
            let own = i128::from(node.has_mergeinfo);
            let message = format!(
                "Mergeinfo-count discrepancy on '{}': expected {}+{own}, counted {}",
                node.id,
                node.mergeinfo_count,
                mergeinfo - own
            );
            return Err(corrupt(message));
        }
        Ok(children)
    }

    fn child(&self, parent: &NodeRev, entry: &DirEntry<'_>) -> Result<Arc<NodeRev>> {
        let id = entry.id()?;
        let too_young = match self.owner {
            TreeOwner::Revision(rev) => id.rev().is_none_or(|of| of > rev),
            TreeOwner::Transaction(txn) => id.txn().is_some_and(|of| of != txn),
        };
        let where_ = || format!("Entry '{}' of directory '{}'", entry.name, parent.id);
        if too_young {
            return Err(corrupt(format!("{} is '{id}'", where_())));
        }
        if entry.name.contains('\n') {
            return Err(corrupt(format!("{} has a line feed in its name", where_())));
        }
        let child = self.fs.noderev(&id)?;
        if child.id != id {
            return Err(corrupt(format!(
                "{} is '{}' but should be '{id}'",
                where_(),
                child.id
            )));
        }
        if child.kind != entry.kind {
            return Err(corrupt(format!("{} has the wrong kind", where_())));
        }
        Ok(child)
    }

    fn entries(&mut self, node: &NodeRev) -> Result<DirEntries> {
        let Some(rep) = &node.text else {
            return Ok(DirEntries::default());
        };
        let RepLocation::Rev(rev, item) = rep.location else {
            return self.fs.dir_entries(node);
        };
        let origin = self.next_origin();
        if self.batch.is_covered(rep, origin) {
            return self.fs.dir_entries(node);
        }
        self.check_place(node, rep)?;
        let text = self.batch.read(rep, origin)?;
        let like = self.fs.cached_predecessor(node);
        let entries = self.back_end().parse_dir(text, &node.id, like.as_ref())?;
        let key = Key::new::<DirEntries>(self.fs.instance(), rev.0, item);
        self.fs.cache().insert(key, entries.clone());
        Ok(entries)
    }

    fn props(&mut self, node: &NodeRev, rep: &Rep) -> Result<()> {
        if rep.location == RepLocation::Mutable {
            let path = match self.owner {
                TreeOwner::Transaction(txn) => {
                    self.fs.layout().txn_node_props(txn, node.id.node, node.id.copy)
                }
                TreeOwner::Revision(_) => return self.check_place(node, rep),
            };
            let text = self.fs.disk().read_small(&path);
            let text = text.map_err(|e| Error::io("Can't open file", &path, &e))?;
            return self.back_end().parse_txn_props(&text).map(drop);
        }
        let origin = self.next_origin();
        if self.batch.is_covered(rep, origin) {
            return Ok(());
        }
        self.check_place(node, rep)?;
        let text = match rep.location {
            RepLocation::Rev(..) => self.batch.read(rep, origin)?,
            _ => TextReader::new(self.fs, Some(rep), node.id.txn())?.read_shared()?,
        };
        match self.back_end() {
            BackEnd::Fsfs => {
                let mut reader = hashdump::Reader::new(&text, hashdump::Terminator::End, false);
                while reader.next_entry()?.is_some() {}
                Ok(())
            }
            BackEnd::Fsx => self.back_end().parse_node_props(&text, &node.id).map(drop),
        }
    }

    fn content(&mut self, node: &NodeRev, rep: &Rep) -> Result<()> {
        if matches!(rep.location, RepLocation::Txn(_)) {
            let mut reader = TextReader::new(self.fs, Some(rep), node.id.txn())?;
            loop {
                let length = reader.fill()?.len();
                if length == 0 {
                    return Ok(());
                }
                reader.consume(length);
            }
        }
        let origin = self.next_origin();
        if self.batch.is_covered(rep, origin) {
            return Ok(());
        }
        self.check_place(node, rep)?;
        self.batch.check(rep, origin);
        Ok(())
    }

    /// Checks that the contents of a committed node are in its own revision or an older one.
    fn check_place(&self, node: &NodeRev, rep: &Rep) -> Result<()> {
        let is_good = match (rep.location, self.owner) {
            (RepLocation::Rev(of, _), TreeOwner::Revision(rev)) => of <= rev,
            (RepLocation::Txn(_) | RepLocation::Mutable, TreeOwner::Revision(_)) => false,
            (_, TreeOwner::Transaction(_)) => true,
        };
        if is_good {
            return Ok(());
        }
        Err(corrupt(format!(
            "Node '{}' has a content that is younger than itself",
            node.id
        )))
    }

    fn back_end(&self) -> BackEnd {
        self.fs.format().back_end
    }

    fn next_origin(&mut self) -> CheckOrigin {
        self.origin.sequence = self.origin.sequence.saturating_add(1);
        self.origin
    }

    fn is_own(&self, id: &NodeRevId) -> bool {
        match self.owner {
            TreeOwner::Revision(rev) => id.rev() == Some(rev),
            TreeOwner::Transaction(txn) => id.txn() == Some(txn),
        }
    }

    fn counts_mergeinfo(&self) -> bool {
        self.fs.format().has_mergeinfo()
    }
}

fn corrupt(message: String) -> Error {
    Error::new(Code::FS_CORRUPT, message)
}
