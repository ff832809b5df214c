//! A server: takes connections and gives them to threads until it is told to stop.

use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::Duration;

use base::{Error, Result};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::idle::Idle;
use crate::listen::Listener;
use crate::options::Threads;
use crate::service::Service;
use crate::signals::Stop;
use crate::stream::Stream;
use crate::svn::Session;
use crate::workers::Workers;

/// How long commands that run get to finish when the server stops.
const GRACE: Duration = Duration::from_secs(5);
/// How long we wait when the system has no descriptor or memory left for another connection.
const BREATH: Duration = Duration::from_millis(50);

/// Serves everybody who connects.
pub struct Server {
    service: Arc<Service>,
    listeners: Vec<Listener>,
    threads: Threads,
}

impl Server {
    /// Serves `service` to whoever connects to `listeners`.
    pub fn new(service: Arc<Service>, listeners: Vec<Listener>, threads: Threads) -> Server {
        Server {
            service,
            listeners,
            threads,
        }
    }

    /// Runs until `stop` is asked to.
    ///
    /// # Errors
    /// The system's, if it cannot even begin.
    pub fn run(self, stop: &Stop) -> Result<()> {
        raise_descriptor_limit();
        let workers = Workers::new(self.threads);
        let idle = Idle::new(stop)?;
        let watcher = {
            let (workers, idle, stop) = (workers.clone(), idle.clone(), stop.clone());
            thread::Builder::new()
                .name("idle".to_owned())
                .stack_size(256 << 10)
                .spawn(move || idle.watch(&workers, &stop))
                .map_err(|e| Error::os(&e, "Can't start a thread"))?
        };
        let outcome = self.accept_until(stop, &workers, &idle);
        stop.stop();
        self.service.stopping.store(true, Ordering::Relaxed);
        drop(self.listeners);
        workers.stop(GRACE);
        // It has seen `stop` as well.
        _ = watcher.join();
        outcome
    }

    fn accept_until(&self, stop: &Stop, workers: &Arc<Workers>, idle: &Arc<Idle>) -> Result<()> {
        while !stop.is_stopped() {
            let mut fds: Vec<PollFd<'_>> = vec![PollFd::new(stop, PollFlags::IN)];
            fds.extend(self.listeners.iter().map(|l| PollFd::new(l, PollFlags::IN)));
            match poll(&mut fds, None) {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(e) => return Err(Error::os(&e.into(), "Can't wait for connections")),
            }
            for listener in &self.listeners {
                self.accept_all(listener, stop, workers, idle);
            }
        }
        Ok(())
    }

    fn accept_all(&self, listener: &Listener, stop: &Stop, workers: &Arc<Workers>, idle: &Arc<Idle>) {
        while !stop.is_stopped() {
            let socket = match listener.accept() {
                Ok(socket) => socket,
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => return,
                // The client has gone before we looked.
                Err(e) if e.kind() == io::ErrorKind::ConnectionAborted => continue,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
                Err(e) => {
                    tracing::error!(error = %e, "can't accept a connection");
                    thread::sleep(BREATH);
                    return;
                }
            };
            match Stream::tcp(socket, self.service.options.stall_timeout) {
                Ok(stream) => workers.submit(Session::new(self.service.clone(), stream), idle),
                Err(e) => tracing::debug!(error = %e, "a connection was gone at once"),
            }
        }
    }
}

/// Ten thousand idle clients need ten thousand descriptors.
fn raise_descriptor_limit() {
    let limit = getrlimit(Resource::Nofile);
    // If it may not be raised we serve as many as we may.
    _ = setrlimit(
        Resource::Nofile,
        Rlimit {
            current: limit.maximum,
            maximum: limit.maximum,
        },
    );
}
