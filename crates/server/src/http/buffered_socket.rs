//! A connection's socket with an output buffer: bytes are held until the connection's task has nothing else to do, and leave together
//! without being copied.
//!
//! hyper writes the head of a response and the pieces of its body as slices. To send each of them costs a system call each, and
//! wakes the client as often; to gather them in one buffer costs a copy of every byte that is served. So the handles of body pieces
//! are noted on their way to hyper ([`PendingPieces`]). Where a slice that hyper writes is the memory of such a handle, the handle is
//! held instead of a copy.
//!
//! The buffer is bounded: beyond [`FLUSH_AT`] it is sent at once, and while the client does not read it nothing more is accepted. It is
//! sent at the latest when the connection's task is about to sleep ([`BufferedSocket::poll_send`]). Each read and write is reported to the
//! connection's timeouts.
//!
//! Between requests, when hyper has written all of the last response, waiting requests are looked up in the response cache here;
//! hyper gets the others.

use std::collections::VecDeque;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::{Buf as _, Bytes, BytesMut};
use parking_lot::Mutex;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::cached_requests::{CacheLookup, CachedRequests, CachedResponseSink};
use super::handler::Handler;
use super::request_reader::RequestReader;
use super::timeouts::Timeouts;

/// A buffer of this many bytes is sent at once.
const FLUSH_AT: usize = 256 << 10;

/// Shorter pieces are copied: that is cheaper than to hold their handles.
const MIN_HELD: usize = 2 << 10;

/// The highest number of slices in one system call.
const SLICES: usize = 64;

/// The capacity for heads and short bodies, bytes.
const COPY_BUFFER: usize = 16 << 10;

/// The socket. Clones share it.
pub(super) struct BufferedSocket<S, H: Handler> {
    state: Arc<Mutex<SocketState<S>>>,
    pieces: PendingPieces,
    timeouts: Timeouts,
    cache: Option<Arc<CachedRequests<H>>>,
}

/// The handles of body pieces that hyper is about to write. Clones share them.
#[derive(Clone, Default)]
pub(super) struct PendingPieces(Arc<Mutex<VecDeque<Bytes>>>);

struct SocketState<S> {
    stream: RequestReader<S>,
    /// The head that hyper got last, if its request has no body and was given as a whole.
    head: Option<Box<[u8]>>,
    /// How many requests had ended when hyper had nothing left to write.
    written: u64,
    /// Bytes wait that hyper was not given; it must be polled to read them.
    has_unread: bool,
    /// Waiting requests are answered once the buffer has been sent.
    has_postponed: bool,
    /// Handles that are sent before `last`.
    held: VecDeque<Bytes>,
    /// Copied heads and short pieces behind them.
    last: BytesMut,
    /// Bytes in `held` and `last`.
    bytes: usize,
    /// Bytes were sent that the stream may buffer.
    needs_flush: bool,
}

impl PendingPieces {
    /// Notes a piece of a body that hyper gets now.
    pub(super) fn note(&self, piece: &Bytes) {
        if piece.len() >= MIN_HELD {
            self.0.lock().push_back(piece.clone());
        }
    }

    /// Takes the handle of a slice. Handles are taken in the order in which they were noted.
    fn take(&self, slice: &[u8]) -> Option<Bytes> {
        if slice.len() < MIN_HELD {
            return None;
        }
        let mut noted = self.0.lock();
        // A noted handle keeps its memory alive, so the same address means the same bytes.
        let is_it = |piece: &Bytes| std::ptr::eq(piece.as_ref(), slice);
        let at = noted.iter().position(is_it)?;
        noted.drain(..at);
        noted.pop_front()
    }

    /// Drops the handles that were not taken, of pieces that hyper has cut.
    fn clear(&self) {
        self.0.lock().clear();
    }
}

