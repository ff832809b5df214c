//! The timeouts of a connection: how long a client may be idle, take to send a head, or read nothing of a response.
//!
//! A connection is idle between requests, reading a head, or busy with a request. Each phase has its own limit. A request is over
//! when its response has been sent and its body has been read: the time of a body is limited where it is read. A client that reads slowly is not late while its system acknowledges something now and then. Our system is asked for that once the client
//! has read nothing for a while.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::Poll;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use crate::config::Limits;
use crate::net::{PeerSpeed, unacknowledged_of};

/// How long a client may read nothing before we check whether it reads at all.
const STALL_CHECK: Duration = Duration::from_secs(60);

/// The shortest interval between checks of a busy connection.
const MIN_BUSY_CHECK: Duration = Duration::from_millis(100);

/// Bytes a second on one of several connections beyond which a client would wait for gzip.
const FAST_CONNECTION: f64 = 4e6;

/// A pause between requests after which the measurement of the client's speed starts again.
const PAUSE: Duration = Duration::from_millis(50);

/// The phase and the deadlines of a connection. Clones share them.
#[derive(Clone)]
pub(super) struct Timeouts(Arc<TimeoutState>);

struct TimeoutState {
    limits: Limits,
    /// The socket's inode: its name in the system's tables.
    inode: u64,
    state: Mutex<ConnectionState>,
    /// The client reads so slowly that compression pays.
    slow: AtomicBool,
    /// The connection ends after the current request.
    closing: AtomicBool,
    /// How many requests have ended, with a response or without.
    answered: AtomicU64,
}

struct ConnectionState {
    phase: ConnectionPhase,
    /// How many responses and bodies are unfinished: the connection is busy while there is one.
    unfinished: u32,
    /// Set while the client reads nothing.
    stalled: Option<WriteStall>,
    speed: PeerSpeed,
}

#[derive(Clone, Copy)]
enum ConnectionPhase {
    Idle(Instant),
    Head(Instant),
    /// Since the last check.
    Busy(Instant),
}

#[derive(Clone, Copy)]
struct WriteStall {
    since: Instant,
    until: Instant,
    /// The bytes that the client's system had not acknowledged at the last check.
    unacknowledged: Option<u64>,
}

/// What happens with a connection whose deadline has passed.
pub(super) enum TimeoutVerdict {
    /// It goes on, until its next deadline.
    Wait,
    /// It is idle for too long: it ends after what it has begun.
    Idle,
    /// It stalls in the middle of a request: it ends now.
    Stalled,
}

impl Timeouts {
    pub(super) fn new(limits: Limits, inode: u64) -> Timeouts {
        Timeouts(Arc::new(TimeoutState {
            slow: AtomicBool::new(false),
            closing: AtomicBool::new(false),
            answered: AtomicU64::new(0),
            limits,
            inode,
            state: Mutex::new(ConnectionState {
                phase: ConnectionPhase::Head(Instant::now()),
                unfinished: 0,
                stalled: None,
                speed: PeerSpeed::new(false, FAST_CONNECTION),
            }),
        }))
    }

    /// Marks the connection as busy until the result is dropped.
    pub(super) fn busy(&self) -> BusyGuard {
        BusyGuard(UnfinishedBody::begin(self))
    }

    /// Returns whether responses should be compressed for this client.
    pub(super) fn is_slow(&self) -> bool {
        self.0.slow.load(Ordering::Relaxed)
    }

    /// Notes that the connection ends after the current request.
    pub(super) fn mark_closing(&self) {
        self.0.closing.store(true, Ordering::Relaxed);
    }

    /// Returns how many requests have ended.
    pub(super) fn answered(&self) -> u64 {
        self.0.answered.load(Ordering::Acquire)
    }

    /// Marks the connection as idle: all requests are answered.
    pub(super) fn mark_idle(&self) {
        let mut state = self.0.state.lock();
        if state.unfinished == 0 {
            state.phase = ConnectionPhase::Idle(Instant::now());
        }
    }

    /// Returns the time of the next verdict: then the client is late, or the phase is checked.
    pub(super) fn deadline(&self) -> Option<Instant> {
        let state = self.0.state.lock();
        let limits = &self.0.limits;
        if let Some(stall) = state.stalled {
            return Some(stall.until);
        }
        match state.phase {
            ConnectionPhase::Idle(since) => since.checked_add(limits.keep_alive),
            ConnectionPhase::Head(since) => since.checked_add(limits.header_timeout),
            // The task that reads a body to its end does not wake the connection's: the end is noticed no later than the connection may
            // be idle.
            ConnectionPhase::Busy(since) => {
                since.checked_add(limits.keep_alive.clamp(MIN_BUSY_CHECK, STALL_CHECK))
            }
        }
    }

