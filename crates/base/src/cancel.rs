//! A flag that asks long work to stop.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use parking_lot::{Condvar, Mutex};

use crate::error::{Error, Result};
use crate::error_codes::Code;

/// A shared flag; cheap to clone and to read.
#[derive(Clone, Debug, Default)]
pub struct Cancel(Arc<CancelState>);

#[derive(Debug, Default)]
struct CancelState {
    is_raised: AtomicBool,
    /// Held while the flag is raised, and by the threads of [`Cancel::wait`] between the look at the flag and the wait.
    waiting: Mutex<()>,
    raised: Condvar,
}

impl Cancel {
    /// Returns a flag that is not raised.
    pub fn new() -> Self {
        Self::default()
    }

    /// Raises the flag; raising it again changes nothing.
    pub fn cancel(&self) {
        let waiting = self.0.waiting.lock();
        self.0.is_raised.store(true, Ordering::Relaxed);
        self.0.raised.notify_all();
        drop(waiting);
    }

    /// True once raised.
    pub fn is_cancelled(&self) -> bool {
        self.0.is_raised.load(Ordering::Relaxed)
    }

    /// Waits for `time`, or until the flag is raised. Returns true if it is raised.
    pub fn wait(&self, time: Duration) -> bool {
        let mut waiting = self.0.waiting.lock();
        self.0
            .raised
            .wait_while_for(&mut waiting, |()| !self.is_cancelled(), time);
        self.is_cancelled()
    }

    /// # Errors
    /// `CANCELLED` once the flag is raised.
    pub fn check(&self) -> Result<()> {
        if self.is_cancelled() {
            Err(Error::new(Code::CANCELLED, "Caught signal"))
        } else {
            Ok(())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_ends_when_the_flag_is_raised() {
        let cancel = Cancel::new();
        assert!(!cancel.wait(Duration::from_millis(1)));
        std::thread::scope(|scope| {
            // A wait that the flag does not end would take ten minutes.
            let waiter = scope.spawn(|| cancel.wait(Duration::from_secs(600)));
            cancel.cancel();
            assert!(waiter.join().expect("does not panic"));
        });
        assert!(cancel.wait(Duration::from_secs(600)));
    }
}
