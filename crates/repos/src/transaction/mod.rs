//! Transactions that are edited step by step, over several requests: how commits come over HTTP.
//!
//! Where an edit over `svn://` is one conversation, here each step is a request by itself: it names a transaction and a path,
//! and brings its own user and lock tokens. [`Transaction`] takes one step at a time; [`PutText`] is a text on its way in, in pieces
//! as they come. What a commit may not do, its hooks and its end are those of every commit ([`crate::commit`]).
//!
//! A transaction stays in memory between its requests; [`Transaction::lay_down`] writes it where another process finds it,
//! and [`Transaction::is_in_step`] tells whether one has gone on with it meanwhile. Dropped without being finished or aborted,
//! it is left open: it is listed, can be opened again, and be removed.

mod activities;
mod edit;
mod put;
mod read;

use base::{Code, Error, FsPath, Props, Result, Revnum, props};
use fsfs::{LockAccess, Standing, Txn};

pub use self::activities::Activities;
pub use self::edit::PropStep;
pub use self::put::{PutText, TextUpload};
pub use self::read::TxnNode;
use crate::commit::{Clock, CommitInfo, life};
use crate::hooks::Hooks;
use crate::repo::Repository;

/// How often a transaction that changes while it is read is read anew.
const READINGS: usize = 5;

/// An open transaction. It is one user's, and takes one step at a time.
pub struct Transaction {
    repo: Repository,
    txn: Txn,
    /// What its files looked like when they were read or written.
    standing: Standing,
    /// The files say less than we know, or said so a moment ago: nobody else may write.
    is_dirty: bool,
    /// Everything is in the files; others may go on once they have stayed so for a while.
    is_written: bool,
    /// The locks on nodes that were deleted here and whose locks end with the commit: paths and tokens. What takes the place of
    /// such a node needs no token. They are not in the files: another process asks for the tokens.
    ended_locks: Vec<(FsPath, String)>,
}

/// What a new transaction is given.
pub struct TransactionStart<'a> {
    /// Properties for the revision, as the client sent them. Author and date are set here.
    pub revprops: Props,
    /// Who commits; `None` is anonymous.
    pub author: Option<&'a str>,
    /// What the client said it can do, as `start-commit` is told.
    pub capabilities: &'a [String],
    /// The repository's hooks.
    pub hooks: &'a Hooks,
}

/// What a transaction is given when it becomes a revision.
pub struct TransactionEnd<'a> {
    /// The locks that the client holds: path in the repository and token.
    pub lock_tokens: &'a [(FsPath, String)],
    /// They end with the commit.
    pub release_locks: bool,
    /// Who commits; `None` is anonymous.
    pub user: Option<&'a str>,
    /// The repository's hooks.
    pub hooks: &'a Hooks,
}

impl Transaction {
    /// Begins a transaction on the youngest revision.
    ///
    /// # Errors
    /// Those of properties that must not be stored; `REPOS_HOOK_FAILURE`; the system's. Then there is none.
    pub fn begin(repo: &Repository, beginning: TransactionStart<'_>, clock: &Clock) -> Result<Transaction> {
        let beginning = life::TxnStart {
            revprops: beginning.revprops,
            author: beginning.author,
            tokens: Vec::new(),
            capabilities: beginning.capabilities,
            hooks: beginning.hooks,
        };
        let txn = life::begin(repo, beginning, clock)?;
        let mut begun = Transaction {
            // Nobody else knows of it yet.
            standing: txn.standing()?,
            repo: repo.clone(),
            txn,
            is_dirty: true,
            is_written: false,
            ended_locks: Vec::new(),
        };
        match begun.lay_down() {
            Ok(()) => Ok(begun),
            Err(e) => {
                // No client knows its name. What cannot be removed now is listed by `lstxns`.
                _ = begun.abort();
                Err(e)
            }
        }
    }

    /// Opens a transaction that exists, whoever has begun it.
    ///
    /// # Errors
    /// `FS_MALFORMED_TXN_ID`, `FS_NO_SUCH_TRANSACTION`; the system's.
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

    /// Its name: base revision and number.
    pub fn name(&self) -> &str {
        self.txn.name()
    }

    /// The revision on which it builds.
    pub fn base_revision(&self) -> Revnum {
        self.txn.base_revision()
    }

    /// Node-revisions that it has made: a measure of the memory that it takes.
    pub fn weight(&self) -> usize {
        self.txn.node_count()
    }

    /// There is something that its files do not say yet.
    pub fn is_dirty(&self) -> bool {
        self.is_dirty
    }

    /// True unless its files have changed since they were read or written here.
    ///
    /// # Errors
    /// The system's.
    pub fn is_in_step(&self) -> Result<bool> {
        Ok(self.txn.standing()? == self.standing)
    }

