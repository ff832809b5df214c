//! Changing a transaction's tree: SKELETON (agreed signatures; the bodies are being written).

use std::sync::Arc;

use base::checksum::Md5;
use base::{Code, Date, Error, FsPath, Props, Result, Revnum};
use delta::editor::TextChunk;

use crate::fs::Fs;
use crate::root::Root;

/// How a new transaction treats the changes that it is given.
#[derive(Clone, Copy, Debug, Default)]
pub struct TxnOptions {
    /// Users' locks are enforced, while editing and again at the commit.
    pub check_locks: bool,
    /// The svn:date that is set on the transaction stays (`load`); otherwise the commit sets its own time.
    pub client_date: bool,
}

/// Who commits, and which lock tokens they hold: what enforcing users' locks asks.
#[derive(Clone, Debug, Default)]
pub struct LockAccess {
    /// User name; `None` is anonymous.
    pub user: Option<String>,
    /// Tokens, with or without the path for which they were given.
    pub tokens: Vec<String>,
}

/// An open transaction that this process edits. State is kept in memory and laid down in `db/transactions` by
/// [`Txn::lay_down`], so that other processes (hooks, `svnlook -t`) see it; the text goes to the prototype revision
/// file at once.
pub struct Txn {
    fs: Fs,
}

/// What became of a commit.
#[derive(Debug)]
pub struct Committed {
    /// The new revision.
    pub rev: Revnum,
    /// What failed after the revision existed (rep-cache, packing): the commit stands.
    pub post_commit_error: Option<Error>,
}

impl Fs {
    /// Begins a transaction on a revision. `now` becomes its svn:date.
    ///
    /// # Errors
    /// `FS_NO_SUCH_REVISION`; the system's.
    pub fn begin_txn(&self, base: Revnum, options: TxnOptions, now: Date) -> Result<Txn> {
        let _ = (base, options, now);
        Err(unfinished())
    }

    /// Opens a transaction that exists, to go on editing it.
    ///
    /// # Errors
    /// `FS_MALFORMED_TXN_ID`, `FS_NO_SUCH_TRANSACTION`; the system's.
    pub fn open_txn(&self, name: &str) -> Result<Txn> {
        let _ = name;
        Err(unfinished())
    }

    /// Removes a transaction and everything in it.
    ///
    /// # Errors
    /// `FS_NO_SUCH_TRANSACTION`; the system's.
    pub fn purge_txn(&self, name: &str) -> Result<()> {
        let _ = name;
        Err(unfinished())
    }
}

impl Txn {
    /// Its name: base revision and number.
    pub fn name(&self) -> &str {
        ""
    }

    /// The revision on which it builds.
    pub fn base_revision(&self) -> Revnum {
        Revnum::ZERO
    }

    /// The tree as it is now; what is changed later may or may not be seen through it.
    ///
    /// # Errors
    /// Those of reading the base.
    pub fn root(&self) -> Result<Root> {
        self.fs.root(self.base_revision())
    }

    /// Its property list, flags included.
    ///
    /// # Errors
    /// The system's.
    pub fn props(&self) -> Result<Arc<Props>> {
        Err(unfinished())
    }

    /// Sets or deletes a property of the transaction.
    ///
    /// # Errors
    /// The system's.
    pub fn set_prop(&mut self, name: &str, value: Option<&[u8]>) -> Result<()> {
        let _ = (name, value);
        Err(unfinished())
    }

    /// Who commits; needed before the first change where locks are checked.
    pub fn set_lock_access(&mut self, access: LockAccess) {
        let _ = access;
    }

    /// Adds an empty directory.
    ///
    /// # Errors
    /// `FS_ALREADY_EXISTS`, `FS_NOT_FOUND`, `FS_NOT_DIRECTORY`, `FS_PATH_SYNTAX`; those of locks.
    pub fn make_dir(&mut self, path: &FsPath) -> Result<()> {
        let _ = path;
        Err(unfinished())
    }

    /// Adds an empty file.
    ///
    /// # Errors
    /// As [`Txn::make_dir`].
    pub fn make_file(&mut self, path: &FsPath) -> Result<()> {
        let _ = path;
        Err(unfinished())
    }

