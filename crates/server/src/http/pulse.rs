//! Whether a client is alive: how long it may stay silent, take its time with a head, or take nothing of what it asked for.
//!
//! A connection is idle between requests, reading a head, or busy with a request. Each has its own patience. A client that
//! reads slowly is not late as long as its system acknowledges something now and then; whether it does is asked of our system
//! once it has taken nothing for a while.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::Poll;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::options::Limits;
use crate::pace::Pace;
use crate::stream::unacknowledged_of;

/// How long a client may take nothing before we begin to look whether it reads at all.
const SLOW: Duration = Duration::from_secs(60);

/// Whoever takes more than this many bytes a second on one of several connections would wait for gzip.
const FAST: f64 = 4e6;

/// A silence that says nothing about how fast the client reads.
const PAUSE: Duration = Duration::from_millis(50);

/// What is known about a connection.
#[derive(Clone)]
pub(super) struct Pulse(Arc<Inner>);

struct Inner {
    limits: Limits,
    /// Its socket, in the system's tables.
    inode: u64,
    state: Mutex<State>,
    /// The client takes what it is sent so slowly that compressing pays.
    slow: AtomicBool,
    /// Requests whose answers nobody makes any more.
    answered: AtomicU64,
}

struct State {
    phase: Phase,
    /// Since when the client takes nothing.
    blocked: Option<Blocked>,
    pace: Pace,
}

#[derive(Clone, Copy)]
enum Phase {
    Idle(Instant),
    Head(Instant),
    Busy,
}

#[derive(Clone, Copy)]
struct Blocked {
    since: Instant,
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
            slow: AtomicBool::new(false),
            answered: AtomicU64::new(0),
            limits,
            inode,
            state: Mutex::new(State {
                phase: Phase::Head(Instant::now()),
                blocked: None,
                pace: Pace::new(false, FAST),
            }),
        }))
    }

    /// A request has come; the connection is busy until the answer is dropped.
    pub(super) fn busy(&self) -> Busy {
        self.0.state.lock().phase = Phase::Busy;
        Busy(self.clone())
    }

    /// True if answers should be compressed for this client.
    pub(super) fn is_slow(&self) -> bool {
        self.0.slow.load(Ordering::Relaxed)
    }

    /// How many requests that the connection was busy with were answered.
    pub(super) fn answered(&self) -> u64 {
        self.0.answered.load(Ordering::Acquire)
    }

    /// What was asked up to now is answered.
    pub(super) fn rest(&self) {
        self.0.state.lock().phase = Phase::Idle(Instant::now());
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

    /// The client has sent something.
    pub(super) fn heard(&self) {
        let mut state = self.0.state.lock();
        if let Phase::Idle(since) = state.phase {
            let now = Instant::now();
            if now - since > PAUSE {
                state.pace.pause();
            }
            state.phase = Phase::Head(now);
        }
    }

    /// The client has taken so many bytes, or takes nothing at the moment.
    pub(super) fn taken(&self, taken: Poll<usize>) {
        let mut state = self.0.state.lock();
        if let Poll::Ready(bytes) = taken {
            let blocked = state.blocked.take();
            let waited = blocked.map(|blocked| blocked.since.elapsed());
            state.pace.begin();
            state.pace.sent(bytes, waited.unwrap_or_default());
            if state.pace.is_slow() {
                self.0.slow.store(true, Ordering::Relaxed);
            }
            if waited.is_some()
                && let Phase::Idle(since) = &mut state.phase
            {
                // The last of an answer has gone out only now.
                *since = Instant::now();
            }
        } else if state.blocked.is_none() {
            let first = SLOW.min(self.0.limits.stall / 4);
            let since = Instant::now();
            state.blocked = Some(Blocked {
                since,
                until: since + first,
                unacknowledged: None,
            });
        }
    }
}

/// A request that is being answered.
pub(crate) struct Busy(Pulse);

impl Busy {
    /// True if the answer should be compressed for this client.
    pub(super) fn is_slow(&self) -> bool {
        self.0.is_slow()
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.rest();
        self.0.0.answered.fetch_add(1, Ordering::Release);
    }
}
