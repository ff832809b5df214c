//! How a server is told to stop, and what signals mean to it.
//!
//! SIGTERM and SIGINT stop it. SIGHUP opens the log file anew; a server without one stops, as when its terminal is
//! closed. Who has more to do then says so ([`Signals::listen_with`]). SIGPIPE never reaches us: the standard library ignores it.

use std::io::Write;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::thread;

use base::{Error, Result};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::{iterator, low_level};

use crate::log::{OperationLog, Origin};

/// Asked to stop: a flag that everybody can look at and a descriptor that can be waited for.
#[derive(Clone, Debug)]
pub struct Stop(Arc<StopInner>);

#[derive(Debug)]
struct StopInner {
    stopped: AtomicBool,
    /// Becomes readable, and is never read.
    waiting: UnixStream,
    ringing: UnixStream,
}

impl Stop {
    /// Nobody has asked yet.
    ///
    /// # Errors
    /// The system's.
    pub fn new() -> Result<Stop> {
        let (waiting, ringing) =
            UnixStream::pair().map_err(|e| Error::os(&e, "Can't create a pair of sockets"))?;
        Ok(Stop(Arc::new(StopInner {
            stopped: AtomicBool::new(false),
            waiting,
            ringing,
        })))
    }

    /// Asks; asking again changes nothing.
    pub fn stop(&self) {
        if !self.0.stopped.swap(true, Ordering::SeqCst) {
            // One byte always fits.
            _ = (&self.0.ringing).write_all(&[0]);
        }
    }

    /// True once somebody has asked.
    pub fn is_stopped(&self) -> bool {
        self.0.stopped.load(Ordering::SeqCst)
    }
}

impl AsFd for Stop {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.waiting.as_fd()
    }
}

/// A thread that listens for signals.
#[derive(Debug)]
pub struct Signals {
    /// The one that stopped the server, or 0.
    fatal: Arc<AtomicI32>,
}

impl Signals {
    /// From now on SIGTERM and SIGINT ask `stop` to stop, and SIGHUP opens `log` anew (or stops, if there is none).
    ///
    /// # Errors
    /// The system's.
    pub fn listen(stop: &Stop, log: Option<Arc<OperationLog>>) -> Result<Signals> {
        let reopen = log.map(|log| {
            move || {
                if let Err(error) = log.reopen() {
                    // Into the old one.
                    log.error(Origin::default(), &error);
                }
            }
        });
        Self::listen_with(stop, reopen)
    }

    /// From now on SIGTERM and SIGINT ask `stop` to stop, and SIGHUP does `hang_up` (or stops, if there is nothing to do).
    ///
    /// # Errors
    /// The system's.
    pub fn listen_with(stop: &Stop, mut hang_up: Option<impl FnMut() + Send + 'static>) -> Result<Signals> {
        let mut signals = iterator::Signals::new([SIGTERM, SIGINT, SIGHUP])
            .map_err(|e| Error::os(&e, "Can't listen for signals"))?;
        let stop = stop.clone();
        let fatal = Arc::new(AtomicI32::new(0));
        let stopped_by = fatal.clone();
        let listen = move || {
            for signal in &mut signals {
                match (signal, &mut hang_up) {
                    (SIGHUP, Some(hang_up)) => hang_up(),
                    _ => {
                        stopped_by.store(signal, Ordering::SeqCst);
                        stop.stop();
                    }
                }
            }
        };
        thread::Builder::new()
            .name("signals".to_owned())
            .stack_size(1 << 20)
            .spawn(listen)
            .map_err(|e| Error::os(&e, "Can't start a thread"))?;
        Ok(Signals { fatal })
    }

    /// Ends the process by the signal that stopped the server, so that whoever started it learns why it ended. Returns if
    /// it was no signal.
    pub fn die_of_it(&self) {
        let signal = self.fatal.load(Ordering::SeqCst);
        if signal != 0 {
            // If that is not possible the process ends in the ordinary way.
            _ = low_level::emulate_default_handler(signal);
        }
    }
}
