//! One question for the state of a repository, for all callers that wait.
//!
//! A caller needs a state that was read after its call began. While one question is under way, later callers wait for it to end, and
//! one of them asks the next question for all of them. So a thousand readers cause as many questions as follow each other, and each
//! gets an answer that is new enough.
//!
//! Each part of a state only grows. An answer that is lower than what was known before its question began comes from a database that was
//! restored to an earlier state: all callers get an error then.

use std::sync::Arc;
use std::time::{Duration, Instant};

use base::{Error, Result, Revnum};
use fsfs::shared::Head;
use parking_lot::{Condvar, Mutex};

use crate::refusals::Refusals;

/// The state that was read last, and the questions under way.
pub(crate) struct HeadReader {
    refusals: Arc<Refusals>,
    /// `sven_repository.id`.
    id: i64,
    state: Mutex<ReaderState>,
    answered: Condvar,
}

#[derive(Default)]
struct ReaderState {
    is_asking: bool,
    /// Questions that were begun.
    begun: u64,
    /// The last question that has ended, and its error.
    ended: u64,
    error: Option<Error>,
    /// The youngest state that was read or made, and a time at which all of it was valid already.
    last: Option<(Head, Instant)>,
    /// A time at which all of `last` was known.
    known: Option<Instant>,
}

impl HeadReader {
    /// A reader that has read nothing yet.
    pub(crate) fn new(refusals: Arc<Refusals>, id: i64) -> HeadReader {
        HeadReader {
            refusals,
            id,
            state: Mutex::default(),
            answered: Condvar::new(),
        }
    }

    /// Returns a state that is at most `max_age` old; `ask` asks for one.
    ///
    /// # Errors
    /// Those of `ask`; those of [`Refusals::check_repository`].
    pub(crate) fn head(&self, max_age: Duration, ask: impl Fn() -> Result<Head>) -> Result<Head> {
        self.refusals.check_repository(self.id)?;
        let mut state = self.state.lock();
        if let Some((head, since)) = state.last
            && !max_age.is_zero()
            && since.elapsed() <= max_age
        {
            return Ok(head);
        }
        // The next question that begins.
        let wanted = state.begun + 1;
        loop {
            if state.ended >= wanted {
                return match (&state.error, state.last) {
                    (None, Some((head, _))) => Ok(head),
                    (Some(e), _) => Err(e.clone()),
                    (None, None) => Err(Error::new(base::Code::FS_GENERAL, "The state was not read")),
                };
            }
            if state.is_asking {
                self.answered.wait(&mut state);
                continue;
            }
            state.is_asking = true;
            state.begun += 1;
            let number = state.begun;
            drop(state);
            let asking = Asking(self);
            let since = Instant::now();
            let answer = ask();
            std::mem::forget(asking);
            state = self.state.lock();
            state.is_asking = false;
            state.ended = number;
            state.error = answer
                .and_then(|head| state.see(head, since, &self.refusals))
                .err();
            self.answered.notify_all();
        }
    }

    /// Takes a state that was read in another way. `since` is a time at which it was valid already.
    ///
    /// # Errors
    /// `FS_GENERAL` if the database went back.
    pub(crate) fn see(&self, head: Head, since: Instant) -> Result<()> {
        self.state.lock().see(head, since, &self.refusals)
    }

    /// Takes a revision that was made here. The other parts of the state are as old as before.
    pub(crate) fn see_youngest(&self, youngest: Revnum) {
        let mut state = self.state.lock();
        if let Some((head, _)) = &mut state.last
            && head.youngest < youngest
        {
            head.youngest = youngest;
            state.known = Some(Instant::now());
        }
    }

    /// The state that was read or made last.
    pub(crate) fn last(&self) -> Option<Head> {
        self.refusals.check_repository(self.id).ok()?;
        self.state.lock().last.map(|(head, _)| head)
    }

