//! Transactions that are edited step by step, over several requests: commits over HTTP.
//!
//! An edit over `svn://` is one session. Here each step is a request of its own: it names a transaction and a path,
//! and has its own user and lock tokens. [`Transaction`] takes one step at a time; [`PutText`] begins a text, which
//! arrives in parts. Checks, hooks and the end are those of every commit ([`crate::commit`]).
//!
//! A transaction stays in memory between its requests. [`Transaction::write_to_disk`] writes it where another process
//! finds it, and [`Transaction::is_in_step`] returns whether another process has changed it meanwhile. If it is
//! dropped without being finished or aborted, it is left open: it is listed, can be opened again, and can be removed.
//!
//! A client must not learn of a step whose changes a crash would lose while the rest of its transaction could still be committed. So
//! before each response the changes are written, or [`Transaction::defer_writing`] makes all other processes refuse the transaction.

mod activities;
mod edit;
mod put;
mod read;

use std::thread;
use std::time::Duration;

use base::{Code, Error, FsPath, Props, Result, Revnum, props};
use fsfs::{LockAccess, Txn, TxnFingerprint};

pub use self::activities::Activities;
pub use self::edit::PropStep;
pub use self::put::{PutText, TextUpload};
pub use self::read::TxnNode;
use crate::commit::{Clock, CommitInfo, txn_steps};
use crate::hooks::Hooks;
use crate::repo::Repository;

/// How often the reading of a transaction is repeated while another process changes it.
const READINGS: usize = 5;
/// The wait before a reading is repeated because another process has not written its changes: it does so when its client pauses.
const READING_PAUSE: Duration = Duration::from_millis(40);

/// An open transaction. It belongs to one user and takes one step at a time.
pub struct Transaction {
    repo: Repository,
    txn: Txn,
    /// The state of its files when they were read or written.
    standing: TxnFingerprint,
    /// Its files are older than its memory, or were so a moment ago: no other process may write.
    is_dirty: bool,
    /// Everything is in the files; other processes may continue once the files have stayed the same for some time.
    is_written: bool,
    /// The locks on nodes that were deleted here and whose locks end with the commit: paths and tokens. A new node at
    /// such a path needs no token. They are not in the files: another process requests the tokens.
    ended_locks: Vec<(FsPath, String)>,
}

/// The parameters of a new transaction.
pub struct TransactionStart<'a> {
    /// Properties for the revision, as the client sent them. Author and date are set here.
    pub revprops: Props,
    /// Who commits; `None` is anonymous.
    pub author: Option<&'a str>,
    /// The client's capabilities, for `start-commit`.
    pub capabilities: &'a [String],
    /// The repository's hooks.
    pub hooks: &'a Hooks,
}

/// The parameters of the commit of a transaction.
pub struct TransactionEnd<'a> {
    /// The locks that the client holds: path in the repository and token.
    pub lock_tokens: &'a [(FsPath, String)],
    /// The client's locks end with the commit.
    pub release_locks: bool,
    /// Who commits; `None` is anonymous.
    pub user: Option<&'a str>,
    /// The repository's hooks.
    pub hooks: &'a Hooks,
}

impl Transaction {
    /// Begins a transaction on the youngest revision. A refused one is removed.
    ///
    /// # Errors
    /// Those of properties that must not be stored; `REPOS_HOOK_FAILURE`; the system's.
    pub fn begin(repo: &Repository, beginning: TransactionStart<'_>, clock: &Clock) -> Result<Transaction> {
        let beginning = txn_steps::TxnStart {
            revprops: beginning.revprops,
            author: beginning.author,
            tokens: Vec::new(),
            capabilities: beginning.capabilities,
            hooks: beginning.hooks,
        };
        let txn = txn_steps::begin(repo, repo.youngest()?, beginning, clock)?;
        let mut begun = Transaction {
            // No other process knows its name yet.
            standing: txn.fingerprint()?,
            repo: repo.clone(),
            txn,
            is_dirty: true,
            is_written: false,
            ended_locks: Vec::new(),
        };
        match begun.write_to_disk() {
            Ok(()) => Ok(begun),
            Err(e) => {
                // No client knows its name. `lstxns` lists what cannot be removed now.
                _ = begun.abort();
                Err(e)
            }
        }
    }

