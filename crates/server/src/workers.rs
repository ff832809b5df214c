//! Threads for conversations that are busy.
//!
//! Conversations wait in a bounded queue; a thread takes one and holds it until it is over or goes quiet. Threads are
//! started when there is something to do and nobody idle, and leave after a while when there are more than the minimum.
//! When the queue is full, whoever brings more waits: new clients then wait in the listening socket.
//!
//! A thread that waits for its peer in the middle of a command steps aside: it does not count among the most that there
//! may be until the peer moves on. So clients that read slowly, or not at all, keep nobody else from being served.

use std::collections::VecDeque;
use std::net::IpAddr;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use parking_lot::{Condvar, Mutex};

use crate::idle::Idle;
use crate::options::Threads;
use crate::shares::{Share, Shares};
use crate::svn::Session;

/// Conversations that wait for a thread.
const QUEUE: usize = 4096;
/// How long a thread with nothing to do stays.
const LEAVE_AFTER: Duration = Duration::from_secs(2);
/// How long a quiet conversation keeps its thread while nobody else wants it.
const LINGER: Duration = Duration::from_millis(50);
/// Conversations need little stack; only what is touched takes memory.
const STACK: usize = 1 << 20;
/// Most threads that may wait for their peers beside those that work.
const AWAY: usize = 8192;
/// Most of them that wait for peers of one address.
const AWAY_EACH: u64 = AWAY as u64 / 8;

pub(crate) struct Workers {
    limits: Threads,
    idle: Arc<Idle>,
    state: Mutex<State>,
    /// Threads that wait for their peers.
    waiting: Arc<Shares>,
    /// There is something to do, or everything ends.
    work: Condvar,
    /// The queue has room again.
    room: Condvar,
}

#[derive(Default)]
struct State {
    queue: VecDeque<Session>,
    threads: usize,
    idle: usize,
    /// Threads that wait for their peers in the middle of a command.
    away: usize,
    stopping: bool,
}

impl State {
    /// Threads that count.
    fn at_work(&self) -> usize {
        self.threads - self.away.min(AWAY)
    }
}

/// A thread that waits for its peer; dropped, it is at work again.
#[must_use]
pub(crate) struct Aside {
    workers: Arc<Workers>,
    _share: Share,
}

impl Drop for Aside {
    fn drop(&mut self) {
        self.workers.state.lock().away -= 1;
    }
}

impl Workers {
    /// Conversations that go quiet are put aside in `idle`.
    pub(crate) fn new(limits: Threads, idle: Arc<Idle>) -> Arc<Workers> {
        Arc::new(Workers {
            idle,
            limits: Threads {
                min: limits.min,
                max: limits.max.max(1),
            },
            state: Mutex::default(),
            waiting: Shares::new(u64::MAX, AWAY_EACH),
            work: Condvar::new(),
            room: Condvar::new(),
        })
    }

    /// Gives a conversation to a thread, now or when one is free. Waits while too many are waiting.
    pub(crate) fn submit(self: &Arc<Self>, session: Session) {
        let mut state = self.state.lock();
        while state.queue.len() >= QUEUE && !state.stopping {
            self.room.wait(&mut state);
        }
        if state.stopping {
            return;
        }
        state.queue.push_back(session);
        self.hire(&mut state);
        drop(state);
        self.work.notify_one();
    }

    /// The calling thread will wait for its peer: another may work meanwhile. `None` if too many wait for peers of this address
    /// already.
    pub(crate) fn step_aside(self: Arc<Self>, address: Option<IpAddr>) -> Option<Aside> {
        let share = self.waiting.take(address, 1)?;
        let mut state = self.state.lock();
        state.away += 1;
        if !state.stopping {
            self.hire(&mut state);
        }
        drop(state);
        Some(Aside {
            workers: self,
            _share: share,
        })
    }

    /// How many threads there are, and how many of them wait for their peers.
    pub(crate) fn count(&self) -> (usize, usize) {
        let state = self.state.lock();
        (state.threads, state.away)
    }

    /// Starts a thread if there is something to do for one.
    fn hire(self: &Arc<Self>, state: &mut State) {
        if state.idle >= state.queue.len() || state.at_work() >= self.limits.max {
            return;
        }
        state.threads += 1;
        let workers = self.clone();
        let thread = thread::Builder::new().name("svn".to_owned()).stack_size(STACK);
        if thread.spawn(move || workers.work()).is_err() {
            // Those that run will come to it. If there is none the client is cut off, which it can understand.
            state.threads -= 1;
            if state.threads == 0 {
                state.queue.pop_back();
            }
        }
    }

    /// Ends everything: waiting conversations are dropped, busy ones get `grace` to finish their command.
    pub(crate) fn stop(&self, grace: Duration) {
        let mut state = self.state.lock();
        state.stopping = true;
        state.queue.clear();
        self.work.notify_all();
        self.room.notify_all();
        let end = std::time::Instant::now() + grace;
        while state.threads > 0 {
            if self.room.wait_until(&mut state, end).timed_out() {
                return;
            }
        }
    }

    fn work(&self) {
        while let Some(mut session) = self.next() {
            loop {
                let patience = match self.state.lock().queue.is_empty() {
                    true => LINGER,
                    false => Duration::ZERO,
                };
                if !session.serve(patience) {
                    break;
                }
                match self.idle.park(session) {
                    Ok(()) => break,
                    // It cannot be put aside: stay with it.
                    Err(back) => session = *back,
                }
            }
        }
        let mut state = self.state.lock();
        state.threads -= 1;
        if state.stopping {
            self.room.notify_all();
        }
    }

    fn next(&self) -> Option<Session> {
        let mut state = self.state.lock();
        loop {
            // Those who waited for their peers are back: there are enough without this one.
            if state.stopping || state.at_work() > self.limits.max {
                return None;
            }
            if let Some(session) = state.queue.pop_front() {
                self.room.notify_one();
                return Some(session);
            }
            state.idle += 1;
            let waited = self.work.wait_for(&mut state, LEAVE_AFTER);
            state.idle -= 1;
            if waited.timed_out() && state.queue.is_empty() && state.threads > self.limits.min {
                return None;
            }
        }
    }
}
