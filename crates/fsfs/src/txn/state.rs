//! The state of an open transaction in memory: its tree, its counters, its properties and the log of its changes.
//!
//! A transaction starts as a copy of the root node-revision of its base. A changed node gets a node-revision of its own, and so
//! does every directory above it ("bubble up"). Everything else stays a reference to the base. [`TxnState`] holds those
//! node-revisions with their directories and property lists. It reads committed nodes and spilled parts; `write_files` writes it in
//! the incumbent's formats, `begin` reads it back, `commit` turns it into a revision.
//!
//! A changed directory is its committed list with an overlay of changes: adding one file to a directory of ten thousand takes one
//! entry.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use base::{Code, Error, FsPath, NodeKind, Props, Result, Revnum};
use parking_lot::Mutex;

use super::change_log::ChangeLog;
use super::children::Children;
use super::item_numbers::ItemNumbers;
use super::nodes::{NodeRef, Nodes};
use crate::format::dir::{DirEntry, EntryChange};
use crate::format::fs_format::BackEnd;
use crate::format::id::{IdPart, IdTail, NodeRevId, TxnId};
use crate::format::noderev::{CopyRoot, NodeLine, NodeRev};
use crate::format::proto_index::FIRST_ITEM;
use crate::format::rep_line::Rep;
use crate::store::path_chain::PathChain;
use crate::tree::Fs;
use crate::tree::root::Root;

pub(crate) use crate::tree::open_txns::NodeKey;

/// The tree, counters, properties and log of a transaction.
#[derive(Debug)]
pub(crate) struct TxnState {
    pub(crate) id: TxnId,
    pub(crate) name: String,
    pub(crate) nodes: Nodes,
    /// The next number for a node ID or a uniquifier.
    pub(crate) next_node: u64,
    pub(crate) next_copy: u64,
    /// The numbers of items, which in FSX node-revisions have too.
    pub(crate) items: ItemNumbers,
    /// The log of changes, oldest first.
    pub(crate) changes: ChangeLog,
    /// The transaction's own properties.
    pub(crate) props: Arc<Props>,
    /// Node-revisions that were deleted again. Their files, if they have any, must be removed.
    pub(crate) removed: HashSet<NodeKey>,
    /// Node IDs found at copy roots, by revision and path: a memo.
    copyroots: HashMap<(Revnum, FsPath), IdPart>,
    /// The directories on the way to the path that was looked up last.
    pub(super) path_chain: Mutex<PathChain>,
    /// The parts that the files of the transaction contain.
    pub(crate) on_disk: OnDisk,
}

/// The parts of a transaction that its files contain.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct OnDisk {
    /// Number of log entries.
    pub(crate) changes: usize,
    /// Length of the log file, bytes. A longer file means that another process has appended to it.
    pub(crate) log_bytes: u64,
    /// The next node number and the next copy number.
    pub(crate) counters: Option<(u64, u64)>,
    /// True if the file has the current properties.
    pub(crate) props: bool,
}

/// A node-revision of the transaction.
#[derive(Clone, Debug)]
pub(crate) struct TxnNode {
    pub(crate) noderev: Arc<NodeRev>,
    /// The entries of a changed directory. Its `text` is [`Rep::MUTABLE`] then.
    pub(crate) children: Option<Box<Children>>,
    /// The property list, if it was changed. `props` of the node-revision is [`Rep::MUTABLE`] then.
    pub(crate) props: Option<Arc<Props>>,
    /// True if the node-revision's file agrees with `noderev`.
    pub(crate) is_on_disk: bool,
    /// True if the property list's file agrees with `props`.
    pub(crate) props_on_disk: bool,
    /// The round of [`Nodes`] in which it was used last.
    pub(super) used_in_round: u32,
}

impl TxnNode {
    pub(crate) fn new(noderev: NodeRev) -> Self {
        TxnNode {
            noderev: Arc::new(noderev),
            children: None,
            props: None,
            is_on_disk: false,
            props_on_disk: false,
            used_in_round: 0,
        }
    }

    /// Returns the node-revision for a change.
    pub(crate) fn change(&mut self) -> &mut NodeRev {
        self.is_on_disk = false;
        let noderev = Arc::make_mut(&mut self.noderev);
        // Of the root: from now on it has no revision.
        noderev.is_fresh_txn_root = false;
        noderev
    }
}

impl TxnState {
    /// A transaction without changes. About `max_in_memory` node-revisions, and as many entries of the log, are held in memory.
    pub(crate) fn new(
        fs: &Fs,
        id: TxnId,
        name: String,
        root: NodeRev,
        props: Props,
        max_in_memory: usize,
    ) -> Self {
        let back_end = fs.format().back_end;
        TxnState {
            id,
            name,
            nodes: Nodes::new(back_end, id.root(), TxnNode::new(root), max_in_memory),
            next_node: 0,
            next_copy: 0,
            items: ItemNumbers::starting_at(FIRST_ITEM),
            changes: ChangeLog::new(back_end, max_in_memory),
            props: Arc::new(props),
            removed: HashSet::new(),
            copyroots: HashMap::new(),
            path_chain: Mutex::default(),
            on_disk: OnDisk::default(),
        }
    }

