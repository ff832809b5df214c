//! A TCP proxy in front of a server whose connections break, each after a random number of bytes.
//!
//! New connections are taken at any time. The bytes before the break have arrived, those after it have not: so an answer may be lost
//! although the server has done what it was asked for.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use crate::accept_loop::AcceptLoop;

/// A running proxy. It ends with the value.
#[derive(Debug)]
pub struct FlakyProxy {
    listener: AcceptLoop,
    state: Arc<ProxyState>,
}

#[derive(Debug)]
struct ProxyState {
    server: SocketAddr,
    /// Bytes of a connection before it breaks, on average; 0 breaks none.
    mean: AtomicU64,
    random: AtomicU64,
    breaks: AtomicU64,
}

impl FlakyProxy {
    /// Starts a proxy whose connections pass `mean` bytes on average before they break.
    ///
    /// # Panics
    /// If no port is free.
    pub fn start(server: SocketAddr, seed: u64, mean: u64) -> FlakyProxy {
        let state = Arc::new(ProxyState {
            server,
            mean: AtomicU64::new(mean),
            random: AtomicU64::new(seed),
            breaks: AtomicU64::new(0),
        });
        let accepting = Arc::clone(&state);
        let listener = AcceptLoop::start(move |client| {
            if let Ok(server) = TcpStream::connect(accepting.server) {
                accepting.begin(client, server);
            }
        });
        FlakyProxy { listener, state }
    }

    /// Returns the port on 127.0.0.1.
    pub fn port(&self) -> u16 {
        self.listener.port()
    }

    /// Changes how many bytes pass on average; 0 breaks no connection any more.
    pub fn set_mean(&self, mean: u64) {
        self.state.mean.store(mean, Ordering::SeqCst);
    }

    /// Returns how many connections were broken.
    pub fn breaks(&self) -> u64 {
        self.state.breaks.load(Ordering::SeqCst)
    }
}

impl ProxyState {
    /// Forwards both directions of a connection on threads of their own.
    fn begin(self: &Arc<Self>, client: TcpStream, server: TcpStream) {
        let limit = self.limit();
        let passed = Arc::new(AtomicU64::new(0));
        for (from, to) in [(&client, &server), (&server, &client)] {
            let (Ok(from), Ok(to)) = (from.try_clone(), to.try_clone()) else {
                continue;
            };
            _ = from.set_nodelay(true);
            let (state, passed) = (Arc::clone(self), Arc::clone(&passed));
            thread::spawn(move || state.forward(from, to, limit, &passed));
        }
    }

    fn forward(&self, mut from: TcpStream, mut to: TcpStream, limit: u64, passed: &AtomicU64) {
        let mut buffer = [0; 4096];
        while let Ok(read @ 1..) = from.read(&mut buffer) {
            let before = passed.fetch_add(read as u64, Ordering::SeqCst);
            let allowed = limit.saturating_sub(before).min(read as u64) as usize;
            let breaks = allowed < read && self.mean.load(Ordering::SeqCst) > 0;
            let sent = if breaks { allowed } else { read };
            if to.write_all(&buffer[..sent]).is_err() {
                break;
            }
            if breaks {
                self.breaks.fetch_add(1, Ordering::SeqCst);
                break;
            }
        }
        _ = from.shutdown(Shutdown::Both);
        _ = to.shutdown(Shutdown::Both);
    }

    /// A random number of bytes, at most twice the mean (SplitMix64).
    fn limit(&self) -> u64 {
        let mut z = self
            .random
            .fetch_add(0x9e37_79b9_7f4a_7c15, Ordering::SeqCst)
            .wrapping_add(0x9e37_79b9_7f4a_7c15);
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        match self.mean.load(Ordering::SeqCst) {
            0 => u64::MAX,
            mean => 1 + (z ^ (z >> 31)) % (2 * mean),
        }
    }
}
