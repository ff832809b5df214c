//! How revisions become durable: in groups, or one by one where hooks want to see each. Nobody else can commit between the first
//! commit of a group and its flush, so a group waits for nothing.

use std::mem;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use base::{Date, Result, Revnum};
use fsfs::{Batch, Fs, Txn, TxnOptions};

use crate::load::{Clock, LoadEvent, LoadObserver, LoadOptions};
use crate::repo::Repository;

/// Begins and commits transactions.
pub(super) enum Commits {
    /// One by one.
    Single(Fs),
    /// In groups.
    CommitGroup {
        /// Those since the last flush, and the way to more.
        batch: Box<Batch>,
        /// How many there are.
        count: u32,
        /// When the first one was begun.
        since: Instant,
    },
}

impl Commits {
    pub(super) fn new(repository: &Repository, options: &LoadOptions) -> Result<Self> {
        let fs = repository.fs();
        if options.pre_commit.is_some() || options.post_commit.is_some() {
            return Ok(Commits::Single(fs.clone()));
        }
        Ok(Commits::CommitGroup {
            batch: Box::new(fs.batch()?),
            count: 0,
            since: Instant::now(),
        })
    }

    /// The filesystem with all revisions so far.
    pub(super) fn fs(&self) -> &Fs {
        match self {
            Commits::Single(fs) => fs,
            Commits::CommitGroup { batch, .. } => batch.fs(),
        }
    }

    /// Begins a transaction on the youngest revision.
    pub(super) fn begin(&mut self, now: Date) -> Result<Txn> {
        let options = TxnOptions {
            check_locks: false,
            client_date: true,
            ..TxnOptions::default()
        };
        match self {
            Commits::Single(fs) => fs.begin_txn(fs.youngest()?, options, now),
            Commits::CommitGroup { batch, .. } => batch.begin_txn(options, now),
        }
    }

    pub(super) fn commit(&mut self, mut txn: Txn, clock: &Clock) -> Result<(Revnum, Vec<PathBuf>)> {
        let committed = match self {
            Commits::Single(_) => txn.commit(&**clock)?,
            Commits::CommitGroup { batch, count, since } => {
                if *count == 0 {
                    *since = Instant::now();
                }
                *count += 1;
                batch.commit(txn, &**clock)?
            }
        };
        match committed.post_commit_error {
            None => Ok((committed.rev, committed.set_aside)),
            Some(error) => Err(error),
        }
    }

    /// True if the group is large or old enough.
    pub(super) fn is_due(&self) -> bool {
        match self {
            Commits::Single(_) => false,
            Commits::CommitGroup { count, since, .. } => {
                *count >= MOST || (*count > 0 && since.elapsed() >= LONGEST)
            }
        }
    }

    /// Makes the group durable and visible; others can commit from then on, until the next revision is complete.
    pub(super) fn flush(&mut self) -> Result<()> {
        match self {
            Commits::Single(_) => Ok(()),
            Commits::CommitGroup { batch, count, .. } => {
                *count = 0;
                batch.flush().map(drop)
            }
        }
    }
}

/// The revisions that are complete, and what is to be told of them. Shared with whoever waits for the stream.
pub(super) struct CommitGroup<'a> {
    pub(super) commits: Commits,
    pub(super) events: EventQueue<'a>,
}

impl CommitGroup<'_> {
    /// Makes durable what is complete, and tells so.
    pub(super) fn flush(&mut self) -> Result<()> {
        self.commits.flush()?;
        self.events.release()
    }
}

/// Tells events in their order, those of a group when it is durable.
pub(super) struct EventQueue<'a> {
    observer: &'a mut dyn LoadObserver,
    held: Vec<LoadEvent>,
    is_holding: bool,
}

impl<'a> EventQueue<'a> {
    pub(super) fn new(observer: &'a mut dyn LoadObserver) -> Self {
        EventQueue {
            observer,
            held: Vec::new(),
            is_holding: false,
        }
    }

    /// What comes now waits for [`EventQueue::release`].
    pub(super) fn hold(&mut self) {
        self.is_holding = true;
    }

    /// Tells what has waited.
    pub(super) fn release(&mut self) -> Result<()> {
        self.is_holding = false;
        mem::take(&mut self.held)
            .into_iter()
            .try_for_each(|event| self.observer.event(event))
    }

    pub(super) fn tell(&mut self, event: LoadEvent) -> Result<()> {
        match self.is_holding {
            true => {
                self.held.push(event);
                Ok(())
            }
            false => self.observer.event(event),
        }
    }
}

/// Most revisions in a group.
const MOST: u32 = 1000;

/// How long a group may keep others from committing, about.
const LONGEST: Duration = Duration::from_secs(1);
