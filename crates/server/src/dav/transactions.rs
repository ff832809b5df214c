//! The transactions that clients have open over HTTP: each step of a commit is a request of its own, and finds its transaction here.
//!
//! One is in memory from its first request to its last. It is laid down on disk after each of its first steps, and later
//! when its client has paused: so another server that gets the next request can go on, and so can we after it, while a client
//! that sends thousands of files costs no more than their bytes. Before each use we look whether the files are still as we left
//! them. One that nobody uses for long, or that takes too much memory, is laid down and forgotten; the next request opens it
//! again.
//!
//! A transaction takes one step at a time, and a step never waits for a client: a request that brings a text begins it in one step,
//! reads its body without the transaction, and ends the text in another step ([`InUse::pin`]). Meanwhile a second text and the
//! commit are refused (`FS_REP_BEING_WRITTEN`, as by the incumbent), everything else is done. What is left to wait for is the
//! work of another step; a thread that waits for it does not count, and waits only for a transaction of its own user.

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

use crate::http::Patience;

/// Steps after each of which a transaction is laid down.
const FIRST_STEPS: u32 = 8;
/// How long a client pauses before its transaction is laid down.
const PAUSE: Duration = Duration::from_millis(40);
/// How long one that nobody uses is kept in memory.
const KEEP: Duration = Duration::from_secs(5 * 60);
/// As [`KEEP`], when there are too many of them.
const KEEP_BRIEFLY: Duration = Duration::from_secs(2);
/// Node-revisions in all transactions together that are too many: about a gigabyte.
const MOST_NODES: usize = 700_000;
/// Transactions in memory that are too many.
const MOST: usize = 1000;
/// How long a thread that waits for another step counts as one that works.
const BRIEFLY: Duration = Duration::from_millis(100);
/// How long the end of the server waits for a step.
const PATIENCE: Duration = Duration::from_secs(2);

/// The open transactions of all repositories.
#[derive(Default)]
pub(crate) struct Transactions {
    slots: Mutex<HashMap<Key, Arc<Slot>>>,
    /// Somebody looks after them.
    is_kept: AtomicBool,
}

/// A repository's path and UUID, and a transaction's name.
type Key = (PathBuf, String, String);

/// The place of one transaction.
#[derive(Default)]
struct Slot {
    state: Mutex<State>,
    /// The transaction is being removed or is removed: steps in it end.
    is_removed: AtomicBool,
    /// Its user, as the last step found them; `None` before the first step, and while it has no user.
    owner: Mutex<Option<String>>,
}

#[derive(Default)]
struct State {
    transaction: Option<Transaction>,
    steps: u32,
    /// Others edit it too: it is laid down after each step.
    is_shared: bool,
    used: Option<Instant>,
}

/// A transaction during one step.
pub(crate) struct InUse<'a> {
    pub(crate) transaction: &'a mut Transaction,
    slot: &'a Arc<Slot>,
    is_pinned: &'a Cell<bool>,
}

impl InUse<'_> {
    /// Keeps the transaction in memory after the step, until the result is dropped: the request takes another step. Until then
    /// nothing is written down.
    pub(crate) fn pin(&self) -> Pinned {
        self.is_pinned.set(true);
        Pinned {
            name: self.transaction.name().to_owned(),
            slot: self.slot.clone(),
        }
    }
}

/// A transaction between two steps of one request. Other requests take steps in it meanwhile.
pub(crate) struct Pinned {
    name: String,
    slot: Arc<Slot>,
}

impl Pinned {
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

/// Who takes a step, and how a thread waits for another one.
pub(crate) struct Stepper<'a> {
    /// `None` is anonymous.
    pub(crate) user: Option<&'a str>,
    /// Lets other threads work while this one waits.
    pub(crate) patience: &'a Patience,
}

/// Why a step is not taken.
pub(crate) enum NoStep {
    /// The transaction cannot be opened.
    Unopened(Error),
    /// It is another user's.
    NotOwner,
}

impl Slot {
    /// Locks the transaction for a step. Waits for the step that is being taken, if there is one: but not for a transaction that is
    /// known to be another user's.
    fn lock(&self, stepper: &Stepper<'_>) -> std::result::Result<MutexGuard<'_, State>, NoStep> {
        if let Some(state) = self.state.try_lock() {
            return Ok(state);
        }
        if let (Some(user), Some(owner)) = (stepper.user, &*self.owner.lock())
            && user != owner
        {
            return Err(NoStep::NotOwner);
        }
        Ok(self.wait(stepper.patience))
    }

    fn wait(&self, patience: &Patience) -> MutexGuard<'_, State> {
        match self.state.try_lock_for(BRIEFLY) {
            Some(state) => state,
            None => patience.while_blocked(|| self.state.lock()),
        }
    }
}

