//! The proto-revision file: what is to become the revision file, and the index of what is in it.
//!
//! [`ProtoRev`] belongs to the transaction and knows which items the file holds. To write, one takes a [`ProtoWriter`]: it
//! holds the file's lock (`<txn>.rev-lock`), and dropping it without [`ProtoWriter::keep`] takes everything back that was
//! written through it. The bytes of a text go to the file at once, the index stays in memory until
//! [`ProtoRev::lay_down`], which other processes need to read the transaction, or until the end of the revision is
//! written.
//!
//! An item is addressed by number with logical addressing and by offset with physical addressing; callers get the right one
//! of both from [`ProtoWriter::next_item`] before, and [`ProtoWriter::append_item`] after writing.

use std::path::Path;

use base::{Code, Error, Result, Revnum};

use crate::format::id::TxnId;
use crate::format::p2l::ItemKind;
use crate::fs::Fs;

/// The proto-revision file of a transaction and its index. Cheap to clone: all clones are the same.
#[derive(Clone)]
pub(crate) struct ProtoRev {
    fs: Fs,
    txn: TxnId,
}

/// The right to write to a proto-revision file. Dropping it takes back what was written through it.
pub(crate) struct ProtoWriter {
    _proto: ProtoRev,
}

impl ProtoRev {
    /// Makes the empty files of a new transaction (its directory exists already).
    ///
    /// # Errors
    /// The system's.
    pub(crate) fn create(fs: &Fs, txn: TxnId) -> Result<ProtoRev> {
        let _ = (fs, txn);
        Err(unfinished())
    }

    /// Reads the index of a transaction that is on disk.
    ///
    /// # Errors
    /// `FS_INDEX_INCONSISTENT` if the file is shorter than what its index describes; the system's.
    pub(crate) fn open(fs: &Fs, txn: TxnId) -> Result<ProtoRev> {
        let _ = (fs, txn);
        Err(unfinished())
    }

    /// Removes the files of a transaction, if they are there.
    ///
    /// # Errors
    /// The system's.
    pub(crate) fn remove(fs: &Fs, txn: TxnId) -> Result<()> {
        let _ = (fs, txn);
        Err(unfinished())
    }

    /// The transaction.
    pub(crate) fn txn(&self) -> TxnId {
        self.txn
    }

    /// Takes the file's lock to write behind what is there.
    ///
    /// # Errors
    /// `FS_REP_BEING_WRITTEN` if somebody writes already, in this process or another; `FS_INDEX_INCONSISTENT`; the system's.
    pub(crate) fn writer(&self) -> Result<ProtoWriter> {
        let _ = &self.fs;
        Err(unfinished())
    }

    /// Writes the index files into the transaction's directory, if anything is new since the last time.
    ///
    /// # Errors
    /// The system's.
    pub(crate) fn lay_down(&self) -> Result<()> {
        Err(unfinished())
    }
}

impl ProtoWriter {
    /// Address that the next item will have: the number that is taken for it hereby (logical addressing), or the offset of
    /// what is appended next. With logical addressing the root node-revision has 2 and the changed paths have 1: give them
    /// straight to [`ProtoWriter::append_item`].
    pub(crate) fn next_item(&mut self) -> u64 {
        0
    }

    /// Appends a whole item. `item` is the number from [`ProtoWriter::next_item`] or one of the fixed ones (ignored with
    /// physical addressing); `None` takes the next. Returns the item's address.
    ///
    /// # Errors
    /// The system's.
    pub(crate) fn append_item(&mut self, kind: ItemKind, item: Option<u64>, bytes: &[u8]) -> Result<u64> {
        let _ = (kind, item, bytes);
        Err(unfinished())
    }

    /// Appends the end of the revision: indexes and footer (logical), or the line with the two addresses (physical). Then
    /// everything is written out, and made durable if `sync`.
    ///
    /// # Errors
    /// The system's.
    pub(crate) fn finish(&mut self, rev: Revnum, root: u64, changes: u64, sync: bool) -> Result<()> {
        let _ = (rev, root, changes, sync);
        Err(unfinished())
    }

    /// After [`ProtoWriter::finish`]: gives the file the permissions of `like` and moves it to `target`, durably if
    /// `sync`. Then the lock is given back and its file removed.
    ///
    /// # Errors
    /// The system's.
    pub(crate) fn publish(self, target: &Path, like: &Path, sync: bool) -> Result<()> {
        let _ = (target, like, sync);
        Err(unfinished())
    }

    /// Keeps what was written and gives the lock back.
    ///
    /// # Errors
    /// The system's, if something could not be written out: then nothing is kept.
    pub(crate) fn keep(self) -> Result<()> {
        Err(unfinished())
    }
}

fn unfinished() -> Error {
    Error::new(Code::UNSUPPORTED_FEATURE, "being written")
}
