//! The svn:// sessions that have something to do, on the threads of a pool.
//!
//! A session holds a thread until it is over, until its peer says nothing between two commands, or until it has worked for a
//! while and others wait for its thread.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::time::Duration;

use crate::idle::Idle;
use crate::svn::{Served, Session};
use crate::thread_pool::ThreadPool;

/// How long a session waits for its peer's next command on its thread, if no other needs the thread.
const LINGER: Duration = Duration::from_millis(50);

/// The threads of sessions, and the sessions that need none.
pub(crate) struct Sessions {
    pool: Arc<ThreadPool>,
    idle: Arc<Idle>,
}

impl Sessions {
    /// Sessions run on the threads of `pool` and wait for their peers in `idle`.
    pub(crate) fn new(pool: Arc<ThreadPool>, idle: Arc<Idle>) -> Arc<Sessions> {
        Arc::new(Sessions { pool, idle })
    }

    /// The threads.
    pub(crate) fn pool(&self) -> &Arc<ThreadPool> {
        &self.pool
    }

    /// Goes on with a session now, or when a thread is free.
    pub(crate) fn submit(self: &Arc<Self>, session: Session) {
        let sessions = self.clone();
        self.pool
            .submit(address_of(&session), move || sessions.run(session));
    }

    fn run(self: Arc<Self>, mut session: Session) {
        let address = address_of(&session);
        loop {
            let linger = match self.pool.is_needed(address) {
                true => Duration::ZERO,
                false => LINGER,
            };
            match session.serve(linger) {
                Served::Ended => return,
                Served::Interrupted => {
                    let sessions = self.clone();
                    return self.pool.resubmit(address, move || sessions.run(session));
                }
                Served::Quiet => match self.idle.park(session) {
                    Ok(()) => return,
                    // The system cannot watch it: it keeps its thread.
                    Err(back) => session = *back,
                },
            }
        }
    }
}

/// The peer's address. Peers without one count as one address.
fn address_of(session: &Session) -> IpAddr {
    session.peer().unwrap_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED))
}
