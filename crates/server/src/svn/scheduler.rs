//! Runs sessions on the threads of a pool.
//!
//! A session holds a thread until it ends, until its peer sends nothing between two commands, or until it has run for a while and
//! other jobs wait for its thread.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::time::Duration;

use crate::net::ThreadPool;
use crate::svn::{ParkedSessions, Session, SessionStatus};

/// How long a session waits for the next command on its thread, if no other job needs the thread.
const LINGER: Duration = Duration::from_millis(50);

/// The thread pool of sessions, and the parked sessions.
pub(crate) struct SessionScheduler {
    pool: Arc<ThreadPool>,
    parked: Arc<ParkedSessions>,
}

impl SessionScheduler {
    /// Returns a scheduler that runs sessions on `pool` and parks them in `parked`.
    pub(crate) fn new(pool: Arc<ThreadPool>, parked: Arc<ParkedSessions>) -> Arc<SessionScheduler> {
        Arc::new(SessionScheduler { pool, parked })
    }

    /// Returns the thread pool.
    pub(crate) fn pool(&self) -> &Arc<ThreadPool> {
        &self.pool
    }

    /// Runs a session now, or when a thread is free.
    pub(crate) fn submit(self: &Arc<Self>, session: Session) {
        let scheduler = self.clone();
        self.pool
            .submit(address_of(&session), move || scheduler.run(session));
    }

    fn run(self: Arc<Self>, mut session: Session) {
        let address = address_of(&session);
        loop {
            let linger = match self.pool.is_needed(address) {
                true => Duration::ZERO,
                false => LINGER,
            };
            match session.serve(linger) {
                SessionStatus::Ended => return,
                SessionStatus::Interrupted => {
                    let scheduler = self.clone();
                    return self.pool.resubmit(address, move || scheduler.run(session));
                }
                SessionStatus::Waiting => match self.parked.park(session) {
                    Ok(()) => return,
                    // The system cannot watch the session, which keeps its thread.
                    Err(back) => session = *back,
                },
            }
        }
    }
}

/// Returns the peer's address. Peers without one count as one address.
fn address_of(session: &Session) -> IpAddr {
    session.peer().unwrap_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED))
}
