//! The async runtime, and the listeners that it serves.

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use base::{Code, Error, Result};
use tokio::net::TcpListener;
use tokio::runtime::Runtime;
use tokio::sync::{Semaphore, watch};

use super::connection::Connection;
use super::handler::Handler;
use crate::context::ServerContext;
use crate::net::{Listener, ThreadPool};

/// How long running requests have to finish when the server stops.
const GRACE: Duration = Duration::from_secs(30);
/// The pause after a failed accept: the system has no descriptor left for another connection.
const ACCEPT_BACKOFF: Duration = Duration::from_millis(50);
/// The interval between checks of the certificates' files.
const CERTIFICATE_CHECK: Duration = Duration::from_secs(5);
/// The highest number of connections for metrics and health.
const STATUS_CONNECTIONS: usize = 64;
/// Stack of the runtime's threads, bytes.
const STACK: usize = 1 << 20;

/// What is served on a listener.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ListenerKind {
    /// HTTP.
    Plain,
    /// HTTP over TLS.
    Tls,
    /// Metrics and health, nothing else.
    Status,
}

/// The runtime with all listeners of HTTP.
pub(crate) struct HttpServer {
    runtime: Runtime,
    stop: watch::Sender<bool>,
}

impl HttpServer {
    /// Starts to serve `listeners` with `handler` and the threads of `pool`: at most `max_connections` connections, or fewer if the options say so.
    ///
    /// # Errors
    /// The system's; `BAD_CONFIG_VALUE` for a TLS listener without TLS settings.
    pub(crate) fn start<H: Handler>(
        context: &Arc<ServerContext>,
        handler: &Arc<H>,
        pool: &Arc<ThreadPool>,
        listeners: Vec<(ListenerKind, Listener)>,
        max_connections: usize,
    ) -> Result<HttpServer> {
        let limits = context.http_options().limits;
        let has_tls = listeners.iter().any(|(kind, _)| *kind == ListenerKind::Tls);
        if has_tls && context.tls().is_none() {
            let message = "Connections can't be encrypted without a certificate";
            return Err(Error::new(Code::BAD_CONFIG_VALUE, message));
        }
        let cores = thread::available_parallelism().map_or(2, usize::from);
        // One more than may answer requests themselves, so that one is always free for sockets.
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(cores + 1)
            .thread_stack_size(STACK)
            .thread_name("http-io")
            .enable_all()
            .build()
            .map_err(|e| Error::os(&e, "Can't start threads"))?;
        let (stop, stopping) = watch::channel(false);
        let slots = limits
            .connections
            .min(max_connections)
            .min(Semaphore::MAX_PERMITS);
        let slots = Arc::new(Semaphore::new(slots));
        // Clients must not keep an administrator from seeing the state of the server.
        let status_slots = Arc::new(Semaphore::new(STATUS_CONNECTIONS));
        for (kind, listener) in listeners {
            let entered = runtime.enter();
            let listener = listener.into_tokio()?;
            drop(entered);
            let acceptor = Acceptor {
                context: context.clone(),
                handler: handler.clone(),
                pool: pool.clone(),
                kind,
                slots: match kind {
                    ListenerKind::Status => status_slots.clone(),
                    ListenerKind::Plain | ListenerKind::Tls => slots.clone(),
                },
                stopping: stopping.clone(),
            };
            runtime.spawn(acceptor.accept(listener));
        }
        if has_tls {
            runtime.spawn(watch_certificates(context.clone(), stopping));
        }
        Ok(HttpServer { runtime, stop })
    }

    /// Closes the listeners, waits until the running requests have finished, and ends the runtime.
    pub(crate) fn stop(self) {
        self.stop.send_replace(true);
        let stop = self.stop;
        // Each connection holds a receiver.
        self.runtime.block_on(async {
            _ = tokio::time::timeout(GRACE, stop.closed()).await;
        });
        self.runtime.shutdown_timeout(Duration::from_millis(100));
    }
}

/// Accepts the connections of one listener.
struct Acceptor<H> {
    context: Arc<ServerContext>,
    handler: Arc<H>,
    pool: Arc<ThreadPool>,
    kind: ListenerKind,
    slots: Arc<Semaphore>,
    stopping: watch::Receiver<bool>,
}

impl<H: Handler> Acceptor<H> {
    async fn accept(mut self, listener: TcpListener) {
        loop {
            let slot = tokio::select! {
                slot = self.slots.clone().acquire_owned() => slot,
                _ = self.stopping.changed() => return,
            };
            let Ok(slot) = slot else { return };
            let accepted = tokio::select! {
                accepted = listener.accept() => accepted,
                _ = self.stopping.changed() => return,
            };
            let (socket, address) = match accepted {
                Ok(accepted) => accepted,
                Err(_) => {
                    tokio::time::sleep(ACCEPT_BACKOFF).await;
                    continue;
                }
            };
            let share = match self.kind {
                ListenerKind::Status => None,
                ListenerKind::Plain | ListenerKind::Tls => {
                    match self.context.limits.connections.take(Some(address.ip()), 1) {
                        // A network that has its share of connections gets no other one.
                        None => continue,
                        share => share,
                    }
                }
            };
            let connection = Connection {
                context: self.context.clone(),
                handler: self.handler.clone(),
                pool: self.pool.clone(),
                address,
                kind: self.kind,
                stopping: self.stopping.clone(),
            };
            tokio::spawn(async move {
                connection.serve(socket).await;
                drop((slot, share));
            });
        }
    }
}

/// Reads certificates again when their files change.
async fn watch_certificates(context: Arc<ServerContext>, mut stopping: watch::Receiver<bool>) {
    loop {
        tokio::select! {
            () = tokio::time::sleep(CERTIFICATE_CHECK) => {}
            _ = stopping.changed() => return,
        }
        let context = context.clone();
        // The files may be on a slow disk.
        _ = tokio::task::spawn_blocking(move || context.refresh_tls(false)).await;
    }
}
