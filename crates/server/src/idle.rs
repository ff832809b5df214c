//! Conversations between two commands: no thread, no buffers, only a place in a table and an entry in the system's
//! readiness queue.
//!
//! Those whose peers owe something (the greeting, the rest of a command) are here as well, with the bytes that have come.
//! They have a time by which it must have come, and are dropped after it.

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
use crate::svn::Session;
use crate::svn_sessions::Sessions;

/// How many events are taken at once.
const EVENTS: usize = 256;
/// Names the signal to stop among the conversations.
const STOP: u64 = u64::MAX;
/// How often those who owe something are looked through: as often as what they may take is long, within these bounds.
const SWEEP: std::ops::Range<Duration> = Duration::from_millis(250)..Duration::from_secs(30);

pub(crate) struct Idle {
    epoll: OwnedFd,
    parked: Mutex<HashMap<u64, Parked>>,
    next: AtomicU64,
}

struct Parked {
    session: Session,
    /// When the peer must have said what it owes.
    until: Option<Instant>,
}

impl Idle {
    /// # Errors
    /// The system's.
    pub(crate) fn new(stop: &Stop) -> Result<Arc<Idle>> {
        let can_not = |e: rustix::io::Errno| Error::os(&e.into(), "Can't watch connections");
        let epoll = epoll::create(CreateFlags::CLOEXEC).map_err(can_not)?;
        epoll::add(&epoll, stop.as_fd(), EventData::new_u64(STOP), EventFlags::IN).map_err(can_not)?;
        Ok(Arc::new(Idle {
            epoll,
            parked: Mutex::default(),
            next: AtomicU64::new(0),
        }))
    }

    /// Puts a conversation aside until its peer says something; gives it back if the system has no room for it.
    pub(crate) fn park(&self, session: Session) -> std::result::Result<(), Box<Session>> {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let until = session.due();
        // In the table first: the peer may speak before the next line.
        let mut parked = self.parked.lock();
        let session = &parked.entry(id).or_insert(Parked { session, until }).session;
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

    /// Hands conversations whose peers speak to `sessions`, until `stop`. Ends those whose peers owe something for `patience`.
    pub(crate) fn watch(self: &Arc<Self>, sessions: &Arc<Sessions>, patience: Option<Duration>, stop: &Stop) {
        let pause = patience.map(|patience| (patience / 4).clamp(SWEEP.start, SWEEP.end));
        let limit = pause.and_then(|pause| Timespec::try_from(pause).ok());
        let mut swept = Instant::now();
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
                    sessions.submit(session);
                }
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
            // It can only fail if the connection is not watched, which is what we want.
            _ = epoll::delete(&self.epoll, stream.as_fd());
        }
        Some(session)
    }

    fn sweep(&self, now: Instant) {
        let late: Vec<u64> = {
            let parked = self.parked.lock();
            let late = parked
                .iter()
                .filter(|(_, p)| p.until.is_some_and(|until| until <= now));
            late.map(|(id, _)| *id).collect()
        };
        for id in late {
            if let Some(session) = self.unpark(id) {
                session.give_up();
            }
        }
    }
}
