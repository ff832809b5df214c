//! [`Fs`]: an open filesystem, the start of every read and every change.

use std::ops::Deref;
use std::path::Path;
use std::sync::Arc;

use base::{Result, Revnum};

use super::open_txns::OpenTxns;
use super::root::Root;
use crate::store::cache::Cache;
use crate::store::disk::{Disk, RealDisk};
use crate::store::read_mode::ReadMode;
use crate::store::shared::SharedFs;
use crate::store::{PreparedFiles, Store};

/// An open filesystem. Cheap to clone; Send + Sync; every method may be called from many threads.
///
/// It consists of the files ([`Store`], to whose methods it dereferences) and the transactions that this process
/// edits. Each module adds the methods of its own subject.
#[derive(Clone)]
pub struct Fs(Arc<FsInner>);

struct FsInner {
    store: Store,
    open_txns: Arc<OpenTxns>,
}

impl Deref for Fs {
    type Target = Store;

    fn deref(&self) -> &Store {
        &self.0.store
    }
}

impl Fs {
    /// Opens REPOS/db.
    ///
    /// # Errors
    /// `FS_UNSUPPORTED_FORMAT`, `FS_UNKNOWN_FS_TYPE`, the system's if a file is missing.
    pub fn open(db: &Path, cache: &Arc<Cache>) -> Result<Fs> {
        Self::open_on(db, cache, Arc::new(RealDisk))
    }

    /// Opens a filesystem on another disk than the machine's.
    ///
    /// # Errors
    /// As [`Fs::open`].
    pub fn open_on(db: &Path, cache: &Arc<Cache>, disk: Arc<dyn Disk>) -> Result<Fs> {
        let fs = Self::open_without_current(db, cache, disk)?;
        fs.youngest()?;
        Ok(fs)
    }

    /// Opens a filesystem that several machines share. `db` is the directory of this machine, see [`crate::shared`].
    ///
    /// # Errors
    /// As [`Fs::open`]; those of the shared storage.
    pub fn open_shared(db: &Path, cache: &Arc<Cache>, disk: Arc<dyn Disk>, shared: SharedFs) -> Result<Fs> {
        let fs = Fs::of(Store::open(db, cache, disk, Some(shared))?);
        fs.youngest()?;
        Ok(fs)
    }

    /// True if several machines share the filesystem.
    pub fn is_shared(&self) -> bool {
        self.shared_fs().is_some()
    }

    /// Opens a filesystem whose `current` may be missing.
    pub(crate) fn open_without_current(db: &Path, cache: &Arc<Cache>, disk: Arc<dyn Disk>) -> Result<Fs> {
        Ok(Fs::of(Store::open(db, cache, disk, None)?))
    }

    fn of(store: Store) -> Fs {
        Fs(Arc::new(FsInner {
            store,
            open_txns: Arc::default(),
        }))
    }

    /// Returns a handle to the same filesystem, with the same transactions and another read mode.
    pub fn with_read_mode(&self, read_mode: &ReadMode) -> Fs {
        if self.read_mode().may_wait() && read_mode.may_wait() {
            return self.clone();
        }
        Fs(Arc::new(FsInner {
            store: self.0.store.with_read_mode(read_mode),
            open_txns: self.0.open_txns.clone(),
        }))
    }

    /// Opens the same filesystem again, with a cache of its own for one pass, of at most `budget` bytes.
    pub(crate) fn reopen(&self, budget: u64) -> Result<Fs> {
        self.0.store.reopen(budget).map(Fs::of)
    }

    /// Returns a handle that also sees the revisions up to `youngest`; see [`Store::group_view`].
    pub(crate) fn group_view(&self, youngest: Revnum) -> Fs {
        Fs::of(self.0.store.group_view(youngest))
    }

    /// Returns a handle that also sees one prepared revision; see [`Store::prepared_view`].
    pub(crate) fn prepared_view(&self, prepared: PreparedFiles) -> Fs {
        Fs::of(self.0.store.prepared_view(prepared))
    }

    /// The tree of a revision.
    ///
    /// # Errors
    /// `FS_NO_SUCH_REVISION` `No such revision N`.
    pub fn root(&self, rev: Revnum) -> Result<Root> {
        self.check_rev(rev)?;
        Ok(Root::of_revision(self, rev))
    }

    /// The transactions that users of this handle edit.
    pub(crate) fn open_txns(&self) -> &OpenTxns {
        &self.0.open_txns
    }
}
