//! A queue between the thread that reads and the thread that drives, bounded by bytes.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use base::{Cancel, Code, Error, Props, Result, Revnum};
use parking_lot::{Condvar, Mutex};

/// A part of what is read.
#[derive(Debug)]
pub enum Step {
    /// A revision begins.
    Revision(Revnum, Props),
    /// Recorded calls.
    Calls(Vec<u8>),
    /// The revision is complete.
    RevisionEnd,
    /// The range is complete.
    End,
    /// Reading failed. The last step.
    Failed(Error),
}

impl Step {
    fn bytes(&self) -> usize {
        match self {
            Step::Calls(calls) => calls.len(),
            Step::Revision(_, props) => {
                64 + props
                    .iter()
                    .map(|(name, value)| name.len() + value.len())
                    .sum::<usize>()
            }
            Step::RevisionEnd | Step::End | Step::Failed(_) => 64,
        }
    }
}

#[derive(Default)]
struct State {
    steps: VecDeque<Step>,
    bytes: usize,
    has_sender: bool,
    has_receiver: bool,
}

struct Shared {
    state: Mutex<State>,
    changed: Condvar,
    limit: usize,
}

/// The end that reads.
pub struct Sender(Arc<Shared>);

/// The end that drives.
pub struct Receiver {
    shared: Arc<Shared>,
    cancel: Cancel,
}

/// Returns the ends of a queue of about `limit` bytes: one step more, of any size, always passes. `cancel` ends the waits of the
/// receiver.
pub fn bounded(limit: usize, cancel: Cancel) -> (Sender, Receiver) {
    let shared = Arc::new(Shared {
        state: Mutex::new(State {
            has_sender: true,
            has_receiver: true,
            ..State::default()
        }),
        changed: Condvar::new(),
        limit,
    });
    let receiver = Receiver {
        shared: shared.clone(),
        cancel,
    };
    (Sender(shared), receiver)
}

impl Sender {
    /// Appends a step, when there is space for it.
    ///
    /// # Errors
    /// `CANCELLED` if the receiver is gone.
    pub fn send(&self, step: Step) -> Result<()> {
        let mut state = self.0.state.lock();
        while state.has_receiver && state.bytes >= self.0.limit {
            self.0.changed.wait(&mut state);
        }
        if !state.has_receiver {
            return Err(Error::bare(Code::CANCELLED));
        }
        state.bytes += step.bytes();
        state.steps.push_back(step);
        self.0.changed.notify_all();
        Ok(())
    }
}

impl Drop for Sender {
    fn drop(&mut self) {
        self.0.state.lock().has_sender = false;
        self.0.changed.notify_all();
    }
}

impl Receiver {
    /// Returns the next step, when there is one.
    ///
    /// # Errors
    /// `CANCELLED`; `ASSERTION_FAIL` if the sender ended without a last step.
    pub fn receive(&mut self) -> Result<Step> {
        let mut state = self.shared.state.lock();
        loop {
            self.cancel.check()?;
            if let Some(step) = state.steps.pop_front() {
                state.bytes -= step.bytes();
                self.shared.changed.notify_all();
                return Ok(step);
            }
            if !state.has_sender {
                return Err(Error::new(
                    Code::ASSERTION_FAIL,
                    "The thread that reads revisions ended",
                ));
            }
            self.shared.changed.wait_for(&mut state, CANCEL_INTERVAL);
        }
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        let mut state = self.shared.state.lock();
        state.has_receiver = false;
        state.steps.clear();
        self.shared.changed.notify_all();
    }
}

/// How often a wait looks at the flag of cancellation.
const CANCEL_INTERVAL: Duration = Duration::from_millis(100);
