//! Looking up paths in a transaction.
//!
//! The path chain stays valid because every change of a directory goes through [`TxnState::find_for_change`], which cuts the
//! chain above the changed path, and [`TxnState::make_parents_mutable`], which replaces the IDs of the directories that become
//! the transaction's own. Other changes of the tree (a merge) empty the chain first. A transaction that is read from files has a
//! new [`TxnState`].

use std::sync::Arc;

use base::{FsPath, Result};

use super::state::{NodeKey, TxnNode, TxnState};
use crate::format::noderev::NodeRev;
use crate::store::path_chain::{Link, prefix};
use crate::tree::Fs;
use crate::tree::root::{PathLookup, PathWalk};

impl TxnState {
    /// Looks up a path.
    ///
    /// # Errors
    /// Those of reading.
    pub(crate) fn look_up(&self, fs: &Fs, path: &FsPath) -> Result<PathLookup> {
        let start = self.path_chain.lock().start(path);
        let (at, dir) = match start.link {
            None => (0, self.node(self.root())?.noderev.clone()),
            Some(link) => (link.end, self.noderev(fs, &link.id)?),
        };
        // The chain of a transaction needs no copies.
        let walk = PathWalk::down(path, at, dir, None, |dir, name| {
            match self.find(fs, dir, name)? {
                Some((_, id)) => Ok(Some((id, self.noderev(fs, &id)?))),
                None => Ok(None),
            }
        })?;
        if !walk.passed.is_empty() {
            self.path_chain
                .lock()
                .extend(path, start.known, &walk.passed, None);
        }
        Ok(walk.found)
    }

    /// Looks up a path for a change. Its parent must exist. Afterwards the chain ends at the parent.
    ///
    /// # Errors
    /// `FS_NOT_FOUND`, `FS_NOT_DIRECTORY`; those of reading.
    pub(super) fn find_for_change(&mut self, fs: &Fs, path: &FsPath) -> Result<Option<Arc<NodeRev>>> {
        let known = self.path_chain.get_mut().cut_above(path);
        let found = self.look_up(fs, path)?;
        for at in known..self.path_chain.get_mut().links().len() {
            let id = self.path_chain.get_mut().links()[at].id;
            if let Some(key) = self.key_of(&id) {
                // More lookups in this directory follow: it stays in memory.
                self.node_mut(key)?;
            }
        }
        let parent_length = path.len() - path.basename().len() - 1;
        match found {
            PathLookup::Node(node) => Ok(Some(node)),
            PathLookup::Nothing(_) if self.path_chain.get_mut().end() == parent_length => Ok(None),
            PathLookup::Nothing(_) => Err(self.as_root(fs).not_found(path)),
            PathLookup::BelowFile(file) => Err(self.as_root(fs).not_directory(&file)),
        }
    }

    /// Looks up a path that must exist, for a change.
    ///
    /// # Errors
    /// As [`TxnState::find_for_change`].
    pub(super) fn find_existing_for_change(&mut self, fs: &Fs, path: &FsPath) -> Result<Arc<NodeRev>> {
        let node = self.find_for_change(fs, path)?;
        node.ok_or_else(|| self.as_root(fs).not_found(path))
    }

    /// Makes the directories above a path the transaction's own, and returns the key of the last. [`TxnState::find_for_change`]
    /// has just looked up that path.
    ///
    /// # Errors
    /// Those of reading.
    pub(super) fn make_parents_mutable(&mut self, fs: &Fs, path: &FsPath) -> Result<NodeKey> {
        let mut chain = std::mem::take(self.path_chain.get_mut());
        let mut parent = self.root();
        for at in chain.owned.saturating_sub(1)..chain.links().len() {
            let Link { id, end, .. } = chain.links()[at];
            parent = match self.key_of(&id) {
                Some(key) => key,
                None => {
                    let dir = self.noderev(fs, &id)?;
                    let key = self.make_mutable(fs, &dir, parent, prefix(path, end))?;
                    chain.replace(at, self.node_id(key));
                    key
                }
            };
        }
        chain.owned = chain.links().len();
        *self.path_chain.get_mut() = chain;
        Ok(parent)
    }

    /// Makes a node and the directories above it the transaction's own, and returns its key.
    /// [`TxnState::find_existing_for_change`] has just looked up its path.
    ///
    /// # Errors
    /// Those of reading.
    pub(super) fn make_node_mutable(&mut self, fs: &Fs, path: &FsPath, node: &NodeRev) -> Result<NodeKey> {
        let parent = self.make_parents_mutable(fs, path)?;
        match self.key_of(&node.id) {
            Some(key) => Ok(key),
            None => self.make_mutable(fs, node, parent, path.clone()),
        }
    }

    /// Replaces a committed node by a successor that is the transaction's own.
    fn make_mutable(&mut self, fs: &Fs, old: &NodeRev, parent: NodeKey, path: FsPath) -> Result<NodeKey> {
        let name = path.basename().to_owned();
        let clone = self.successor_of(fs, old, parent, path)?;
        let (key, kind) = ((clone.id.node, clone.id.copy), clone.kind);
        self.insert(key, TxnNode::new(clone));
        self.set_entry(fs, parent, &name, Some((kind, self.node_id(key))))?;
        self.spill_excess(fs);
        Ok(key)
    }

    /// Calls `change` for the directories above a path, the root first. [`TxnState::find_for_change`] has just looked up that
    /// path, and the directories are the transaction's own.
    ///
    /// # Errors
    /// Those of `change`.
    pub(super) fn for_each_parent(
        &mut self,
        mut change: impl FnMut(&mut TxnState, NodeKey) -> Result<()>,
    ) -> Result<()> {
        let chain = std::mem::take(self.path_chain.get_mut());
        change(self, self.root())?;
        for link in chain.links() {
            if let Some(key) = self.key_of(&link.id) {
                change(self, key)?;
            }
        }
        *self.path_chain.get_mut() = chain;
        Ok(())
    }
}
