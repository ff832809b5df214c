//! [`FsxNode`]: a node-revision at a path of a tree. Callers walk, read and compare nodes.

use std::sync::Arc;

use base::checksum::{Md5, Sha1};
use base::{Code, Error, FsPath, NodeKind, Props, Result, Revnum};
use fsfs::Relation;

use super::FsxFs;
use super::fs::ROOT_ITEM;
use super::root::{FsxRoot, in_node};
use super::text::FsxTextReader;
use crate::format::dir::{FsxDirEntries, FsxDirEntry};
use crate::format::id::FsxId;
use crate::format::noderev::NodeRev;
use crate::format::prop_list;
use crate::format::rep_line::Rep;

/// A node-revision at a path of a tree. Cheap to clone.
#[derive(Clone)]
pub struct FsxNode(Arc<NodeInner>);

struct NodeInner {
    root: FsxRoot,
    path: FsPath,
    noderev: NodeRev,
}

impl FsxNode {
    pub(super) fn new(root: &FsxRoot, path: FsPath, noderev: NodeRev) -> Self {
        FsxNode(Arc::new(NodeInner {
            root: root.clone(),
            path,
            noderev,
        }))
    }

    pub(super) fn noderev(&self) -> &NodeRev {
        &self.0.noderev
    }

    /// The filesystem.
    pub fn fs(&self) -> &FsxFs {
        self.0.root.fs()
    }

    /// The tree in which the node was found.
    pub fn root(&self) -> &FsxRoot {
        &self.0.root
    }

    /// The path at which the node was found.
    pub fn path(&self) -> &FsPath {
        &self.0.path
    }

    /// The ID of the node-revision.
    pub fn id(&self) -> FsxId {
        self.noderev().id
    }

    /// The ID of the node: all its node-revisions have the same.
    pub fn node_id(&self) -> FsxId {
        self.noderev().node
    }

    /// The ID of the copy that the node-revision belongs to.
    pub fn copy_id(&self) -> FsxId {
        self.noderev().copy
    }

    /// File or directory.
    pub fn kind(&self) -> NodeKind {
        self.noderev().kind
    }

    /// The revision that made this node-revision; `None` for one of a transaction. The root of a transaction without
    /// changes yet has that of the base revision.
    pub fn created_rev(&self) -> Option<Revnum> {
        let noderev = self.noderev();
        let is_changed = [noderev.text, noderev.props].iter().flatten().any(Rep::is_of_txn);
        match self.id() {
            id if id.number == ROOT_ITEM && !is_changed => id.change_set.revision().or_else(|| {
                let base = noderev.predecessor?;
                base.change_set.revision()
            }),
            id => id.change_set.revision(),
        }
    }

    /// The path at which it was made. It differs from `path` below a lazily copied directory.
    pub fn created_path(&self) -> &FsPath {
        &self.noderev().created_path
    }

    /// The ID of the preceding node-revision of the node.
    pub fn predecessor_id(&self) -> Option<FsxId> {
        self.noderev().predecessor
    }

    /// The number of predecessors.
    pub fn predecessor_count(&self) -> u64 {
        self.noderev().count
    }

    /// The node-revision at which the copy began that this one belongs to: revision and path.
    pub fn copyroot(&self) -> (Option<Revnum>, &FsPath) {
        let (rev, path) = &self.noderev().copyroot;
        (*rev, path)
    }

    /// Returns the relation to another node-revision.
    pub fn relation(&self, other: &FsxNode) -> Relation {
        if self.id() == other.id() {
            Relation::Same
        } else if self.node_id() == other.node_id() {
            Relation::Related
        } else {
            Relation::Unrelated
        }
    }

    /// True if the property list is not empty.
    pub fn has_props(&self) -> bool {
        match &self.noderev().props {
            None => false,
            Some(rep) if rep.is_of_txn() => self.props().is_ok_and(|props| !props.is_empty()),
            // The empty list is stored as one byte.
            Some(rep) => rep.expanded > 1,
        }
    }

    /// The property list.
    ///
    /// # Errors
    /// `FS_CORRUPT`, `FS_CORRUPT_PROPLIST`; the system's.
    pub fn props(&self) -> Result<Props> {
        let Some(rep) = &self.noderev().props else {
            return Ok(Props::new());
        };
        if rep.is_of_txn() {
            return self.fs().txn_node_props(self.noderev());
        }
        let text = FsxTextReader::new(self.fs(), Some(rep))?.read_in_memory()?;
        in_node(prop_list::decode(&text), self.noderev())
    }

    /// One property.
    ///
    /// # Errors
    /// As [`FsxNode::props`].
    pub fn prop(&self, name: &str) -> Result<Option<Vec<u8>>> {
        Ok(self.props()?.remove(name))
    }

