//! A TCP proxy in front of a server, which breaks connections after a number of bytes.
//!
//! The bytes of all connections are counted together, so a client that connects again does not get them again. After the limit the proxy
//! closes what is open and refuses what comes ([`Fault::Cut`]), or forwards nothing more and leaves all connections open ([`Fault::Stall`]).
//! With [`Fault::Delay`] all bytes arrive, but late.

use std::io::{self, Write as _};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use parking_lot::Mutex;

use crate::accept_loop::AcceptLoop;
use crate::probe::read_some;

/// The sender of the bytes that are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum From {
    /// The client.
    Client,
    /// The server.
    Server,
}

/// The fault after the limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Both directions of all connections are closed.
    Cut,
    /// Nothing is forwarded any more, in either direction.
    Stall,
    /// Up to the limit, bytes are forwarded one by one with a pause before each; then there is one long pause.
    Delay {
        /// Before each byte.
        pause: Duration,
        /// At the limit.
        long: Duration,
    },
}

/// A running proxy. It ends with the value.
#[derive(Debug)]
pub struct CutProxy {
    listener: AcceptLoop,
    shared: Arc<Shared>,
    reached: mpsc::Receiver<()>,
}

#[derive(Debug)]
struct Shared {
    server: SocketAddr,
    counted: From,
    limit: u64,
    fault: Fault,
    passed: AtomicU64,
    is_broken: AtomicBool,
    open: Mutex<Vec<TcpStream>>,
}

impl CutProxy {
    /// Starts a proxy that lets `limit` bytes of one side pass.
    pub fn start(server: SocketAddr, counted: From, limit: u64, fault: Fault) -> CutProxy {
        let (signal, reached) = mpsc::channel();
        let shared = Arc::new(Shared {
            server,
            counted,
            limit,
            fault,
            passed: AtomicU64::new(0),
            is_broken: AtomicBool::new(false),
            open: Mutex::new(Vec::new()),
        });
        let accepting = Arc::clone(&shared);
        let listener = AcceptLoop::start(move |client| accepting.connect(client, &signal));
        CutProxy {
            listener,
            shared,
            reached,
        }
    }

    /// Returns the port on 127.0.0.1.
    pub fn port(&self) -> u16 {
        self.listener.port()
    }

    /// Returns how many bytes of the counted side have passed.
    pub fn passed(&self) -> u64 {
        self.shared.passed.load(Ordering::SeqCst)
    }

    /// Waits until the limit is reached. Returns false if that takes longer than `time`.
    pub fn wait_until_broken(&self, time: Duration) -> bool {
        self.reached.recv_timeout(time).is_ok()
    }
}

impl Drop for CutProxy {
    fn drop(&mut self) {
        self.shared.close_all();
    }
}

impl Shared {
    /// Forwards a connection in two threads of its own.
    fn connect(self: &Arc<Self>, client: TcpStream, signal: &mpsc::Sender<()>) {
        let is_cut = self.is_broken.load(Ordering::SeqCst) && self.fault == Fault::Cut;
        let server = match TcpStream::connect(self.server) {
            Ok(server) if !is_cut => server,
            _ => return,
        };
        let copy = |stream: &TcpStream| stream.try_clone().expect("because there are descriptors left");
        self.open.lock().extend([copy(&client), copy(&server)]);
        for (from, to, side) in [
            (copy(&client), copy(&server), From::Client),
            (server, client, From::Server),
        ] {
            let (shared, signal) = (Arc::clone(self), signal.clone());
            thread::spawn(move || shared.forward(from, to, side, &signal));
        }
    }

    fn forward(&self, mut from: TcpStream, mut to: TcpStream, side: From, signal: &mpsc::Sender<()>) {
        let mut piece = [0; 16384];
        loop {
            let count = read_some(&mut from, &mut piece).unwrap_or(0);
            if self.is_broken.load(Ordering::SeqCst) && self.fault == Fault::Stall {
                if count == 0 {
                    return;
                }
                continue;
            }
            if count == 0 {
                _ = to.shutdown(Shutdown::Write);
                return;
            }
            if let (Fault::Delay { pause, long }, true) = (self.fault, side == self.counted) {
                if self
                    .forward_slowly(&piece[..count], &mut to, (pause, long))
                    .is_err()
                {
                    return;
                }
                continue;
            }
            let mut forwarded = count;
            if side == self.counted {
                let before = self.passed.fetch_add(count as u64, Ordering::SeqCst);
                let left = self.limit.saturating_sub(before);
                forwarded = usize::try_from(left).map_or(count, |left| left.min(count));
            }
            if to.write_all(&piece[..forwarded]).is_err() {
                return;
            }
            if forwarded < count {
                self.is_broken.store(true, Ordering::SeqCst);
                if self.fault == Fault::Cut {
                    self.close_all();
                }
                _ = signal.send(());
            }
        }
    }

    fn forward_slowly(
        &self,
        bytes: &[u8],
        to: &mut TcpStream,
        (pause, long): (Duration, Duration),
    ) -> io::Result<()> {
        for (at, byte) in bytes.iter().enumerate() {
            match self.passed.fetch_add(1, Ordering::SeqCst) {
                before if before < self.limit => thread::sleep(pause),
                before if before == self.limit => thread::sleep(long),
                _ => return to.write_all(&bytes[at..]),
            }
            to.write_all(&[*byte])?;
        }
        Ok(())
    }

    fn close_all(&self) {
        for stream in self.open.lock().drain(..) {
            _ = stream.shutdown(Shutdown::Both);
        }
    }
}
