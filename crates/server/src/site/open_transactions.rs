//! The transactions that clients have open over HTTP. Each step of a commit is a request of its own, and finds its transaction here.
//!
//! A transaction stays in memory from its first request to its last. It is written to disk after each of its first steps, and
//! later when its client has paused: so another server can carry out the next step, and this one can go on after it, while
//! a client that sends thousands of files costs no more than their bytes. While the files lack a step that was acknowledged, every
//! other server refuses the transaction, and for good if this server ends without writing it: a commit never lacks a step. Before
//! each step the files on disk are compared with what this server has written. A transaction that is unused for long, or that takes too much memory, is written to disk and dropped;
//! the next request opens it again.
//!
//! A transaction takes one step at a time, and no step waits for a client: a request that sends a text begins it in one step, reads
//! its body without the transaction, and ends the text in another step ([`LockedTxn::pin`]). Meanwhile a second text and the commit
//! are refused (`FS_REP_BEING_WRITTEN`, as by the incumbent); all other steps are possible. What remains is to wait for the work of
//! another step. A thread that waits for it does not count as running, and waits only for a transaction of its own user.

use std::cell::Cell;
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::thread;
use std::time::{Duration, Instant};

use base::{Code, Error, Result};
use parking_lot::{Mutex, MutexGuard};
use repos::Repository;
use repos::transaction::Transaction;

use crate::http::ClientWait;

/// The first steps of a transaction: it is written to disk after each of them.
const FIRST_STEPS: u32 = 8;
/// The pause of a client after which its transaction is written to disk.
const PAUSE: Duration = Duration::from_millis(40);
/// How long an unused transaction stays in memory.
const KEEP: Duration = Duration::from_secs(5 * 60);
/// As [`KEEP`], when there are too many transactions.
const KEEP_BRIEFLY: Duration = Duration::from_secs(2);
/// The limit on node-revisions in all transactions together: about a gigabyte.
const MAX_NODES: usize = 700_000;
/// The limit on transactions in memory.
const MAX_TRANSACTIONS: usize = 1000;
/// How long a thread that waits for another step still counts as running.
const COUNTED_WAIT: Duration = Duration::from_millis(100);
/// How long the stopping server waits for a step.
const STOP_WAIT: Duration = Duration::from_secs(2);

/// The open transactions of all repositories.
#[derive(Default)]
pub(crate) struct OpenTransactions {
    slots: Mutex<HashMap<Key, Arc<TxnSlot>>>,
    /// True while the janitor thread is running.
    has_janitor: AtomicBool,
}

/// A repository's path and UUID, and a transaction's name.
type Key = (PathBuf, String, String);

/// One transaction, and what is known of it without its lock.
#[derive(Default)]
struct TxnSlot {
    state: Mutex<TxnSlotState>,
    /// The transaction is being removed or has been: steps in it fail.
    is_removed: AtomicBool,
    /// The transaction's user, as of the last step; `None` before the first step, and while it has no user.
    owner: Mutex<Option<String>>,
}

#[derive(Default)]
struct TxnSlotState {
    transaction: Option<Transaction>,
    steps: u32,
    /// Another process edits it too: it is written to disk after each step.
    is_shared: bool,
    last_used: Option<Instant>,
}

/// A transaction during one step. Other steps wait.
pub(crate) struct LockedTxn<'a> {
    pub(crate) transaction: &'a mut Transaction,
    slot: &'a Arc<TxnSlot>,
    is_pinned: &'a Cell<bool>,
}

impl LockedTxn<'_> {
    /// Keeps the transaction in memory after the step, until the result is dropped: the request takes another step. Until then
    /// nothing is written to disk.
    pub(crate) fn pin(&self) -> PinnedTxn {
        self.is_pinned.set(true);
        PinnedTxn {
            name: self.transaction.name().to_owned(),
            slot: self.slot.clone(),
        }
    }
}

