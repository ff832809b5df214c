//! Trees of a revision or of a transaction, for callers that walk them.
//!
//! [`Tree`] finds nodes by path, [`TreeNode`] describes one. A caller that reads many properties of many nodes holds on
//! to them, so that nothing is looked up twice. [`TreeNode::children`] leaves out entries that the user may not read; the
//! caller checks access to the node itself.

use std::sync::Arc;

use base::checksum::{Md5, Sha1, Sha1Stream};
use base::{Date, FsPath, NodeKind, Props, Result, Revnum, props};
use delta::editor::{EncodedVersions, TextChunk};
use fsfs::{DirEntries, DirEntry, ReadMode, TextReader};

use crate::access::{Readable, Subtree};
use crate::repo::Repository;

/// A tree: of one revision, or of one transaction.
#[derive(Clone)]
pub struct Tree(fsfs::Root);

/// A node at a path of a tree.
#[derive(Clone)]
pub struct TreeNode(fsfs::Node);

/// The entries of a directory that a user may read, sorted by name.
pub struct Children {
    dir: TreeNode,
    entries: DirEntries,
    /// Indices of the readable entries; `None` for all.
    readable: Option<Vec<u32>>,
}

impl Repository {
    /// The tree of a revision.
    ///
    /// # Errors
    /// `FS_NO_SUCH_REVISION`.
    pub fn tree(&self, rev: Revnum) -> Result<Tree> {
        self.fs().root(rev).map(Tree)
    }

    /// The tree of a transaction.
    ///
    /// # Errors
    /// `FS_MALFORMED_TXN_ID`, `FS_NO_SUCH_TRANSACTION`.
    pub fn txn_tree(&self, name: &str) -> Result<Tree> {
        self.fs().txn_root(name).map(Tree)
    }

    /// The properties of a transaction.
    ///
    /// # Errors
    /// `FS_MALFORMED_TXN_ID`, `FS_NO_SUCH_TRANSACTION`.
    pub fn txn_props(&self, name: &str) -> Result<Props> {
        self.fs().txn_props(name)
    }

    /// Returns all properties of a revision, without access control.
    ///
    /// # Errors
    /// `FS_NO_SUCH_REVISION`.
    pub fn all_revprops(&self, rev: Revnum) -> Result<Arc<Props>> {
        Ok(Arc::new(self.fs().revprops(rev)?.to_props()))
    }

    /// Returns the date of a revision, without access control; `None` if it has no valid one.
    ///
    /// # Errors
    /// `FS_NO_SUCH_REVISION`.
    pub fn date(&self, rev: Revnum) -> Result<Option<Date>> {
        let revprops = self.fs().revprops(rev)?;
        Ok(revprops.get(props::DATE).and_then(|date| Date::parse(date).ok()))
    }
}

impl Tree {
    /// The node at a path; `None` if there is none.
    ///
    /// # Errors
    /// `FS_CORRUPT` and those of reading a file.
    pub fn find(&self, path: &FsPath) -> Result<Option<TreeNode>> {
        Ok(self.0.try_node(path)?.map(TreeNode))
    }

    /// As [`Tree::find`], for a path that a report has sent: its node may be cached.
    ///
    /// # Errors
    /// As of [`Tree::find`].
    pub fn find_announced(&self, path: &FsPath) -> Result<Option<TreeNode>> {
        Ok(self.0.try_node_cached(path)?.map(TreeNode))
    }

    /// The node at a path.
    ///
    /// # Errors
    /// `FS_NOT_FOUND`, `FS_NOT_DIRECTORY`.
    pub fn node(&self, path: &FsPath) -> Result<TreeNode> {
        self.0.node(path).map(TreeNode)
    }

    /// Returns the same tree with another read mode.
    pub fn with_read_mode(&self, read_mode: &ReadMode) -> Tree {
        Tree(self.0.with_read_mode(read_mode))
    }

    /// The revision; `None` for a transaction.
    pub fn revision(&self) -> Option<Revnum> {
        self.0.revision()
    }

    /// Returns the revision, or the one on which the transaction is based.
    pub fn base_revision(&self) -> Revnum {
        self.0.base_revision()
    }
}

impl TreeNode {
    /// File or directory.
    pub fn kind(&self) -> NodeKind {
        self.0.kind()
    }

    /// True for a directory.
    pub fn is_dir(&self) -> bool {
        self.0.kind() == NodeKind::Dir
    }

    /// The tree that it was found in.
    pub fn tree(&self) -> Tree {
        Tree(self.0.root().clone())
    }

    /// Where it was found.
    pub fn path(&self) -> &FsPath {
        self.0.path()
    }

