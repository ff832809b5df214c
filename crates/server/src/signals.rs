//! The request to stop a server, and the signals of a server process.
//!
//! SIGTERM and SIGINT stop it. SIGHUP opens the log file again; a server without a log file stops, as when its terminal is closed.
//! [`Signals::listen_with`] does other work at SIGHUP. The standard library ignores SIGPIPE.

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

/// The request to stop: a flag, and a descriptor that becomes readable. Clones share it.
#[derive(Clone, Debug)]
pub struct Stop(Arc<StopInner>);

#[derive(Debug)]
struct StopInner {
    stopped: AtomicBool,
    /// Becomes readable, and is never read.
    receiver: UnixStream,
    sender: UnixStream,
}

impl Stop {
    /// Returns a request that is not set.
    ///
    /// # Errors
    /// The system's.
    pub fn new() -> Result<Stop> {
        let (receiver, sender) =
            UnixStream::pair().map_err(|e| Error::os(&e, "Can't create a pair of sockets"))?;
        Ok(Stop(Arc::new(StopInner {
            stopped: AtomicBool::new(false),
            receiver,
            sender,
        })))
    }

    /// Requests the stop. Further calls change nothing.
    pub fn stop(&self) {
        if !self.0.stopped.swap(true, Ordering::SeqCst) {
            // The buffer has room for one byte.
            _ = (&self.0.sender).write_all(&[0]);
        }
    }

    /// Returns whether the stop was requested.
    pub fn is_stopped(&self) -> bool {
        self.0.stopped.load(Ordering::SeqCst)
    }
}

impl AsFd for Stop {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.receiver.as_fd()
    }
}

/// The thread that handles signals.
#[derive(Debug)]
pub struct Signals {
    /// The signal that has stopped the server, or 0.
    fatal: Arc<AtomicI32>,
}

impl Signals {
    /// Starts the thread. SIGTERM and SIGINT set `stop`. SIGHUP opens `log` again, or sets `stop` without a log.
    ///
    /// # Errors
    /// The system's.
    pub fn listen(stop: &Stop, log: Option<Arc<OperationLog>>) -> Result<Signals> {
        let reopen = log.map(|log| {
            move || {
                if let Err(error) = log.reopen() {
                    // The old file is still open.
                    log.error(Origin::default(), &error);
                }
            }
        });
        Self::listen_with(stop, reopen)
    }

    /// Starts the thread. SIGTERM and SIGINT set `stop`. SIGHUP calls `hang_up`, or sets `stop` without one.
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

    /// Ends the process by the signal that has stopped the server, so that the parent process sees why it ended. Returns if no signal
    /// has stopped it.
    pub fn die_of_it(&self) {
        let signal = self.fatal.load(Ordering::SeqCst);
        if signal != 0 {
            // If that is not possible the process exits normally.
            _ = low_level::emulate_default_handler(signal);
        }
    }
}
