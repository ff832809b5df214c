//! An open transaction: the front door to its tree, its properties and its end.
//!
//! Editing happens in memory (`state`, `change`), and texts go to the prototype revision as they come (`text`). Readers of
//! this process see every change at once ([`Txn::root`]); other processes see what [`Txn::write_to_disk`] has written. A
//! transaction that is dropped without being committed or aborted is laid down, as if it had been left open.

use std::path::PathBuf;
use std::sync::Arc;

use base::checksum::Md5;
use base::{Code, Error, FsPath, NodeKind, Props, Result, Revnum, props};
use parking_lot::RwLock;

use super::begin::CLIENT_DATE;
use super::proto_rev::ProtoRev;
use super::state::TxnState;
use super::text::{TextWriter, source_of};
use crate::format::id::TxnId;
use crate::format::noderev::NodeRev;
use crate::store::cache::Instance;
use crate::tree::Fs;
use crate::tree::rep::TextReader;
use crate::tree::root::Root;
use crate::txn::rep_write::{ContentKind, RepSharing, RepWriter, delta_base};

/// How a new transaction treats the changes that it is given.
#[derive(Clone, Copy, Debug)]
pub struct TxnOptions {
    /// Users' locks are enforced, while editing and again at the commit.
    pub check_locks: bool,
    /// The svn:date that is set on the transaction stays (`load`); otherwise the commit sets its own time.
    pub client_date: bool,
    /// About how many changed nodes, and how many changes, are held in memory. What a larger transaction does not need at the
    /// moment is in files of its directory.
    pub max_in_memory: usize,
}

impl Default for TxnOptions {
    fn default() -> Self {
        TxnOptions {
            check_locks: false,
            client_date: false,
            max_in_memory: MAX_IN_MEMORY,
        }
    }
}

/// More than ordinary commits change, and some megabytes.
pub(super) const MAX_IN_MEMORY: usize = 8192;

/// Who commits, and which lock tokens they hold: what enforcing users' locks asks.
#[derive(Clone, Debug, Default)]
pub struct LockAccess {
    /// User name; `None` is anonymous.
    pub user: Option<String>,
    /// Tokens, with or without the path for which they were given.
    pub tokens: Vec<String>,
}

/// An open transaction that this process edits. State is kept in memory and laid down in `db/transactions` by
/// [`Txn::write_to_disk`], so that other processes (hooks, `svnlook -t`) see it; the text goes to the prototype revision
/// file at once.
pub struct Txn {
    pub(crate) fs: Fs,
    pub(super) id: TxnId,
    pub(super) name: String,
    /// Shared with whoever reads the transaction in this process.
    pub(super) state: Arc<RwLock<TxnState>>,
    pub(super) proto: ProtoRev,
    pub(super) sharing: RepSharing,
    pub(super) access: LockAccess,
    pub(super) status: TxnStatus,
    /// The revisions that it builds on.
    pub(super) instance: Instance,
}

/// What a transaction is still good for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TxnStatus {
    /// Everything.
    Open,
    /// Being removed: a commit of it failed after its texts had left it.
    Broken,
    /// Nothing: it is a revision, or gone.
    Ended,
}

/// What became of a commit.
#[derive(Debug)]
pub struct Committed {
    /// The new revision.
    pub rev: Revnum,
    /// What failed after the revision existed (rep-cache, packing): the commit stands.
    pub post_commit_error: Option<Error>,
    /// The new names of files that were in the way of the revision, left by a crash or beyond a lost `current`.
    pub set_aside: Vec<PathBuf>,
}

impl Txn {
    /// Its name: base revision and number.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The revision on which it builds.
    pub fn base_revision(&self) -> Revnum {
        self.state.read().base()
    }

    /// The tree as it is now; what is changed later may or may not be seen through it.
    ///
    /// # Errors
    /// Those of reading the base.
    pub fn root(&self) -> Result<Root> {
        Ok(Root::of_transaction(&self.fs, self.id, &self.name))
    }

    /// Its property list, flags included.
    ///
    /// # Errors
    /// None at present.
    pub fn props(&self) -> Result<Arc<Props>> {
        Ok(self.state.read().props.clone())
    }

