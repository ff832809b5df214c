//! Completes revisions of a mirror on a thread of its own: their properties, then the bookkeeping.
//!
//! The order of the changes is that of Subversion's program, except that `svn:sync-currently-copying` goes from one revision to
//! the next without being deleted in between. After each of them, either program can continue:
//!
//! 1. the revision's properties: its author and date, which the commit could not set;
//! 2. `svn:sync-last-merged-rev` = this revision;
//! 3. `svn:sync-currently-copying` = the next revision, or deleted after the last one.

use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::thread::{self, JoinHandle};

use base::{Code, Error, Result, Revnum};
use ra::Session;

use super::bookkeeping::{self, CURRENTLY_COPYING, LAST_MERGED};
use super::normalize::RevisionProps;
use super::revprops;

/// A revision that was committed.
pub struct CommittedRevision {
    /// Its number.
    pub rev: Revnum,
    /// Its properties.
    pub wanted: RevisionProps,
    /// Returns whether the commit has set a property.
    pub is_set: fn(&str) -> bool,
    /// The revision that will be copied next.
    pub next: Option<Revnum>,
}

/// The thread, and the revision that it is completing.
pub struct RevisionWriter {
    jobs: Sender<CommittedRevision>,
    results: Receiver<Result<CompleteRevision>>,
    thread: JoinHandle<Box<dyn Session>>,
    is_busy: bool,
}

/// A revision that is complete.
pub struct CompleteRevision {
    /// Its number.
    pub rev: Revnum,
    /// The source has properties of a mirror.
    pub has_sync_props: bool,
}

impl RevisionWriter {
    /// Starts the thread.
    ///
    /// # Errors
    /// `errno` if it cannot be made.
    pub fn start(mut session: Box<dyn Session>) -> Result<RevisionWriter> {
        let (jobs, revisions) = channel::<CommittedRevision>();
        let (done, results) = channel();
        let thread = thread::Builder::new()
            .name("mirror: write".into())
            .spawn(move || {
                for revision in revisions {
                    let outcome = complete(&mut *session, &revision);
                    if done.send(outcome).is_err() {
                        break;
                    }
                }
                session
            })
            .map_err(|e| Error::os(&e, "Can't start a thread"))?;
        Ok(RevisionWriter {
            jobs,
            results,
            thread,
            is_busy: false,
        })
    }

    /// Starts to complete a revision. The one before it must be complete.
    ///
    /// # Errors
    /// `ASSERTION_FAIL` if the thread ended.
    pub fn begin(&mut self, revision: CommittedRevision) -> Result<()> {
        self.is_busy = true;
        self.jobs.send(revision).map_err(|_| thread_ended())
    }

    /// True while a revision is being completed, or its result was not taken.
    pub fn is_busy(&self) -> bool {
        self.is_busy
    }

    /// Returns the revision if it is complete now. `None` if there is none, or not yet.
    ///
    /// # Errors
    /// Those of changing a property.
    pub fn poll(&mut self) -> Result<Option<CompleteRevision>> {
        if !self.is_busy {
            return Ok(None);
        }
        match self.results.try_recv() {
            Ok(outcome) => {
                self.is_busy = false;
                outcome.map(Some)
            }
            Err(TryRecvError::Empty) => Ok(None),
            Err(TryRecvError::Disconnected) => Err(thread_ended()),
        }
    }

    /// Waits for the revision that is being completed, and returns it. `None` if there is none.
    ///
    /// # Errors
    /// Those of changing a property.
    pub fn wait(&mut self) -> Result<Option<CompleteRevision>> {
        if !self.is_busy {
            return Ok(None);
        }
        self.is_busy = false;
        self.results.recv().map_err(|_| thread_ended())?.map(Some)
    }

    /// Ends the thread and returns its session; `None` if it failed badly.
    pub fn finish(self) -> Option<Box<dyn Session>> {
        drop(self.jobs);
        self.thread.join().ok()
    }
}

fn complete(session: &mut dyn Session, revision: &CommittedRevision) -> Result<CompleteRevision> {
    let CommittedRevision {
        rev, wanted, next, ..
    } = revision;
    let rev = *rev;
    for (name, value) in &wanted.props {
        if !(revision.is_set)(name) {
            revprops::change(session, rev, name, Some(value))?;
        }
    }
    let existing = session.revprops(rev)?;
    revprops::delete_others(session, rev, wanted, &existing)?;
    bookkeeping::set(session, LAST_MERGED, &rev.to_string())?;
    match next {
        Some(next) => bookkeeping::set(session, CURRENTLY_COPYING, &next.to_string())?,
        None => bookkeeping::delete(session, CURRENTLY_COPYING)?,
    }
    Ok(CompleteRevision {
        rev,
        has_sync_props: wanted.has_sync_props,
    })
}

fn thread_ended() -> Error {
    Error::new(Code::ASSERTION_FAIL, "The thread that completes revisions ended")
}