    /// Returns the revision that the tree is based on: the one of the root's predecessor, which a merge replaces.
    pub(crate) fn base(&self) -> Revnum {
        let predecessor = self.nodes.root().and_then(|root| root.noderev.predecessor);
        let base = predecessor.and_then(|id| id.rev()).or(self.id.base());
        base.unwrap_or(Revnum::ZERO)
    }

    /// Returns the key of the root directory.
    pub(crate) fn root(&self) -> NodeKey {
        self.id.root()
    }

    /// Returns the ID of a new node-revision of a node and a copy, and both parts if the ID does not have them.
    pub(super) fn new_noderev_id(
        &self,
        fs: &Fs,
        node: IdPart,
        copy: IdPart,
    ) -> (NodeRevId, Option<Box<NodeLine>>) {
        match fs.format().back_end {
            BackEnd::Fsfs => (self.node_id((node, copy)), None),
            BackEnd::Fsx => (
                NodeRevId::of_txn_item(self.id, self.items.take()),
                Some(Box::new(NodeLine { node, copy })),
            ),
        }
    }

    /// Returns the ID of one of the transaction's own node-revisions.
    pub(crate) fn node_id(&self, key: NodeKey) -> NodeRevId {
        NodeRevId {
            node: key.0,
            copy: key.1,
            tail: IdTail::Txn(self.id),
        }
    }

