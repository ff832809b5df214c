//! A flag that asks long work to stop.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use parking_lot::{Condvar, Mutex};

use crate::error::{Error, Result};
use crate::error_codes::Code;

/// A shared flag; cheap to clone and to read.
///
/// A flag of [`Cancel::patient`] follows another one: once [`Cancel::begin_patience`] was called, only [`Cancel::give_up`] of the other one
/// raises it. It is for what must be completed when the other one is raised, but may not wait for ever.
#[derive(Clone, Debug, Default)]
pub struct Cancel {
    state: Arc<CancelState>,
    /// `None` for a flag that does not follow another one.
    is_patient: Option<Arc<AtomicBool>>,
}

#[derive(Debug, Default)]
struct CancelState {
    is_raised: AtomicBool,
    /// Raised for patient flags too.
    is_given_up: AtomicBool,
    /// Held while the flag is raised, and by the threads of [`Cancel::wait`] between the look at the flag and the wait.
    waiting: Mutex<()>,
    raised: Condvar,
}

impl Cancel {
    /// Returns a flag that is not raised.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns a flag that follows this one.
    #[must_use]
    pub fn patient(&self) -> Cancel {
        Cancel {
            state: Arc::clone(&self.state),
            is_patient: Some(Arc::default()),
        }
    }

    /// Lets the flag and its clones be raised only by [`Cancel::give_up`].
    pub fn begin_patience(&self) {
        if let Some(is_patient) = &self.is_patient {
            is_patient.store(true, Ordering::Relaxed);
        }
    }

    /// Raises the flag; raising it again changes nothing.
    pub fn cancel(&self) {
        self.raise(&self.state.is_raised);
    }

    /// Raises the flag, and the patient flags that follow it.
    pub fn give_up(&self) {
        self.cancel();
        self.raise(&self.state.is_given_up);
    }

    fn raise(&self, flag: &AtomicBool) {
        let waiting = self.state.waiting.lock();
        flag.store(true, Ordering::Relaxed);
        self.state.raised.notify_all();
        drop(waiting);
    }

    /// True once raised.
    pub fn is_cancelled(&self) -> bool {
        let is_patient = self
            .is_patient
            .as_ref()
            .is_some_and(|flag| flag.load(Ordering::Relaxed));
        match is_patient {
            true => self.state.is_given_up.load(Ordering::Relaxed),
            false => self.state.is_raised.load(Ordering::Relaxed),
        }
    }

    /// Waits for `time`, or until the flag is raised. Returns true if it is raised.
    pub fn wait(&self, time: Duration) -> bool {
        let mut waiting = self.state.waiting.lock();
        self.state
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

    #[test]
    fn a_patient_flag_is_raised_later() {
        let cancel = Cancel::new();
        let patient = cancel.patient();
        cancel.cancel();
        assert!(patient.is_cancelled(), "its patience has not begun");
        patient.clone().begin_patience();
        assert!(!patient.is_cancelled());
        assert!(!patient.wait(Duration::from_millis(1)));
        cancel.give_up();
        assert!(patient.wait(Duration::from_secs(600)));
    }
}