impl Transactions {
    /// Keeps a transaction that has just begun.
    pub(crate) fn keep(self: &Arc<Self>, repository: &Repository, transaction: Transaction) {
        let slot = self.slot(repository, transaction.name());
        *slot.state.lock() = State {
            transaction: Some(transaction),
            used: Some(Instant::now()),
            ..State::default()
        };
        self.look_after();
    }

    /// Takes a step in the transaction of this name, opening it if need be. `refuse` makes an error of why it is not taken.
    ///
    /// # Errors
    /// Those of `refuse`; those of the step; the system's.
    pub(crate) fn step<T, E: From<Error>>(
        self: &Arc<Self>,
        repository: &Repository,
        name: &str,
        stepper: &Stepper<'_>,
        refuse: impl FnOnce(NoStep) -> E,
        step: impl FnOnce(InUse<'_>) -> std::result::Result<T, E>,
    ) -> std::result::Result<T, E> {
        let slot = self.slot(repository, name);
        let mut state = match slot.lock(stepper) {
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
                return Err(refuse(NoStep::Unopened(error)));
            }
        };
        let is_owner = transaction.claim(stepper.user)?;
        *slot.owner.lock() = transaction.user()?;
        if !is_owner {
            return Err(refuse(NoStep::NotOwner));
        }
        let is_pinned = Cell::new(false);
        let outcome = step(InUse {
            transaction,
            slot: &slot,
            is_pinned: &is_pinned,
        });
        match is_pinned.get() {
            true => state.used = Some(Instant::now()),
            false => state.after_step()?,
        }
        drop(state);
        self.look_after();
        outcome
    }

    /// Takes a transaction out, to make a revision of it.
    ///
    /// # Errors
    /// Those of opening it; the system's.
    pub(crate) fn take(
        self: &Arc<Self>,
        repository: &Repository,
        name: &str,
        patience: &Patience,
    ) -> Result<Transaction> {
        let slot = self.slot(repository, name);
        let taken = {
            let mut state = slot.wait(patience);
            let found = match slot.is_removed.load(Ordering::Relaxed) {
                true => Err(gone(name)),
                false => state.find(repository, name).map(drop),
            };
            found.and_then(|()| state.transaction.take().ok_or_else(|| gone(name)))
        };
        self.forget(repository, name, &slot);
        taken
    }

    /// Removes a transaction. A text that is on its way into it has nowhere to go then, and its request ends.
    ///
    /// # Errors
    /// `FS_MALFORMED_TXN_ID`, `FS_NO_SUCH_TRANSACTION`; the system's.
    pub(crate) fn abort(
        self: &Arc<Self>,
        repository: &Repository,
        name: &str,
        patience: &Patience,
    ) -> Result<()> {
        let slot = self.slot(repository, name);
        slot.is_removed.store(true, Ordering::Relaxed);
        let held = slot.wait(patience).transaction.take();
        let removed = match held {
            Some(transaction) => transaction.abort(),
            None => repository.remove_transaction(name),
        };
        self.forget(repository, name, &slot);
        removed
    }

    /// Writes all of them down: the server ends.
    pub(crate) fn lay_all_down(&self) {
        let all: Vec<Arc<Slot>> = self.slots.lock().drain().map(|(_, slot)| slot).collect();
        for slot in all {
            if let Some(mut state) = slot.state.try_lock_for(PATIENCE) {
                // What cannot be written is left as the files are.
                _ = state.change(Transaction::write_to_disk);
                if let Some(transaction) = state.transaction.take() {
                    transaction.leave();
                }
            }
        }
    }

    fn slot(&self, repository: &Repository, name: &str) -> Arc<Slot> {
        self.slots
            .lock()
            .entry(key(repository, name))
            .or_default()
            .clone()
    }

    fn forget(&self, repository: &Repository, name: &str, slot: &Arc<Slot>) {
        let key = key(repository, name);
        let mut slots = self.slots.lock();
        if slots.get(&key).is_some_and(|known| Arc::ptr_eq(known, slot)) {
            slots.remove(&key);
        }
    }