    /// The revision of the last change at or below it; `None` if that is the transaction that it was found in.
    pub fn created_rev(&self) -> Option<Revnum> {
        self.0.created_rev()
    }

    /// The revision of the youngest copy that brought the node to its path: of itself, or of a directory above it.
    ///
    /// # Errors
    /// `FS_CORRUPT` and those of reading a file.
    pub fn copied_rev(&self) -> Result<Option<Revnum>> {
        Ok(self.0.closest_copy()?.map(|(rev, _)| rev))
    }

    /// Returns the oldest revision in which the node's path names this very node. `copied` is [`TreeNode::copied_rev`] of
    /// the node, or of the directory that it was found in. In a transaction, returns its base revision.
    pub fn safe_rev(&self, copied: Option<Revnum>) -> Revnum {
        match (self.0.root().revision(), self.0.created_rev()) {
            (Some(_), Some(created)) => created.max(copied.unwrap_or(Revnum::ZERO)),
            _ => self.0.root().base_revision(),
        }
    }

    /// Bytes of a file's text.
    ///
    /// # Errors
    /// `FS_NOT_FILE`.
    pub fn size(&self) -> Result<u64> {
        self.0.size()
    }

    /// MD5 of a file's text.
    ///
    /// # Errors
    /// `FS_NOT_FILE`.
    pub fn md5(&self) -> Result<Md5> {
        self.0.md5()
    }

    /// Returns the SHA-1 of a file's text; computes it if it is not stored.
    ///
    /// # Errors
    /// `FS_NOT_FILE`; those of reading the text.
    pub fn sha1(&self) -> Result<Sha1> {
        if let Some(stored) = self.0.sha1() {
            return Ok(stored);
        }
        let mut reader = self.0.reader()?;
        let mut digest = Sha1Stream::new();
        loop {
            let piece = reader.fill()?;
            if piece.is_empty() {
                return Ok(digest.finish());
            }
            digest.update(piece);
            let length = piece.len();
            reader.consume(length);
        }
    }

    /// The property list.
    ///
    /// # Errors
    /// `FS_CORRUPT` and those of reading a file.
    pub fn props(&self) -> Result<Arc<Props>> {
        self.0.props()
    }

    /// True if the property list is not empty.
    pub fn has_props(&self) -> bool {
        self.0.has_props()
    }

    /// A file's text.
    ///
    /// # Errors
    /// `FS_NOT_FILE`.
    pub fn reader(&self) -> Result<TextReader> {
        self.0.reader()
    }

    /// Sends the delta from the text of `base` to this one, window by window. Stored windows pass unchanged if their
    /// base is that very text and `accepts` has their version.
    ///
    /// # Errors
    /// `FS_NOT_FILE`; those of reading; what `sink` returns.
    pub fn delta_from(
        &self,
        base: &TreeNode,
        accepts: EncodedVersions,
        sink: &mut dyn FnMut(TextChunk<'_>) -> Result<()>,
    ) -> Result<()> {
        self.0
            .fs()
            .text_delta(Some(&base.0), &self.0, accepts)?
            .drive(sink)
    }

    /// The entries that may be read.
    ///
    /// # Errors
    /// `FS_NOT_DIRECTORY`.
    pub fn children(&self, readable: &dyn Readable) -> Result<Children> {
        let entries = self.0.entries()?;
        let all = readable.subtree(self.path()) == Subtree::All;
        let may = |entry: &DirEntry<'_>| readable.read(&self.path().join_str(entry.name));
        let readable = (!all).then(|| {
            let chosen = (0u32..).zip(entries.iter()).filter(|(_, entry)| may(entry));
            chosen.map(|(at, _)| at).collect()
        });
        Ok(Children {
            dir: self.clone(),
            entries,
            readable,
        })
    }
}

impl Children {
    /// Name and kind of each.
    pub fn names(&self) -> impl Iterator<Item = (&str, NodeKind)> {
        self.chosen().map(|entry| (entry.name, entry.kind))
    }

    /// Each as a node.
    pub fn nodes(&self) -> impl Iterator<Item = Result<TreeNode>> {
        self.chosen()
            .map(|entry| Ok(TreeNode(self.dir.0.child_of(entry)?)))
    }

    fn chosen(&self) -> impl Iterator<Item = DirEntry<'_>> {
        let count = self.readable.as_ref().map_or(self.entries.len(), Vec::len);
        (0..count).filter_map(|at| match &self.readable {
            Some(chosen) => self.entries.get(chosen[at] as usize),
            None => self.entries.get(at),
        })
    }
}
