//! The operations on the tree of a transaction: their effect on node-revisions, directories, counters and the log.
//!
//! All checks precede the first change, so a refused operation leaves the tree as it was. Counters are used in the incumbent's
//! order (directories from the root down, then the node's own ID, then its parent's list, then texts and properties): this makes
//! revision files the same byte for byte.

use std::sync::Arc;

use base::{Code, Error, FsPath, NodeKind, Props, Result, Revnum, props};

use super::state::{NodeKey, TxnNode, TxnState, explicit_copyroot};
use crate::format::changes::{ChangeKind, ChangedPath, RawChange};
use crate::format::fs_format::BackEnd;
use crate::format::id::NodeRevId;
use crate::format::noderev::NodeRev;
use crate::format::rep_line::Rep;
use crate::tree::Fs;
use crate::tree::node::Node;

/// The parts of a node that a change concerns, for the log.
#[derive(Clone, Copy, Default)]
struct ChangeFlags {
    text: bool,
    props: bool,
    mergeinfo: bool,
}

impl TxnState {
    /// Adds an empty node.
    pub(crate) fn add(&mut self, fs: &Fs, path: &FsPath, kind: NodeKind) -> Result<()> {
        check_name(path)?;
        if self.find_for_change(fs, path)?.is_some() {
            return Err(self.already_exists(fs, path));
        }
        let parent = self.make_parents_mutable(fs, path)?;
        let node_id = self.new_node_id();
        let above = self.node(parent)?.noderev.clone();
        let (id, line) = self.new_noderev_id(fs, node_id, above.copy_id());
        let node = NodeRev {
            line,
            id,
            kind,
            predecessor: None,
            count: 0,
            text: None,
            props: None,
            created_path: path.clone(),
            copyfrom: None,
            copyroot: Some(explicit_copyroot(&above)),
            is_fresh_txn_root: false,
            mergeinfo_count: 0,
            has_mergeinfo: false,
        };
        self.insert((id.node, id.copy), TxnNode::new(node));
        self.set_entry(fs, parent, path.basename(), Some((kind, id)))?;
        let flags = ChangeFlags {
            text: kind == NodeKind::File,
            ..ChangeFlags::default()
        };
        self.log_change(fs, id, kind, ChangeKind::Add, flags, path, None);
        Ok(())
    }

    /// Checks that a node can be added at a path: nothing is there, and its parent is a directory.
    pub(crate) fn check_free(&mut self, fs: &Fs, path: &FsPath) -> Result<()> {
        match self.find_for_change(fs, path)? {
            Some(_) => Err(self.already_exists(fs, path)),
            None => Ok(()),
        }
    }

    /// Deletes a node and all below it.
    pub(crate) fn delete(&mut self, fs: &Fs, path: &FsPath) -> Result<()> {
        let node = self.find_existing_for_change(fs, path)?;
        if path.is_root() {
            return Err(Error::new(
                Code::FS_ROOT_DIR,
                "The root directory cannot be deleted",
            ));
        }
        let parent = self.make_parents_mutable(fs, path)?;
        self.add_mergeinfo(None, 0, node.mergeinfo_count)?;
        self.set_entry(fs, parent, path.basename(), None)?;
        self.remove_nodes(&node.id)?;
        self.log_change(
            fs,
            node.id,
            node.kind,
            ChangeKind::Delete,
            ChangeFlags::default(),
            path,
            None,
        );
        Ok(())
    }

    /// Copies a committed node.
    pub(crate) fn copy(&mut self, fs: &Fs, from: &Node, rev: Revnum, path: &FsPath) -> Result<()> {
        check_name(path)?;
        let old = self.find_for_change(fs, path)?;
        if old.as_ref().is_some_and(|node| node.id == *from.id()) {
            return Ok(());
        }
        if path.is_root() {
            return Err(Error::new(
                Code::FS_ROOT_DIR,
                "The root directory cannot be replaced",
            ));
        }
        let source = from.noderev();
        let parent = self.make_parents_mutable(fs, path)?;
        let copy = self.new_copy_id();
        let (id, line) = self.new_noderev_id(fs, source.node_id(), copy);
        let copyfrom = (rev, from.path().clone());
        let node = NodeRev {
            line,
            id,
            predecessor: Some(source.id),
            count: source.count + 1,
            created_path: path.clone(),
            copyfrom: Some(copyfrom.clone()),
            // The node is its own copy root.
            copyroot: None,
            is_fresh_txn_root: false,
            ..source.clone()
        };
        let kind = source.kind;
        self.insert((id.node, id.copy), TxnNode::new(node));
        self.replace_entry(
            fs,
            parent,
            path,
            (kind, id),
            source.mergeinfo_count,
            old.as_deref(),
        )?;
        let change = match old {
            Some(_) => ChangeKind::Replace,
            None => ChangeKind::Add,
        };
        self.log_change(fs, id, kind, change, ChangeFlags::default(), path, Some(copyfrom));
        Ok(())
    }

