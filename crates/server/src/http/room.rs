//! The runtime, and the listeners in it.

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use base::{Code, Error, Result};
use tokio::net::TcpListener;
use tokio::runtime::Runtime;
use tokio::sync::{Semaphore, watch};

use super::connection::Connection;
use crate::listen::Listener;
use crate::metrics::Look;
use crate::options::Threads;
use crate::service::Service;
use crate::thread_pool::ThreadPool;

/// How long requests that run get to finish when the server stops.
const GRACE: Duration = Duration::from_secs(30);
/// How long we wait when the system has no descriptor left for another connection.
const BREATH: Duration = Duration::from_millis(50);
/// How often the files of certificates are looked at.
const LOOK: Duration = Duration::from_secs(5);
/// Connections at the same time of those who ask for metrics and health.
const STATUS_CONNECTIONS: usize = 64;
/// Stack of the runtime's threads.
const STACK: usize = 1 << 20;

/// What is served on a listener.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Plain,
    Tls,
    /// Metrics and health, nothing else.
    Status,
}

/// The runtime and the listeners in it.
pub(crate) struct Room {
    runtime: Runtime,
    stop: watch::Sender<bool>,
    service: Arc<Service>,
}

impl Room {
    /// Begins to serve whoever connects to `listeners`: `most` connections at the same time, or fewer if the options say so.
    ///
    /// # Errors
    /// The system's; `BAD_CONFIG_VALUE` if connections are to be encrypted and nothing says how.
    pub(crate) fn open(
        service: &Arc<Service>,
        listeners: Vec<(Kind, Listener)>,
        most: usize,
    ) -> Result<Room> {
        let limits = service.http().limits;
        let encrypted = listeners.iter().any(|(kind, _)| *kind == Kind::Tls);
        if encrypted && service.tls().is_none() {
            let message = "Connections can't be encrypted without a certificate";
            return Err(Error::new(Code::BAD_CONFIG_VALUE, message));
        }
        let cores = thread::available_parallelism().map_or(2, usize::from);
        // One more than may be busy with answers: somebody always listens.
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(cores + 1)
            .thread_stack_size(STACK)
            .thread_name("http-io")
            .enable_all()
            .build()
            .map_err(|e| Error::os(&e, "Can't start threads"))?;
        let (stop, stopping) = watch::channel(false);
        let room = Arc::new(Semaphore::new(
            limits.connections.min(most).min(Semaphore::MAX_PERMITS),
        ));
        // Others must not keep an administrator from seeing what is going on.
        let for_status = Arc::new(Semaphore::new(STATUS_CONNECTIONS));
        let pool = ThreadPool::new(
            "http",
            Threads {
                min: 0,
                max: limits.threads,
            },
            cores,
        );
        let watched = Arc::downgrade(&pool);
        service.watch(move || Look::threads("http_threads", watched.upgrade().map(|pool| pool.count())));
        for (kind, listener) in listeners {
            let entered = runtime.enter();
            let listener = listener.into_tokio()?;
            drop(entered);
            let door = Door {
                service: service.clone(),
                pool: pool.clone(),
                kind,
                room: match kind {
                    Kind::Status => for_status.clone(),
                    Kind::Plain | Kind::Tls => room.clone(),
                },
                stopping: stopping.clone(),
            };
            runtime.spawn(door.accept(listener));
        }
        if encrypted {
            runtime.spawn(watch_certificates(service.clone(), stopping));
        }
        Ok(Room {
            runtime,
            stop,
            service: service.clone(),
        })
    }

    /// Takes no more connections, lets requests that run come to their end, and ends.
    pub(crate) fn close(self) {
        self.stop.send_replace(true);
        let stop = self.stop;
        // Each connection holds a receiver.
        self.runtime.block_on(async {
            _ = tokio::time::timeout(GRACE, stop.closed()).await;
        });
        drop(self.service);
        self.runtime.shutdown_timeout(Duration::from_millis(100));
    }
}

/// Where connections come in.
struct Door {
    service: Arc<Service>,
    pool: Arc<ThreadPool>,
    kind: Kind,
    room: Arc<Semaphore>,
    stopping: watch::Receiver<bool>,
}

impl Door {
    async fn accept(mut self, listener: TcpListener) {
        loop {
            let place = tokio::select! {
                place = self.room.clone().acquire_owned() => place,
                _ = self.stopping.changed() => return,
            };
            let Ok(place) = place else { return };
            let accepted = tokio::select! {
                accepted = listener.accept() => accepted,
                _ = self.stopping.changed() => return,
            };
            let (socket, address) = match accepted {
                Ok(accepted) => accepted,
                Err(_) => {
                    tokio::time::sleep(BREATH).await;
                    continue;
                }
            };
            let share = match self.kind {
                Kind::Status => None,
                Kind::Plain | Kind::Tls => match self.service.connections.take(Some(address.ip()), 1) {
                    // An address that has too many connections is not served another one.
                    None => continue,
                    share => share,
                },
            };
            let connection = Connection {
                service: self.service.clone(),
                pool: self.pool.clone(),
                address,
                kind: self.kind,
                stopping: self.stopping.clone(),
            };
            tokio::spawn(async move {
                connection.serve(socket).await;
                drop((place, share));
            });
        }
    }
}

/// New certificates count as soon as their files are there.
async fn watch_certificates(service: Arc<Service>, mut stopping: watch::Receiver<bool>) {
    loop {
        tokio::select! {
            () = tokio::time::sleep(LOOK) => {}
            _ = stopping.changed() => return,
        }
        let service = service.clone();
        // Files may be on a slow disk.
        _ = tokio::task::spawn_blocking(move || service.refresh_tls(false)).await;
    }
}
