//! Answers that come at once, out of memory, or not at all.
//!
//! A thread that serves many connections must not wait for a disk or spend its time on rebuilding texts. It asks within
//! [`at_once`]: there, what would have to be read from files of revisions fails instead, and the asker learns that somebody
//! with more time must do it. Nothing is half done by that: what fails so is neither kept nor told to anyone.
//!
//! The small files that are looked at for every question anyway (`current`, the state of a list of revision properties) are
//! not what is meant here.

use std::cell::Cell;

use base::{Code, Error, Result};

#[derive(Clone, Copy, PartialEq, Eq)]
enum Hurry {
    /// Everything may take its time.
    None,
    /// What is not in memory fails.
    AtOnce,
    /// Something has failed for that reason.
    Failed,
}

thread_local! {
    static HURRY: Cell<Hurry> = const { Cell::new(Hurry::None) };
}

/// Ends the hurry, also when a panic passes by.
struct Ends;

impl Drop for Ends {
    fn drop(&mut self) {
        HURRY.set(Hurry::None);
    }
}

/// Does `work` as far as it needs nothing but memory. `None` if it needed more: then whatever it has made is void, and it is to
/// be done again by somebody who may wait.
pub fn at_once<T>(work: impl FnOnce() -> T) -> Option<T> {
    let _ends = Ends;
    HURRY.set(Hurry::AtOnce);
    let made = work();
    (HURRY.get() == Hurry::AtOnce).then_some(made)
}

/// Called before what takes its time.
///
/// # Errors
/// `EAGAIN` within [`at_once`], which returns nothing then.
pub fn takes_time() -> Result<()> {
    match HURRY.get() {
        Hurry::None => Ok(()),
        Hurry::AtOnce | Hurry::Failed => {
            HURRY.set(Hurry::Failed);
            Err(Error::bare(Code(EAGAIN)))
        }
    }
}

/// False within [`at_once`]: what is done there may have to be done again.
pub fn has_time() -> bool {
    HURRY.get() == Hurry::None
}

/// The system's number for what cannot be done at once.
const EAGAIN: i32 = 11;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_takes_time_fails_only_in_a_hurry_and_voids_all() {
        assert!(takes_time().is_ok());
        assert!(has_time());
        assert_eq!(at_once(has_time), Some(false));
        assert_eq!(at_once(|| 7), Some(7));
        assert_eq!(at_once(|| takes_time().is_err()), None);
        assert!(takes_time().is_ok());
        let panicked = std::panic::catch_unwind(|| at_once(|| panic!("on the way")));
        assert!(panicked.is_err() && takes_time().is_ok());
    }
}
