//! Transactions, read from their files. Source: section 19 of the description of FSX.
//!
//! A node-revision of a transaction is a file, and so are the entries of a directory and a property list that the
//! transaction has changed. Texts are in the proto-revision file ([`StoredRep::open_txn`](super::rep::StoredRep)).

use std::path::PathBuf;

use base::number::parse_base36;
use base::{Code, Error, Props, Result};
use fsfs::disk::is_missing;
use fsfs::{ChangedPath, fold_changes};

use super::FsxFs;
use super::root::FsxRoot;
use crate::format::dir::FsxDirEntries;
use crate::format::id::{ChangeSet, FsxId};
use crate::format::noderev::NodeRev;
use crate::format::{changes, prop_list};
use crate::store::handle::in_file;

impl FsxFs {
    /// The names of all transactions, sorted.
    ///
    /// # Errors
    /// The system's.
    pub fn list_txns(&self) -> Result<Vec<String>> {
        let path = self.store().layout.transactions();
        let names = self.store().disk().list(&path);
        let names = names.map_err(|e| Error::io("Can't open directory", &path, &e))?;
        let mut txns: Vec<String> = names
            .iter()
            .filter_map(|name| Some(name.to_str()?.strip_suffix(".txn")?.to_owned()))
            .filter(|name| parse_base36(name.as_bytes()).is_some())
            .collect();
        txns.sort();
        Ok(txns)
    }

    /// The tree of a transaction.
    ///
    /// # Errors
    /// `FS_MALFORMED_TXN_ID`, `FS_NO_SUCH_TRANSACTION`.
    pub fn txn_root(&self, name: &str) -> Result<FsxRoot> {
        Ok(FsxRoot::of_transaction(self, self.check_txn(name)?))
    }

    /// The properties of a transaction.
    ///
    /// # Errors
    /// As [`FsxFs::txn_root`]; `FS_CORRUPT_PROPLIST`; the system's.
    pub fn txn_props(&self, name: &str) -> Result<Props> {
        let (path, bytes) = self.txn_file(self.check_txn(name)?, "props")?;
        in_file(prop_list::decode(&bytes), &path)
    }

    fn check_txn(&self, name: &str) -> Result<u64> {
        let malformed = || Error::new(Code::FS_MALFORMED_TXN_ID, format!("malformed txn id '{name}'"));
        let txn = parse_base36(name.as_bytes()).filter(|&txn| txn < i64::MAX as u64);
        let txn = txn.ok_or_else(malformed)?;
        match self
            .store()
            .disk()
            .metadata(&self.store().layout.txn_file(txn, ""))
        {
            Ok(meta) if meta.is_dir => Ok(txn),
            _ => Err(Error::new(
                Code::FS_NO_SUCH_TRANSACTION,
                format!("No such transaction '{name}'"),
            )),
        }
    }

    pub(super) fn txn_noderev(&self, txn: u64, id: FsxId) -> Result<NodeRev> {
        let (path, bytes) = self.txn_file(txn, &format!("node.{id}")).map_err(|e| {
            let message = format!(
                "Reference to non-existent node '{id}' in filesystem '{}'",
                self.uuid()
            );
            match is_missing(&e) {
                true => e.wrap(Code::FS_ID_NOT_FOUND, message),
                false => e,
            }
        })?;
        in_file(NodeRev::parse(&bytes), &path)
    }

    pub(super) fn txn_children(&self, dir: &NodeRev) -> Result<FsxDirEntries> {
        let (path, bytes) = self.file_of(dir, "children")?;
        in_file(FsxDirEntries::decode_children(&bytes), &path)
    }

    pub(super) fn txn_node_props(&self, node: &NodeRev) -> Result<Props> {
        let (path, bytes) = self.file_of(node, "props")?;
        in_file(prop_list::decode(&bytes), &path)
    }

    /// The changed paths of a transaction: its log, folded.
    pub(super) fn txn_changes(&self, txn: u64) -> Result<Vec<ChangedPath>> {
        let (path, bytes) = self.txn_file(txn, "changes")?;
        fold_changes(in_file(changes::parse_log(&bytes), &path)?)
    }

    /// A file of a node-revision of a transaction.
    fn file_of(&self, node: &NodeRev, suffix: &str) -> Result<(PathBuf, Vec<u8>)> {
        match node.id.change_set {
            ChangeSet::Txn(txn) => self.txn_file(txn, &format!("node.{}.{suffix}", node.id)),
            ChangeSet::Revision(_) => Err(Error::new(
                Code::FS_CORRUPT,
                format!("Node-revision '{}' has an uncommitted content", node.id),
            )),
        }
    }

    fn txn_file(&self, txn: u64, name: &str) -> Result<(PathBuf, Vec<u8>)> {
        let path = self.store().layout.txn_file(txn, name);
        match self.store().disk().read_small(&path) {
            Ok(bytes) => Ok((path, bytes)),
            Err(e) => Err(Error::io("Can't open file", &path, &e)),
        }
    }
}
