//! One question for the state of a repository, for all callers that wait.
//!
//! A caller needs a state that was read after its call began. While one question is under way, later callers wait for it to end, and
//! one of them asks the next question for all of them. So a thousand readers cause as many questions as follow each other, and each
//! gets an answer that is new enough.

use std::time::{Duration, Instant};

use base::{Error, Result, Revnum};
use fsfs::shared::Head;
use parking_lot::{Condvar, Mutex};

/// The state that was read last, and the questions under way.
#[derive(Default)]
pub(crate) struct HeadReader {
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
}

impl HeadReader {
    /// Returns a state that is at most `max_age` old; `ask` asks for one.
    ///
    /// # Errors
    /// Those of `ask`.
    pub(crate) fn head(&self, max_age: Duration, ask: impl Fn() -> Result<Head>) -> Result<Head> {
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
            state.error = match answer {
                Ok(head) => {
                    state.see(head, since);
                    None
                }
                Err(e) => Some(e),
            };
            self.answered.notify_all();
        }
    }

    /// Takes a state that was read in another way. `since` is a time at which it was valid already.
    pub(crate) fn see(&self, head: Head, since: Instant) {
        self.state.lock().see(head, since);
    }

    /// Takes a revision that was made here. The other parts of the state are as old as before.
    pub(crate) fn see_youngest(&self, youngest: Revnum) {
        if let Some((head, _)) = &mut self.state.lock().last {
            head.youngest = head.youngest.max(youngest);
        }
    }

    /// The state that was read or made last.
    pub(crate) fn last(&self) -> Option<Head> {
        self.state.lock().last.map(|(head, _)| head)
    }

    /// As [`HeadReader::last`], if it is at most `max_age` old.
    pub(crate) fn recent(&self, max_age: Duration) -> Option<Head> {
        let (head, since) = self.state.lock().last?;
        (since.elapsed() <= max_age).then_some(head)
    }
}

impl ReaderState {
    /// Each part of a state only grows. So of two states each part of the younger one is at least as large.
    fn see(&mut self, head: Head, since: Instant) {
        self.last = Some(match self.last {
            None => (head, since),
            Some((old, before)) => (
                Head {
                    youngest: old.youngest.max(head.youngest),
                    min_unpacked: old.min_unpacked.max(head.min_unpacked),
                    locks_version: old.locks_version.max(head.locks_version),
                    revprops_version: old.revprops_version.max(head.revprops_version),
                },
                before.max(since),
            ),
        });
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
        let (reader, now, questions) = (HeadReader::default(), AtomicU64::new(0), AtomicU64::new(0));
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
        let reader = HeadReader::default();
        let failed = reader.head(Duration::ZERO, || Err(Error::new(base::Code::FS_GENERAL, "x")));
        assert!(failed.is_err());
        assert_eq!(reader.head(Duration::ZERO, || Ok(head(3))).ok(), Some(head(3)));
        let kept = reader.head(Duration::from_secs(60), || Ok(head(9)));
        assert_eq!(kept.ok(), Some(head(3)));
        reader.see(head(1), Instant::now());
        assert_eq!(reader.last(), Some(head(3)));
    }
}
