//! Answers that come at once, out of memory, or not at all.
//!
//! A thread that serves many connections must not wait for a disk or spend its time on rebuilding texts. It asks within
//! [`cached_only`]: there, what would have to be read from files of revisions fails instead, and the asker learns that somebody
//! with more time must do it. Nothing is half done by that: what fails so is neither kept nor told to anyone.
//!
//! The small files that are looked at for every question anyway (`current`, the state of a list of revision properties) are
//! not what is meant here.

use std::cell::Cell;

use base::{Code, Error, Result};

#[derive(Clone, Copy, PartialEq, Eq)]
enum ReadMode {
    /// Everything may take its time.
    MayWait,
    /// What is not in memory fails.
    CachedOnly,
    /// Something has failed for that reason.
    Failed,
}

thread_local! {
    static READ_MODE: Cell<ReadMode> = const { Cell::new(ReadMode::MayWait) };
}

/// ResetOnDrop the hurry, also when a panic passes by.
struct ResetOnDrop;

impl Drop for ResetOnDrop {
    fn drop(&mut self) {
        READ_MODE.set(ReadMode::MayWait);
    }
}

/// Does `work` as far as it needs nothing but memory. `None` if it needed more: then whatever it has made is void, and it is to
/// be done again by somebody who may wait.
pub fn cached_only<T>(work: impl FnOnce() -> T) -> Option<T> {
    let _reset = ResetOnDrop;
    READ_MODE.set(ReadMode::CachedOnly);
    let made = work();
    (READ_MODE.get() == ReadMode::CachedOnly).then_some(made)
}

/// Called before what takes its time.
///
/// # Errors
/// `EAGAIN` within [`cached_only`], which returns nothing then.
pub fn check_may_wait() -> Result<()> {
    match READ_MODE.get() {
        ReadMode::MayWait => Ok(()),
        ReadMode::CachedOnly | ReadMode::Failed => {
            READ_MODE.set(ReadMode::Failed);
            Err(Error::bare(Code(EAGAIN)))
        }
    }
}

/// False within [`cached_only`]: what is done there may have to be done again.
pub fn may_wait() -> bool {
    READ_MODE.get() == ReadMode::MayWait
}

/// The system's number for what cannot be done at once.
const EAGAIN: i32 = 11;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_takes_time_fails_only_in_a_hurry_and_voids_all() {
        assert!(check_may_wait().is_ok());
        assert!(may_wait());
        assert_eq!(cached_only(may_wait), Some(false));
        assert_eq!(cached_only(|| 7), Some(7));
        assert_eq!(cached_only(|| check_may_wait().is_err()), None);
        assert!(check_may_wait().is_ok());
        let panicked = std::panic::catch_unwind(|| cached_only(|| panic!("on the way")));
        assert!(panicked.is_err() && check_may_wait().is_ok());
    }
}