/// Keeps a transaction in memory between two steps of one request. Other requests may take steps meanwhile.
pub(crate) struct PinnedTxn {
    name: String,
    slot: Arc<TxnSlot>,
}

impl PinnedTxn {
    /// Fails once the transaction is being removed.
    ///
    /// # Errors
    /// `FS_NO_SUCH_TRANSACTION`.
    pub(crate) fn check_exists(&self) -> Result<()> {
        match self.slot.is_removed.load(Ordering::Relaxed) {
            false => Ok(()),
            true => Err(gone(&self.name)),
        }
    }
}

/// The user of a step, and how the thread waits for another step.
pub(crate) struct StepCaller<'a> {
    /// `None` is anonymous.
    pub(crate) user: Option<&'a str>,
    /// Lets other threads run while this one waits.
    pub(crate) wait: &'a ClientWait,
}

/// Why a step was not taken.
pub(crate) enum StepRefusal {
    /// The transaction cannot be opened.
    Unopened(Error),
    /// The transaction belongs to another user.
    NotOwner,
}

impl TxnSlot {
    /// Locks the transaction for a step. Waits for a running step, unless the transaction is known to be another user's.
    fn lock(
        &self,
        caller: &StepCaller<'_>,
    ) -> std::result::Result<MutexGuard<'_, TxnSlotState>, StepRefusal> {
        if let Some(state) = self.state.try_lock() {
            return Ok(state);
        }
        if let (Some(user), Some(owner)) = (caller.user, &*self.owner.lock())
            && user != owner
        {
            return Err(StepRefusal::NotOwner);
        }
        Ok(self.lock_or_wait(caller.wait))
    }

    fn lock_or_wait(&self, wait: &ClientWait) -> MutexGuard<'_, TxnSlotState> {
        match self.state.try_lock_for(COUNTED_WAIT) {
            Some(state) => state,
            None => wait.while_blocked(|| self.state.lock()),
        }
    }
}

impl OpenTransactions {
    /// Adds a transaction that has just begun.
    pub(crate) fn insert(self: &Arc<Self>, repository: &Repository, transaction: Transaction) {
        let slot = self.slot(repository, transaction.name());
        *slot.state.lock() = TxnSlotState {
            transaction: Some(transaction),
            last_used: Some(Instant::now()),
            ..TxnSlotState::default()
        };
        self.start_janitor();
    }

