//! A connection's socket: what is written to it is held until the connection has nothing else to do at the moment, and leaves
//! together, without being copied.
//!
//! hyper hands over the head of an answer and the pieces of its body as slices, answer by answer. Sending each by itself would cost
//! a call of the system each, and wake the client as often; to gather them in one buffer costs a copy of everything that is served.
//! So the pieces of bodies that are worth it go around hyper a second time: their handles are noted on the way in ([`Passing`]), and
//! where a slice that is to be written is the very memory of such a handle, the handle is kept in its place.
//!
//! What is held is bounded: behind [`ENOUGH`] it is sent at once, and as long as the client does not take it nothing more is
//! accepted. It is sent at the latest when the connection's task is about to sleep ([`Socket::poll_send`]). Each look at the socket
//! is told to the connection's pulse.
//!
//! Between requests, when hyper has handed over all of the last answer, what the client sends is looked at here first: what was
//! answered before is answered again ([`super::again`]), everything else hyper is given.

use std::collections::VecDeque;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::{Buf as _, Bytes, BytesMut};
use parking_lot::Mutex;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::again::{Again, Look, Outgoing};
use super::intake::Intake;
use super::pulse::Pulse;

/// Bytes that are sent before the connection has nothing else to do.
const ENOUGH: usize = 256 << 10;

/// Shorter pieces are cheaper to copy.
const WORTH_IT: usize = 2 << 10;

/// The most slices that the system takes at once.
const SLICES: usize = 64;

/// Room for heads and short bodies, bytes.
const ROOM: usize = 16 << 10;

/// The socket. Clones are the same one.
pub(super) struct Socket<S> {
    inner: Arc<Mutex<Inner<S>>>,
    passing: Passing,
    pulse: Pulse,
    again: Option<Arc<Again>>,
}

/// Handles of what hyper is about to write.
#[derive(Clone, Default)]
pub(super) struct Passing(Arc<Mutex<VecDeque<Bytes>>>);

struct Inner<S> {
    stream: Intake<S>,
    /// The head that hyper was given last, if it was given as a whole.
    asked: Option<Box<[u8]>>,
    /// As many requests were answered when hyper had nothing left to write.
    written: u64,
    /// Something waits, and hyper does not know that it may be asked for.
    forgotten: bool,
    /// What waits to be sent before `last`.
    held: VecDeque<Bytes>,
    /// Heads and short pieces behind that.
    last: BytesMut,
    /// Bytes of both.
    bytes: usize,
    /// Something was sent and may wait in the stream.
    sent: bool,
}

impl Passing {
    /// Notes a piece of a body that hyper is given now.
    pub(super) fn note(&self, piece: &Bytes) {
        if piece.len() >= WORTH_IT {
            self.0.lock().push_back(piece.clone());
        }
    }

    /// The handle of a slice. Handles come in the order in which they were noted.
    fn take(&self, slice: &[u8]) -> Option<Bytes> {
        if slice.len() < WORTH_IT {
            return None;
        }
        let mut noted = self.0.lock();
        // A noted handle keeps its memory: whatever is there now is these bytes.
        let is_it = |piece: &Bytes| std::ptr::eq(piece.as_ref(), slice);
        let at = noted.iter().position(is_it)?;
        noted.drain(..at);
        noted.pop_front()
    }

    /// Forgets what was not taken: pieces that hyper has cut.
    fn forget(&self) {
        self.0.lock().clear();
    }
}

