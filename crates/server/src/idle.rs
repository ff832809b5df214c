//! Conversations between two commands: no thread, no buffers, only a place in a table and an entry in the system's
//! readiness queue.

use std::collections::HashMap;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use base::{Error, Result};
use parking_lot::Mutex;
use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};

use crate::signals::Stop;
use crate::svn::Session;
use crate::workers::Workers;

/// How many events are taken at once.
const EVENTS: usize = 256;
/// Names the signal to stop among the conversations.
const STOP: u64 = u64::MAX;

pub(crate) struct Idle {
    epoll: OwnedFd,
    parked: Mutex<HashMap<u64, Session>>,
    next: AtomicU64,
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
        // In the table first: the peer may speak before the next line.
        let mut parked = self.parked.lock();
        let session = parked.entry(id).or_insert(session);
        let Some(stream) = session.stream() else {
            parked.remove(&id);
            return Ok(());
        };
        let flags = EventFlags::IN | EventFlags::RDHUP | EventFlags::ONESHOT;
        match epoll::add(&self.epoll, stream.as_fd(), EventData::new_u64(id), flags) {
            Ok(()) => Ok(()),
            Err(_) => match parked.remove(&id) {
                Some(session) => Err(Box::new(session)),
                None => Ok(()),
            },
        }
    }

    /// Hands conversations whose peers speak to `workers`, until `stop`.
    pub(crate) fn watch(self: &Arc<Self>, workers: &Arc<Workers>, stop: &Stop) {
        let mut events = Vec::with_capacity(EVENTS);
        while !stop.is_stopped() {
            events.clear();
            match epoll::wait(&self.epoll, rustix::buffer::spare_capacity(&mut events), None) {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(_) => return,
            }
            for event in &events {
                let id = event.data.u64();
                let Some(session) = self.parked.lock().remove(&id) else {
                    continue;
                };
                if let Some(stream) = session.stream() {
                    // It can only fail if the connection is not watched, which is what we want.
                    _ = epoll::delete(&self.epoll, stream.as_fd());
                }
                workers.submit(session, self);
            }
        }
        self.parked.lock().clear();
    }
}
