//! [`FsxRoot`]: the tree of one revision.

use base::{Code, Error, FsPath, NodeKind, Result, Revnum};
use fsfs::ChangedPath;

use super::FsxFs;
use super::node::FsxNode;
use super::text::FsxTextReader;
use crate::format::dir::FsxDirEntries;
use crate::format::noderev::NodeRev;

/// The tree of one revision.
#[derive(Clone)]
pub struct FsxRoot {
    fs: FsxFs,
    rev: Revnum,
}

/// The result of a look-up.
enum PathLookup {
    Node(FsxNode),
    Nothing,
    /// A component of the path is below this file.
    BelowFile(FsPath),
}

impl FsxRoot {
    pub(super) fn new(fs: &FsxFs, rev: Revnum) -> Self {
        FsxRoot { fs: fs.clone(), rev }
    }

    /// The filesystem.
    pub fn fs(&self) -> &FsxFs {
        &self.fs
    }

    /// The revision.
    pub fn revision(&self) -> Revnum {
        self.rev
    }

    /// The node at `/`.
    ///
    /// # Errors
    /// `FS_CORRUPT`; the system's.
    pub fn root_node(&self) -> Result<FsxNode> {
        Ok(FsxNode::new(
            self,
            FsPath::root(),
            self.fs.root_noderev(self.rev)?,
        ))
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
                format!("File not found: revision {}, path '{path}'", self.rev),
            )),
            PathLookup::BelowFile(file) => {
                let message = format!("'{file}' is not a directory in filesystem '{}'", self.fs.uuid());
                let outer = format!("Failure opening '{file}' in revision {}", self.rev);
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

    /// The changed paths of the revision.
    ///
    /// # Errors
    /// As [`FsxFs::changed_paths`].
    pub fn changed_paths(&self) -> Result<Vec<ChangedPath>> {
        self.fs.changed_paths(self.rev)
    }

    /// The sorted entries of a directory.
    pub(super) fn entries(&self, dir: &NodeRev) -> Result<FsxDirEntries> {
        let Some(rep) = &dir.text else {
            return Ok(FsxDirEntries::default());
        };
        let text = FsxTextReader::new(&self.fs, Some(rep))?.read_in_memory()?;
        in_node(FsxDirEntries::decode(&text), dir)
    }

    fn look_up(&self, path: &FsPath) -> Result<PathLookup> {
        let mut noderev = self.fs.root_noderev(self.rev)?;
        let mut at = FsPath::root();
        for name in path.components() {
            if noderev.kind != NodeKind::Dir {
                return Ok(PathLookup::BelowFile(at));
            }
            let entries = self.entries(&noderev)?;
            let Some(entry) = entries.find(name) else {
                return Ok(PathLookup::Nothing);
            };
            noderev = self.fs.noderev(entry.id)?;
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
