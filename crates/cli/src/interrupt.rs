//! Signals that end a tool without leaving partial work.
//!
//! The first SIGINT, SIGHUP or SIGTERM cancels the operation, which ends with `Caught signal` if it is not complete. The process then ends
//! itself with the same signal, so that a shell loop around it stops too. A second signal ends the process at once. What leaves a repository
//! as it should be has [`TIME_TO_COMPLETE`].

use std::io;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, sync_channel};
use std::sync::{Arc, LazyLock};
use std::thread;
use std::time::Duration;

use base::{Cancel, Error, Result};
use nix::sys::signal::{SigSet, Signal};
use parking_lot::Mutex;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGURG};
use signal_hook::flag;
use signal_hook::iterator::Signals;
use signal_hook::low_level::{emulate_default_handler, raise};

use crate::out::{Out, is_closed_pipe};

/// The time after the first signal in which locks are released and commits aborted.
const TIME_TO_COMPLETE: Duration = Duration::from_secs(10);

/// The handler of SIGINT, SIGHUP and SIGTERM, in place until the process ends.
pub struct Interrupt {
    /// The token that the first signal cancels.
    pub cancel: Cancel,
}

/// The last signal that was caught, or 0. The handler sets it itself, so that nothing can overtake it.
static CAUGHT: LazyLock<Arc<AtomicUsize>> = LazyLock::new(Arc::default);

/// SIGINT has no effect.
static IS_INT_IGNORED: AtomicBool = AtomicBool::new(false);

/// The answers of the thread that handles signals to SIGURG. `None` before [`Interrupt::install`].
static ANSWERS: Mutex<Option<Receiver<()>>> = Mutex::new(None);

impl Interrupt {
    /// Installs the handler.
    ///
    /// Where there is no room for the thread, or for its descriptors, signals end the process at once.
    ///
    /// # Errors
    /// `errno` if the handlers cannot be made.
    pub fn install() -> Result<Self> {
        let failed = |e: &io::Error| Error::os(e, "Can't listen for signals");
        for (signal, number) in [(SIGINT, INT), (SIGHUP, HUP), (SIGTERM, TERM)] {
            flag::register_usize(signal, Arc::clone(&CAUGHT), number).map_err(|e| failed(&e))?;
        }
        let this = Interrupt {
            cancel: Cancel::new(),
        };
        let Ok(mut signals) = Signals::new([SIGINT, SIGHUP, SIGTERM, SIGURG]) else {
            end_at_once().map_err(|e| failed(&e))?;
            return Ok(this);
        };
        // Threads begin with the mask of the thread that starts them: the signals are handled by the one below alone, as
        // `wait_for_signals` needs it. Child processes begin with the mask of their thread: see `base::child_signals`.
        let mut handled = SigSet::empty();
        for signal in [Signal::SIGINT, Signal::SIGHUP, Signal::SIGTERM] {
            handled.add(signal);
        }
        handled.thread_block().map_err(|e| failed(&e.into()))?;
        let (answer, answers) = sync_channel(1);
        let cancel = this.cancel.clone();
        let started = thread::Builder::new().name("signals".into()).spawn(move || {
            _ = handled.thread_unblock();
            let mut is_first = true;
            for signal in signals.forever() {
                if signal == SIGURG {
                    _ = answer.try_send(());
                    continue;
                }
                if signal == SIGINT && IS_INT_IGNORED.load(Ordering::SeqCst) {
                    _ = CAUGHT.compare_exchange(INT, 0, Ordering::SeqCst, Ordering::SeqCst);
                    continue;
                }
                if !std::mem::take(&mut is_first) {
                    let _ = emulate_default_handler(signal);
                }
                cancel.cancel();
                let given_up = cancel.clone();
                // Without the thread, only a second signal ends what must be completed.
                _ = thread::Builder::new().spawn(move || {
                    thread::sleep(TIME_TO_COMPLETE);
                    given_up.give_up();
                });
            }
        });
        match started {
            Ok(_) => *ANSWERS.lock() = Some(answers),
            Err(_) => {
                handled.thread_unblock().map_err(|e| failed(&e.into()))?;
                end_at_once().map_err(|e| failed(&e))?;
            }
        }
        Ok(this)
    }

    /// Ends the operation. If there was a signal, flushes standard output, prints the error if there is one, and ends the process with that
    /// signal, as the incumbent does even where the operation is complete; otherwise returns `outcome`.
    ///
    /// # Errors
    /// Those of `outcome`.
    pub fn finish(&self, out: &mut Out, outcome: Result<()>) -> Result<()> {
        let signal = match CAUGHT.load(Ordering::SeqCst) {
            INT => SIGINT,
            HUP => SIGHUP,
            TERM => SIGTERM,
            _ => return outcome,
        };
        let outcome = outcome.and_then(|()| out.flush());
        match &outcome {
            Err(error) if !is_closed_pipe(error) => out.print_error(error),
            _ => {}
        }
        let _ = emulate_default_handler(signal);
        outcome
    }
}

/// Gives the signals the effect that they have without handlers.
fn end_at_once() -> io::Result<()> {
    for signal in [SIGINT, SIGHUP, SIGTERM] {
        flag::register_conditional_default(signal, Arc::new(AtomicBool::new(true)))?;
    }
    Ok(())
}

/// Runs `work` while SIGINT has no effect on this process, as `system` of C does. A signal that was sent before `work` returned is handled
/// when this returns.
pub fn without_int<T>(work: impl FnOnce() -> T) -> T {
    IS_INT_IGNORED.store(true, Ordering::SeqCst);
    let outcome = work();
    wait_for_signals();
    IS_INT_IGNORED.store(false, Ordering::SeqCst);
    outcome
}

/// Waits until the signals that were sent to this process before are handled. One thread handles them; when it gets to answer a message, no
/// handler is running in it, and none is due.
fn wait_for_signals() {
    let answers = ANSWERS.lock();
    let Some(answers) = &*answers else { return };
    // The handler runs in this thread, and wakes the other one.
    if raise(SIGURG).is_ok() {
        _ = answers.recv_timeout(Duration::from_secs(1));
    }
}

/// The values of [`CAUGHT`].
const INT: usize = 2;
const HUP: usize = 1;
const TERM: usize = 15;
