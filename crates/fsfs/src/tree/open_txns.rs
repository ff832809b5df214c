//! The transactions that this process edits, for readers.
//!
//! Such a transaction is in memory, and its files may be older. The layer above implements the two traits and adds
//! its transactions to the [`OpenTxns`] of the filesystem. When the last editor of a transaction has gone, readers
//! use the files.

use std::collections::HashMap;
use std::sync::{Arc, Weak};

use base::{Code, Error, FsPath, Props, Result};
use parking_lot::Mutex;

use super::Fs;
use super::root::PathLookup;
use crate::format::changes::RawChange;
use crate::format::dir::{DirEntries, EntryChange};
use crate::format::id::{IdPart, TxnId};
use crate::format::noderev::NodeRev;
use crate::format::proto_index;
use crate::store::Store;
use crate::store::disk::is_missing;

/// The key of a node within one transaction: node ID and copy ID.
pub(crate) type NodeKey = (IdPart, IdPart);

/// The tree of a transaction in memory.
///
/// Methods that take a key return `FS_CORRUPT` if the node has changed since the caller looked it up.
pub(crate) trait OpenTree: Send + Sync {
    /// Returns a node-revision.
    fn noderev(&self, key: NodeKey) -> Result<Arc<NodeRev>>;
    /// Looks a path up.
    fn look_up(&self, fs: &Fs, path: &FsPath) -> Result<PathLookup>;
    /// Returns the entries of a changed directory.
    fn children(&self, key: NodeKey) -> Result<DirEntries>;
    /// Returns one entry of a changed directory.
    fn child(&self, key: NodeKey, name: &str) -> Result<EntryChange>;
    /// Returns a changed property list.
    fn props(&self, key: NodeKey) -> Result<Arc<Props>>;
    /// Returns the log of changes, oldest first.
    fn changes(&self) -> Result<Vec<RawChange>>;
    /// Returns the properties of the transaction itself.
    fn txn_props(&self) -> Arc<Props>;
}

/// The proto-revision file of a transaction in memory.
pub(crate) trait OpenProtoRev: Send + Sync {
    /// Returns the offset of an item in the file, bytes; `None` if there is no such item.
    fn item_offset(&self, item: u64) -> Option<u64>;
}

/// The transactions that holders of one [`Fs`] edit.
#[derive(Default)]
pub(crate) struct OpenTxns {
    trees: Mutex<HashMap<TxnId, Weak<dyn OpenTree>>>,
    proto_revs: Mutex<HashMap<TxnId, Weak<dyn OpenProtoRev>>>,
}

impl OpenTxns {
    /// Adds a transaction; returns false if it is edited already.
    pub(crate) fn add(&self, txn: TxnId, tree: Weak<dyn OpenTree>) -> bool {
        let mut trees = self.trees.lock();
        if trees.get(&txn).is_some_and(|tree| tree.strong_count() > 0) {
            return false;
        }
        trees.retain(|_, tree| tree.strong_count() > 0);
        trees.insert(txn, tree);
        true
    }

    /// Removes a transaction.
    pub(crate) fn remove(&self, txn: TxnId) {
        self.trees.lock().remove(&txn);
    }

    /// Returns the tree of a transaction; `None` if it is not edited.
    pub(crate) fn tree(&self, txn: TxnId) -> Option<Arc<dyn OpenTree>> {
        self.trees.lock().get(&txn)?.upgrade()
    }

    /// Adds a proto-revision file, in place of an earlier one of the same transaction.
    pub(crate) fn add_proto_rev(&self, txn: TxnId, proto_rev: Weak<dyn OpenProtoRev>) {
        self.proto_revs.lock().insert(txn, proto_rev);
    }

    /// Removes the proto-revision file of a transaction if all its users are gone.
    pub(crate) fn remove_unused_proto_rev(&self, txn: TxnId) {
        let mut proto_revs = self.proto_revs.lock();
        if proto_revs
            .get(&txn)
            .is_some_and(|proto| proto.strong_count() == 0)
        {
            proto_revs.remove(&txn);
        }
    }

    fn proto_rev(&self, txn: TxnId) -> Option<Arc<dyn OpenProtoRev>> {
        self.proto_revs.lock().get(&txn)?.upgrade()
    }
}

impl Fs {
    /// Returns where an item of a transaction's proto-revision file starts, bytes.
    ///
    /// # Errors
    /// `FS_CORRUPT` if there is no such item; the system's.
    pub(crate) fn proto_rev_offset(&self, txn: TxnId, item: u64) -> Result<u64> {
        if !self.format().logical {
            return Ok(item);
        }
        let offset = match self.open_txns().proto_rev(txn) {
            Some(proto_rev) => proto_rev.item_offset(item),
            None if self.format().is_fsx() => self.fsx_proto_rev_offset(txn, item)?,
            None => proto_index::find_l2p(&read_proto_index(self, txn, PROTO_L2P)?, item),
        };
        offset.ok_or_else(|| {
            Error::new(
                Code::FS_CORRUPT,
                format!("Item {item} of transaction '{txn}' does not exist"),
            )
        })
    }
}

/// Reads an index file of a transaction; a missing one is empty.
///
/// # Errors
/// The system's.
pub(crate) fn read_proto_index(store: &Store, txn: TxnId, name: &str) -> Result<Vec<u8>> {
    let path = store.layout().txn(&txn.to_string()).join(name);
    match store.disk().read_small(&path) {
        Ok(bytes) => Ok(bytes),
        Err(e) => match Error::io("Can't open file", &path, &e) {
            e if is_missing(&e) => Ok(Vec::new()),
            e => Err(e),
        },
    }
}

/// The file with the L2P index of a transaction.
pub(crate) const PROTO_L2P: &str = "index.l2p";