    /// Makes sure that there is a thread that lays down what its clients do not use.
    fn look_after(self: &Arc<Self>) {
        if self.is_kept.swap(true, Ordering::Relaxed) {
            return;
        }
        let weak = Arc::downgrade(self);
        let begun = thread::Builder::new()
            .name("transactions".to_owned())
            .stack_size(256 << 10)
            .spawn(move || keep_house(&weak));
        if begun.is_err() {
            // Then the next request tries again.
            self.is_kept.store(false, Ordering::Relaxed);
        }
    }

    /// Lays down what has been left alone; false if there is nothing to look after any more.
    fn tidy(&self) -> bool {
        let all: Vec<(Key, Arc<Slot>)> = {
            let slots = self.slots.lock();
            slots
                .iter()
                .map(|(key, slot)| (key.clone(), slot.clone()))
                .collect()
        };
        let mut nodes = 0;
        let mut idle = Vec::new();
        for (key, slot) in &all {
            // One that is busy needs no looking after.
            let Some(mut state) = slot.state.try_lock() else {
                continue;
            };
            let for_long = state.used.map_or(KEEP, |used| used.elapsed());
            if for_long >= PAUSE {
                // What cannot be written now can be at the next step, which will say so.
                _ = state.change(Transaction::write_stepwise);
            }
            nodes += state.transaction.as_ref().map_or(0, Transaction::weight);
            drop(state);
            idle.push((for_long, key, slot));
        }
        idle.sort_by_key(|(for_long, ..)| std::cmp::Reverse(*for_long));
        let mut count = all.len();
        for (for_long, key, slot) in idle {
            let is_crowded = nodes > MOST_NODES || count > MOST;
            if for_long < KEEP && !(is_crowded && for_long >= KEEP_BRIEFLY) {
                break;
            }
            let mut slots = self.slots.lock();
            // Two hold it, the map and we: a request that has just taken it would go on beside the map.
            if Arc::strong_count(slot) == 2
                && let Some(mut state) = slot.state.try_lock()
                && state.used.is_none_or(|used| used.elapsed() >= KEEP_BRIEFLY)
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

impl State {
    /// The transaction, as its files are.
    fn find(&mut self, repository: &Repository, name: &str) -> Result<&mut Transaction> {
        if let Some(transaction) = &self.transaction
            && !transaction.is_in_step()?
        {
            self.is_shared = true;
            if let Some(outdated) = self.transaction.take() {
                let is_torn = outdated.is_dirty();
                outdated.leave();
                if is_torn {
                    // Neither what we know nor what the files say is all of it: no revision may come of it.
                    _ = repository.remove_transaction(name);
                }
            }
        }
        match &mut self.transaction {
            Some(transaction) => Ok(transaction),
            none => {
                // Somebody else has begun it, or goes on with it after we have laid it down.
                let opened = Transaction::open(repository, name)?;
                Ok(none.insert(opened))
            }
        }
    }

    fn after_step(&mut self) -> Result<()> {
        self.used = Some(Instant::now());
        self.steps = self.steps.saturating_add(1);
        match self.is_shared || self.steps <= FIRST_STEPS {
            true => self.change(Transaction::write_to_disk),
            false => Ok(()),
        }
    }

    /// Writes down what its files do not say yet, by `how`. If somebody else has changed it meanwhile no revision may come of it.
    fn change(&mut self, how: impl FnOnce(&mut Transaction) -> Result<()>) -> Result<()> {
        let Some(mut transaction) = self.transaction.take() else {
            return Ok(());
        };
        let done = match transaction.is_dirty() {
            true => how(&mut transaction),
            false => Ok(()),
        };
        match &done {
            Err(error) if error.code() == Code::FS_TRANSACTION_DEAD => _ = transaction.abort(),
            _ => self.transaction = Some(transaction),
        }
        done
    }
}

/// The life of the thread that looks after them; it ends with the last transaction, or with the server.
fn keep_house(transactions: &Weak<Transactions>) {
    loop {
        thread::sleep(PAUSE);
        let Some(transactions) = transactions.upgrade() else {
            return;
        };
        if !transactions.tidy() {
            transactions.is_kept.store(false, Ordering::Relaxed);
            // One that came in between would have nobody.
            if transactions.slots.lock().is_empty() {
                return;
            }
            if transactions.is_kept.swap(true, Ordering::Relaxed) {
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