    /// True if the property lists differ.
    ///
    /// # Errors
    /// As [`FsxNode::props`], for a node of a transaction.
    pub fn props_differ(&self, other: &FsxNode) -> Result<bool> {
        Ok(match (&self.noderev().props, &other.noderev().props) {
            (Some(a), Some(b)) if !a.is_of_txn() && !b.is_of_txn() => a.md5 != b.md5,
            (None, None) => false,
            _ => self.props()? != other.props()?,
        })
    }

    /// The entries of a directory, sorted by the bytes of the name.
    ///
    /// # Errors
    /// `FS_NOT_DIRECTORY`, `FS_CORRUPT`; the system's.
    pub fn entries(&self) -> Result<FsxDirEntries> {
        if self.kind() != NodeKind::Dir {
            return Err(Error::new(
                Code::FS_NOT_DIRECTORY,
                "Can't get entries of non-directory",
            ));
        }
        self.root().entries(self.noderev())
    }

    /// The child of this name.
    ///
    /// # Errors
    /// As [`FsxNode::entries`].
    pub fn child(&self, name: &str) -> Result<Option<FsxNode>> {
        let entries = self.entries()?;
        let entry = entries.find(name);
        entry.map(|entry| self.child_of(entry)).transpose()
    }

    /// The child of an entry that [`FsxNode::entries`] returned.
    ///
    /// # Errors
    /// `FS_CORRUPT`; the system's.
    pub fn child_of(&self, entry: &FsxDirEntry) -> Result<FsxNode> {
        let noderev = self.root().noderev(entry.id)?;
        if noderev.kind != entry.kind {
            return Err(Error::new(
                Code::FS_CORRUPT,
                format!("Directory entry's kind is not that of node '{}'", entry.id),
            ));
        }
        Ok(FsxNode::new(
            self.root(),
            self.path().join_str(&entry.name),
            noderev,
        ))
    }

    /// The length of the text, bytes.
    ///
    /// # Errors
    /// `FS_NOT_FILE`.
    pub fn size(&self) -> Result<u64> {
        self.check_file("length")?;
        Ok(self.noderev().text.map_or(0, |rep| rep.expanded))
    }

    /// The recorded MD5 of the text. For a file without a text (see [`FsxNode::has_text`]), that of the empty text.
    ///
    /// # Errors
    /// `FS_NOT_FILE`.
    pub fn md5(&self) -> Result<Md5> {
        self.check_file("checksum")?;
        Ok(self.noderev().text.map_or(Md5::EMPTY, |rep| rep.md5))
    }

    /// The SHA-1 of the text, if it is recorded.
    pub fn sha1(&self) -> Option<Sha1> {
        self.noderev().text.and_then(|rep| rep.sha1)
    }

    /// False for a file that never got a text.
    pub fn has_text(&self) -> bool {
        self.noderev().text.is_some()
    }

    /// True if the texts differ, by their digests.
    ///
    /// # Errors
    /// `FS_NOT_FILE`.
    pub fn text_differs(&self, other: &FsxNode) -> Result<bool> {
        self.check_file("textual contents")?;
        other.check_file("textual contents")?;
        let is_empty = |rep: &Option<Rep>| rep.is_none_or(|rep| rep.expanded == 0);
        Ok(match (&self.noderev().text, &other.noderev().text) {
            (a, b) if is_empty(a) && is_empty(b) => false,
            (Some(a), Some(b)) => a.id != b.id && (a.md5, a.sha1) != (b.md5, b.sha1),
            _ => true,
        })
    }

    /// The text as a stream, checked against the MD5 at its end.
    ///
    /// # Errors
    /// `FS_NOT_FILE`; those of the first read.
    pub fn reader(&self) -> Result<FsxTextReader> {
        self.check_file("textual contents")?;
        FsxTextReader::new(self.fs(), self.noderev().text.as_ref())
    }

    /// The source of the copy, on the node-revision that the copy itself made.
    pub fn copyfrom(&self) -> Option<(Revnum, FsPath)> {
        self.noderev().copyfrom.clone()
    }

    /// The number of nodes at or below this one with `svn:mergeinfo`.
    pub fn mergeinfo_count(&self) -> u64 {
        self.noderev().mergeinfo_count
    }

    /// True if this node itself has `svn:mergeinfo`.
    pub fn has_mergeinfo(&self) -> bool {
        self.noderev().has_mergeinfo
    }

    fn check_file(&self, what: &str) -> Result<()> {
        if self.kind() == NodeKind::File {
            return Ok(());
        }
        Err(Error::new(
            Code::FS_NOT_FILE,
            format!("Attempted to get {what} of a *non*-file node"),
        ))
    }
}
