//! Writing a transaction's tree as items of the new revision.
//!
//! The order is depth first, names ascending: the changed children of a directory, then its entries, its properties, and its
//! node-revision. So the root comes last, and nothing that is written needs a change later. Temporary IDs become permanent ones
//! on the way. The transaction itself is only read: if the commit fails, it is as it was.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use base::{Code, Error, NodeKind, Props, Result, Revnum};
use delta::window::WINDOW_SIZE;

use super::children::Children;
use super::folded_log::FoldedLog;
use super::proto_rev::ProtoWriter;
use super::state::{NodeKey, TxnState};
use crate::format::change_list::ChangeList;
use crate::format::changes;
use crate::format::dir::{DirEntries, DirEntry};
use crate::format::fs_format::BackEnd;
use crate::format::id::{IdPart, IdTail, NodeRevId};
use crate::format::noderev::{CopyRoot, NodeLine, NodeRev};
use crate::format::p2l::ItemKind;
use crate::format::rep_line::{Rep, RepLocation, Uniquifier};
use crate::format::short_line::NextIds;
use crate::store::cache::{Chunk, Key};
use crate::tree::Fs;
use crate::txn::rep_write::{RepSharing, SmallRep, write_small_rep};

/// The items that were written, for the trailer and for the cache.
pub(super) struct WrittenTree {
    rev: Revnum,
    /// Item of the root node-revision.
    pub(super) root: u64,
    /// Item of the changed paths.
    pub(super) changes: u64,
    root_noderev: Option<Arc<NodeRev>>,
    /// At most [`MAX_CACHED`] of each kind.
    noderevs: Vec<Arc<NodeRev>>,
    /// Items of directories, with their contents as stored.
    dirs: Vec<(u64, DirEntries, Arc<Vec<u8>>)>,
    props: Vec<(u64, Arc<Props>)>,
    /// `None` if there are more than [`MAX_CACHED`].
    changed_paths: Option<ChangeList>,
}

/// Writes one revision's tree.
pub(super) struct TreeWriter<'a> {
    pub(super) fs: &'a Fs,
    pub(super) state: &'a TxnState,
    pub(super) proto: &'a mut ProtoWriter,
    pub(super) sharing: &'a mut RepSharing,
    pub(super) rev: Revnum,
    /// Formats 1 and 2: added to the numbers of temporary IDs.
    pub(super) counters: Option<NextIds>,
}

/// A node whose children are being written.
struct Frame {
    key: NodeKey,
    /// The transaction's own children that are not written yet; the next one is the last.
    children: Vec<NodeKey>,
}

