//! Sessions that wait for their peers without a thread: an entry in a table and one in the system's readiness queue each.
//!
//! A session in the middle of something (the greeting, the rest of a command) can be parked as well, with the bytes that have
//! arrived. It has a deadline, and ends if the peer does not send the rest by then.

use std::collections::HashMap;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use base::{Error, Result};
use parking_lot::Mutex;
use rustix::event::Timespec;
use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};

use crate::signals::Stop;
use crate::svn::{Session, SessionScheduler};

/// How many events are read at once.
const EVENTS: usize = 256;
/// The event ID of the request to stop, among those of sessions.
const STOP: u64 = u64::MAX;
/// The bounds of the interval between searches for sessions past their deadline. In between it is a quarter of the stall timeout.
const SWEEP: std::ops::Range<Duration> = Duration::from_millis(250)..IDLE;
/// The interval between calls for what is idle.
const IDLE: Duration = Duration::from_secs(2);

/// The parked sessions of a server.
pub(crate) struct ParkedSessions {
    epoll: OwnedFd,
    parked: Mutex<HashMap<u64, ParkedSession>>,
    next_id: AtomicU64,
}

struct ParkedSession {
    session: Session,
    /// The session's deadline; `None` if the peer may be silent.
    deadline: Option<Instant>,
}

impl ParkedSessions {
    /// Returns an empty table. [`ParkedSessions::watch`] ends with `stop`.
    ///
    /// # Errors
    /// The system's.
    pub(crate) fn new(stop: &Stop) -> Result<Arc<ParkedSessions>> {
        let can_not = |e: rustix::io::Errno| Error::os(&e.into(), "Can't watch connections");
        let epoll = epoll::create(CreateFlags::CLOEXEC).map_err(can_not)?;
        epoll::add(&epoll, stop.as_fd(), EventData::new_u64(STOP), EventFlags::IN).map_err(can_not)?;
        Ok(Arc::new(ParkedSessions {
            epoll,
            parked: Mutex::default(),
            next_id: AtomicU64::new(0),
        }))
    }

    /// Parks a session until its peer sends something. Returns it if the system cannot watch it.
    pub(crate) fn park(&self, session: Session) -> std::result::Result<(), Box<Session>> {
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        let deadline = session.deadline();
        // Inserted before it is watched: the peer may send something at once.
        let mut parked = self.parked.lock();
        let session = &parked
            .entry(id)
            .or_insert(ParkedSession { session, deadline })
            .session;
        let Some(stream) = session.stream() else {
            parked.remove(&id);
            return Ok(());
        };
        let flags = EventFlags::IN | EventFlags::RDHUP | EventFlags::ONESHOT;
        match epoll::add(&self.epoll, stream.as_fd(), EventData::new_u64(id), flags) {
            Ok(()) => Ok(()),
            Err(_) => match parked.remove(&id) {
                Some(parked) => Err(Box::new(parked.session)),
                None => Ok(()),
            },
        }
    }

    /// Passes sessions whose peers send something to `scheduler`, until `stop`. Ends sessions past their deadline, if there is a
    /// `stall_timeout`. Calls `idle` every two seconds.
    pub(crate) fn watch(
        self: &Arc<Self>,
        scheduler: &Arc<SessionScheduler>,
        stall_timeout: Option<Duration>,
        stop: &Stop,
        idle: &dyn Fn(),
    ) {
        let pause = stall_timeout.map(|timeout| (timeout / 4).clamp(SWEEP.start, SWEEP.end));
        let limit = Timespec::try_from(pause.unwrap_or(IDLE).min(IDLE)).ok();
        let (mut swept, mut called) = (Instant::now(), Instant::now());
        let mut events = Vec::with_capacity(EVENTS);
        while !stop.is_stopped() {
            events.clear();
            match epoll::wait(
                &self.epoll,
                rustix::buffer::spare_capacity(&mut events),
                limit.as_ref(),
            ) {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(_) => return,
            }
            for event in &events {
                if let Some(session) = self.unpark(event.data.u64()) {
                    scheduler.submit(session);
                }
            }
            if called.elapsed() >= IDLE {
                called = Instant::now();
                idle();
            }
            if pause.is_some_and(|pause| swept.elapsed() >= pause) {
                swept = Instant::now();
                self.sweep(swept);
            }
        }
        self.parked.lock().clear();
    }

    fn unpark(&self, id: u64) -> Option<Session> {
        let session = self.parked.lock().remove(&id)?.session;
        if let Some(stream) = session.stream() {
            // An error means that the connection is not watched, as intended.
            _ = epoll::delete(&self.epoll, stream.as_fd());
        }
        Some(session)
    }

    fn sweep(&self, now: Instant) {
        let late: Vec<u64> = {
            let parked = self.parked.lock();
            let late = parked
                .iter()
                .filter(|(_, p)| p.deadline.is_some_and(|deadline| deadline <= now));
            late.map(|(id, _)| *id).collect()
        };
        for id in late {
            if let Some(session) = self.unpark(id) {
                session.end_stalled();
            }
        }
    }
}