    /// Writes what other processes may read of it, and lets them go on with it.
    ///
    /// # Errors
    /// `FS_TRANSACTION_DEAD` if another process has changed it meanwhile: neither what the files say nor what we know is all of it
    /// then, and no revision may come of it. The system's.
    pub fn lay_down(&mut self) -> Result<()> {
        self.write_down()?;
        self.let_go()
    }

    /// A step towards laying it down, for whoever looks at it now and then: first all is written, and when the files are still
    /// the same the next time others may go on. A change by another process that was under way meanwhile has come to light by then.
    ///
    /// # Errors
    /// As [`Transaction::lay_down`].
    pub fn settle(&mut self) -> Result<()> {
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
        self.txn.lay_down()?;
        self.standing = self.txn.standing()?;
        self.is_written = true;
        match self.txn.knows_all_of(&self.standing) {
            true => Ok(()),
            false => Err(self.torn()),
        }
    }

    fn let_go(&mut self) -> Result<()> {
        self.is_dirty = false;
        self.txn.hold(false)
    }

    fn torn(&self) -> Error {
        let text = format!("Transaction '{}' was changed by two servers at once", self.name());
        Error::new(Code::FS_TRANSACTION_DEAD, text)
    }

    /// From now on its files say less than we know, and nobody else may go on from them.
    fn touch(&mut self) -> Result<()> {
        if !self.is_dirty {
            self.txn.hold(true)?;
            self.is_dirty = true;
        }
        self.is_written = false;
        Ok(())
    }

    /// Lets go of it as its files are.
    pub fn leave(self) {
        self.txn.leave();
    }

    /// Makes sure that `user` is the one who commits; the first who comes with a name is.
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

    /// Whose it is, if it is anyone's yet.
    ///
    /// # Errors
    /// The system's.
    pub fn user(&self) -> Result<Option<String>> {
        let list = self.txn.props()?;
        let author = list.get(props::AUTHOR);
        Ok(author.map(|author| String::from_utf8_lossy(author).into_owned()))
    }

    /// Says who takes the steps that follow, and which lock tokens they brought.
    pub fn set_access(&mut self, user: Option<&str>, mut tokens: Vec<String>) {
        tokens.extend(self.ended_lock_tokens());
        self.txn.set_lock_access(LockAccess {
            user: user.map(str::to_owned),
            tokens,
        });
    }

    /// Says that the lock on a node that was deleted here ends with the commit.
    pub fn end_lock(&mut self, path: FsPath, token: String) {
        self.ended_locks.push((path, token));
    }

    /// The tokens of the locks that end with the commit because their nodes were deleted.
    pub fn ended_lock_tokens(&self) -> Vec<String> {
        self.ended_locks.iter().map(|(_, token)| token.clone()).collect()
    }

    /// Sets or deletes a property that the revision will have.
    ///
    /// # Errors
    /// Those of properties that must not be stored.
    pub fn set_prop(&mut self, name: &str, value: Option<&[u8]>) -> Result<()> {
        self.touch()?;
        life::set_prop(&mut self.txn, name, value)
    }

    /// Merges with what was committed meanwhile and makes it the next revision, which is durable then. If that fails the
    /// transaction is removed.
    ///
    /// # Errors
    /// `REPOS_HOOK_FAILURE`, `FS_CONFLICT`; those of locks; the system's.
    pub fn commit(mut self, ending: &TransactionEnd<'_>, clock: &Clock) -> Result<CommitInfo> {
        let tokens = ending.lock_tokens.iter().map(|(_, token)| token.clone());
        self.set_access(ending.user, tokens.collect());
        let made = life::finish(
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
                info.unlock_errors = life::release_locks(&self.repo, ending.hooks, ending.user, &over);
                Ok(info)
            }
            Err(refused) => {
                // What cannot be removed now is listed by `lstxns`.
                _ = self.txn.abort();
                Err(refused)
            }
        }
    }

    /// Removes it.
    ///
    /// # Errors
    /// The system's.
    pub fn abort(self) -> Result<()> {
        self.txn.abort()
    }
}

/// Reads a transaction while nobody changes it, as far as can be seen.
fn read(repo: &Repository, name: &str) -> Result<(Txn, Standing)> {
    for _ in 0..READINGS {
        let txn = repo.fs().open_txn(name)?;
        let standing = txn.standing()?;
        if txn.knows_all_of(&standing) {
            return Ok((txn, standing));
        }
        txn.leave();
    }
    let text = format!("Transaction '{name}' is being changed by another server");
    Err(Error::new(Code::FS_REP_BEING_WRITTEN, text))
}

impl Repository {
    /// Removes a transaction that nobody here has open.
    ///
    /// # Errors
    /// `FS_MALFORMED_TXN_ID`, `FS_NO_SUCH_TRANSACTION`; the system's.
    pub fn remove_transaction(&self, name: &str) -> Result<()> {
        self.fs().purge_txn(name)
    }
}
