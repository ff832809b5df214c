//! Whether a client is alive: how long it may stay silent, take its time with a head, or take nothing of what it asked for.
//!
//! A connection is idle between requests, reading a head, or busy with a request. Each has its own patience. A client that
//! reads slowly is not late as long as its system acknowledges something now and then; whether it does is asked of our system
//! once it has taken nothing for a while.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::options::Limits;
use crate::stream::unacknowledged_of;

/// How long a client may take nothing before we begin to look whether it reads at all.
const SLOW: Duration = Duration::from_secs(60);

/// What is known about a connection.
#[derive(Clone)]
pub(super) struct Pulse(Arc<Inner>);

struct Inner {
    limits: Limits,
    /// Its socket, in the system's tables.
    inode: u64,
    state: Mutex<State>,
}

struct State {
    phase: Phase,
    /// Since when the client takes nothing.
    blocked: Option<Blocked>,
}

#[derive(Clone, Copy)]
enum Phase {
    Idle(Instant),
    Head(Instant),
    Busy,
}

#[derive(Clone, Copy)]
struct Blocked {
    until: Instant,
    /// What the client's system had not acknowledged when we looked last.
    unacknowledged: Option<u64>,
}

/// What a look at the clock says.
pub(super) enum Verdict {
    /// It may go on until then; `None` is as long as it likes.
    Wait(Option<Instant>),
    /// It has nothing to say any more.
    Idle,
    /// It keeps us waiting in the middle of something.
    Stalled,
}

impl Pulse {
    pub(super) fn new(limits: Limits, inode: u64) -> Pulse {
        Pulse(Arc::new(Inner {
            limits,
            inode,
            state: Mutex::new(State {
                phase: Phase::Head(Instant::now()),
                blocked: None,
            }),
        }))
    }

    /// A request has come; the connection is busy until the answer is dropped.
    pub(super) fn busy(&self) -> Busy {
        self.0.state.lock().phase = Phase::Busy;
        Busy(self.clone())
    }

    /// When the client will be late.
    pub(super) fn deadline(&self) -> Option<Instant> {
        let state = self.0.state.lock();
        let limits = &self.0.limits;
        if let Some(blocked) = state.blocked {
            return Some(blocked.until);
        }
        match state.phase {
            Phase::Idle(since) => since.checked_add(limits.keep_alive),
            Phase::Head(since) => since.checked_add(limits.header_timeout),
            Phase::Busy => None,
        }
    }

    /// Whether the client is late.
    pub(super) fn judge(&self) -> Verdict {
        let now = Instant::now();
        if let Some(deadline) = self.deadline().filter(|deadline| *deadline > now) {
            return Verdict::Wait(Some(deadline));
        }
        let mut state = self.0.state.lock();
        if let Some(blocked) = &mut state.blocked {
            // Where the system does not tell it is as if nothing were taken.
            let unacknowledged = Some(unacknowledged_of(self.0.inode).unwrap_or(0));
            if blocked.unacknowledged == unacknowledged {
                return Verdict::Stalled;
            }
            blocked.until = now + self.0.limits.stall;
            blocked.unacknowledged = unacknowledged;
            return Verdict::Wait(Some(blocked.until));
        }
        match state.phase {
            Phase::Idle(_) => Verdict::Idle,
            Phase::Head(_) => Verdict::Stalled,
            Phase::Busy => Verdict::Wait(None),
        }
    }

    fn heard(&self) {
        let mut state = self.0.state.lock();
        if let Phase::Idle(_) = state.phase {
            state.phase = Phase::Head(Instant::now());
        }
    }

    fn taken(&self, everything: bool) {
        let mut state = self.0.state.lock();
        if everything {
            if state.blocked.take().is_some()
                && let Phase::Idle(since) = &mut state.phase
            {
                // The last of an answer has gone out only now.
                *since = Instant::now();
            }
        } else if state.blocked.is_none() {
            let first = SLOW.min(self.0.limits.stall / 4);
            state.blocked = Some(Blocked {
                until: Instant::now() + first,
                unacknowledged: None,
            });
        }
    }
}

/// A request that is being answered.
pub(crate) struct Busy(Pulse);

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.0.state.lock().phase = Phase::Idle(Instant::now());
    }
}

/// A connection whose pulse is felt.
pub(super) struct Felt<S> {
    pub(super) stream: S,
    pub(super) pulse: Pulse,
}

impl<S: AsyncRead + Unpin> AsyncRead for Felt<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        let polled = Pin::new(&mut self.stream).poll_read(cx, buf);
        if buf.filled().len() > before {
            self.pulse.heard();
        }
        polled
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Felt<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.stream).poll_write(cx, buf);
        self.pulse.taken(polled.is_ready());
        polled
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.stream).poll_write_vectored(cx, bufs);
        self.pulse.taken(polled.is_ready());
        polled
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let polled = Pin::new(&mut self.stream).poll_flush(cx);
        self.pulse.taken(polled.is_ready());
        polled
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
