//! A server: takes connections and gives them to threads until it is told to stop.
//!
//! It takes as many as the system gives descriptors for, less those that reading repositories needs; who comes beyond
//! waits in the listening socket.

use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::Duration;

use base::{Code, Error, Result};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::http::{Kind, Room};
use crate::idle::Idle;
use crate::listen::Listener;
use crate::log::Origin;
use crate::metrics::Look;
use crate::options::Threads;
use crate::service::Service;
use crate::signals::Stop;
use crate::stream::Stream;
use crate::svn::Session;
use crate::svn_sessions::Sessions;
use crate::thread_pool::ThreadPool;

/// How long commands that run get to finish when the server stops.
const GRACE: Duration = Duration::from_secs(5);
/// How long we wait when the system has no descriptor or memory left for another connection.
const BREATH: Duration = Duration::from_millis(50);
/// Descriptors kept for the files of repositories, or a quarter of all if that is less.
const KEPT: u64 = 1024;

/// Serves everybody who connects.
pub struct Server {
    service: Arc<Service>,
    listeners: Vec<Listener>,
    http: Vec<(Kind, Listener)>,
    threads: Threads,
}

impl Server {
    /// Serves `service` to whoever connects to `listeners`.
    pub fn new(service: Arc<Service>, listeners: Vec<Listener>, threads: Threads) -> Server {
        Server {
            service,
            listeners,
            http: Vec::new(),
            threads,
        }
    }

    /// Serves HTTP to whoever connects to `listeners`, under the service's [`crate::http::HttpOptions`].
    pub fn with_http(self, listeners: Vec<Listener>) -> Server {
        self.with(Kind::Plain, listeners)
    }

    /// As [`Server::with_http`], over TLS: the service must know how ([`Service::set_tls`]).
    pub fn with_https(self, listeners: Vec<Listener>) -> Server {
        self.with(Kind::Tls, listeners)
    }

    /// Tells metrics and health to whoever connects to `listeners`.
    pub fn with_status(self, listeners: Vec<Listener>) -> Server {
        self.with(Kind::Status, listeners)
    }

    fn with(mut self, kind: Kind, listeners: Vec<Listener>) -> Server {
        self.http
            .extend(listeners.into_iter().map(|listener| (kind, listener)));
        self
    }

    /// Runs until `stop` is asked to.
    ///
    /// # Errors
    /// The system's, if it cannot even begin.
    pub fn run(mut self, stop: &Stop) -> Result<()> {
        let most = raise_descriptor_limit();
        self.service.limit_connections(most as u64);
        keep_small();
        let idle = Idle::new(stop)?;
        let pool = ThreadPool::new("svn", self.threads, 0);
        let watched = Arc::downgrade(&pool);
        self.service
            .watch(move || Look::threads("svn_threads", watched.upgrade().map(|pool| pool.count())));
        let sessions = Sessions::new(pool.clone(), idle.clone());
        let watcher = {
            let (sessions, stop) = (sessions.clone(), stop.clone());
            let patience = self.service.options().stall_timeout;
            thread::Builder::new()
                .name("idle".to_owned())
                .stack_size(256 << 10)
                .spawn(move || idle.watch(&sessions, patience, &stop))
                .map_err(|e| Error::os(&e, "Can't start a thread"))?
        };
        let room = match std::mem::take(&mut self.http) {
            none if none.is_empty() => None,
            listeners => Some(Room::open(&self.service, listeners, most)?),
        };
        let outcome = self.accept_until(stop, &sessions, most);
        stop.stop();
        self.service.stopping.store(true, Ordering::Relaxed);
        drop(self.listeners);
        if let Some(room) = room {
            room.close();
        }
        self.service.transactions.lay_all_down();
        pool.stop(GRACE);
        // It has seen `stop` as well.
        _ = watcher.join();
        outcome
    }

    fn accept_until(&self, stop: &Stop, sessions: &Arc<Sessions>, most: usize) -> Result<()> {
        let mut door = Door {
            service: &self.service,
            sessions,
            connections: Arc::new(()),
            most,
            complained: false,
        };
        while !stop.is_stopped() {
            let mut fds: Vec<PollFd<'_>> = vec![PollFd::new(stop, PollFlags::IN)];
            fds.extend(self.listeners.iter().map(|l| PollFd::new(l, PollFlags::IN)));
            match poll(&mut fds, None) {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(e) => return Err(Error::os(&e.into(), "Can't wait for connections")),
            }
            for listener in &self.listeners {
                door.accept_all(listener, stop);
            }
        }
        Ok(())
    }
}

/// Where connections come in.
struct Door<'a> {
    service: &'a Arc<Service>,
    sessions: &'a Arc<Sessions>,
    /// Held once by each connection.
    connections: Arc<()>,
    /// How many connections there may be.
    most: usize,
    /// The log knows that nobody can come in.
    complained: bool,
}

impl Door<'_> {
    fn accept_all(&mut self, listener: &Listener, stop: &Stop) {
        while !stop.is_stopped() {
            if Arc::strong_count(&self.connections) > self.most {
                let error = Error::new(
                    Code::BASE,
                    format!("{} clients are connected: no more fit", self.most),
                );
                self.complain(&error);
                return;
            }
            let socket = match listener.accept() {
                Ok(socket) => socket,
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => return,
                // The client has gone before we looked.
                Err(e) if e.kind() == io::ErrorKind::ConnectionAborted => continue,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
                Err(e) => {
                    self.complain(&Error::os(&e, "Can't accept client connection"));
                    return;
                }
            };
            self.complained = false;
            // If that fails the connection was gone at once.
            if let Ok(stream) = Stream::tcp(socket, self.service.options().stall_timeout) {
                // An address that has too many connections is not served another one.
                let Some(share) = self.service.connections.take(stream.peer(), 1) else {
                    continue;
                };
                let stream = stream.served_by(self.sessions.pool(), &self.connections, share);
                self.sessions.submit(Session::new(self.service.clone(), stream));
            }
        }
    }

    /// Says once why nobody can come in, and gives others the time to leave.
    fn complain(&mut self, error: &Error) {
        if !self.complained
            && let Some(log) = &self.service.log
        {
            log.error(Origin::default(), error);
        }
        self.complained = true;
        thread::sleep(BREATH);
    }
}

/// A thread's first byte of each kind of buffer must not take a huge page: a thousand busy threads would hold gigabytes.
fn keep_small() {
    // Where it is not possible they do.
    #[cfg(target_os = "linux")]
    let _ = rustix::thread::disable_transparent_huge_pages(true);
}

/// Ten thousand idle clients need ten thousand descriptors. Answers how many connections there may be.
fn raise_descriptor_limit() -> usize {
    let limit = getrlimit(Resource::Nofile);
    // If it may not be raised we serve as many as we may.
    _ = setrlimit(
        Resource::Nofile,
        Rlimit {
            current: limit.maximum,
            maximum: limit.maximum,
        },
    );
    let most = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
    usize::try_from(most - KEPT.min(most / 4)).unwrap_or(usize::MAX)
}