impl<S> Clone for Socket<S> {
    fn clone(&self) -> Self {
        Socket {
            inner: self.inner.clone(),
            passing: self.passing.clone(),
            pulse: self.pulse.clone(),
            again: self.again.clone(),
        }
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> Socket<S> {
    pub(super) fn new(stream: Intake<S>, pulse: Pulse, again: Option<Again>) -> Socket<S> {
        let inner = Inner {
            stream,
            asked: None,
            written: 0,
            forgotten: false,
            held: VecDeque::new(),
            last: BytesMut::new(),
            bytes: 0,
            sent: false,
        };
        Socket {
            inner: Arc::new(Mutex::new(inner)),
            passing: Passing::default(),
            pulse,
            again: again.map(Arc::new),
        }
    }

    /// The head of the request that hyper has handed on, if it is known.
    pub(super) fn take_asked(&self) -> Option<Box<[u8]>> {
        self.inner.lock().asked.take()
    }

    /// True, once, if hyper is to be asked to go on: it may read what it was not given before.
    pub(super) fn has_more(&self) -> bool {
        let mut inner = self.inner.lock();
        inner.forgotten && inner.is_idle() && std::mem::take(&mut inner.forgotten)
    }

    /// Where pieces of bodies are to be noted.
    pub(super) fn passing(&self) -> Passing {
        self.passing.clone()
    }

    /// Sends what is held, as far as the client takes it.
    pub(super) fn poll_send(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let mut inner = self.inner.lock();
        ready!(inner.send(&self.pulse, cx))?;
        // Nothing is under way.
        self.passing.forget();
        Poll::Ready(Ok(()))
    }
}

impl<S> Inner<S> {
    /// True if hyper has neither got a part of a request nor anything left to write.
    fn is_idle(&self) -> bool {
        self.stream.is_between() && self.written == self.stream.begun()
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> Inner<S> {
    /// hyper waits for the next request: answers what was answered before, and gives hyper what was not.
    fn poll_next(
        &mut self,
        again: Option<&Again>,
        pulse: &Pulse,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let mut batch = Again::begin(again);
        self.forgotten = false;
        self.asked = None;
        loop {
            if self.bytes >= ENOUGH {
                // Whoever takes nothing gets no more.
                self.forgotten = !self.stream.waiting().is_empty();
                ready!(self.send(pulse, cx))?;
            }
            match batch.look(self.stream.waiting()) {
                Look::Known(kept, length) => {
                    self.stream.skip(length);
                    let sent = kept.send(&mut batch, self);
                    batch.write_down(&kept, sent);
                }
                Look::New(head) => {
                    self.asked = head.map(|length| self.stream.waiting()[..length].into());
                    self.stream.give(buf);
                    if !self.stream.is_between() {
                        // It has a body, or there was no room for all of it.
                        self.asked = None;
                    }
                    return Poll::Ready(Ok(()));
                }
                Look::Part => {
                    if batch.rest() {
                        pulse.rest();
                    }
                    match ready!(self.stream.poll_more(cx))? {
                        0 => {
                            self.stream.give(buf);
                            return Poll::Ready(Ok(()));
                        }
                        _ => pulse.heard(),
                    }
                }
            }
        }
    }

    /// hyper looks whether the client is still there.
    fn poll_end(&mut self, pulse: &Pulse, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.stream.waiting().is_empty() {
            if ready!(self.stream.poll_more(cx))? == 0 {
                return Poll::Ready(Ok(()));
            }
            pulse.heard();
        }
        self.forgotten = true;
        Poll::Pending
    }
}

impl<S: AsyncWrite + Unpin> Inner<S> {
    /// Takes a slice over.
    fn hold(&mut self, slice: &[u8], passing: &Passing) {
        match passing.take(slice) {
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
            self.last.reserve(slice.len().max(ROOM));
        }
        self.last.extend_from_slice(slice);
    }

    fn send(&mut self, pulse: &Pulse, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
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
            pulse.taken(bytes_of(&written));
            match ready!(written)? {
                0 => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                written => self.forget(written),
            }
            self.sent = true;
        }
        if self.sent {
            let flushed = Pin::new(&mut self.stream).poll_flush(cx);
            pulse.taken(match flushed.is_ready() {
                true => Poll::Ready(0),
                false => Poll::Pending,
            });
            ready!(flushed)?;
            self.sent = false;
        }
        Poll::Ready(Ok(()))
    }

    /// So many bytes have gone.
    fn forget(&mut self, mut written: usize) {
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

impl<S: AsyncWrite + Unpin> Outgoing for Inner<S> {
    fn head(&mut self, bytes: &[u8]) {
        self.copy(bytes);
    }

    fn piece(&mut self, piece: &Bytes) {
        match piece.len() >= WORTH_IT {
            true => self.hold_piece(piece.clone()),
            false => self.copy(piece),
        }
    }
}

/// How many bytes were written, if anything came of it.
fn bytes_of(polled: &Poll<io::Result<usize>>) -> Poll<usize> {
    match polled {
        Poll::Ready(written) => Poll::Ready(*written.as_ref().unwrap_or(&0)),
        Poll::Pending => Poll::Pending,
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncRead for Socket<S> {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let mut inner = self.inner.lock();
        if !inner.stream.is_between() {
            let before = buf.filled().len();
            let polled = inner.stream.poll_rest(cx, buf);
            if buf.filled().len() > before {
                self.pulse.heard();
            }
            return polled;
        }
        match &self.again {
            _ if !inner.is_idle() => inner.poll_end(&self.pulse, cx),
            again => inner.poll_next(again.as_deref(), &self.pulse, cx, buf),
        }
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for Socket<S> {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        self.poll_write_vectored(cx, &[IoSlice::new(buf)])
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let mut inner = self.inner.lock();
        if inner.bytes >= ENOUGH {
            ready!(inner.send(&self.pulse, cx))?;
        }
        let mut taken = 0;
        for slice in bufs.iter().filter(|slice| !slice.is_empty()) {
            inner.hold(slice, &self.passing);
            taken += slice.len();
        }
        if inner.bytes >= ENOUGH {
            // The client may begin to take it; if it does not, whoever comes next waits.
            if let Poll::Ready(sent) = inner.send(&self.pulse, cx) {
                sent?;
            }
        }
        Poll::Ready(Ok(taken))
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    /// Sends nothing: what is held leaves when there is nothing else to do. hyper calls it when it has nothing left to write.
    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.inner.lock().written = self.pulse.answered();
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let mut inner = self.inner.lock();
        ready!(inner.send(&self.pulse, cx))?;
        Pin::new(&mut inner.stream).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::super::heads::Heads;
    use super::*;
    use crate::http::Limits;

    /// Takes as many bytes as it has room for, a few at a time.
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

    fn socket() -> (Peer, Socket<Peer>) {
        let peer = Peer::default();
        let pulse = Pulse::new(Limits::default(), 0);
        let intake = Intake::new(peer.clone(), Heads::new(1000));
        (peer, Socket::new(intake, pulse, None))
    }

    fn write(socket: &mut Socket<Peer>, slices: &[&[u8]]) -> Poll<usize> {
        let slices: Vec<IoSlice<'_>> = slices.iter().map(|slice| IoSlice::new(slice)).collect();
        let mut cx = Context::from_waker(std::task::Waker::noop());
        Pin::new(socket)
            .poll_write_vectored(&mut cx, &slices)
            .map(|written| written.expect("the peer is there"))
    }

    fn send(socket: &Socket<Peer>) -> bool {
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
            socket.passing().note(noted);
        }
        let all: [&[u8]; 5] = [b"head", &cut[..4000], b"", &piece, &short];
        assert_eq!(write(&mut socket, &all), Poll::Ready(4 + 4000 + 5000 + 5));
        let held: Vec<*const u8> = socket
            .inner
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
        assert!(socket.passing.0.lock().is_empty());
    }

    /// As long as the client takes nothing no more is held than one turn over the limit, however long the answer is.
    #[test]
    fn what_is_held_is_bounded() {
        let (peer, mut socket) = socket();
        let piece = Bytes::from(vec![7; 64 << 10]);
        let mut written = 0;
        loop {
            socket.passing().note(&piece);
            match write(&mut socket, &[&piece]) {
                Poll::Ready(bytes) => written += bytes,
                Poll::Pending => break,
            }
        }
        assert_eq!(written, ENOUGH);
        peer.room.store(usize::MAX, Ordering::Relaxed);
        assert!(write(&mut socket, &[&piece]).is_ready());
        assert!(send(&socket));
        assert_eq!(peer.seen.lock().len(), ENOUGH + piece.len());
    }
}
