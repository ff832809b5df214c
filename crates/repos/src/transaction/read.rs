//! Reads a transaction while it is being edited.

use std::sync::Arc;

use base::checksum::{Md5, Sha1};
use base::{FsPath, NodeKind, Props, Result, Revnum};
use fsfs::{Node, TextReader};

use super::Transaction;

/// A node of a transaction, in its present state.
#[derive(Clone)]
pub struct TxnNode(Node);

impl Transaction {
    /// Its own properties, the engine's flags included.
    ///
    /// # Errors
    /// None at present.
    pub fn props(&self) -> Result<Arc<Props>> {
        self.txn.props()
    }

    /// Returns the kind of the node at a path. `None` also if a parent does not exist.
    ///
    /// # Errors
    /// Those of reading the base.
    pub fn kind(&self, path: &FsPath) -> Result<NodeKind> {
        self.txn.root()?.kind(path)
    }

    /// The node at a path.
    ///
    /// # Errors
    /// As [`Transaction::kind`].
    pub fn look_up(&self, path: &FsPath) -> Result<Option<TxnNode>> {
        Ok(self.node(path)?.map(TxnNode))
    }

    /// The node at a path.
    ///
    /// # Errors
    /// `FS_NOT_FOUND`; `FS_NOT_DIRECTORY` below a file; as [`Transaction::kind`].
    pub fn existing(&self, path: &FsPath) -> Result<TxnNode> {
        self.txn.root()?.node(path).map(TxnNode)
    }

    pub(super) fn node(&self, path: &FsPath) -> Result<Option<Node>> {
        self.txn.root()?.try_node(path)
    }
}

impl TxnNode {
    /// File or directory.
    pub fn kind(&self) -> NodeKind {
        self.0.kind()
    }

    /// Returns the revision in which it was last changed; `None` if the transaction has made or changed it.
    pub fn created_rev(&self) -> Option<Revnum> {
        self.0.created_rev()
    }

    /// Its properties.
    ///
    /// # Errors
    /// Those of reading them.
    pub fn props(&self) -> Result<Arc<Props>> {
        self.0.props()
    }

    /// Bytes of its text.
    ///
    /// # Errors
    /// `FS_NOT_FILE`.
    pub fn size(&self) -> Result<u64> {
        self.0.size()
    }

    /// Digest of its text.
    ///
    /// # Errors
    /// `FS_NOT_FILE`.
    pub fn md5(&self) -> Result<Md5> {
        self.0.md5()
    }

    /// Returns the SHA-1 of its text, if it is stored.
    pub fn sha1(&self) -> Option<Sha1> {
        self.0.sha1()
    }

    /// Its text.
    ///
    /// # Errors
    /// `FS_NOT_FILE`; those of reading it.
    pub fn reader(&self) -> Result<TextReader> {
        self.0.reader()
    }
}
