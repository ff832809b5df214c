//! [`FsxRoot`]: the tree of one revision or of one transaction.

use base::{Code, Error, FsPath, NodeKind, Result, Revnum};
use fsfs::ChangedPath;

use super::FsxFs;
use super::fs::ROOT_ITEM;
use super::node::FsxNode;
use super::text::FsxTextReader;
use crate::format::dir::FsxDirEntries;
use crate::format::id::{ChangeSet, FsxId};
use crate::format::noderev::NodeRev;
use crate::store::layout::txn_name;

/// The tree of one revision or of one transaction.
#[derive(Clone)]
pub struct FsxRoot {
    fs: FsxFs,
    of: ChangeSet,
}

/// The result of a look-up.
enum PathLookup {
    Node(FsxNode),
    Nothing,
    /// A component of the path is below this file.
    BelowFile(FsPath),
}

impl FsxRoot {
    pub(super) fn of_revision(fs: &FsxFs, rev: Revnum) -> Self {
        let fs = fs.clone();
        let of = ChangeSet::Revision(rev);
        FsxRoot { fs, of }
    }

    pub(super) fn of_transaction(fs: &FsxFs, txn: u64) -> Self {
        let fs = fs.clone();
        let of = ChangeSet::Txn(txn);
        FsxRoot { fs, of }
    }

    /// The filesystem.
    pub fn fs(&self) -> &FsxFs {
        &self.fs
    }

    /// The revision; `None` for a transaction.
    pub fn revision(&self) -> Option<Revnum> {
        self.of.revision()
    }

    /// The name of the transaction; `None` for a revision.
    pub fn txn_name(&self) -> Option<String> {
        match self.of {
            ChangeSet::Revision(_) => None,
            ChangeSet::Txn(txn) => Some(txn_name(txn)),
        }
    }

    /// The revision, or the base revision of the transaction.
    ///
    /// # Errors
    /// `FS_CORRUPT`; the system's.
    pub fn base_revision(&self) -> Result<Revnum> {
        if let Some(rev) = self.revision() {
            return Ok(rev);
        }
        let base = self.root_noderev()?.predecessor;
        let base = base.and_then(|id| id.change_set.revision());
        base.ok_or_else(|| Error::new(Code::FS_CORRUPT, "Transaction has no base revision"))
    }

    /// The node at `/`.
    ///
    /// # Errors
    /// `FS_CORRUPT`; the system's.
    pub fn root_node(&self) -> Result<FsxNode> {
        Ok(FsxNode::new(self, FsPath::root(), self.root_noderev()?))
    }

    fn root_noderev(&self) -> Result<NodeRev> {
        let noderev = self.fs.noderev(FsxId {
            change_set: self.of,
            number: ROOT_ITEM,
        })?;
        match noderev.kind {
            NodeKind::Dir => Ok(noderev),
            _ => Err(Error::new(
                Code::FS_CORRUPT,
                format!("Root of {} is no directory", self.describe()),
            )),
        }
    }

    /// The node-revision that an entry of a directory of this tree names.
    pub(super) fn noderev(&self, id: FsxId) -> Result<NodeRev> {
        match id.change_set {
            ChangeSet::Txn(_) if id.change_set != self.of => Err(Error::new(
                Code::FS_ID_NOT_FOUND,
                format!("Reference to uncommitted node '{id}' in {}", self.describe()),
            )),
            _ => self.fs.noderev(id),
        }
    }

    fn describe(&self) -> String {
        match self.of {
            ChangeSet::Revision(rev) => format!("revision {rev}"),
            ChangeSet::Txn(txn) => format!("transaction '{}'", txn_name(txn)),
        }
    }

    /// The node at a path.
    ///
    /// # Errors
    /// `FS_NOT_FOUND` `File not found: revision N, path '/P'`, `FS_NOT_DIRECTORY` (two links) below a file.
    pub fn node(&self, path: &FsPath) -> Result<FsxNode> {
        match self.look_up(path)? {
            PathLookup::Node(node) => Ok(node),
            PathLookup::Nothing => Err(Error::new(
                Code::FS_NOT_FOUND,
                format!("File not found: {}, path '{path}'", self.describe()),
            )),
            PathLookup::BelowFile(file) => {
                let message = format!("'{file}' is not a directory in filesystem '{}'", self.fs.uuid());
                let outer = format!("Failure opening '{file}' in {}", self.describe());
                Err(Error::new(Code::FS_NOT_DIRECTORY, message).context(outer))
            }
        }
    }

    /// Returns the node at a path; `None` where [`FsxRoot::node`] gives `FS_NOT_FOUND` or `FS_NOT_DIRECTORY`.
    ///
    /// # Errors
    /// `FS_CORRUPT`; the system's.
    pub fn try_node(&self, path: &FsPath) -> Result<Option<FsxNode>> {
        Ok(match self.look_up(path)? {
            PathLookup::Node(node) => Some(node),
            PathLookup::Nothing | PathLookup::BelowFile(_) => None,
        })
    }

    /// The kind of the node at a path; `NodeKind::None` if there is none.
    ///
    /// # Errors
    /// `FS_CORRUPT`; the system's.
    pub fn kind(&self, path: &FsPath) -> Result<NodeKind> {
        Ok(self.try_node(path)?.map_or(NodeKind::None, |node| node.kind()))
    }

    /// The changed paths, one entry for each path, sorted by the bytes of the path.
    ///
    /// # Errors
    /// `FS_CORRUPT`; the system's.
    pub fn changed_paths(&self) -> Result<Vec<ChangedPath>> {
        match self.of {
            ChangeSet::Revision(rev) => self.fs.changed_paths(rev),
            ChangeSet::Txn(txn) => self.fs.txn_changes(txn),
        }
    }

    /// The sorted entries of a directory.
    pub(super) fn entries(&self, dir: &NodeRev) -> Result<FsxDirEntries> {
        let Some(rep) = &dir.text else {
            return Ok(FsxDirEntries::default());
        };
        if rep.is_of_txn() {
            return self.fs.txn_children(dir);
        }
        let text = FsxTextReader::new(&self.fs, Some(rep))?.read_in_memory()?;
        in_node(FsxDirEntries::decode(&text), dir)
    }

    fn look_up(&self, path: &FsPath) -> Result<PathLookup> {
        let mut noderev = self.root_noderev()?;
        let mut at = FsPath::root();
        for name in path.components() {
            if noderev.kind != NodeKind::Dir {
                return Ok(PathLookup::BelowFile(at));
            }
            let entries = self.entries(&noderev)?;
            let Some(entry) = entries.find(name) else {
                return Ok(PathLookup::Nothing);
            };
            noderev = self.noderev(entry.id)?;
            at = at.join_str(name);
        }
        Ok(PathLookup::Node(FsxNode::new(self, at, noderev)))
    }
}

/// Adds the ID of the node-revision to the error of a decoder.
pub(super) fn in_node<T>(
    result: std::result::Result<T, crate::format::cursor::DecodeError>,
    noderev: &NodeRev,
) -> Result<T> {
    result.map_err(|e| {
        let e: Error = e.into();
        let message = format!("{} of node-revision '{}'", e.message(), noderev.id);
        Error::new(e.code(), message)
    })
}