    /// Sets or deletes a property of the transaction.
    ///
    /// # Errors
    /// `FS_TRANSACTION_DEAD`.
    pub fn set_prop(&mut self, name: &str, value: Option<&[u8]>) -> Result<()> {
        self.change(|state, _| {
            let list = Arc::make_mut(&mut state.props);
            if name == props::DATE && list.contains_key(CLIENT_DATE) {
                list.insert(CLIENT_DATE.to_owned(), b"1".to_vec());
            }
            match value {
                Some(value) => list.insert(name.to_owned(), value.to_owned()),
                None => list.remove(name),
            };
            state.on_disk.props = false;
            Ok(())
        })
    }

    /// Who commits; needed before the first change where locks are checked.
    pub fn set_lock_access(&mut self, access: LockAccess) {
        self.access = access;
    }

    /// Adds an empty directory.
    ///
    /// # Errors
    /// `FS_ALREADY_EXISTS`, `FS_NOT_FOUND`, `FS_NOT_DIRECTORY`, `FS_PATH_SYNTAX`; those of locks.
    pub fn make_dir(&mut self, path: &FsPath) -> Result<()> {
        self.check_lock(path, true)?;
        self.change(|state, fs| state.add(fs, path, NodeKind::Dir))
    }

    /// Adds an empty file.
    ///
    /// # Errors
    /// As [`Txn::make_dir`].
    pub fn make_file(&mut self, path: &FsPath) -> Result<()> {
        // Locks below a directory that was here are those of whoever deleted it.
        if let Err(locked) = self.check_lock(path, false) {
            // Subversion looks at the path before it looks at locks, but for directories.
            self.change(|state, fs| state.check_free(fs, path))?;
            return Err(locked);
        }
        self.change(|state, fs| state.add(fs, path, NodeKind::File))
    }

    /// Deletes an entry and all below it.
    ///
    /// # Errors
    /// `FS_NOT_FOUND`, `FS_ROOT_DIR`; those of locks.
    pub fn delete(&mut self, path: &FsPath) -> Result<()> {
        if !path.is_root() {
            self.check_lock(path, true)?;
        }
        self.change(|state, fs| state.delete(fs, path))
    }

    /// Copies a committed node, with history; replaces what is at `to`.
    ///
    /// # Errors
    /// `FS_NOT_FOUND`; those of locks.
    pub fn copy(&mut self, from: &Root, from_path: &FsPath, to: &FsPath) -> Result<()> {
        let rev = committed_rev(from)?;
        let source = from.node(from_path)?;
        self.check_lock(to, true)?;
        self.change(|state, fs| state.copy(fs, &source, rev, to))
    }

    /// Puts a committed node at the same path of this tree, without history (`load` of copies of nothing).
    ///
    /// # Errors
    /// As [`Txn::copy`].
    pub fn revision_link(&mut self, from: &Root, path: &FsPath) -> Result<()> {
        committed_rev(from)?;
        let source = from.node(path)?;
        self.change(|state, fs| state.link(fs, &source, path))
    }

    /// Sets or deletes a property of a node.
    ///
    /// # Errors
    /// `FS_NOT_FOUND`; those of locks.
    pub fn change_prop(&mut self, path: &FsPath, name: &str, value: Option<&[u8]>) -> Result<()> {
        self.check_lock(path, false)?;
        self.change(|state, fs| state.change_prop(fs, path, name, value))
    }

    /// Starts a new text as a delta against the text that the file has now (or against nothing where it is empty).
    /// `base_md5` and `result_md5` are checked if they are given. One text is written at a time: a call that begins another one
    /// before [`TextWriter::finish`] or a drop, which gives the text up, is refused, and so is a commit. Other changes may be made
    /// meanwhile.
    ///
    /// # Errors
    /// `FS_NOT_FOUND`, `FS_NOT_FILE`, `CHECKSUM_MISMATCH`, `FS_REP_BEING_WRITTEN`; those of locks.
    pub fn apply_textdelta(
        &mut self,
        path: &FsPath,
        base_md5: Option<&Md5>,
        result_md5: Option<&Md5>,
    ) -> Result<TextWriter> {
        self.write_text(path, base_md5, result_md5, true)
    }

