//! [`FsxFs`]: an open filesystem, the start of every read.

use std::path::Path;
use std::sync::Arc;

use base::{Code, Error, Result, Revnum};
use fsfs::ChangedPath;
use fsfs::disk::{Disk, RealDisk};

use super::root::FsxRoot;
use crate::format::changes;
use crate::format::id::{ChangeSet, FsxId};
use crate::format::noderev::NodeRev;
use crate::format::p2l::{CHANGES_ITEM, ItemType};
use crate::store::Store;
use crate::store::container::Container;

/// An open filesystem. Cheap to clone; every method may be called from many threads.
#[derive(Clone)]
pub struct FsxFs(Arc<Store>);

impl FsxFs {
    /// Opens REPOS/db.
    ///
    /// # Errors
    /// `FS_UNSUPPORTED_FORMAT`, `FS_UNKNOWN_FS_TYPE`, `BAD_VERSION_FILE_FORMAT`; the system's if a file is missing.
    pub fn open(db: &Path) -> Result<Self> {
        Self::open_on(db, Arc::new(RealDisk))
    }

    /// Opens a filesystem on another disk than the machine's.
    ///
    /// # Errors
    /// As [`FsxFs::open`].
    pub fn open_on(db: &Path, disk: Arc<dyn Disk>) -> Result<Self> {
        Ok(FsxFs(Arc::new(Store::open(db, disk)?)))
    }

    pub(crate) fn store(&self) -> &Store {
        &self.0
    }

    /// The path of `db/`.
    pub fn path(&self) -> &Path {
        self.0.layout.db()
    }

    /// The UUID.
    pub fn uuid(&self) -> &str {
        &self.0.uuid
    }

    /// Reads the youngest revision.
    ///
    /// # Errors
    /// `REVNUM_PARSE_FAILURE`; the system's.
    pub fn youngest(&self) -> Result<Revnum> {
        self.0.youngest()
    }

    /// The tree of a revision.
    ///
    /// # Errors
    /// `FS_NO_SUCH_REVISION` `No such revision N`.
    pub fn root(&self, rev: Revnum) -> Result<FsxRoot> {
        self.0.check_rev(rev)?;
        Ok(FsxRoot::of_revision(self, rev))
    }

    /// The changed paths of a revision, one entry for each path, sorted by the bytes of the path.
    ///
    /// # Errors
    /// `FS_NO_SUCH_REVISION`, `FS_CORRUPT`; the system's.
    pub fn changed_paths(&self, rev: Revnum) -> Result<Vec<ChangedPath>> {
        self.0.check_rev(rev)?;
        let file = self.0.rev_file(rev)?;
        let item = file.item(rev, CHANGES_ITEM)?;
        match item.item_type {
            ItemType::Changes => file.in_file(changes::parse(&file.read_checked(&item)?)),
            _ => match self.0.container(&file, &item)? {
                Container::Changes(container) => file.in_file(container.get(item.sub_item)),
                Container::NodeRevs(_) | Container::Reps(_) => Err(wrong_type(rev, CHANGES_ITEM)),
            },
        }
    }

    /// The node-revision that an ID names.
    pub(super) fn noderev(&self, id: FsxId) -> Result<NodeRev> {
        let rev = match id.change_set {
            ChangeSet::Revision(rev) => rev,
            ChangeSet::Txn(txn) => return self.txn_noderev(txn, id),
        };
        let file = self.0.rev_file(rev)?;
        let item = file.item(rev, id.number)?;
        let noderev = match item.item_type {
            ItemType::NodeRev => file.in_file(NodeRev::parse(&file.read_checked(&item)?))?,
            _ => match self.0.container(&file, &item)? {
                Container::NodeRevs(container) => file.in_file(container.get(item.sub_item))?,
                Container::Changes(_) | Container::Reps(_) => return Err(wrong_type(rev, id.number)),
            },
        };
        match noderev.id == id {
            true => Ok(noderev),
            false => Err(Error::new(
                Code::FS_CORRUPT,
                format!("Node-revision '{id}' is stored with ID '{}'", noderev.id),
            )),
        }
    }
}

/// The number of the root of every revision and transaction.
pub(super) const ROOT_ITEM: u64 = 2;

/// The error for an item of another type than what refers to it expects.
pub(super) fn wrong_type(rev: Revnum, item: u64) -> Error {
    let message = format!("Item {item} of revision {rev} has another type");
    Error::new(Code::FS_CORRUPT, message)
}
