//! Counters of what sessions exchange with servers: bytes, requests, and how long the servers take to answer.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

/// Counters that all sessions of one [`crate::OpenOptions`] share. A repository on disk has no traffic.
#[derive(Clone, Debug, Default)]
pub struct Traffic(Arc<Counters>);

#[derive(Debug, Default)]
struct Counters {
    sent: AtomicU64,
    received: AtomicU64,
    requests: AtomicU64,
    latencies: Mutex<Vec<Duration>>,
}

/// Latencies that are held; later ones are not.
const MOST_LATENCIES: usize = 1 << 20;

impl Traffic {
    /// Bytes sent to servers, and received from them.
    pub fn bytes(&self) -> (u64, u64) {
        let load = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        (load(&self.0.sent), load(&self.0.received))
    }

    /// Requests that were answered: over svn://, what was sent before the session waited for the server counts as one.
    pub fn requests(&self) -> u64 {
        self.0.requests.load(Ordering::Relaxed)
    }

    /// The times from requests to the beginning of their answers, in no order; the first million of them.
    pub fn latencies(&self) -> Vec<Duration> {
        self.0.latencies.lock().clone()
    }

    pub(crate) fn add_sent(&self, bytes: usize) {
        self.0.sent.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    pub(crate) fn add_received(&self, bytes: usize) {
        self.0.received.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    pub(crate) fn add_request(&self, latency: Duration) {
        self.0.requests.fetch_add(1, Ordering::Relaxed);
        let mut latencies = self.0.latencies.lock();
        if latencies.len() < MOST_LATENCIES {
            latencies.push(latency);
        }
    }
}

/// A connection whose bytes are counted.
pub(crate) struct CountedStream {
    stream: TcpStream,
    traffic: Traffic,
}

impl CountedStream {
    pub(crate) fn new(stream: TcpStream, traffic: &Traffic) -> CountedStream {
        CountedStream {
            stream,
            traffic: traffic.clone(),
        }
    }
}

impl AsyncRead for CountedStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.stream).poll_read(context, buffer))?;
        self.traffic.add_received(buffer.filled().len() - before);
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for CountedStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = ready!(Pin::new(&mut self.stream).poll_write(context, bytes))?;
        self.traffic.add_sent(written);
        Poll::Ready(Ok(written))
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = ready!(Pin::new(&mut self.stream).poll_write_vectored(context, parts))?;
        self.traffic.add_sent(written);
        Poll::Ready(Ok(written))
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