    /// Deletes an entry and all below it.
    ///
    /// # Errors
    /// `FS_NOT_FOUND`, `FS_ROOT_DIR`; those of locks.
    pub fn delete(&mut self, path: &FsPath) -> Result<()> {
        let _ = path;
        Err(unfinished())
    }

    /// Copies a committed node, with history; replaces what is at `to`.
    ///
    /// # Errors
    /// `FS_NOT_FOUND`; those of locks.
    pub fn copy(&mut self, from: &Root, from_path: &FsPath, to: &FsPath) -> Result<()> {
        let _ = (from, from_path, to);
        Err(unfinished())
    }

    /// Puts a committed node at the same path of this tree, without history (`load` of copies of nothing).
    ///
    /// # Errors
    /// As [`Txn::copy`].
    pub fn revision_link(&mut self, from: &Root, path: &FsPath) -> Result<()> {
        let _ = (from, path);
        Err(unfinished())
    }

    /// Sets or deletes a property of a node.
    ///
    /// # Errors
    /// `FS_NOT_FOUND`; those of locks.
    pub fn change_prop(&mut self, path: &FsPath, name: &str, value: Option<&[u8]>) -> Result<()> {
        let _ = (path, name, value);
        Err(unfinished())
    }

    /// Starts a new text as a delta against the text that the file has now (or against nothing where it is empty).
    /// `base_md5` and `result_md5` are checked if they are given. One text is written at a time: the next call that
    /// begins one, or any other change, may come only after [`TextWriter::finish`] or a drop, which gives the text up.
    ///
    /// # Errors
    /// `FS_NOT_FOUND`, `FS_NOT_FILE`, `CHECKSUM_MISMATCH`, `FS_REP_BEING_WRITTEN`; those of locks.
    pub fn apply_textdelta(
        &mut self,
        path: &FsPath,
        base_md5: Option<&Md5>,
        result_md5: Option<&Md5>,
    ) -> Result<TextWriter> {
        let _ = (path, base_md5, result_md5);
        Err(unfinished())
    }

    /// Starts a new text given as it is.
    ///
    /// # Errors
    /// As [`Txn::apply_textdelta`].
    pub fn apply_text(&mut self, path: &FsPath, result_md5: Option<&Md5>) -> Result<TextWriter> {
        let _ = (path, result_md5);
        Err(unfinished())
    }

    /// Writes everything that other processes may read about the transaction to disk. A second call writes only what
    /// changed since.
    ///
    /// # Errors
    /// The system's.
    pub fn lay_down(&mut self) -> Result<()> {
        Err(unfinished())
    }

    /// Merges with what was committed meanwhile and makes it the next revision.
    ///
    /// # Errors
    /// `FS_CONFLICT` with the path; those of locks; the system's. The transaction is then still there.
    pub fn commit(&mut self, now: &dyn Fn() -> Date) -> Result<Committed> {
        let _ = now;
        Err(unfinished())
    }

    /// Removes the transaction.
    ///
    /// # Errors
    /// The system's.
    pub fn abort(self) -> Result<()> {
        Err(unfinished())
    }
}

/// A text that is being written. Owns its file until it is finished or dropped; independent of the [`Txn`] value, so that an
/// editor may keep it beside it.
pub struct TextWriter {
    _private: (),
}

impl TextWriter {
    /// The next window of the delta ([`Txn::apply_textdelta`] only).
    ///
    /// # Errors
    /// `SVNDIFF_…`, `FS_CORRUPT`; the system's.
    pub fn chunk(&mut self, chunk: TextChunk<'_>) -> Result<()> {
        let _ = chunk;
        Err(unfinished())
    }

    /// The next bytes of the text ([`Txn::apply_text`] only).
    ///
    /// # Errors
    /// The system's.
    pub fn write(&mut self, bytes: &[u8]) -> Result<()> {
        let _ = bytes;
        Err(unfinished())
    }

    /// Ends the text and hands it to its transaction; returns its MD5.
    ///
    /// # Errors
    /// `CHECKSUM_MISMATCH`; the system's. The node then keeps its old text.
    pub fn finish(self, txn: &mut Txn) -> Result<Md5> {
        let _ = txn;
        Err(unfinished())
    }
}

fn unfinished() -> Error {
    Error::new(Code::UNSUPPORTED_FEATURE, "being written")
}