    /// As [`HeadReader::last`], if it is at most `max_age` old.
    pub(crate) fn recent(&self, max_age: Duration) -> Option<Head> {
        self.refusals.check_repository(self.id).ok()?;
        let (head, since) = self.state.lock().last?;
        (since.elapsed() <= max_age).then_some(head)
    }
}

impl ReaderState {
    /// Each part of a state only grows. So of two states each part of the younger one is at least as large.
    fn see(&mut self, head: Head, since: Instant, refusals: &Refusals) -> Result<()> {
        let Some((old, before)) = self.last else {
            self.last = Some((head, since));
            self.known = Some(Instant::now());
            return Ok(());
        };
        let seen = Head {
            youngest: old.youngest.max(head.youngest),
            min_unpacked: old.min_unpacked.max(head.min_unpacked),
            locks_version: old.locks_version.max(head.locks_version),
            revprops_version: old.revprops_version.max(head.revprops_version),
        };
        // An answer to an earlier question may be late.
        if seen != head && self.known.is_some_and(|known| known < since) {
            return Err(refusals.note_went_back(format!(
                "a repository whose youngest revision was {} has revision {} as its youngest one, or older locks or revision properties",
                old.youngest, head.youngest
            )));
        }
        if seen != old {
            self.known = Some(Instant::now());
        }
        self.last = Some((seen, before.max(since)));
        Ok(())
    }
}

/// Lets the next caller ask if the question panics.
struct Asking<'a>(&'a HeadReader);

impl Drop for Asking<'_> {
    fn drop(&mut self) {
        let mut state = self.0.state.lock();
        state.is_asking = false;
        self.0.answered.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;

    fn new_reader() -> HeadReader {
        HeadReader::new(Arc::default(), 1)
    }

    fn head(youngest: u64) -> Head {
        Head {
            youngest: Revnum(youngest),
            min_unpacked: Revnum(0),
            locks_version: 0,
            revprops_version: 0,
        }
    }

    #[test]
    fn every_caller_gets_a_state_from_after_its_call() {
        let (reader, now, questions) = (new_reader(), AtomicU64::new(0), AtomicU64::new(0));
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for _ in 0..50 {
                        let before = now.fetch_add(1, Ordering::SeqCst) + 1;
                        let read = reader.head(Duration::ZERO, || {
                            questions.fetch_add(1, Ordering::SeqCst);
                            let answer = now.load(Ordering::SeqCst);
                            std::thread::sleep(Duration::from_millis(1));
                            Ok(head(answer))
                        });
                        let read = read.expect("because the question is answered");
                        assert!(read.youngest.0 >= before, "{} < {before}", read.youngest);
                    }
                });
            }
        });
        assert!(questions.load(Ordering::SeqCst) < 400, "no question was shared");
    }

    #[test]
    fn an_error_is_that_of_its_question_only() {
        let reader = new_reader();
        let failed = reader.head(Duration::ZERO, || Err(Error::new(base::Code::FS_GENERAL, "x")));
        assert!(failed.is_err());
        assert_eq!(reader.head(Duration::ZERO, || Ok(head(3))).ok(), Some(head(3)));
        let kept = reader.head(Duration::from_secs(60), || Ok(head(9)));
        assert_eq!(kept.ok(), Some(head(3)));
        // The answer to a question that began before the last one was answered.
        let begun = Instant::now();
        reader
            .see(head(4), Instant::now())
            .expect("because it is younger");
        reader.see(head(1), begun).expect("because it is late");
        assert_eq!(reader.last(), Some(head(4)));
        // As the first one, and never again.
        reader.see_youngest(Revnum(5));
        let went_back = reader.head(Duration::ZERO, || Ok(head(4)));
        assert!(went_back.is_err_and(|e| e.message().contains("earlier state")));
        assert!(reader.head(Duration::ZERO, || Ok(head(9))).is_err());
        assert_eq!((reader.last(), reader.recent(Duration::MAX)), (None, None));
    }
}
