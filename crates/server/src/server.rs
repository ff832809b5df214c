//! A server: accepts connections of all protocols and stops cleanly.
//!
//! It accepts as many connections as the system has descriptors for, less those that reading repositories needs. Further clients
//! wait in the listening sockets.

use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::Duration;

use base::{Code, Error, Result};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::config::Threads;
use crate::context::ServerContext;
use crate::dav::DavHandler;
use crate::http::{HttpServer, ListenerKind};
use crate::log::Origin;
use crate::metrics::MetricSample;
use crate::net::{Listener, Stream, ThreadPool};
use crate::service::Service;
use crate::signals::Stop;
use crate::site::Site;
use crate::svn::{ParkedSessions, Session, SessionScheduler, SessionStatus};

/// How long running commands have to finish when the server stops.
const GRACE: Duration = Duration::from_secs(5);
/// The pause when the system has no descriptor or memory left for another connection.
const ACCEPT_BACKOFF: Duration = Duration::from_millis(50);
/// Descriptors reserved for the files of repositories, or a quarter of all if that is less.
const RESERVED_DESCRIPTORS: u64 = 1024;

/// A server with its listeners.
pub struct Server {
    service: Arc<Service>,
    listeners: Vec<Listener>,
    http: Vec<(ListenerKind, Listener)>,
    threads: Threads,
}

/// Serves one svn:// session on the calling thread until it ends. Returns what ended it, unless the peer has closed the connection
/// after its login.
pub fn serve_session(service: &Arc<Service>, stream: Stream) -> Option<Error> {
    let mut session = Session::new(service.clone(), stream);
    while session.serve(Duration::MAX) != SessionStatus::Ended {}
    session.ended_by()
}

impl Server {
    /// Returns a server that serves svn:// on `listeners`. The sessions and requests of all protocols have at most `threads` busy
    /// threads.
    pub fn new(service: Arc<Service>, listeners: Vec<Listener>, threads: Threads) -> Server {
        Server {
            service,
            listeners,
            http: Vec::new(),
            threads,
        }
    }

    /// Serves HTTP on `listeners`, under the service's [`crate::config::HttpOptions`].
    pub fn with_http(self, listeners: Vec<Listener>) -> Server {
        self.with(ListenerKind::Plain, listeners)
    }

    /// As [`Server::with_http`], over TLS: the service must have TLS settings ([`Service::set_tls`]).
    pub fn with_https(self, listeners: Vec<Listener>) -> Server {
        self.with(ListenerKind::Tls, listeners)
    }

    /// Serves metrics and health on `listeners`.
    pub fn with_status(self, listeners: Vec<Listener>) -> Server {
        self.with(ListenerKind::Status, listeners)
    }

    fn with(mut self, kind: ListenerKind, listeners: Vec<Listener>) -> Server {
        self.http
            .extend(listeners.into_iter().map(|listener| (kind, listener)));
        self
    }

    /// Runs until `stop` is set.
    ///
    /// # Errors
    /// The system's, if the server cannot start.
    pub fn run(mut self, stop: &Stop) -> Result<()> {
        let max_connections = raise_descriptor_limit();
        let context = self.service.context.clone();
        context.limit_connections(max_connections as u64);
        avoid_huge_pages();
        let parked = ParkedSessions::new(stop)?;
        let cores = thread::available_parallelism().map_or(2, usize::from);
        let pool = ThreadPool::new("worker", self.threads, cores);
        self.service.repositories.index_on(&pool);
        let watched = Arc::downgrade(&pool);
        // Both names were in use when each protocol had threads of its own.
        context.metrics.watch(move || {
            let count = watched.upgrade().map(|pool| pool.count());
            ["svn_threads", "http_threads"]
                .map(|name| MetricSample::threads(name, count))
                .into()
        });
        let scheduler = SessionScheduler::new(pool.clone(), parked.clone());
        let watcher = {
            let (scheduler, stop) = (scheduler.clone(), stop.clone());
            let service = self.service.clone();
            let stall_timeout = context.options().stall_timeout;
            thread::Builder::new()
                .name("idle".to_owned())
                .stack_size(256 << 10)
                .spawn(move || {
                    parked.watch(&scheduler, stall_timeout, &stop, &|| {
                        service.repositories.close_idle_files();
                    });
                })
                .map_err(|e| Error::os(&e, "Can't start a thread"))?
        };
        let site = Arc::new(Site::new(self.service.clone()));
        let http = match std::mem::take(&mut self.http) {
            none if none.is_empty() => None,
            listeners => {
                let handler = Arc::new(DavHandler::new(site.clone()));
                Some(HttpServer::start(
                    &context,
                    &handler,
                    &pool,
                    listeners,
                    max_connections,
                )?)
            }
        };
        let outcome = self.accept_until(stop, &scheduler, max_connections);
        stop.stop();
        context.stopping.store(true, Ordering::Relaxed);
        self.service.repositories.stop_indexing();
        drop(self.listeners);
        if let Some(http) = http {
            http.stop();
        }
        site.transactions.write_all_to_disk();
        pool.stop(GRACE);
        // The thread has seen `stop` as well.
        _ = watcher.join();
        outcome
    }

