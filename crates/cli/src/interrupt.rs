//! Signals that end a tool in good order.
//!
//! The first SIGINT, SIGHUP or SIGTERM asks the work to stop; it ends with `Caught signal`, and the process then dies of that same
//! signal, so that a shell loop around it stops too. A second signal does not wait.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};
use std::thread;

use base::{Cancel, Error, Result};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use signal_hook::low_level::emulate_default_handler;

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

    /// Dies of the signal that was caught; returns if there was none.
    pub fn die(&self) {
        let signal = self.caught.load(Ordering::SeqCst);
        if signal != 0 {
            let _ = emulate_default_handler(signal);
        }
    }
}