    /// Takes a step in the transaction of this name, and opens it if it is not in memory. `refuse` makes an error of a refusal.
    ///
    /// # Errors
    /// Those of `refuse`; those of the step; the system's.
    pub(crate) fn step<T, E: From<Error>>(
        self: &Arc<Self>,
        repository: &Repository,
        name: &str,
        caller: &StepCaller<'_>,
        refuse: impl FnOnce(StepRefusal) -> E,
        step: impl FnOnce(LockedTxn<'_>) -> std::result::Result<T, E>,
    ) -> std::result::Result<T, E> {
        let slot = self.slot(repository, name);
        let mut state = match slot.lock(caller) {
            Ok(state) => state,
            Err(refused) => return Err(refuse(refused)),
        };
        let found = match slot.is_removed.load(Ordering::Relaxed) {
            true => Err(gone(name)),
            false => state.find(repository, name),
        };
        let transaction = match found {
            Ok(transaction) => transaction,
            Err(error) => {
                drop(state);
                self.forget(repository, name, &slot);
                return Err(refuse(StepRefusal::Unopened(error)));
            }
        };
        let is_owner = transaction.claim(caller.user)?;
        *slot.owner.lock() = transaction.user()?;
        if !is_owner {
            return Err(refuse(StepRefusal::NotOwner));
        }
        let is_pinned = Cell::new(false);
        let outcome = step(LockedTxn {
            transaction,
            slot: &slot,
            is_pinned: &is_pinned,
        });
        match is_pinned.get() {
            true => state.last_used = Some(Instant::now()),
            false => state.after_step()?,
        }
        drop(state);
        self.start_janitor();
        outcome
    }

    /// Removes a transaction from memory, for its commit.
    ///
    /// # Errors
    /// Those of opening it; the system's.
    pub(crate) fn take(
        self: &Arc<Self>,
        repository: &Repository,
        name: &str,
        wait: &ClientWait,
    ) -> Result<Transaction> {
        let slot = self.slot(repository, name);
        let taken = {
            let mut state = slot.lock_or_wait(wait);
            let found = match slot.is_removed.load(Ordering::Relaxed) {
                true => Err(gone(name)),
                false => state.find(repository, name).map(drop),
            };
            found.and_then(|()| state.transaction.take().ok_or_else(|| gone(name)))
        };
        self.forget(repository, name, &slot);
        taken
    }

    /// Removes a transaction from memory and disk. A request that is sending a text fails.
    ///
    /// # Errors
    /// `FS_MALFORMED_TXN_ID`, `FS_NO_SUCH_TRANSACTION`; the system's.
    pub(crate) fn abort(
        self: &Arc<Self>,
        repository: &Repository,
        name: &str,
        wait: &ClientWait,
    ) -> Result<()> {
        let slot = self.slot(repository, name);
        slot.is_removed.store(true, Ordering::Relaxed);
        let held = slot.lock_or_wait(wait).transaction.take();
        let removed = match held {
            Some(transaction) => transaction.abort(),
            None => repository.remove_transaction(name),
        };
        self.forget(repository, name, &slot);
        removed
    }

    /// Writes all transactions to disk, for the end of the server.
    pub(crate) fn write_all_to_disk(&self) {
        let all: Vec<Arc<TxnSlot>> = self.slots.lock().drain().map(|(_, slot)| slot).collect();
        for slot in all {
            if let Some(mut state) = slot.state.try_lock_for(STOP_WAIT) {
                // After an error other servers refuse the transaction, and the client gets an error.
                _ = state.write(Transaction::write_to_disk);
                if let Some(transaction) = state.transaction.take() {
                    transaction.leave();
                }
            }
        }
    }

    fn slot(&self, repository: &Repository, name: &str) -> Arc<TxnSlot> {
        self.slots
            .lock()
            .entry(key(repository, name))
            .or_default()
            .clone()
    }

    fn forget(&self, repository: &Repository, name: &str, slot: &Arc<TxnSlot>) {
        let key = key(repository, name);
        let mut slots = self.slots.lock();
        if slots.get(&key).is_some_and(|known| Arc::ptr_eq(known, slot)) {
            slots.remove(&key);
        }
    }

    /// Starts the janitor thread, unless it is running.
    fn start_janitor(self: &Arc<Self>) {
        if self.has_janitor.swap(true, Ordering::Relaxed) {
            return;
        }
        let weak = Arc::downgrade(self);
        let begun = thread::Builder::new()
            .name("transactions".to_owned())
            .stack_size(256 << 10)
            .spawn(move || run_janitor(&weak));
        if begun.is_err() {
            // The next request tries again.
            self.has_janitor.store(false, Ordering::Relaxed);
        }
    }

    /// Writes paused transactions to disk and drops unused ones. Returns false if no transaction is left.
    fn tidy(&self) -> bool {
        let all: Vec<(Key, Arc<TxnSlot>)> = {
            let slots = self.slots.lock();
            slots
                .iter()
                .map(|(key, slot)| (key.clone(), slot.clone()))
                .collect()
        };
        let mut nodes = 0;
        let mut idle = Vec::new();
        for (key, slot) in &all {
            // A transaction in use has not paused.
            let Some(mut state) = slot.state.try_lock() else {
                continue;
            };
            let unused_for = state.last_used.map_or(KEEP, |used| used.elapsed());
            if unused_for >= PAUSE {
                // After an error the next step writes again, and reports it.
                _ = state.write(Transaction::write_stepwise);
            }
            nodes += state.transaction.as_ref().map_or(0, Transaction::weight);
            drop(state);
            idle.push((unused_for, key, slot));
        }
        idle.sort_by_key(|(unused_for, ..)| std::cmp::Reverse(*unused_for));
        let mut count = all.len();
        for (unused_for, key, slot) in idle {
            let is_crowded = nodes > MAX_NODES || count > MAX_TRANSACTIONS;
            if unused_for < KEEP && !(is_crowded && unused_for >= KEEP_BRIEFLY) {
                break;
            }
            let mut slots = self.slots.lock();
            // Two references: the map's and ours. A third one is of a request that must not lose its transaction.
            if Arc::strong_count(slot) == 2
                && let Some(mut state) = slot.state.try_lock()
                && state.last_used.is_none_or(|used| used.elapsed() >= KEEP_BRIEFLY)
            {
                slots.remove(key);
                let dropped = state.transaction.take();
                nodes -= dropped.as_ref().map_or(0, Transaction::weight).min(nodes);
                count -= 1;
                drop(slots);
            }
        }
        !self.slots.lock().is_empty()
    }
}

impl TxnSlotState {
    /// Returns the transaction in the state of its files.
    fn find(&mut self, repository: &Repository, name: &str) -> Result<&mut Transaction> {
        if let Some(transaction) = &self.transaction
            && !transaction.is_in_step()?
        {
            self.is_shared = true;
            if let Some(outdated) = self.transaction.take() {
                let is_torn = outdated.is_dirty();
                outdated.leave();
                if is_torn {
                    // Neither memory nor the files have the whole change: it must not become a revision.
                    _ = repository.remove_transaction(name);
                }
            }
        }
        match &mut self.transaction {
            Some(transaction) => Ok(transaction),
            none => {
                // Another process has begun it, or goes on after this one has written it to disk.
                let opened = Transaction::open(repository, name)?;
                Ok(none.insert(opened))
            }
        }
    }