    /// Sets an entry to a committed node-revision.
    pub(crate) fn link(&mut self, fs: &Fs, from: &Node, path: &FsPath) -> Result<()> {
        let old = self.find_for_change(fs, path)?;
        if path.is_root() {
            return Err(Error::new(
                Code::FS_ROOT_DIR,
                "The root directory cannot be replaced",
            ));
        }
        let source = from.noderev();
        let parent = self.make_parents_mutable(fs, path)?;
        let value = (source.kind, source.id);
        self.replace_entry(fs, parent, path, value, source.mergeinfo_count, old.as_deref())
    }

    /// Sets an entry, in place of `old`.
    fn replace_entry(
        &mut self,
        fs: &Fs,
        parent: NodeKey,
        path: &FsPath,
        value: (NodeKind, NodeRevId),
        mergeinfo: u64,
        old: Option<&NodeRev>,
    ) -> Result<()> {
        self.add_mergeinfo(None, mergeinfo, old.map_or(0, |old| old.mergeinfo_count))?;
        self.set_entry(fs, parent, path.basename(), Some(value))?;
        if let Some(old) = old {
            self.remove_nodes(&old.id)?;
        }
        Ok(())
    }

    /// Sets or deletes a property.
    pub(crate) fn change_prop(
        &mut self,
        fs: &Fs,
        path: &FsPath,
        name: &str,
        value: Option<&[u8]>,
    ) -> Result<()> {
        let node = self.find_existing_for_change(fs, path)?;
        let key = self.make_node_mutable(fs, path, &node)?;
        let mut list = self.take_props(fs, key)?;
        let is_mergeinfo = name == props::MERGEINFO;
        if is_mergeinfo && fs.format().has_mergeinfo() {
            let had = self.node(key)?.noderev.has_mergeinfo;
            if had != value.is_some() {
                self.add_mergeinfo(Some(key), u64::from(value.is_some()), u64::from(had))?;
                self.node_mut(key)?.change().has_mergeinfo = value.is_some();
            }
        }
        match value {
            Some(value) => Arc::make_mut(&mut list).insert(name.to_owned(), value.to_owned()),
            None => Arc::make_mut(&mut list).remove(name),
        };
        let node = self.node_mut(key)?;
        node.props = Some(list);
        node.props_on_disk = false;
        let (id, kind) = (node.noderev.id, node.noderev.kind);
        let flags = ChangeFlags {
            props: true,
            mergeinfo: is_mergeinfo,
            ..ChangeFlags::default()
        };
        self.log_change(fs, id, kind, ChangeKind::Modify, flags, path, None);
        Ok(())
    }

    /// Makes a node the transaction's own and notes it as changed, with what it has.
    pub(crate) fn mark_changed(&mut self, fs: &Fs, path: &FsPath, text: bool, props: bool) -> Result<()> {
        let node = self.find_existing_for_change(fs, path)?;
        let key = self.make_node_mutable(fs, path, &node)?;
        let id = self.node(key)?.noderev.id;
        let flags = ChangeFlags {
            text,
            props,
            ..ChangeFlags::default()
        };
        self.log_change(fs, id, node.kind, ChangeKind::Modify, flags, path, None);
        Ok(())
    }

    /// Takes the property list of one of the transaction's own nodes, which the caller changes and puts back.
    fn take_props(&mut self, fs: &Fs, key: NodeKey) -> Result<Arc<Props>> {
        let node = self.node_mut(key)?;
        if let Some(list) = node.props.take() {
            return Ok(list);
        }
        let noderev = node.noderev.clone();
        let list = Node::new(self.as_root(fs), FsPath::root(), noderev).props()?;
        self.node_mut(key)?.change().props = Some(Rep::MUTABLE);
        // Subversion takes a number here and does not use it. The numbers must be the same.
        if fs.format().has_uniquifiers() {
            self.next_node += 1;
        } else if fs.format().is_fsx() {
            self.items.take();
        }
        Ok(list)
    }

