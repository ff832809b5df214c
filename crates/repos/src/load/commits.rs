//! How revisions become durable: in groups, or one by one if there are hooks, which must see each revision. No other
//! process can commit between the first commit of a group and its flush, so a group never waits for anything.

use std::mem;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use base::{Date, Result, Revnum};
use fsfs::{CommitGroup, Fs, Txn, TxnOptions};

use crate::load::{Clock, LoadEvent, LoadObserver};

/// Begins and commits transactions.
pub(crate) enum Commits {
    /// One by one.
    Single(Fs),
    /// In groups.
    Grouped {
        /// The revisions since the last flush; makes more.
        group: Box<CommitGroup>,
        /// The number of revisions in the group.
        count: u32,
        /// The time when the first one was begun.
        since: Instant,
    },
}

impl Commits {
    /// With `is_single`, each revision is a group of its own.
    pub(crate) fn new(fs: &Fs, is_single: bool) -> Result<Self> {
        if is_single {
            return Ok(Commits::Single(fs.clone()));
        }
        Ok(Commits::Grouped {
            group: Box::new(fs.commit_group()?),
            count: 0,
            since: Instant::now(),
        })
    }

    /// Returns the filesystem with all revisions so far.
    pub(crate) fn fs(&self) -> &Fs {
        match self {
            Commits::Single(fs) => fs,
            Commits::Grouped { group, .. } => group.fs(),
        }
    }

    /// Begins a transaction on the youngest revision.
    pub(crate) fn begin(&mut self, now: Date) -> Result<Txn> {
        let options = TxnOptions {
            check_locks: false,
            client_date: true,
            ..TxnOptions::default()
        };
        match self {
            Commits::Single(fs) => fs.begin_txn(fs.youngest()?, options, now),
            Commits::Grouped { group, .. } => group.begin_txn(options, now),
        }
    }

    /// Commits a transaction. One that cannot be committed is removed, as by Subversion.
    pub(crate) fn commit(&mut self, txn: Txn, clock: &Clock) -> Result<(Revnum, Vec<PathBuf>)> {
        let name = txn.name().to_owned();
        let committed = self.try_commit(txn, clock);
        committed.inspect_err(|_| _ = self.fs().purge_txn(&name))
    }

    fn try_commit(&mut self, mut txn: Txn, clock: &Clock) -> Result<(Revnum, Vec<PathBuf>)> {
        let committed = match self {
            Commits::Single(_) => txn.commit(&**clock)?,
            Commits::Grouped { group, count, since } => {
                if *count == 0 {
                    *since = Instant::now();
                }
                *count += 1;
                group.commit(txn, &**clock)?
            }
        };
        match committed.post_commit_error {
            None => Ok((committed.rev, committed.set_aside)),
            Some(error) => Err(error),
        }
    }

    /// True if the group is large or old enough to be flushed.
    pub(crate) fn is_due(&self) -> bool {
        match self {
            Commits::Single(_) => false,
            Commits::Grouped { count, since, .. } => {
                *count >= MOST || (*count > 0 && since.elapsed() >= LONGEST)
            }
        }
    }

    /// Makes the group durable and visible; other processes may commit then.
    pub(crate) fn flush(&mut self) -> Result<()> {
        match self {
            Commits::Single(_) => Ok(()),
            Commits::Grouped { group, count, .. } => {
                *count = 0;
                group.flush_and_pack()
            }
        }
    }
}

/// The revisions that are complete, and their events. Shared with the reader of the stream, which flushes while it
/// waits.
pub(super) struct PendingCommits<'a> {
    pub(super) commits: Commits,
    pub(super) events: EventQueue<'a>,
}

impl PendingCommits<'_> {
    /// Makes the complete revisions durable, then delivers their events.
    pub(super) fn flush(&mut self) -> Result<()> {
        self.commits.flush()?;
        self.events.release()
    }
}

/// Delivers events in order; those of a group when it is durable.
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

    /// Holds the events from now on, until [`EventQueue::release`].
    pub(super) fn hold(&mut self) {
        self.is_holding = true;
    }

    /// Delivers the held events.
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

/// Maximum number of revisions in a group.
const MOST: u32 = 1000;

/// How long a group may keep other processes from committing, approximately.
const LONGEST: Duration = Duration::from_secs(1);
