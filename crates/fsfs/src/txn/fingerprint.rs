//! Transactions that several processes edit in turn.
//!
//! A transaction that stays open between the requests of a client is kept in memory, and its files are as of the last
//! [`Txn::write_to_disk`]. Another server may continue it from there, or an administrator may remove it. So before each use its
//! holder compares the [`TxnFingerprint`] of the files, and opens the transaction again if they have changed.

use std::io;
use std::path::Path;
use std::sync::Arc;

use rustix::io::Errno;

use base::{Error, Result};

use super::edit::{Txn, TxnStatus};
use super::open_tree::weak_tree;
use crate::store::disk::{FileMeta, is_missing};
use crate::tree::Fs;

/// The metadata of the files that every change of a transaction changes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TxnFingerprint([Option<FileMeta>; 3]);

impl Txn {
    /// Returns the fingerprint of the files. It differs after any change by another process, and after [`Txn::write_to_disk`].
    ///
    /// # Errors
    /// The system's.
    pub fn fingerprint(&self) -> Result<TxnFingerprint> {
        let dir = self.fs.layout().txn(&self.name);
        // Each change of the tree adds to the log; counters and properties are replaced.
        Ok(TxnFingerprint([
            file_meta(&self.fs, &dir.join("changes"))?,
            file_meta(&self.fs, &dir.join("next-ids"))?,
            file_meta(&self.fs, &dir.join("props"))?,
        ]))
    }

    /// Reads again what other processes, such as hooks, may have changed. `before` is the fingerprint after the last
    /// [`Txn::write_to_disk`].
    ///
    /// # Errors
    /// `ENOENT` if it is gone, with what a client sees then; those of [`Fs::open_txn`].
    pub fn reload(&mut self, before: &TxnFingerprint) -> Result<()> {
        self.check_open()?;
        if self.fs.check_txn(&self.name).is_err() {
            self.status = TxnStatus::Ended;
            let missing = missing_file("Can't open file", &self.fs.layout().txn(&self.name).join("props"));
            return Err(self.with_cleanup(missing));
        }
        let now = self.fingerprint()?;
        if now.0[..2] == before.0[..2] {
            // The file is small, and its time may be the same although it was written again: it is always read.
            let list = self.fs.stored_txn_props(&self.name)?;
            let mut state = self.state.write();
            state.props = Arc::new(list);
            state.on_disk.props = true;
            return Ok(());
        }
        // From here on the files are valid and not this value, for readers of this process too.
        self.fs.open_txns().remove(self.id);
        let mut read = match self.fs.open_txn(&self.name) {
            Ok(read) => read,
            Err(e) => {
                self.status = TxnStatus::Broken;
                return Err(e);
            }
        };
        read.access = std::mem::take(&mut self.access);
        std::mem::swap(self, &mut read);
        read.close_unwritten();
        // The old value was registered under the same ID, and its drop has removed that.
        self.fs.open_txns().add(self.id, weak_tree(&self.state));
        Ok(())
    }

    /// Adds to an error of a commit that the transaction cannot be cleaned up, if it was removed meanwhile.
    pub fn with_cleanup(&self, error: Error) -> Error {
        if self.fs.check_txn(&self.name).is_ok() {
            return error;
        }
        let cleanup = missing_file("Can't open directory", &self.fs.layout().txn(&self.name));
        error.compose(cleanup.context(format!("Transaction '{}' cleanup failed", self.name)))
    }

    /// True if the log with this fingerprint contains nothing but what this process has read and written. False means that
    /// another process has changed the transaction while it was read or written to disk.
    pub fn has_read_log_of(&self, fingerprint: &TxnFingerprint) -> bool {
        let [log, ..] = &fingerprint.0;
        log.as_ref().map_or(0, |meta| meta.len) == self.state.read().on_disk.log_bytes
    }

    /// Keeps other processes from writing to the transaction or committing it, or ends that. Needed while the files lack changes
    /// of this process.
    ///
    /// # Errors
    /// `FS_REP_BEING_WRITTEN` if another process writes; `FS_TRANSACTION_DEAD` if another process holds changes that are not in the
    /// files, or held them when it ended; the system's.
    pub fn hold_lock(&self, hold: bool) -> Result<()> {
        self.proto.hold_lock(hold)
    }

    /// Gives the lock of [`Txn::hold_lock`] back, and keeps no file open until the transaction is changed.
    ///
    /// # Errors
    /// The system's, if other processes would still be refused. The lock is kept then.
    pub fn release(&self) -> Result<()> {
        self.proto.release()
    }

    /// Makes all other processes refuse the transaction until the lock, which is held, is given back. If this process ends
    /// before that, they refuse it for good. Needed before a client learns of a change that is not in the files. False if it
    /// cannot be done: then the change must be written to disk first.
    pub fn refuse_others(&self) -> bool {
        self.proto.refuse_others()
    }

    /// Returns the number of its own node-revisions: its memory grows with them.
    pub fn node_count(&self) -> usize {
        self.state.read().nodes.len()
    }

    /// Drops the value without writing anything. The transaction stays as its files have it.
    pub fn close_unwritten(mut self) {
        self.status = TxnStatus::Ended;
    }
}

fn missing_file(what: &str, path: &Path) -> Error {
    Error::io(
        what,
        path,
        &io::Error::from_raw_os_error(Errno::NOENT.raw_os_error()),
    )
}

fn file_meta(fs: &Fs, path: &Path) -> Result<Option<FileMeta>> {
    match fs.disk().metadata(path) {
        Ok(meta) => Ok(Some(meta)),
        Err(e) => match Error::io("Can't get attribute information from", path, &e) {
            e if is_missing(&e) => Ok(None),
            e => Err(e),
        },
    }
}
