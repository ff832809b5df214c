//! An open transaction: the operations on its tree, its properties and its end.
//!
//! Editing happens in memory (`state`, `change`). Texts go to the proto-revision file as they arrive (`text`). Readers of this
//! process see every change at once ([`Txn::root`]); other processes see what [`Txn::write_to_disk`] has written. A transaction
//! that is dropped without being committed or aborted is written to disk and stays open.

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

/// Options of a new transaction.
#[derive(Clone, Copy, Debug)]
pub struct TxnOptions {
    /// Users' locks are enforced while editing. At the commit they always are.
    pub check_locks: bool,
    /// The svn:date that is set on the transaction becomes the date of the revision (`load`). Otherwise the commit sets its own
    /// time.
    pub client_date: bool,
    /// The approximate number of changed nodes, and of changes, that are held in memory. The rest of a larger transaction is in
    /// files of its directory.
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

/// The default of [`TxnOptions::max_in_memory`]: more than ordinary commits change, and a few megabytes.
pub(super) const MAX_IN_MEMORY: usize = 8192;

/// The user who commits and the lock tokens that they hold, for enforcing users' locks.
#[derive(Clone, Debug, Default)]
pub struct LockAccess {
    /// User name; `None` is anonymous.
    pub user: Option<String>,
    /// Lock tokens. Each counts for all paths, also if the client has named one path with it.
    pub tokens: Vec<String>,
    /// No lock is in the way: the revision is a copy of one of another repository, in which the locks were enforced.
    pub ignores_locks: bool,
}

/// An open transaction that this process edits. Its tree is in memory. [`Txn::write_to_disk`] writes it to `db/transactions` for
/// other processes (hooks, `svnlook -t`). Texts go to the proto-revision file at once.
pub struct Txn {
    pub(crate) fs: Fs,
    pub(super) id: TxnId,
    pub(super) name: String,
    /// The tree, shared with readers of the transaction in this process.
    pub(super) state: Arc<RwLock<TxnState>>,
    pub(super) proto: ProtoRev,
    pub(super) sharing: RepSharing,
    pub(super) access: LockAccess,
    pub(super) status: TxnStatus,
    /// The incarnation of the filesystem whose revisions it builds on.
    pub(super) instance: Instance,
}

/// Which operations a transaction still allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TxnStatus {
    /// All of them.
    Open,
    /// Removal only: a commit has failed after the texts had left the transaction, or because they could not be made durable.
    Broken,
    /// None: the transaction has become a revision, was removed, or was closed.
    Ended,
}

/// The result of a commit.
#[derive(Debug)]
pub struct Committed {
    /// The new revision.
    pub rev: Revnum,
    /// An error that occurred after the revision existed (rep-cache, packing). The commit stands.
    pub post_commit_error: Option<Error>,
    /// The new names of files that lay where the files of the revision go, left by a crash or beyond a lost `current`.
    pub set_aside: Vec<PathBuf>,
}

impl Txn {
    /// Returns the name: base revision and number.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the revision that the transaction is based on.
    pub fn base_revision(&self) -> Revnum {
        self.state.read().base()
    }

    /// Returns the tree. Later changes may or may not be visible through it.
    ///
    /// # Errors
    /// Those of reading the base.
    pub fn root(&self) -> Result<Root> {
        Ok(Root::of_transaction(
            &self.fs,
            self.id,
            &self.name,
            self.base_revision(),
        ))
    }

    /// Returns the properties of the transaction, with those that Subversion uses as flags.
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

    /// Sets the user and the lock tokens. Needed before the first change if locks are checked.
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
        // A new file has nothing below it: locks below a directory of this name belong to the change that deleted it.
        if let Err(locked) = self.check_lock(path, false) {
            // For files, Subversion checks the path before it checks locks. For directories it is the other way round.
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

    /// Notes a node as changed in its text or its properties, and leaves both as they are: a revision may say so of a node whose
    /// contents were set to what they were.
    ///
    /// # Errors
    /// `FS_NOT_FOUND`; those of locks.
    pub fn mark_changed(&mut self, path: &FsPath, text: bool, props: bool) -> Result<()> {
        self.check_lock(path, false)?;
        self.change(|state, fs| state.mark_changed(fs, path, text, props))
    }

    /// Starts a new text as a delta against the text that the file has now, or against the empty text if it has none. `base_md5`
    /// and `result_md5` are checked if they are given. Only one text is written at a time: another call before
    /// [`TextWriter::finish`], or before the drop that discards the text, is refused, and so is a commit. Other changes are
    /// allowed meanwhile.
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

    /// Starts a new text that arrives as plain bytes.
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

    /// Writes to disk everything that other processes may read of the transaction. A second call writes only what has changed
    /// since.
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

    /// Checks users' locks if the transaction enforces them.
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
            // The transaction stays open. Other processes find whatever can be written of it, and refuse it if changes are missing
            // that they would need. After a panic, not even a successful write is known to be complete.
            if self.write_to_disk().is_ok() && !std::thread::panicking() {
                _ = self.proto.release();
            }
        }
        self.fs.open_txns().remove(self.id);
    }
}

/// Returns the revision of `root`; an error if it is the root of a transaction.
fn committed_rev(root: &Root) -> Result<Revnum> {
    root.revision().ok_or_else(|| {
        Error::new(
            Code::UNSUPPORTED_FEATURE,
            "Copy from mutable tree not currently supported",
        )
    })
}

/// Checks the MD5 that the sender of a delta expects of its base. A file without a text has no MD5: any is accepted.
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
