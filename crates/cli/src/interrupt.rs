//! Signals that end a tool without leaving partial work.
//!
//! The first SIGINT, SIGHUP or SIGTERM cancels the operation, which ends with `Caught signal` if it is not complete. The process then ends
//! itself with the same signal, so that a shell loop around it stops too. A second signal ends the process at once. What leaves a repository
//! as it should be has [`TIME_TO_COMPLETE`].

use std::io;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock};
use std::thread;
use std::time::Duration;

use base::{Cancel, Error, Result};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag;
use signal_hook::iterator::Signals;
use signal_hook::low_level::emulate_default_handler;

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

impl Interrupt {
    /// Installs the handler.
    ///
    /// # Errors
    /// `errno` if the handlers or the thread cannot be made.
    pub fn install() -> Result<Self> {
        let failed = |e: &io::Error| Error::os(e, "Can't listen for signals");
        for (signal, number) in [(SIGINT, INT), (SIGHUP, HUP), (SIGTERM, TERM)] {
            flag::register_usize(signal, Arc::clone(&CAUGHT), number).map_err(|e| failed(&e))?;
        }
        let mut signals = Signals::new([SIGINT, SIGHUP, SIGTERM]).map_err(|e| failed(&e))?;
        let this = Interrupt {
            cancel: Cancel::new(),
        };
        let cancel = this.cancel.clone();
        thread::Builder::new()
            .name("signals".into())
            .spawn(move || {
                let mut is_first = true;
                for signal in signals.forever() {
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
            })
            .map_err(|e| failed(&e))?;
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

/// Runs `work` while SIGINT has no effect on this process, as `system` of C does.
pub fn without_int<T>(work: impl FnOnce() -> T) -> T {
    IS_INT_IGNORED.store(true, Ordering::SeqCst);
    let outcome = work();
    // The thread looks at a signal a little later than the handler.
    for _ in 0..100 {
        if CAUGHT.load(Ordering::SeqCst) != INT {
            break;
        }
        thread::sleep(Duration::from_millis(1));
    }
    IS_INT_IGNORED.store(false, Ordering::SeqCst);
    outcome
}

/// The values of [`CAUGHT`].
const INT: usize = 2;
const HUP: usize = 1;
const TERM: usize = 15;
