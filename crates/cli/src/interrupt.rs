//! Signals that end a tool in good order.
//!
//! The first SIGINT, SIGHUP or SIGTERM asks the work to stop; it ends with `Caught signal`, and the process then dies of that same
//! signal, so that a shell loop around it stops too. A second signal does not wait.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};
use std::thread;

use base::{Cancel, Code, Error, Result};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use signal_hook::low_level::emulate_default_handler;

use crate::out::Out;

/// Listens for signals for as long as the process lives.
pub struct Interrupt {
    /// Raised by the first signal.
    pub cancel: Cancel,
    caught: Arc<AtomicI32>,
}

impl Interrupt {
    /// Starts to listen.
    ///
    /// # Errors
    /// `errno` if the system refuses the handlers.
    pub fn listen() -> Result<Self> {
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

    /// Ends the work: if a signal was what stopped it, prints so and dies of that signal; otherwise hands the outcome back.
    ///
    /// # Errors
    /// Those of `outcome`.
    pub fn settle(&self, out: &mut Out, outcome: Result<()>) -> Result<()> {
        let signal = self.caught.load(Ordering::SeqCst);
        match outcome {
            Err(error) if signal != 0 && error.has(Code::CANCELLED) => {
                out.error(&error);
                let _ = emulate_default_handler(signal);
                Err(error)
            }
            outcome => outcome,
        }
    }
}