    /// Decides what happens with a client whose deadline has passed. The next deadline is later.
    pub(super) fn judge(&self) -> TimeoutVerdict {
        let now = Instant::now();
        if self.deadline().is_some_and(|deadline| deadline > now) {
            return TimeoutVerdict::Wait;
        }
        let mut state = self.0.state.lock();
        if let Some(stall) = &mut state.stalled {
            // If the system does not tell, the client counts as one that reads nothing.
            let unacknowledged = Some(unacknowledged_of(self.0.inode).unwrap_or(0));
            if stall.unacknowledged == unacknowledged {
                return TimeoutVerdict::Stalled;
            }
            stall.until = now + self.0.limits.stall;
            stall.unacknowledged = unacknowledged;
            return TimeoutVerdict::Wait;
        }
        match state.phase {
            ConnectionPhase::Idle(_) => {
                // The verdict is given once: what is left to do has as long as a head.
                state.phase = ConnectionPhase::Head(now);
                TimeoutVerdict::Idle
            }
            ConnectionPhase::Head(_) => TimeoutVerdict::Stalled,
            ConnectionPhase::Busy(_) => {
                state.phase = ConnectionPhase::Busy(now);
                TimeoutVerdict::Wait
            }
        }
    }

    /// Notes that the client has sent something.
    pub(super) fn on_received(&self) {
        let mut state = self.0.state.lock();
        if let ConnectionPhase::Idle(since) = state.phase {
            let now = Instant::now();
            if now - since > PAUSE {
                state.speed.pause();
            }
            state.phase = ConnectionPhase::Head(now);
        }
    }

    /// Notes that the client has read this many bytes, or (`Pending`) that it reads nothing at the moment.
    pub(super) fn on_sent(&self, sent: Poll<usize>) {
        let mut state = self.0.state.lock();
        if let Poll::Ready(bytes) = sent {
            let stall = state.stalled.take();
            let waited = stall.map(|stall| stall.since.elapsed());
            state.speed.begin();
            state.speed.sent(bytes, waited.unwrap_or_default());
            if state.speed.is_slow() {
                self.0.slow.store(true, Ordering::Relaxed);
            }
            if waited.is_some()
                && let ConnectionPhase::Idle(since) = &mut state.phase
            {
                // The end of the last response has left only now.
                *since = Instant::now();
            }
        } else if state.stalled.is_none() {
            let first = STALL_CHECK.min(self.0.limits.stall / 4);
            let since = Instant::now();
            state.stalled = Some(WriteStall {
                since,
                until: since + first,
                unacknowledged: None,
            });
        }
    }
}

/// Keeps the connection busy while a request is answered.
pub(crate) struct BusyGuard(UnfinishedBody);

/// Keeps the connection busy while the body of a request or a response is unfinished.
pub(crate) struct UnfinishedBody(Timeouts);

impl UnfinishedBody {
    fn begin(timeouts: &Timeouts) -> UnfinishedBody {
        let mut state = timeouts.0.state.lock();
        if state.unfinished == 0 {
            state.phase = ConnectionPhase::Busy(Instant::now());
        }
        state.unfinished += 1;
        drop(state);
        UnfinishedBody(timeouts.clone())
    }
}

impl BusyGuard {
    /// Keeps the connection busy until the result is dropped, too.
    pub(super) fn unfinished_body(&self) -> UnfinishedBody {
        UnfinishedBody::begin(self.timeouts())
    }

    /// Returns whether the response should be compressed for this client.
    pub(super) fn is_slow(&self) -> bool {
        self.timeouts().is_slow()
    }

    /// Returns whether the connection ends after the current request.
    pub(super) fn is_closing(&self) -> bool {
        self.timeouts().0.closing.load(Ordering::Relaxed)
    }

    /// Returns how long the connection may be idle between requests.
    pub(super) fn idle_timeout(&self) -> Duration {
        self.timeouts().0.limits.keep_alive
    }

    fn timeouts(&self) -> &Timeouts {
        &self.0.0
    }
}

impl Drop for BusyGuard {
    fn drop(&mut self) {
        self.timeouts().0.answered.fetch_add(1, Ordering::Release);
    }
}

impl Drop for UnfinishedBody {
    fn drop(&mut self) {
        let mut state = self.0.0.state.lock();
        state.unfinished -= 1;
        if state.unfinished == 0 {
            state.phase = ConnectionPhase::Idle(Instant::now());
        }
    }
}