    /// Opens a transaction that exists, even if another process began it.
    ///
    /// # Errors
    /// `FS_MALFORMED_TXN_ID`, `FS_NO_SUCH_TRANSACTION`; `FS_TRANSACTION_DEAD` if its files lack changes that its client knows to be
    /// made; the system's.
    pub fn open(repo: &Repository, name: &str) -> Result<Transaction> {
        let (txn, standing) = read(repo, name)?;
        Ok(Transaction {
            standing,
            repo: repo.clone(),
            txn,
            is_dirty: false,
            is_written: false,
            ended_locks: Vec::new(),
        })
    }

    /// Returns its name: base revision and number.
    pub fn name(&self) -> &str {
        self.txn.name()
    }

    /// Returns the revision on which it is based.
    pub fn base_revision(&self) -> Revnum {
        self.txn.base_revision()
    }

    /// Returns the number of node-revisions that it has made: a measure of its memory.
    pub fn weight(&self) -> usize {
        self.txn.node_count()
    }

    /// True if its files are older than its memory.
    pub fn is_dirty(&self) -> bool {
        self.is_dirty
    }

    /// True unless its files have changed since they were read or written here, or lack changes that another process holds.
    ///
    /// # Errors
    /// The system's.
    pub fn is_in_step(&self) -> Result<bool> {
        // In this order: the other process writes the files first.
        let is_complete = self.is_dirty || self.repo.fs().check_txn_complete(self.name()).is_ok();
        Ok(is_complete && self.txn.fingerprint()? == self.standing)
    }

    /// Leaves changes unwritten although a client will learn of them: no other process accepts the transaction until they are written,
    /// also if this process ends before that. False if that cannot be done; then they must be written.
    pub fn defer_writing(&self) -> bool {
        !self.is_dirty || self.txn.refuse_others()
    }

    /// Writes it to its files, and lets other processes continue with it. It keeps no file open then.
    ///
    /// # Errors
    /// `FS_TRANSACTION_DEAD` if another process has changed it meanwhile: neither the files nor the memory are
    /// complete then, and it must not be committed. The system's.
    pub fn write_to_disk(&mut self) -> Result<()> {
        self.write_down()?;
        self.let_go()
    }

    /// One part of [`Transaction::write_to_disk`], for a caller that looks at the transaction from time to time. The
    /// first call writes; a later call lets other processes continue if the files are still the same. A concurrent
    /// change by another process is found by then.
    ///
    /// # Errors
    /// As [`Transaction::write_to_disk`].
    pub fn write_stepwise(&mut self) -> Result<()> {
        match (self.is_dirty, self.is_written) {
            (false, _) => Ok(()),
            (true, false) => self.write_down(),
            (true, true) => match self.is_in_step()? {
                true => self.let_go(),
                false => Err(self.torn()),
            },
        }
    }

    fn write_down(&mut self) -> Result<()> {
        if !self.is_in_step()? {
            return Err(self.torn());
        }
        self.txn.write_to_disk()?;
        self.standing = self.txn.fingerprint()?;
        self.is_written = true;
        match self.txn.has_read_log_of(&self.standing) {
            true => Ok(()),
            false => Err(self.torn()),
        }
    }

    fn let_go(&mut self) -> Result<()> {
        self.txn.release()?;
        self.is_dirty = false;
        Ok(())
    }

    fn torn(&self) -> Error {
        let text = format!("Transaction '{}' was changed by two servers at once", self.name());
        Error::new(Code::FS_TRANSACTION_DEAD, text)
    }

    /// Marks the files as older than the memory, so that no other process continues from them.
    fn touch(&mut self) -> Result<()> {
        if !self.is_dirty {
            self.txn.hold_lock(true)?;
            self.is_dirty = true;
        }
        self.is_written = false;
        Ok(())
    }

    /// Gives the transaction up in the state of its files.
    pub fn leave(self) {
        self.txn.close_unwritten();
    }