impl TreeWriter<'_> {
    /// Writes all node-revisions with their lists and properties, and the changed paths.
    ///
    /// # Errors
    /// `FS_CORRUPT` if the transaction is no valid tree; those of sharing; the system's.
    pub(super) fn write(mut self) -> Result<WrittenTree> {
        let log = FoldedLog::of(&self.state.changes)?;
        let mut written = WrittenTree {
            rev: self.rev,
            root: 0,
            changes: 0,
            root_noderev: None,
            noderevs: Vec::new(),
            dirs: Vec::new(),
            props: Vec::new(),
            changed_paths: match &log {
                FoldedLog::InMemory(log) if log.len() <= MAX_CACHED => {
                    Some(log.iter().map(|change| &change.info).collect())
                }
                FoldedLog::InMemory(_) | FoldedLog::Spilled(_) => None,
            },
        };
        let mut next_number = self.state.next_node;
        // Permanent IDs of nodes whose parents are not written yet.
        let mut ids: HashMap<NodeKey, NodeRevId> = HashMap::new();
        let mut stack = vec![self.frame(self.state.root())?];
        // The transaction may have been read from files, which any process can have written: it need not be a tree.
        let mut seen = self
            .sharing
            .reads_disk()
            .then(|| HashSet::from([self.state.root()]));
        while let Some(top) = stack.last_mut() {
            if let Some(child) = top.children.pop() {
                if seen.as_mut().is_some_and(|seen| !seen.insert(child)) {
                    return Err(in_tree_twice(&self.state.node_id(child)));
                }
                stack.push(self.frame(child)?);
                continue;
            }
            let key = top.key;
            stack.pop();
            let id = self.write_node(key, &mut ids, &mut next_number, &mut written)?;
            ids.insert(key, id);
        }
        if let Some(NodeRevId {
            tail: IdTail::Rev(_, item),
            ..
        }) = ids.get(&self.state.root())
        {
            written.root = *item;
        }
        written.changes = self.write_changes(&log)?;
        Ok(written)
    }

    /// Writes the list of changed paths.
    fn write_changes(&mut self, log: &FoldedLog<'_>) -> Result<u64> {
        match self.fs.format().back_end {
            BackEnd::Fsfs => self.stream_changes(log),
            BackEnd::Fsx => self.write_fsx_changes(log),
        }
    }

    /// Writes the list of changed paths in pieces. A list that is too long for readers is an error.
    pub(super) fn stream_changes(&mut self, log: &FoldedLog<'_>) -> Result<u64> {
        let back_end = self.fs.format().back_end;
        let mut piece = Vec::new();
        let mut total = 0;
        self.proto.start_item();
        log.each(&mut |change| {
            back_end.encode_change(change, &mut piece);
            if piece.len() >= WINDOW_SIZE {
                total += piece.len();
                if total + WINDOW_SIZE > changes::MAX_LENGTH {
                    return Err(Error::new(
                        Code::FS_GENERAL,
                        "The paths that one revision changes take more than 1 GiB",
                    ));
                }
                self.proto.append(&piece)?;
                piece.clear();
            }
            Ok(())
        })?;
        piece.push(changes::END);
        self.proto.append(&piece)?;
        self.proto.end_item(ItemKind::Changes, Some(CHANGES_ITEM))
    }

    fn frame(&self, key: NodeKey) -> Result<Frame> {
        let mut children = Vec::new();
        if let Some(list) = &self.state.node(key)?.children {
            for entry in list.entries()?.iter().rev().filter(DirEntry::is_uncommitted) {
                children.extend(self.state.key_of(&entry.id()?));
            }
        }
        Ok(Frame { key, children })
    }

    fn write_node(
        &mut self,
        key: NodeKey,
        ids: &mut HashMap<NodeKey, NodeRevId>,
        next_number: &mut u64,
        written: &mut WrittenTree,
    ) -> Result<NodeRevId> {
        let format = self.fs.format();
        let node = self.state.node(key)?;
        let mut noderev = NodeRev::clone(&node.noderev);
        if let Some(children) = &node.children {
            noderev.text = Some(self.write_entries(children, &noderev, ids, written)?);
        } else if noderev.kind == NodeKind::File {
            noderev.text = noderev.text.map(|rep| self.sharing.commit_text(rep, self.rev));
        }
        if let Some(list) = &node.props {
            let uniquifier = format.has_uniquifiers().then(|| {
                *next_number += 1;
                Uniquifier {
                    txn: self.state.id,
                    number: *next_number - 1,
                }
            });
            let mut content = Vec::new();
            format.back_end.encode_props(list, &mut content);
            let rep = self.write_small(SmallRep::Props(uniquifier), &content, &noderev)?;
            if let RepLocation::Rev(rev, item) = rep.location
                && rev == self.rev
            {
                push_limited(&mut written.props, (item, list.clone()));
            }
            noderev.props = Some(rep);
        }
        let is_root = key == self.state.root();
        self.finish_node(&mut noderev, is_root)?;
        let mut text = Vec::new();
        format.encode_noderev(&noderev, &mut text);
        let item = match noderev.id.tail {
            IdTail::Rev(_, item) => item,
            IdTail::Txn(_) => return Err(unfinished(&noderev)),
        };
        self.proto.append_item(ItemKind::NodeRev, Some(item), &text)?;
        let id = noderev.id;
        let noderev = Arc::new(noderev);
        if is_root {
            written.root_noderev = Some(noderev.clone());
        }
        push_limited(&mut written.noderevs, noderev);
        Ok(id)
    }

    /// Writes the entries of a directory, with the permanent IDs of its children.
    fn write_entries(
        &mut self,
        children: &Children,
        noderev: &NodeRev,
        ids: &mut HashMap<NodeKey, NodeRevId>,
        written: &mut WrittenTree,
    ) -> Result<Rep> {
        let entries = children.entries()?;
        let mut committed = Vec::new();
        for entry in entries.iter().filter(DirEntry::is_uncommitted) {
            let id = entry.id()?;
            if let Some(key) = self.state.key_of(&id) {
                let id = ids.remove(&key).ok_or_else(|| in_tree_twice(&id))?;
                committed.push((entry.name, Some((entry.kind, id))));
            }
        }
        let entries = entries.with_changes(committed.into_iter())?;
        let content = self.fs.format().back_end.encode_dir(&entries)?;
        let rep = self.write_small(SmallRep::Dir, &content, noderev)?;
        if let RepLocation::Rev(rev, item) = rep.location
            && rev == self.rev
        {
            push_limited(&mut written.dirs, (item, entries, content));
        }
        Ok(rep)
    }

    fn write_small(&mut self, what: SmallRep, content: &[u8], node: &NodeRev) -> Result<Rep> {
        write_small_rep(self.fs, self.proto, what, content, node, self.rev, self.sharing)
    }

    /// Turns a node-revision of the transaction into the revision's.
    fn finish_node(&mut self, noderev: &mut NodeRev, is_root: bool) -> Result<()> {
        let rev = self.rev;
        let node = self.permanent(noderev.node_id(), |counters| counters.node);
        let copy = self.permanent(noderev.copy_id(), |counters| counters.copy);
        (noderev.id, noderev.line) = match self.fs.format().back_end {
            BackEnd::Fsfs => {
                let item = match is_root && self.fs.format().logical {
                    true => ROOT_ITEM,
                    false => self.proto.next_item(),
                };
                let tail = IdTail::Rev(rev, item);
                (NodeRevId { node, copy, tail }, None)
            }
            // The item number stays.
            BackEnd::Fsx => (
                NodeRevId::of_item(rev, noderev.id.node.number()),
                Some(Box::new(NodeLine { node, copy })),
            ),
        };
        if let Some(root) = &mut noderev.copyroot {
            root.rev.get_or_insert(rev);
        }
        let own = CopyRoot {
            rev: Some(rev),
            path: noderev.created_path.clone(),
        };
        if noderev.copyroot.as_ref() == Some(&own) {
            noderev.copyroot = None;
        }
        noderev.is_fresh_txn_root = false;
        // These digests have no reader; Subversion leaves them out.
        if noderev.kind == NodeKind::Dir
            && let Some(rep) = &mut noderev.text
        {
            rep.sha1 = None;
        }
        if self.fs.format().has_placeholders()
            && let Some(rep) = &mut noderev.props
        {
            rep.sha1 = None;
        }
        let is_mutable =
            |rep: &Option<Rep>| rep.is_some_and(|rep| !matches!(rep.location, RepLocation::Rev(..)));
        if is_mutable(&noderev.text) || is_mutable(&noderev.props) {
            return Err(unfinished(noderev));
        }
        Ok(())
    }

    /// Returns the permanent ID part for a temporary one; a permanent one as it is.
    fn permanent(&self, part: IdPart, counter: impl Fn(NextIds) -> u64) -> IdPart {
        match (part.is_temporary(), self.counters) {
            (false, _) => part,
            (true, None) => IdPart::permanent(part.number(), self.rev),
            (true, Some(counters)) => {
                IdPart::permanent(part.number().saturating_add(counter(counters)), Revnum::ZERO)
            }
        }
    }
}