    fn after_step(&mut self) -> Result<()> {
        self.last_used = Some(Instant::now());
        self.steps = self.steps.saturating_add(1);
        let is_written = self.is_shared || self.steps <= FIRST_STEPS;
        if !is_written && self.transaction.as_ref().is_none_or(Transaction::defer_writing) {
            return Ok(());
        }
        self.write(Transaction::write_to_disk)
    }

    /// Writes changes to disk with `write`, if there are any. A transaction that another process has changed meanwhile is removed: it
    /// must not become a revision.
    fn write(&mut self, write: impl FnOnce(&mut Transaction) -> Result<()>) -> Result<()> {
        let Some(mut transaction) = self.transaction.take() else {
            return Ok(());
        };
        let done = match transaction.is_dirty() {
            true => write(&mut transaction),
            false => Ok(()),
        };
        match &done {
            Err(error) if error.code() == Code::FS_TRANSACTION_DEAD => _ = transaction.abort(),
            _ => {
                if done.is_err() {
                    // The files may have a part of the changes. If others cannot be kept from them, the steps before are whole.
                    _ = transaction.defer_writing();
                }
                self.transaction = Some(transaction);
            }
        }
        done
    }
}

/// Runs the janitor thread: it writes transactions to disk whose clients have paused, and drops unused ones. It ends with the last
/// transaction, or with the server.
fn run_janitor(transactions: &Weak<OpenTransactions>) {
    loop {
        thread::sleep(PAUSE);
        let Some(transactions) = transactions.upgrade() else {
            return;
        };
        if !transactions.tidy() {
            transactions.has_janitor.store(false, Ordering::Relaxed);
            // A transaction that was added since the check needs this thread.
            if transactions.slots.lock().is_empty() {
                return;
            }
            if transactions.has_janitor.swap(true, Ordering::Relaxed) {
                return;
            }
        }
    }
}

fn key(repository: &Repository, name: &str) -> Key {
    (repository.path().to_owned(), repository.uuid(), name.to_owned())
}

fn gone(name: &str) -> Error {
    Error::new(
        Code::FS_NO_SUCH_TRANSACTION,
        format!("No such transaction '{name}'"),
    )
}
