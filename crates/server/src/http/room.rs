//! Connections: taken, served by hyper until they end, and asked to end when the server stops.

use std::net::SocketAddr;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use base::{Error, Result};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Runtime;
use tokio::sync::{Semaphore, watch};

use super::exchange::exchange;
use super::request::Peer;
use crate::listen::Listener;
use crate::service::Service;

/// How long requests that run get to finish when the server stops.
const GRACE: Duration = Duration::from_secs(5);
/// How long we wait when the system has no descriptor left for another connection.
const BREATH: Duration = Duration::from_millis(50);
/// Stack of a handler's thread.
const STACK: usize = 1 << 20;

/// The runtime and the listeners in it.
pub(crate) struct Room {
    runtime: Runtime,
    stop: watch::Sender<bool>,
    service: Arc<Service>,
}

impl Room {
    /// Begins to serve whoever connects to `listeners`.
    ///
    /// # Errors
    /// The system's.
    pub(crate) fn open(service: &Arc<Service>, listeners: Vec<Listener>) -> Result<Room> {
        let limits = service.http().limits;
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(thread::available_parallelism().map_or(2, usize::from))
            .max_blocking_threads(limits.threads)
            .thread_stack_size(STACK)
            .thread_name("http")
            .enable_all()
            .build()
            .map_err(|e| Error::os(&e, "Can't start threads"))?;
        let (stop, stopping) = watch::channel(false);
        let room = Arc::new(Semaphore::new(limits.connections.min(Semaphore::MAX_PERMITS)));
        for listener in listeners {
            let entered = runtime.enter();
            let listener = listener.into_tokio()?;
            drop(entered);
            let door = Door {
                service: service.clone(),
                room: room.clone(),
                stopping: stopping.clone(),
            };
            runtime.spawn(door.accept(listener));
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
    room: Arc<Semaphore>,
    stopping: watch::Receiver<bool>,
}

impl Door {
    async fn accept(mut self, listener: TcpListener) {
        loop {
            let Ok(place) = self.room.clone().acquire_owned().await else {
                return;
            };
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
            let (service, stopping) = (self.service.clone(), self.stopping.clone());
            tokio::spawn(async move {
                serve(service, socket, address, stopping).await;
                drop(place);
            });
        }
    }
}

async fn serve(
    service: Arc<Service>,
    socket: TcpStream,
    address: SocketAddr,
    mut stopping: watch::Receiver<bool>,
) {
    // If that fails the connection is gone already.
    _ = socket.set_nodelay(true);
    let limits = service.http().limits;
    let peer = Peer {
        address,
        tls: false,
        certificate: None,
    };
    let handler = service_fn(move |request| exchange(service.clone(), peer.clone(), request));
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(limits.header_timeout)
        .max_headers(limits.header_lines)
        .max_buf_size(limits.header_bytes.max(16 << 10))
        .pipeline_flush(true)
        .serve_connection(TokioIo::new(socket), handler);
    tokio::pin!(connection);
    let mut told = false;
    loop {
        tokio::select! {
            _ = connection.as_mut() => return,
            _ = stopping.changed(), if !told => {
                told = true;
                connection.as_mut().graceful_shutdown();
            }
        }
    }
}