impl WrittenTree {
    /// Puts into the cache what the next readers need. To be called once the revision exists.
    pub(super) fn fill_cache(self, fs: &Fs) {
        let (cache, instance, rev) = (fs.cache(), fs.instance(), self.rev.0);
        if let Some(root) = self.root_noderev {
            cache.insert(Key::part::<Arc<NodeRev>>(instance, rev, 0, 1), root);
        }
        for noderev in self.noderevs {
            if let IdTail::Rev(_, item) = noderev.id.tail {
                cache.insert(Key::new::<Arc<NodeRev>>(instance, rev, item), noderev);
            }
        }
        for (item, entries, content) in self.dirs {
            cache.insert(Key::new::<DirEntries>(instance, rev, item), entries);
            // The next version of the directory is likely to be a delta against this one.
            if content.len() <= WINDOW_SIZE {
                let chunk = Chunk::new(content);
                chunk.set_checked();
                cache.insert(Key::new::<Chunk>(instance, rev, item), chunk);
            }
        }
        for (item, list) in self.props {
            cache.insert(Key::new::<Arc<Props>>(instance, rev, item), list);
        }
        if let Some(list) = self.changed_paths {
            cache.insert(Key::new::<ChangeList>(instance, rev, 0), list);
        }
    }
}

/// Keeps an item for the cache unless there are [`MAX_CACHED`] already: after an import, no reader needs all of it soon.
fn push_limited<T>(kept: &mut Vec<T>, thing: T) {
    if kept.len() < MAX_CACHED {
        kept.push(thing);
    }
}

fn in_tree_twice(id: &NodeRevId) -> Error {
    Error::new(
        Code::FS_CORRUPT,
        format!("Node-revision '{id}' is in the tree twice"),
    )
}

fn unfinished(noderev: &NodeRev) -> Error {
    Error::new(
        Code::FS_CORRUPT,
        format!("Node-revision '{}' lacks its contents", noderev.id),
    )
}

/// Most items of one kind that a commit puts into the cache.
const MAX_CACHED: usize = 4096;

/// Item number of the changed-path list (logical addressing).
pub(super) const CHANGES_ITEM: u64 = 1;

/// Item number of the root node-revision (logical addressing).
const ROOT_ITEM: u64 = 2;
