//! [`ReadMode`]: whether the reads of a handle may wait for the disk.
//!
//! A thread that serves many connections must neither wait for a disk nor spend its time on rebuilding contents. It
//! works with handles in the mode [`ReadMode::CachedOnly`], made by [`Fs::with_read_mode`](crate::Fs::with_read_mode).
//! With them, every read of a revision file fails at once instead of waiting, and the mode records the failure. The
//! caller then drops what it has made, even if an error on the way was ignored, and gives the work to a thread of the
//! pool.
//!
//! Small files that every request looks at (`current`, the metadata of a file with revision properties) are read in
//! both modes.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use base::{Code, Error, Result};

/// Whether reads may wait for the disk. Clones share the record of a failure.
#[derive(Clone, Debug, Default)]
pub enum ReadMode {
    /// Reads may wait for the disk.
    #[default]
    MayWait,
    /// A read of anything that is not in memory fails.
    CachedOnly {
        /// True after a read has failed.
        has_failed: Arc<AtomicBool>,
    },
}

impl ReadMode {
    /// Returns a new mode in which no read has failed.
    pub fn cached_only() -> ReadMode {
        ReadMode::CachedOnly {
            has_failed: Arc::default(),
        }
    }

    /// Returns whether reads may wait. In the other mode, work that is done may be done again.
    pub fn may_wait(&self) -> bool {
        matches!(self, ReadMode::MayWait)
    }

    /// Fails if reads may not wait. Called before every read from the disk and before long computations.
    ///
    /// # Errors
    /// `EAGAIN` in the mode [`ReadMode::CachedOnly`]; the failure is recorded.
    pub fn check_may_wait(&self) -> Result<()> {
        match self {
            ReadMode::MayWait => Ok(()),
            ReadMode::CachedOnly { has_failed } => {
                has_failed.store(true, Ordering::Relaxed);
                Err(Error::bare(Code(EAGAIN)))
            }
        }
    }

    /// Returns whether a check has failed: what was made must not be used.
    pub fn has_failed(&self) -> bool {
        match self {
            ReadMode::MayWait => false,
            ReadMode::CachedOnly { has_failed } => has_failed.load(Ordering::Relaxed),
        }
    }
}

/// The system's error number for "cannot be done without waiting".
const EAGAIN: i32 = 11;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_check_is_recorded_for_all_clones() {
        let wait = ReadMode::MayWait;
        assert!(wait.may_wait() && wait.check_may_wait().is_ok() && !wait.has_failed());
        let cached = ReadMode::cached_only();
        assert!(!cached.may_wait() && !cached.has_failed());
        assert!(cached.clone().check_may_wait().is_err());
        assert!(cached.has_failed());
        assert!(!ReadMode::cached_only().has_failed());
    }
}