    fn accept_until(
        &self,
        stop: &Stop,
        scheduler: &Arc<SessionScheduler>,
        max_connections: usize,
    ) -> Result<()> {
        let mut acceptor = SvnAcceptor {
            service: &self.service,
            context: &self.service.context,
            scheduler,
            connections: Arc::new(()),
            max_connections,
            has_logged: false,
        };
        while !stop.is_stopped() {
            let mut fds: Vec<PollFd<'_>> = vec![PollFd::new(stop, PollFlags::IN)];
            fds.extend(self.listeners.iter().map(|l| PollFd::new(l, PollFlags::IN)));
            match poll(&mut fds, None) {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(e) => return Err(Error::os(&e.into(), "Can't wait for connections")),
            }
            for listener in &self.listeners {
                acceptor.accept_all(listener, stop);
            }
        }
        Ok(())
    }
}

/// Accepts svn:// connections and makes sessions of them.
struct SvnAcceptor<'a> {
    service: &'a Arc<Service>,
    context: &'a ServerContext,
    scheduler: &'a Arc<SessionScheduler>,
    /// Each connection holds a reference.
    connections: Arc<()>,
    max_connections: usize,
    /// The log says already that no connection can be accepted.
    has_logged: bool,
}

impl SvnAcceptor<'_> {
    fn accept_all(&mut self, listener: &Listener, stop: &Stop) {
        while !stop.is_stopped() {
            if Arc::strong_count(&self.connections) > self.max_connections {
                let error = Error::new(
                    Code::BASE,
                    format!("{} clients are connected: no more fit", self.max_connections),
                );
                self.back_off(&error);
                return;
            }
            let socket = match listener.accept() {
                Ok(socket) => socket,
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => return,
                // The client has gone before its connection was accepted.
                Err(e) if e.kind() == io::ErrorKind::ConnectionAborted => continue,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
                Err(e) => {
                    self.back_off(&Error::os(&e, "Can't accept client connection"));
                    return;
                }
            };
            self.has_logged = false;
            // An error means that the connection is gone already.
            if let Ok(stream) = Stream::tcp(socket, self.context.options().stall_timeout) {
                // A network that has its share of connections gets no other one.
                let Some(share) = self.context.limits.connections.take(stream.peer(), 1) else {
                    continue;
                };
                let stream = stream.served_by(self.scheduler.pool(), &self.connections, share);
                self.scheduler.submit(Session::new(self.service.clone(), stream));
            }
        }
    }

    /// Logs once why no connection can be accepted, and waits until others may have ended.
    fn back_off(&mut self, error: &Error) {
        if !self.has_logged
            && let Some(log) = &self.context.log
        {
            log.error(Origin::default(), error);
        }
        self.has_logged = true;
        thread::sleep(ACCEPT_BACKOFF);
    }
}

/// Turns huge pages off: the first byte of each buffer would take one, and a thousand busy threads would hold gigabytes.
fn avoid_huge_pages() {
    // If that is not possible the threads take more memory.
    #[cfg(target_os = "linux")]
    let _ = rustix::thread::disable_transparent_huge_pages(true);
}

/// Raises the limit of descriptors as far as the system allows: ten thousand idle clients need ten thousand of them. Returns how many
/// connections there may be.
fn raise_descriptor_limit() -> usize {
    let limit = getrlimit(Resource::Nofile);
    // If it may not be raised, fewer connections are accepted.
    _ = setrlimit(
        Resource::Nofile,
        Rlimit {
            current: limit.maximum,
            maximum: limit.maximum,
        },
    );
    let max = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
    usize::try_from(max - RESERVED_DESCRIPTORS.min(max / 4)).unwrap_or(usize::MAX)
}