    /// Makes a file mutable for a new text; returns its key.
    pub(crate) fn file_to_write(&mut self, fs: &Fs, path: &FsPath, is_delta: bool) -> Result<NodeKey> {
        let node = self.find_existing_for_change(fs, path)?;
        if node.kind != NodeKind::File {
            // A delta needs the old text.
            let verb = if is_delta { "get" } else { "set" };
            return Err(Error::new(
                Code::FS_NOT_FILE,
                format!("Attempted to {verb} textual contents of a *non*-file node"),
            ));
        }
        self.make_node_mutable(fs, path, &node)
    }

    /// Gives a file its new text.
    pub(crate) fn set_text(&mut self, fs: &Fs, key: NodeKey, path: &FsPath, rep: Rep) -> Result<()> {
        let node = self.node_mut(key)?;
        node.change().text = Some(rep);
        let id = node.noderev.id;
        let flags = ChangeFlags {
            text: true,
            ..ChangeFlags::default()
        };
        self.log_change(fs, id, NodeKind::File, ChangeKind::Modify, flags, path, None);
        Ok(())
    }

    #[expect(
        clippy::too_many_arguments,
        reason = "they are the fields of a line of the log"
    )]
    fn log_change(
        &mut self,
        fs: &Fs,
        id: NodeRevId,
        kind: NodeKind,
        change: ChangeKind,
        flags: ChangeFlags,
        path: &FsPath,
        copyfrom: Option<(Revnum, FsPath)>,
    ) {
        let format = fs.format();
        if change == ChangeKind::Modify && self.extend_last_entry(format.back_end, id, flags, path) {
            return;
        }
        let info = ChangedPath {
            path: path.clone(),
            change,
            node_kind: if format.has_kinds_in_changes() {
                kind
            } else {
                NodeKind::Unknown
            },
            text_mod: flags.text,
            prop_mod: flags.props,
            mergeinfo_mod: format.has_mergeinfo_in_changes().then_some(flags.mergeinfo),
            copyfrom,
        };
        self.changes.push(match format.back_end {
            BackEnd::Fsfs => RawChange {
                id,
                is_reset: false,
                info,
            },
            BackEnd::Fsx => RawChange::without_id(info),
        });
    }

    /// A change of the node that the last entry is about becomes part of that entry, as long as the entry is not on disk: adding
    /// a file and writing its text make one entry.
    fn extend_last_entry(
        &mut self,
        back_end: BackEnd,
        id: NodeRevId,
        flags: ChangeFlags,
        path: &FsPath,
    ) -> bool {
        let is_on_disk = self.on_disk.changes == self.changes.len();
        // Without IDs, the last entry of a path is about the node that is there now.
        let is_same = |last: &RawChange| back_end == BackEnd::Fsx || last.id == id;
        let Some(last) = self.changes.last_mut().filter(|last| {
            !is_on_disk && is_same(last) && last.info.path == *path && last.info.change != ChangeKind::Delete
        }) else {
            return false;
        };
        last.info.text_mod |= flags.text;
        last.info.prop_mod |= flags.props;
        if let Some(mergeinfo) = &mut last.info.mergeinfo_mod {
            *mergeinfo |= flags.mergeinfo;
        }
        true
    }

    fn already_exists(&self, fs: &Fs, path: &FsPath) -> Error {
        let (uuid, txn) = (fs.uuid(), &self.name);
        Error::new(
            Code::FS_ALREADY_EXISTS,
            format!("File already exists: filesystem '{uuid}', transaction '{txn}', path '{path}'"),
        )
    }
}

/// A node-revision holds the path in one line: it cannot contain a line feed.
fn check_name(path: &FsPath) -> Result<()> {
    match path.as_str().contains('\n') {
        false => Ok(()),
        true => Err(Error::new(
            Code::FS_PATH_SYNTAX,
            format!(
                "Invalid control character '0x0a' in path '{}'",
                path.escape_default()
            ),
        )),
    }
}
