//! What a client sends, one request at a time.
//!
//! Clients send many requests in one breath. hyper is given one of them, and the next when the answer is on its way; what has come
//! meanwhile waits here, where it can be looked at first ([`super::again`]). Bodies pass by: of them nothing is
//! held but what came in one piece with the end of a request.

use std::io::{self, IoSlice};
use std::mem::MaybeUninit;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::{Buf as _, BytesMut};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::heads::Heads;

/// A request whose target had a fragment has one of these among its extensions.
#[derive(Clone, Copy, Debug)]
pub(super) struct HadFragment;

/// Bytes that are asked of the stream at once between requests.
const ROOM: usize = 16 << 10;

/// A stream whose requests are told apart.
pub(super) struct Intake<S> {
    stream: S,
    heads: Heads,
    /// What has come and nobody was given.
    waiting: BytesMut,
    /// Nothing more will come.
    ended: bool,
}

impl<S> Intake<S> {
    pub(super) fn new(stream: S, heads: Heads) -> Intake<S> {
        Intake {
            stream,
            heads,
            waiting: BytesMut::new(),
            ended: false,
        }
    }

    /// True if all of the last request was given away, and nothing of another one.
    pub(super) fn is_between(&self) -> bool {
        self.heads.is_between()
    }

    /// How many requests were given away.
    pub(super) fn begun(&self) -> u64 {
        self.heads.begun()
    }

    /// What has come and nobody was given.
    pub(super) fn waiting(&self) -> &[u8] {
        &self.waiting
    }

    /// The first of what waits was dealt with.
    pub(super) fn skip(&mut self, bytes: usize) {
        self.waiting.advance(bytes);
    }

    /// Gives away what waits of the first request, as far as there is room for it.
    pub(super) fn give(&mut self, buf: &mut ReadBuf<'_>) {
        let room = self.waiting.len().min(buf.remaining());
        let first = self.heads.read(&self.waiting[..room]);
        buf.put_slice(&self.waiting[..first]);
        self.waiting.advance(first);
    }
}

impl<S: AsyncRead + Unpin> Intake<S> {
    /// Takes in more of what the client sends. Ready without anything is the end.
    pub(super) fn poll_more(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<usize>> {
        if self.ended {
            return Poll::Ready(Ok(0));
        }
        let mut room = [const { MaybeUninit::uninit() }; ROOM];
        let mut buf = ReadBuf::uninit(&mut room);
        let polled = Pin::new(&mut self.stream).poll_read(cx, &mut buf);
        if polled.is_pending() && self.waiting.is_empty() {
            // Connections are quiet for most of their time.
            self.waiting = BytesMut::new();
        }
        ready!(polled)?;
        self.waiting.extend_from_slice(buf.filled());
        self.ended = buf.filled().is_empty();
        Poll::Ready(Ok(buf.filled().len()))
    }

    /// Gives away the rest of a request that has begun, as it comes. What comes behind it waits.
    pub(super) fn poll_rest(&mut self, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        if !self.waiting.is_empty() {
            self.give(buf);
            return Poll::Ready(Ok(()));
        }
        let before = buf.filled().len();
        let polled = Pin::new(&mut self.stream).poll_read(cx, buf);
        let come = &buf.filled()[before..];
        let rest = self.heads.read(come);
        self.waiting.extend_from_slice(&come[rest..]);
        buf.set_filled(before + rest);
        polled
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Intake<S> {
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