    /// Starts a new text given as it is.
    ///
    /// # Errors
    /// As [`Txn::apply_textdelta`].
    pub fn apply_text(&mut self, path: &FsPath, result_md5: Option<&Md5>) -> Result<TextWriter> {
        self.write_text(path, None, result_md5, false)
    }

    fn write_text(
        &mut self,
        path: &FsPath,
        base_md5: Option<&Md5>,
        result_md5: Option<&Md5>,
        is_delta: bool,
    ) -> Result<TextWriter> {
        self.check_lock(path, false)?;
        let (key, noderev) = self.change(|state, fs| {
            let key = state.file_to_write(fs, path, is_delta)?;
            Ok((key, state.node(key)?.noderev.clone()))
        })?;
        check_base(path, &noderev, base_md5)?;
        let source = match is_delta {
            true => Some(source_of(TextReader::new(
                &self.fs,
                noderev.text.as_ref(),
                Some(self.id),
            )?)),
            false => None,
        };
        let base = delta_base(&self.fs, &noderev, ContentKind::Text, self.fs.last_youngest())?;
        Ok(TextWriter {
            rep: RepWriter::begin(&self.fs, &self.proto, base)?,
            proto: self.proto.clone(),
            key,
            path: path.clone(),
            expected: result_md5.copied(),
            source,
            produced: Vec::new(),
            failed: None,
        })
    }

    /// Writes everything that other processes may read about the transaction to disk. A second call writes only what
    /// changed since.
    ///
    /// # Errors
    /// The system's.
    pub fn write_to_disk(&mut self) -> Result<()> {
        self.check_open()?;
        self.state.write().write_to_disk(&self.fs)?;
        self.proto.write_to_disk()?;
        self.sharing.write_to_disk()
    }

    /// Removes the transaction.
    ///
    /// # Errors
    /// The system's.
    pub fn abort(mut self) -> Result<()> {
        self.status = TxnStatus::Ended;
        self.fs.purge_txn(&self.name)
    }

    pub(super) fn check_open(&self) -> Result<()> {
        match self.status {
            TxnStatus::Open => Ok(()),
            TxnStatus::Broken | TxnStatus::Ended => Err(self.dead()),
        }
    }

    pub(super) fn dead(&self) -> Error {
        let text = format!(
            "Transaction '{}' can't be changed or committed any more",
            self.name
        );
        Error::new(Code::FS_TRANSACTION_DEAD, text)
    }

    /// Enforces users' locks, where they are enforced.
    fn check_lock(&self, path: &FsPath, recursive: bool) -> Result<()> {
        if self.state.read().checks_locks() {
            self.fs.check_lock(path, &self.access, recursive)?;
        }
        Ok(())
    }

    fn change<T>(&mut self, f: impl FnOnce(&mut TxnState, &Fs) -> Result<T>) -> Result<T> {
        self.check_open()?;
        let mut state = self.state.write();
        let done = f(&mut state, &self.fs)?;
        state.spill_excess(&self.fs);
        Ok(done)
    }
}

impl Drop for Txn {
    fn drop(&mut self) {
        if self.status == TxnStatus::Open {
            // Left open: others find what can be written of it.
            _ = self.write_to_disk();
        }
        self.fs.open_txns().remove(self.id);
    }
}

/// The revision of a root, which must be one's.
fn committed_rev(root: &Root) -> Result<Revnum> {
    root.revision().ok_or_else(|| {
        Error::new(
            Code::UNSUPPORTED_FEATURE,
            "Copy from mutable tree not currently supported",
        )
    })
}

/// Checks what the writer of a delta believes that the file holds. Of a file that never got a text nothing is known, so
/// anything is believed.
fn check_base(path: &FsPath, noderev: &NodeRev, expected: Option<&Md5>) -> Result<()> {
    match (expected, noderev.text.as_ref().map(|rep| rep.md5)) {
        (Some(expected), Some(actual)) if !expected.matches(&actual) => Err(Error::new(
            Code::CHECKSUM_MISMATCH,
            format!(
                "Base checksum mismatch on '{path}':\n   expected:  {expected}\n     actual:  {actual}\n"
            ),
        )),
        _ => Ok(()),
    }
}