    /// Checks that `user` is the one who commits; the first user with a name becomes that one.
    ///
    /// # Errors
    /// The system's.
    pub fn claim(&mut self, user: Option<&str>) -> Result<bool> {
        let Some(user) = user else {
            return Ok(true);
        };
        match self.txn.props()?.get(props::AUTHOR) {
            Some(author) => Ok(author == user.as_bytes()),
            None => {
                self.touch()?;
                self.txn.set_prop(props::AUTHOR, Some(user.as_bytes()))?;
                Ok(true)
            }
        }
    }

    /// Returns the user who commits, if there is one already.
    ///
    /// # Errors
    /// The system's.
    pub fn user(&self) -> Result<Option<String>> {
        let list = self.txn.props()?;
        let author = list.get(props::AUTHOR);
        Ok(author.map(|author| String::from_utf8_lossy(author).into_owned()))
    }

    /// Sets the user of the steps that follow, and the lock tokens of that request.
    pub fn set_access(&mut self, user: Option<&str>, mut tokens: Vec<String>) {
        tokens.extend(self.ended_lock_tokens());
        self.txn.set_lock_access(LockAccess {
            user: user.map(str::to_owned),
            tokens,
            ignores_locks: false,
        });
    }

    /// Marks the lock on a node that was deleted here: it ends with the commit.
    pub fn end_lock(&mut self, path: FsPath, token: String) {
        self.ended_locks.push((path, token));
    }

    /// Returns the tokens of the locks that end with the commit because their nodes were deleted.
    pub fn ended_lock_tokens(&self) -> Vec<String> {
        self.ended_locks.iter().map(|(_, token)| token.clone()).collect()
    }

    /// Sets or deletes a property that the revision will have.
    ///
    /// # Errors
    /// Those of properties that must not be stored.
    pub fn set_prop(&mut self, name: &str, value: Option<&[u8]>) -> Result<()> {
        self.touch()?;
        txn_steps::set_prop(&mut self.txn, name, value)
    }

    /// Merges with what was committed meanwhile and makes it the next revision, which is durable then. A transaction
    /// that fails is removed.
    ///
    /// # Errors
    /// `REPOS_HOOK_FAILURE`, `FS_CONFLICT`; those of locks; the system's.
    pub fn commit(mut self, ending: &TransactionEnd<'_>, clock: &Clock) -> Result<CommitInfo> {
        let tokens = ending.lock_tokens.iter().map(|(_, token)| token.clone());
        self.set_access(ending.user, tokens.collect());
        let made = txn_steps::finish(
            &self.repo,
            &mut self.txn,
            ending.hooks,
            None,
            ending.lock_tokens,
            clock,
        );
        match made {
            Ok(mut info) => {
                let mut over = self.ended_locks;
                if ending.release_locks {
                    over.retain(|ended| !ending.lock_tokens.contains(ended));
                    over.extend_from_slice(ending.lock_tokens);
                }
                info.unlock_errors = txn_steps::release_locks(&self.repo, ending.hooks, ending.user, &over);
                Ok(info)
            }
            Err(refused) => {
                // `lstxns` lists what cannot be removed now.
                _ = self.txn.abort();
                Err(refused)
            }
        }
    }

    /// Removes the transaction.
    ///
    /// # Errors
    /// The system's.
    pub fn abort(self) -> Result<()> {
        self.txn.abort()
    }
}

/// Reads a transaction while no other process changes it, as far as can be seen.
fn read(repo: &Repository, name: &str) -> Result<(Txn, TxnFingerprint)> {
    for reading in 1..=READINGS {
        if let Err(incomplete) = repo.fs().check_txn_complete(name) {
            match reading < READINGS {
                true => thread::sleep(READING_PAUSE),
                false => return Err(incomplete),
            }
            continue;
        }
        let txn = repo.fs().open_txn(name)?;
        let standing = txn.fingerprint()?;
        if txn.has_read_log_of(&standing) {
            return Ok((txn, standing));
        }
        txn.close_unwritten();
    }
    let text = format!("Transaction '{name}' is being changed by another server");
    Err(Error::new(Code::FS_REP_BEING_WRITTEN, text))
}

impl Repository {
    /// Removes a transaction that this process has not open.
    ///
    /// # Errors
    /// `FS_MALFORMED_TXN_ID`, `FS_NO_SUCH_TRANSACTION`; the system's.
    pub fn remove_transaction(&self, name: &str) -> Result<()> {
        self.fs().purge_txn(name)
    }
}
