//! Reads a client's requests one at a time.
//!
//! Clients send many requests without waiting for responses. hyper gets one of them, and the next one when the response is on its way.
//! Requests that have arrived meanwhile wait here, where the response cache can look at them first. Bodies pass through: nothing
//! of them is held but what arrived in one piece with the end of a request.

use std::io::{self, IoSlice};
use std::mem::MaybeUninit;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::{Buf as _, BytesMut};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::request_framing::RequestFraming;

/// Among the extensions of a request whose target had a fragment.
#[derive(Clone, Copy, Debug)]
pub(super) struct HadFragment;

/// Bytes that are read at once between requests.
const READ: usize = 16 << 10;

/// A stream that is cut into requests.
pub(super) struct RequestReader<S> {
    stream: S,
    framing: RequestFraming,
    /// The bytes that have arrived and were not given to hyper.
    waiting: BytesMut,
    /// The client has sent its last byte.
    ended: bool,
}

impl<S> RequestReader<S> {
    pub(super) fn new(stream: S, framing: RequestFraming) -> RequestReader<S> {
        RequestReader {
            stream,
            framing,
            waiting: BytesMut::new(),
            ended: false,
        }
    }

    /// Returns whether hyper has got whole requests only.
    pub(super) fn is_between(&self) -> bool {
        self.framing.is_between()
    }

    /// Returns how many requests hyper has got, the current one included.
    pub(super) fn begun(&self) -> u64 {
        self.framing.begun()
    }

    /// Returns the bytes that have arrived and were not given to hyper.
    pub(super) fn waiting(&self) -> &[u8] {
        &self.waiting
    }

    /// Drops waiting bytes: their request was answered from the cache.
    pub(super) fn skip(&mut self, bytes: usize) {
        self.waiting.advance(bytes);
    }

    /// Copies the first waiting request into `buf`, as far as it fits.
    pub(super) fn give(&mut self, buf: &mut ReadBuf<'_>) {
        let room = self.waiting.len().min(buf.remaining());
        let first = self.framing.read(&self.waiting[..room]);
        buf.put_slice(&self.waiting[..first]);
        self.waiting.advance(first);
    }
}

impl<S: AsyncRead + Unpin> RequestReader<S> {
    /// Reads more bytes. 0 is the end.
    pub(super) fn poll_more(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<usize>> {
        if self.ended {
            return Poll::Ready(Ok(0));
        }
        let mut room = [const { MaybeUninit::uninit() }; READ];
        let mut buf = ReadBuf::uninit(&mut room);
        let polled = Pin::new(&mut self.stream).poll_read(cx, &mut buf);
        if polled.is_pending() && self.waiting.is_empty() {
            // Connections are idle most of the time: they keep no buffer.
            self.waiting = BytesMut::new();
        }
        ready!(polled)?;
        self.waiting.extend_from_slice(buf.filled());
        self.ended = buf.filled().is_empty();
        Poll::Ready(Ok(buf.filled().len()))
    }

    /// Copies more of the current request into `buf` as it arrives. Bytes behind its end wait.
    pub(super) fn poll_rest(&mut self, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        if !self.waiting.is_empty() {
            self.give(buf);
            return Poll::Ready(Ok(()));
        }
        let before = buf.filled().len();
        let polled = Pin::new(&mut self.stream).poll_read(cx, buf);
        let arrived = &buf.filled()[before..];
        let rest = self.framing.read(arrived);
        self.waiting.extend_from_slice(&arrived[rest..]);
        buf.set_filled(before + rest);
        polled
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for RequestReader<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, buf)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(cx, bufs)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