impl<S, H: Handler> Clone for BufferedSocket<S, H> {
    fn clone(&self) -> Self {
        BufferedSocket {
            state: self.state.clone(),
            pieces: self.pieces.clone(),
            timeouts: self.timeouts.clone(),
            cache: self.cache.clone(),
        }
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin, H: Handler> BufferedSocket<S, H> {
    pub(super) fn new(
        stream: RequestReader<S>,
        timeouts: Timeouts,
        cache: Option<CachedRequests<H>>,
    ) -> BufferedSocket<S, H> {
        let state = SocketState {
            stream,
            head: None,
            written: 0,
            has_unread: false,
            has_postponed: false,
            held: VecDeque::new(),
            last: BytesMut::new(),
            bytes: 0,
            needs_flush: false,
        };
        BufferedSocket {
            state: Arc::new(Mutex::new(state)),
            pieces: PendingPieces::default(),
            timeouts,
            cache: cache.map(Arc::new),
        }
    }

    /// Takes the head of the request that hyper has passed to the service, if it is known.
    pub(super) fn take_head(&self) -> Option<Box<[u8]>> {
        self.state.lock().head.take()
    }

    /// Returns true, once, if hyper must be polled again: it may read bytes that it did not get before.
    pub(super) fn has_more(&self) -> bool {
        let mut state = self.state.lock();
        state.has_unread && state.is_idle() && std::mem::take(&mut state.has_unread)
    }

    /// Returns true, once, if hyper must be polled again after [`BufferedSocket::poll_send`] has sent the buffer: it may read requests that
    /// have waited for that. Nothing else would wake the connection's task.
    pub(super) fn has_postponed(&self) -> bool {
        std::mem::take(&mut self.state.lock().has_postponed)
    }

    /// Returns where pieces of bodies are noted.
    pub(super) fn pending_pieces(&self) -> PendingPieces {
        self.pieces.clone()
    }

    /// Sends the buffer, as far as the client reads it.
    pub(super) fn poll_send(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let mut state = self.state.lock();
        ready!(state.send(&self.timeouts, cx))?;
        // hyper has written all pieces that it got.
        self.pieces.clear();
        Poll::Ready(Ok(()))
    }
}

impl<S> SocketState<S> {
    /// Returns whether hyper has neither a part of a request nor anything left to write.
    fn is_idle(&self) -> bool {
        self.stream.is_between() && self.written == self.stream.begun()
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> SocketState<S> {
    /// Reads the next request for hyper. Requests with a cached response are answered here.
    fn poll_next<H: Handler>(
        &mut self,
        cache: Option<&CachedRequests<H>>,
        timeouts: &Timeouts,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let mut batch = CachedRequests::begin(cache);
        self.has_unread = false;
        self.has_postponed = false;
        self.head = None;
        loop {
            if self.bytes >= FLUSH_AT {
                // A client that reads nothing gets no more, until the socket takes bytes again and wakes the task.
                self.has_postponed = true;
                ready!(self.send(timeouts, cx))?;
                self.has_postponed = false;
            }
            match batch.look_up(self.stream.waiting()) {
                CacheLookup::Hit(response, length) => {
                    self.stream.skip(length);
                    let sent = batch.send(&response, self);
                    batch.record(&response, sent);
                }
                CacheLookup::Miss(head) => {
                    self.head = head.map(|length| self.stream.waiting()[..length].into());
                    self.stream.give(buf);
                    if !self.stream.is_between() {
                        // The request has a body, or did not fit.
                        self.head = None;
                    }
                    return Poll::Ready(Ok(()));
                }
                CacheLookup::Incomplete => {
                    if batch.pause() {
                        timeouts.mark_idle();
                    }
                    match ready!(self.stream.poll_more(cx))? {
                        0 => {
                            self.stream.give(buf);
                            return Poll::Ready(Ok(()));
                        }
                        _ => timeouts.on_received(),
                    }
                }
            }
        }
    }

    /// hyper checks whether the client is still connected.
    fn poll_end(&mut self, timeouts: &Timeouts, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.stream.waiting().is_empty() {
            if ready!(self.stream.poll_more(cx))? == 0 {
                return Poll::Ready(Ok(()));
            }
            timeouts.on_received();
        }
        self.has_unread = true;
        Poll::Pending
    }
}

impl<S: AsyncWrite + Unpin> SocketState<S> {
    /// Buffers a slice.
    fn hold(&mut self, slice: &[u8], pieces: &PendingPieces) {
        match pieces.take(slice) {
            Some(piece) => self.hold_piece(piece),
            None => self.copy(slice),
        }
    }

    fn hold_piece(&mut self, piece: Bytes) {
        self.bytes += piece.len();
        if !self.last.is_empty() {
            self.held.push_back(self.last.split().freeze());
        }
        self.held.push_back(piece);
    }

    fn copy(&mut self, slice: &[u8]) {
        self.bytes += slice.len();
        if self.last.capacity() - self.last.len() < slice.len() {
            self.last.reserve(slice.len().max(COPY_BUFFER));
        }
        self.last.extend_from_slice(slice);
    }

    fn send(&mut self, timeouts: &Timeouts, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while self.bytes > 0 {
            let mut slices = [IoSlice::new(&[]); SLICES];
            let mut count = 0;
            for piece in self.held.iter().map(|piece| &piece[..]).chain([&self.last[..]]) {
                if count == SLICES {
                    break;
                }
                if !piece.is_empty() {
                    slices[count] = IoSlice::new(piece);
                    count += 1;
                }
            }
            let written = Pin::new(&mut self.stream).poll_write_vectored(cx, &slices[..count]);
            timeouts.on_sent(bytes_of(&written));
            match ready!(written)? {
                0 => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                written => self.drop_sent(written),
            }
            self.needs_flush = true;
        }
        if self.needs_flush {
            let flushed = Pin::new(&mut self.stream).poll_flush(cx);
            timeouts.on_sent(match flushed.is_ready() {
                true => Poll::Ready(0),
                false => Poll::Pending,
            });
            ready!(flushed)?;
            self.needs_flush = false;
        }
        Poll::Ready(Ok(()))
    }

    /// Drops bytes that were sent.
    fn drop_sent(&mut self, mut written: usize) {
        self.bytes -= written;
        while let Some(first) = self.held.front_mut() {
            if written < first.len() {
                return first.advance(written);
            }
            written -= first.len();
            self.held.pop_front();
        }
        self.last.advance(written);
    }
}

impl<S: AsyncWrite + Unpin> CachedResponseSink for SocketState<S> {
    fn head(&mut self, bytes: &[u8]) {
        self.copy(bytes);
    }

    fn piece(&mut self, piece: &Bytes) {
        match piece.len() >= MIN_HELD {
            true => self.hold_piece(piece.clone()),
            false => self.copy(piece),
        }
    }
}

/// Returns how many bytes were written; 0 after an error.
fn bytes_of(polled: &Poll<io::Result<usize>>) -> Poll<usize> {
    match polled {
        Poll::Ready(written) => Poll::Ready(*written.as_ref().unwrap_or(&0)),
        Poll::Pending => Poll::Pending,
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin, H: Handler> AsyncRead for BufferedSocket<S, H> {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let mut state = self.state.lock();
        if !state.stream.is_between() {
            let before = buf.filled().len();
            let polled = state.stream.poll_rest(cx, buf);
            if buf.filled().len() > before {
                self.timeouts.on_received();
            }
            return polled;
        }
        match &self.cache {
            _ if !state.is_idle() => state.poll_end(&self.timeouts, cx),
            cache => state.poll_next(cache.as_deref(), &self.timeouts, cx, buf),
        }
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin, H: Handler> AsyncWrite for BufferedSocket<S, H> {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        self.poll_write_vectored(cx, &[IoSlice::new(buf)])
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let mut state = self.state.lock();
        if state.bytes >= FLUSH_AT {
            ready!(state.send(&self.timeouts, cx))?;
        }
        let mut taken = 0;
        for slice in bufs.iter().filter(|slice| !slice.is_empty()) {
            state.hold(slice, &self.pieces);
            taken += slice.len();
        }
        if state.bytes >= FLUSH_AT {
            // The client may begin to read. If it does not, the next write waits.
            if let Poll::Ready(sent) = state.send(&self.timeouts, cx) {
                sent?;
            }
        }
        Poll::Ready(Ok(taken))
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    /// Sends nothing: the buffer leaves when the task is about to sleep. hyper calls this when it has nothing left to write.
    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.state.lock().written = self.timeouts.answered();
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let mut state = self.state.lock();
        ready!(state.send(&self.timeouts, cx))?;
        Pin::new(&mut state.stream).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::super::request_framing::RequestFraming;
    use super::super::respond::tests::PanickingHandler;
    use super::*;
    use crate::config::Limits;

    /// Reads as many bytes as `room` allows, a few at a time.
    #[derive(Clone, Default)]
    struct Peer {
        room: Arc<AtomicUsize>,
        seen: Arc<Mutex<Vec<u8>>>,
    }

    impl AsyncWrite for Peer {
        fn poll_write(self: Pin<&mut Self>, _: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
            let taken = self.room.load(Ordering::Relaxed).min(buf.len()).min(1000);
            if taken == 0 {
                return Poll::Pending;
            }
            self.room.fetch_sub(taken, Ordering::Relaxed);
            self.seen.lock().extend_from_slice(&buf[..taken]);
            Poll::Ready(Ok(taken))
        }

        fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }

        fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }
    }

    impl AsyncRead for Peer {
        fn poll_read(self: Pin<&mut Self>, _: &mut Context<'_>, _: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
            Poll::Pending
        }
    }

    fn socket() -> (Peer, BufferedSocket<Peer, PanickingHandler>) {
        let peer = Peer::default();
        let timeouts = Timeouts::new(Limits::default(), 0);
        let reader = RequestReader::new(peer.clone(), RequestFraming::new(1000));
        (peer, BufferedSocket::new(reader, timeouts, None))
    }

    fn write(socket: &mut BufferedSocket<Peer, PanickingHandler>, slices: &[&[u8]]) -> Poll<usize> {
        let slices: Vec<IoSlice<'_>> = slices.iter().map(|slice| IoSlice::new(slice)).collect();
        let mut cx = Context::from_waker(std::task::Waker::noop());
        Pin::new(socket)
            .poll_write_vectored(&mut cx, &slices)
            .map(|written| written.expect("the peer is there"))
    }

    fn send(socket: &BufferedSocket<Peer, PanickingHandler>) -> bool {
        let mut cx = Context::from_waker(std::task::Waker::noop());
        socket.poll_send(&mut cx).is_ready()
    }

    #[test]
    fn bytes_keep_their_order_and_noted_pieces_are_not_copied() {
        let (peer, mut socket) = socket();
        let piece = Bytes::from(vec![1; 5000]);
        let cut = Bytes::from(vec![2; 5000]);
        let short = Bytes::from_static(b"short");
        for noted in [&cut, &piece, &short] {
            socket.pending_pieces().note(noted);
        }
        let all: [&[u8]; 5] = [b"head", &cut[..4000], b"", &piece, &short];
        assert_eq!(write(&mut socket, &all), Poll::Ready(4 + 4000 + 5000 + 5));
        let held: Vec<*const u8> = socket
            .state
            .lock()
            .held
            .iter()
            .map(|held| held.as_ptr())
            .collect();
        assert_eq!(held.last(), Some(&piece.as_ptr()));
        assert!(!held.contains(&cut.as_ptr()));
        assert!(!send(&socket));
        peer.room.store(4321, Ordering::Relaxed);
        assert!(!send(&socket));
        peer.room.store(1 << 20, Ordering::Relaxed);
        assert!(send(&socket));
        assert!(*peer.seen.lock() == all.concat());
        assert!(socket.pieces.0.lock().is_empty());
    }

    /// While the client reads nothing, at most the limit is held, however long the response is.
    #[test]
    fn the_buffer_is_bounded() {
        let (peer, mut socket) = socket();
        let piece = Bytes::from(vec![7; 64 << 10]);
        let mut written = 0;
        loop {
            socket.pending_pieces().note(&piece);
            match write(&mut socket, &[&piece]) {
                Poll::Ready(bytes) => written += bytes,
                Poll::Pending => break,
            }
        }
        assert_eq!(written, FLUSH_AT);
        peer.room.store(usize::MAX, Ordering::Relaxed);
        assert!(write(&mut socket, &[&piece]).is_ready());
        assert!(send(&socket));
        assert_eq!(peer.seen.lock().len(), FLUSH_AT + piece.len());
    }
}
