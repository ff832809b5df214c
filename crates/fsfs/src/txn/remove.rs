//! Removing transactions and what crashes have left of them.
//!
//! While a transaction is removed, its root and its directory stay until the end, so that it can be listed and removed again
//! after a failure. Then the directory gets a name that is no transaction's, and its files are removed after that: the
//! incumbent's tools list a directory without a root, but cannot remove it.

use std::io;
use std::path::Path;

use base::{Error, Result};

use super::begin::NEW_SUFFIX;
use super::proto_rev::ProtoRev;
use crate::store::disk::remove_file_in;
use crate::tree::Fs;

impl Fs {
    /// Removes a transaction and everything in it.
    ///
    /// # Errors
    /// `FS_NO_SUCH_TRANSACTION`; the system's.
    pub fn purge_txn(&self, name: &str) -> Result<()> {
        let id = self.check_txn(name)?;
        self.open_txns().remove(id);
        ProtoRev::remove(self, id)?;
        self.remove_txn_dir(name)?;
        // Leftovers of other transactions are harmless.
        _ = self.sweep_transactions(&[GONE_SUFFIX]);
        Ok(())
    }

    /// Removes the directory of a transaction. A crash leaves a directory that is no transaction; it is removed together with the
    /// next transaction, or by `recover` or a `load`.
    pub(crate) fn remove_txn_dir(&self, name: &str) -> Result<()> {
        let path = self.layout().txn(name);
        let gone = self.layout().transactions().join(format!("{name}{GONE_SUFFIX}"));
        let mut renamed = self.disk().rename(&path, &gone);
        if renamed
            .as_ref()
            .is_err_and(|e| e.kind() != io::ErrorKind::NotFound)
        {
            // Left by a crash; the number was given out again.
            self.remove_files_and_dir(&gone)?;
            renamed = self.disk().rename(&path, &gone);
        }
        match renamed {
            Ok(()) => self.remove_files_and_dir(&gone),
            // Another process has removed it.
            Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(e) => Err(Error::io("Can't remove directory", &path, &e)),
        }
    }

    /// Takes the directory of a committed transaction away from it, for the next transaction of the group. False if there is no group,
    /// if the file in it has a name of its own, or if it fails. Its new name is that of a directory which is about to become a
    /// transaction's, so that no other process removes its file in the moment in which it becomes one.
    pub(super) fn keep_txn_dir(&self, name: &str) -> bool {
        if !self.is_group_view() || !self.format().has_fixed_root_name() {
            return false;
        }
        let spare = self.layout().transactions().join(format!("{name}{NEW_SUFFIX}"));
        let is_kept = self.disk().rename(&self.layout().txn(name), &spare).is_ok();
        if is_kept && let Some(older) = self.replace_spare_txn_dir(Some(spare)) {
            // One that stays is removed as what a crash has left.
            _ = self.remove_files_and_dir(&older);
        }
        is_kept
    }

    /// Removes the directory that [`Fs::keep_txn_dir`] has kept.
    pub(super) fn remove_spare_txn_dir(&self) {
        if let Some(spare) = self.replace_spare_txn_dir(None) {
            // As above.
            _ = self.remove_files_and_dir(&spare);
        }
    }

    /// Removes everything that crashes have left in `db/transactions`. No other process may work on the filesystem: a transaction
    /// that is just beginning would lose its directory.
    pub(crate) fn remove_unnamed_txns(&self) -> Result<()> {
        self.sweep_transactions(&[NEW_SUFFIX, GONE_SUFFIX])
    }

    /// Removes what is left of removed transactions.
    pub(crate) fn remove_gone_txns(&self) -> Result<()> {
        self.sweep_transactions(&[GONE_SUFFIX])
    }

    fn sweep_transactions(&self, endings: &[&str]) -> Result<()> {
        let dir = self.layout().transactions();
        let names = self.disk().list(&dir);
        let names = names.map_err(|e| Error::io("Can't open directory", &dir, &e))?;
        let is_left = |name: &str| endings.iter().any(|ending| name.ends_with(ending));
        let mut left = names.iter().filter(|name| name.to_str().is_some_and(is_left));
        left.try_for_each(|name| self.remove_files_and_dir(&dir.join(name)))
    }

    pub(super) fn remove_files_and_dir(&self, dir: &Path) -> Result<()> {
        let ignore_missing = |result: io::Result<()>, what: &str, path: &Path| match result {
            Err(e) if e.kind() != io::ErrorKind::NotFound => Err(Error::io(what, path, &e)),
            _ => Ok(()),
        };
        let files = match self.disk().list(dir) {
            Ok(files) => files,
            Err(e) => return ignore_missing(Err(e), "Can't open directory", dir),
        };
        for file in files {
            let path = dir.join(file);
            ignore_missing(
                remove_file_in(self.disk(), dir, &path),
                "Can't remove file",
                &path,
            )?;
        }
        ignore_missing(self.disk().remove_dir(dir), "Can't remove directory", dir)
    }
}

/// The suffix of a directory that is no transaction's any more.
const GONE_SUFFIX: &str = ".gone";