    /// Returns one of the transaction's own node-revisions.
    pub(crate) fn node(&self, key: NodeKey) -> Result<NodeRef<'_>> {
        let node = self.nodes.get(key)?;
        node.ok_or_else(|| no_such_node(&self.node_id(key), &self.name))
    }

    pub(crate) fn node_mut(&mut self, key: NodeKey) -> Result<&mut TxnNode> {
        let id = self.node_id(key);
        let node = self.nodes.get_mut(key)?;
        node.ok_or_else(|| no_such_node(&id, &self.name))
    }

    /// True if the directory of the transaction has no file but that of its root.
    pub(super) fn has_only_root_on_disk(&self) -> bool {
        self.on_disk == OnDisk::default() && !self.nodes.has_spilled() && !self.changes.has_spilled()
    }

    /// Moves node-revisions and log entries of a large transaction to files of its directory.
    pub(super) fn spill_excess(&mut self, fs: &Fs) {
        if self.nodes.is_large() || self.changes.is_large() {
            let dir = fs.layout().txn(&self.name);
            self.nodes.spill_excess(fs, &dir);
            self.changes.spill_excess(fs, &dir);
        }
    }

    /// Returns the key of a node-revision that is the transaction's own; `None` for a committed one.
    pub(crate) fn key_of(&self, id: &NodeRevId) -> Option<NodeKey> {
        (id.tail == IdTail::Txn(self.id)).then_some((id.node, id.copy))
    }

    /// Returns the node-revision of an ID, the transaction's own or a committed one.
    pub(crate) fn noderev(&self, fs: &Fs, id: &NodeRevId) -> Result<Arc<NodeRev>> {
        match self.key_of(id) {
            Some(key) => Ok(self.node(key)?.noderev.clone()),
            None => fs.noderev(id),
        }
    }

    /// Returns the entry `name` of a directory, the transaction's own or a committed one.
    pub(crate) fn find(&self, fs: &Fs, dir: &NodeRev, name: &str) -> Result<EntryChange> {
        if let Some(key) = self.key_of(&dir.id)
            && let Some(children) = &self.node(key)?.children
        {
            return children.find(name);
        }
        fs.dir_entries(dir)?.find_owned(name)
    }

    /// Returns the root of this transaction, for error messages.
    pub(crate) fn as_root(&self, fs: &Fs) -> Root {
        Root::of_transaction(fs, self.id, &self.name, self.base())
    }

    /// Adds a node-revision, in place of one with the same key.
    pub(crate) fn insert(&mut self, key: NodeKey, node: TxnNode) {
        self.nodes.insert(key, node);
    }

    /// Makes the successor of a committed node that is reached through `parent` at `path`.
    pub(super) fn successor_of(
        &mut self,
        fs: &Fs,
        old: &NodeRev,
        parent: NodeKey,
        path: FsPath,
    ) -> Result<NodeRev> {
        let is_branch = self.is_copy_target(fs, old)?;
        let parent = self.node(parent)?.noderev.clone();
        let copy = if old.copy_id() == IdPart::ROOT || old.copy_id() == parent.copy_id() || !is_branch {
            parent.copy_id()
        } else if old.created_path == path {
            old.copy_id()
        } else {
            // A copy inside of a copy, reached through the outer copy: it becomes a branch of its own.
            self.new_copy_id()
        };
        let copyroot = if is_branch { old } else { &*parent };
        let (id, line) = self.new_noderev_id(fs, old.node_id(), copy);
        Ok(NodeRev {
            line,
            id,
            kind: old.kind,
            predecessor: Some(old.id),
            count: old.count + 1,
            text: old.text,
            props: old.props,
            created_path: path,
            copyfrom: None,
            copyroot: Some(explicit_copyroot(copyroot)),
            is_fresh_txn_root: false,
            mergeinfo_count: old.mergeinfo_count,
            has_mergeinfo: old.has_mergeinfo,
        })
    }

    /// True if the node itself is what was copied at its copy root, and not just something below it.
    fn is_copy_target(&mut self, fs: &Fs, node: &NodeRev) -> Result<bool> {
        let (Some(rev), path) = node.copyroot() else {
            return Ok(false);
        };
        if node.copyroot.is_none() {
            return Ok(true);
        }
        if path.is_root() {
            return Ok(node.node_id() == IdPart::ROOT);
        }
        let key = (rev, path.clone());
        let there = match self.copyroots.get(&key) {
            Some(there) => *there,
            None => {
                let there = fs.root(rev)?.node(path)?.noderev().node_id();
                self.copyroots.insert(key, there);
                there
            }
        };
        Ok(there == node.node_id())
    }

    /// Sets or deletes an entry of one of the transaction's own directories.
    pub(crate) fn set_entry(
        &mut self,
        fs: &Fs,
        dir: NodeKey,
        name: &str,
        value: Option<(NodeKind, NodeRevId)>,
    ) -> Result<()> {
        let node = self.node(dir)?;
        if node.children.is_none() {
            let base = fs.dir_entries(&node.noderev)?;
            let node = self.node_mut(dir)?;
            node.children = Some(Box::new(Children::new(base)));
            node.change().text = Some(Rep::MUTABLE);
            // Subversion takes a uniquifier here and does not use it. The numbers must be the same.
            if fs.format().has_uniquifiers() {
                self.next_node += 1;
            }
        }
        if let Some(children) = &mut self.node_mut(dir)?.children {
            children.set(name, value);
        }
        Ok(())
    }

    /// Removes a node-revision that is no longer in the tree, and the transaction's own ones below it.
    ///
    /// # Errors
    /// Those of reading back spilled node-revisions.
    pub(crate) fn remove_nodes(&mut self, id: &NodeRevId) -> Result<()> {
        let mut pending = Vec::from_iter(self.key_of(id));
        while let Some(key) = pending.pop() {
            let Some(node) = self.nodes.remove(key)? else {
                continue;
            };
            self.removed.insert(key);
            let children = node.children.unwrap_or_default();
            let below = children.overlay.values().flatten();
            pending.extend(below.filter_map(|(_, id)| self.key_of(id)));
            for entry in children.base.iter().filter(DirEntry::is_uncommitted) {
                pending.extend(self.key_of(&entry.id()?));
            }
        }
        Ok(())
    }

    pub(crate) fn new_node_id(&mut self) -> IdPart {
        self.next_node += 1;
        IdPart::temporary(self.next_node - 1)
    }

    pub(crate) fn new_copy_id(&mut self) -> IdPart {
        self.next_copy += 1;
        IdPart::temporary(self.next_copy - 1)
    }

    /// Changes the number of nodes with mergeinfo, by `added` minus `removed`, in `node` and in the directories above the path
    /// that [`TxnState::find_for_change`] has walked to last. All are the transaction's own.
    pub(crate) fn add_mergeinfo(&mut self, node: Option<NodeKey>, added: u64, removed: u64) -> Result<()> {
        if added == removed {
            return Ok(());
        }
        self.for_each_parent(|state, key| state.add_mergeinfo_to(key, added, removed))?;
        match node {
            Some(key) if key != self.root() => self.add_mergeinfo_to(key, added, removed),
            _ => Ok(()),
        }
    }

    fn add_mergeinfo_to(&mut self, key: NodeKey, added: u64, removed: u64) -> Result<()> {
        let node = self.node_mut(key)?;
        let count = node.noderev.mergeinfo_count.checked_add(added);
        let count = count.and_then(|count| count.checked_sub(removed));
        let Some(count) = count.filter(|&count| count <= 1 || node.noderev.kind == NodeKind::Dir) else {
            let id = node.noderev.id;
            return Err(Error::new(
                Code::FS_CORRUPT,
                format!("Can't change the mergeinfo count on node-revision {id}"),
            ));
        };
        node.change().mergeinfo_count = count;
        Ok(())
    }
}

fn no_such_node(id: &NodeRevId, txn: &str) -> Error {
    Error::new(
        Code::FS_ID_NOT_FOUND,
        format!("Reference to non-existent node '{id}' in transaction '{txn}'"),
    )
}

/// Returns the copy root of a node-revision, also where the node-revision leaves it out because it is the node itself.
pub(crate) fn explicit_copyroot(noderev: &NodeRev) -> CopyRoot {
    match &noderev.copyroot {
        Some(root) => root.clone(),
        None => CopyRoot {
            rev: noderev.id.rev(),
            path: noderev.created_path.clone(),
        },
    }
}
