//! The read mode of a thread: whether a read may wait for the disk.
//!
//! A thread that serves many connections must neither wait for a disk nor spend its time on rebuilding contents. It
//! runs its work in [`cached_only`]. There, every read of a revision file fails at once instead of waiting, and the
//! caller gets `None`. It then gives the work to a thread of the pool. A failed attempt has no effect: its results
//! are neither cached nor sent.
//!
//! Small files that every request looks at (`current`, the metadata of a file with revision properties) are read in
//! both modes.

use std::cell::Cell;

use base::{Code, Error, Result};

#[derive(Clone, Copy, PartialEq, Eq)]
enum ReadMode {
    /// Reads may wait for the disk.
    MayWait,
    /// A read of anything that is not in memory fails.
    CachedOnly,
    /// As `CachedOnly`, and a read has failed.
    Failed,
}

thread_local! {
    static READ_MODE: Cell<ReadMode> = const { Cell::new(ReadMode::MayWait) };
}

/// Sets the mode back to `MayWait`, also when a panic unwinds.
struct ResetOnDrop;

impl Drop for ResetOnDrop {
    fn drop(&mut self) {
        READ_MODE.set(ReadMode::MayWait);
    }
}

/// Runs `work` with reads from memory only. Returns `None` if it needed the disk: the caller drops what it has made
/// and does it again on a thread that may wait.
pub fn cached_only<T>(work: impl FnOnce() -> T) -> Option<T> {
    let _reset = ResetOnDrop;
    READ_MODE.set(ReadMode::CachedOnly);
    let made = work();
    (READ_MODE.get() == ReadMode::CachedOnly).then_some(made)
}

/// Fails if this thread may not wait. Called before every read from the disk and before long computations.
///
/// # Errors
/// `EAGAIN` within [`cached_only`], which then returns `None`.
pub fn check_may_wait() -> Result<()> {
    match READ_MODE.get() {
        ReadMode::MayWait => Ok(()),
        ReadMode::CachedOnly | ReadMode::Failed => {
            READ_MODE.set(ReadMode::Failed);
            Err(Error::bare(Code(EAGAIN)))
        }
    }
}

/// Returns false within [`cached_only`]: work that is done there may be done again.
pub fn may_wait() -> bool {
    READ_MODE.get() == ReadMode::MayWait
}

/// The system's error number for "cannot be done without waiting".
const EAGAIN: i32 = 11;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_read_that_may_wait_fails_in_cached_only_mode_and_voids_the_result() {
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
