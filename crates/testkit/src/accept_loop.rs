//! The port of a proxy: a thread that accepts connections until the value is dropped.

use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

/// A port on 127.0.0.1 whose connections are passed to a function.
#[derive(Debug)]
pub(crate) struct AcceptLoop {
    port: u16,
    has_ended: Arc<AtomicBool>,
}

impl AcceptLoop {
    /// Accepts connections, and calls `serve` with each on one thread. It must not block.
    ///
    /// # Panics
    /// If no port is free.
    pub(crate) fn start(serve: impl FnMut(TcpStream) + Send + 'static) -> AcceptLoop {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("because the loopback has ports left");
        AcceptLoop::start_on(listener, serve)
    }

    /// As [`AcceptLoop::start`], on a socket that is bound to 127.0.0.1.
    ///
    /// # Panics
    /// If the socket is not bound.
    pub(crate) fn start_on(
        listener: TcpListener,
        mut serve: impl FnMut(TcpStream) + Send + 'static,
    ) -> AcceptLoop {
        let port = listener.local_addr().expect("because it is bound").port();
        let has_ended = Arc::new(AtomicBool::new(false));
        let ended = has_ended.clone();
        thread::spawn(move || {
            while let Ok((client, _)) = listener.accept() {
                if ended.load(Ordering::SeqCst) {
                    return;
                }
                serve(client);
            }
        });
        AcceptLoop { port, has_ended }
    }

    /// Returns the port.
    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// Returns the address.
    pub(crate) fn address(&self) -> SocketAddr {
        SocketAddr::from(([127, 0, 0, 1], self.port))
    }
}

impl Drop for AcceptLoop {
    fn drop(&mut self) {
        self.has_ended.store(true, Ordering::SeqCst);
        // Ends the wait for a connection.
        drop(TcpStream::connect(("127.0.0.1", self.port)));
    }
}
