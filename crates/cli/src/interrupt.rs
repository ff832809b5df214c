//! Signals that end a tool without leaving partial work.
//!
//! The first SIGINT, SIGHUP or SIGTERM cancels the operation, which ends with `Caught signal`. The process then ends
//! itself with the same signal, so that a shell loop around it stops too. A second signal ends the process at once.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};
use std::thread;

use base::{Cancel, Code, Error, Result};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use signal_hook::low_level::emulate_default_handler;

use crate::out::Out;

/// The handler of SIGINT, SIGHUP and SIGTERM, in place until the process ends.
pub struct Interrupt {
    /// The token that the first signal cancels.
    pub cancel: Cancel,
    caught: Arc<AtomicI32>,
}

impl Interrupt {
    /// Installs the handler.
    ///
    /// # Errors
    /// `errno` if the handlers or the thread cannot be made.
    pub fn install() -> Result<Self> {
        let failed = |e: &io::Error| Error::os(e, "Can't listen for signals");
        let mut signals = Signals::new([SIGINT, SIGHUP, SIGTERM]).map_err(|e| failed(&e))?;
        let this = Interrupt {
            cancel: Cancel::new(),
            caught: Arc::new(AtomicI32::new(0)),
        };
        let (cancel, caught) = (this.cancel.clone(), Arc::clone(&this.caught));
        thread::Builder::new()
            .name("signals".into())
            .spawn(move || {
                for signal in signals.forever() {
                    if caught.swap(signal, Ordering::SeqCst) != 0 {
                        let _ = emulate_default_handler(signal);
                    }
                    cancel.cancel();
                }
            })
            .map_err(|e| failed(&e))?;
        Ok(this)
    }

    /// Ends the operation. If a signal cancelled it, prints the error and ends the process with that signal;
    /// otherwise returns `outcome`.
    ///
    /// # Errors
    /// Those of `outcome`.
    pub fn finish(&self, out: &mut Out, outcome: Result<()>) -> Result<()> {
        let signal = self.caught.load(Ordering::SeqCst);
        match outcome {
            Err(error) if signal != 0 && error.has(Code::CANCELLED) => {
                out.print_error(&error);
                let _ = emulate_default_handler(signal);
                Err(error)
            }
            outcome => outcome,
        }
    }
}
