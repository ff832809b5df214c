//! Sharing: a content that is stored already is not stored again.

use std::collections::HashMap;
use std::sync::Arc;

use base::checksum::Sha1;
use base::{Code, Error, Result, Revnum};
use parking_lot::Mutex;

use crate::format::id::TxnId;
use crate::format::rep_line::Rep;
use crate::fs::Fs;
use crate::rep_cache::RepCacheRow;

/// Rows that are not in `rep-cache.db` yet, because their revisions are not current yet (`load` in groups): looked up like
/// those in it.
pub(crate) type UnsharedRows = Arc<Mutex<HashMap<Sha1, RepCacheRow>>>;

/// What a transaction knows about contents that its new ones may share, and which new ones others may share later.
/// Where sharing is off (by configuration or format) it finds nothing and collects nothing.
pub(crate) struct Sharing {
    _fs: Fs,
}

impl Sharing {
    /// For a new transaction, or one found on disk (`reads_disk`: then `<sha1>` files in its directory count too).
    pub(crate) fn new(fs: &Fs, txn: TxnId, reads_disk: bool) -> Sharing {
        let _ = (txn, reads_disk);
        Sharing { _fs: fs.clone() }
    }

    /// Looks in `rows` too, which belong to revisions up to `youngest`; for grouped commits.
    pub(crate) fn with_unshared(self, rows: UnsharedRows, youngest: Revnum) -> Sharing {
        let _ = (rows, youngest);
        self
    }

    /// Writes the `<sha1>` files that other processes need to go on with the transaction.
    ///
    /// # Errors
    /// The system's.
    pub(crate) fn lay_down(&mut self) -> Result<()> {
        Err(Error::new(Code::UNSUPPORTED_FEATURE, "being written"))
    }

    /// At the commit of `rev`, for each file text that a new node-revision refers to: what its rep line says from then on.
    /// A text of this transaction is noted for [`Sharing::into_rows`].
    pub(crate) fn commit_text(&mut self, rep: Rep, rev: Revnum) -> Rep {
        let _ = rev;
        rep
    }

    /// After the commit: the rows for [`Fs::add_to_rep_cache`].
    pub(crate) fn into_rows(self) -> Vec<RepCacheRow> {
        Vec::new()
    }
}

impl Fs {
    /// Adds rows to `rep-cache.db`, in one SQLite transaction; those whose content is there already change nothing. To be
    /// called without the write lock, after the revisions have become current.
    ///
    /// # Errors
    /// `SQLITE_…`; the commit stands all the same.
    pub(crate) fn add_to_rep_cache(&self, rows: &[RepCacheRow]) -> Result<()> {
        let _ = rows;
        Err(Error::new(Code::UNSUPPORTED_FEATURE, "being written"))
    }
}
