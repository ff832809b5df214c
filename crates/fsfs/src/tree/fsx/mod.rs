//! What is stored in another way in FSX: where node-revisions, changed paths and revision properties are found.
//!
//! The values are those of FSFS, and all above them is shared. Representations are in [`super::rep`].

mod revprops;
#[cfg(test)]
mod tests;

use std::path::Path;

use base::{Code, Error, Result, Revnum};

use crate::format::changes::RawChange;
use crate::format::fsx::noderev::FsxNodeRev;
use crate::format::fsx::p2l::{CHANGES_ITEM, ItemType};
use crate::format::fsx::{changes, proto_index};
use crate::format::id::{NodeRevId, TxnId};
use crate::format::noderev::NodeRev;
use crate::store::fsx::container::Container;
use crate::store::fsx::in_file;
use crate::tree::Fs;
use crate::tree::open_txns::PROTO_L2P;

impl Fs {
    /// Reads the node-revision that is this item of a revision.
    ///
    /// # Errors
    /// `FS_CORRUPT`, those of the indexes; the system's.
    pub(crate) fn fsx_noderev(&self, rev: Revnum, number: u64) -> Result<NodeRev> {
        let noderev = self.with_rev_file(rev, |file| {
            let items = file.fsx(self.cache())?;
            let item = items.item(rev, number)?;
            let stored = match item.item_type {
                ItemType::NodeRev => items.in_file(FsxNodeRev::parse(&items.read_checked(&item)?))?,
                _ => match file.container(self.cache(), &item)? {
                    Container::NodeRevs(container) => items.in_file(container.get(item.sub_item))?,
                    Container::Changes(_) | Container::Reps(_) => return Err(wrong_type(rev, number)),
                },
            };
            items.in_file(stored.into_noderev())
        })?;
        let id = NodeRevId::of_item(rev, number);
        if noderev.id == id {
            return Ok(noderev);
        }
        let message = format!("Node-revision '{id}' is stored with ID '{}'", noderev.id);
        Err(Error::new(Code::FS_CORRUPT, message))
    }

    /// Reads the changed-path list of a revision.
    ///
    /// # Errors
    /// `FS_CORRUPT`, those of the indexes; the system's.
    pub(crate) fn fsx_changes(&self, rev: Revnum) -> Result<Vec<RawChange>> {
        let list = self.with_rev_file(rev, |file| {
            let items = file.fsx(self.cache())?;
            let item = items.item(rev, CHANGES_ITEM)?;
            match item.item_type {
                ItemType::Changes => items.in_file(changes::parse(&items.read_checked(&item)?)),
                _ => match file.container(self.cache(), &item)? {
                    Container::Changes(container) => items.in_file(container.get(item.sub_item)),
                    Container::NodeRevs(_) | Container::Reps(_) => Err(wrong_type(rev, CHANGES_ITEM)),
                },
            }
        })?;
        Ok(list.into_iter().map(RawChange::without_id).collect())
    }

    /// Returns where an item of a transaction's proto-revision file starts, bytes; `None` if there is no such item.
    ///
    /// # Errors
    /// `FS_INDEX_CORRUPTION`; the system's.
    pub(crate) fn fsx_proto_rev_offset(&self, txn: TxnId, item: u64) -> Result<Option<u64>> {
        let path = self.layout().txn(&txn.to_string()).join(PROTO_L2P);
        let bytes = self.disk().read_small(&path);
        let bytes = bytes.map_err(|e| Error::io("Can't open file", &path, &e))?;
        in_file(proto_index::find_l2p(&bytes, item), &path)
    }

    /// Parses a file of a transaction.
    pub(crate) fn in_txn_file<T>(&self, result: Result<T>, path: &Path) -> Result<T> {
        match self.format().is_fsx() {
            true => in_file(result, path),
            false => result,
        }
    }
}

/// The error for an item of another type than what refers to it expects.
pub(crate) fn wrong_type(rev: Revnum, item: u64) -> Error {
    let message = format!("Item {item} of revision {rev} has another type");
    Error::new(Code::FS_CORRUPT, message)
}
