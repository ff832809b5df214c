//! Threads for conversations that are busy.
//!
//! Conversations wait in a bounded queue; a thread takes one and holds it until it is over or goes quiet. Threads are
//! started when there is something to do and nobody idle, and leave after a while when there are more than the minimum.
//! When the queue is full, whoever brings more waits: new clients then wait in the listening socket.

use std::collections::VecDeque;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use parking_lot::{Condvar, Mutex};

use crate::idle::Idle;
use crate::options::Threads;
use crate::svn::Session;

/// Conversations that wait for a thread.
const QUEUE: usize = 4096;
/// How long a thread with nothing to do stays.
const LEAVE_AFTER: Duration = Duration::from_secs(2);
/// How long a quiet conversation keeps its thread while nobody else wants it.
const LINGER: Duration = Duration::from_millis(50);
/// Conversations need little stack; only what is touched takes memory.
const STACK: usize = 1 << 20;

pub(crate) struct Workers {
    limits: Threads,
    state: Mutex<State>,
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
    stopping: bool,
}

impl Workers {
    pub(crate) fn new(limits: Threads) -> Arc<Workers> {
        Arc::new(Workers {
            limits: Threads {
                min: limits.min,
                max: limits.max.max(1),
            },
            state: Mutex::default(),
            work: Condvar::new(),
            room: Condvar::new(),
        })
    }

    /// Gives a conversation to a thread, now or when one is free. Waits while too many are waiting.
    pub(crate) fn submit(self: &Arc<Self>, session: Session, idle: &Arc<Idle>) {
        let mut state = self.state.lock();
        while state.queue.len() >= QUEUE && !state.stopping {
            self.room.wait(&mut state);
        }
        if state.stopping {
            return;
        }
        state.queue.push_back(session);
        if state.idle < state.queue.len() && state.threads < self.limits.max {
            state.threads += 1;
            let (workers, idle) = (self.clone(), idle.clone());
            let thread = thread::Builder::new().name("svn".to_owned()).stack_size(STACK);
            if thread.spawn(move || workers.work(&idle)).is_err() {
                // Those that run will come to it. If there is none the client is cut off, which it can understand.
                state.threads -= 1;
                if state.threads == 0 {
                    state.queue.pop_back();
                }
            }
        }
        drop(state);
        self.work.notify_one();
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

    fn work(&self, idle: &Idle) {
        while let Some(mut session) = self.next() {
            loop {
                let patience = match self.state.lock().queue.is_empty() {
                    true => LINGER,
                    false => Duration::ZERO,
                };
                if !session.serve(patience) {
                    break;
                }
                match idle.park(session) {
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
            if state.stopping {
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
