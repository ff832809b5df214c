//! Removing transactions, and what crashes have left of some.
//!
//! A transaction that is being removed has the root and the directory that make it one until the last moment, so as long as any
//! of its other files is left everybody can see it and remove it. Then the directory gets a name that is no transaction's,
//! and only after that what is in it goes: the incumbent's tools list a directory without a root, but cannot remove it.

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
        // What is left of others is in nobody's way.
        _ = self.sweep_transactions(&[GONE_SUFFIX]);
        Ok(())
    }

    /// Removes a transaction's directory with all files in it. A crash leaves a directory that is no transaction; the next one
    /// that is removed takes it along, and so do `recover` and a `load`.
    pub(crate) fn remove_txn_dir(&self, name: &str) -> Result<()> {
        let path = self.layout().txn(name);
        let gone = self.layout().transactions().join(format!("{name}{GONE_SUFFIX}"));
        let mut renamed = self.disk().rename(&path, &gone);
        if renamed
            .as_ref()
            .is_err_and(|e| e.kind() != io::ErrorKind::NotFound)
        {
            // A crash has left one of that name, and the number was given out again.
            self.remove_files_and_dir(&gone)?;
            renamed = self.disk().rename(&path, &gone);
        }
        match renamed {
            Ok(()) => self.remove_files_and_dir(&gone),
            // Somebody else was faster.
            Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(e) => Err(Error::io("Can't remove directory", &path, &e)),
        }
    }

    /// Removes all that crashes have left in the transactions' directory. Nobody else may work on the filesystem: a transaction
    /// that is being begun would lose its directory.
    pub(crate) fn remove_unnamed_txns(&self) -> Result<()> {
        self.sweep_transactions(&[NEW_SUFFIX, GONE_SUFFIX])
    }

    /// Removes what is left of transactions that were being removed.
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

/// Ends the name of a directory that is no transaction's any more.
const GONE_SUFFIX: &str = ".gone";
