//! One task: its work, then its result, and the bytes that the result holds.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use parking_lot::{Condvar, Mutex};

use super::pool::Job;

/// Bytes of one queue's results that wait to be taken. They count for the whole pool too.
pub(super) struct ByteBudget {
    waiting: AtomicUsize,
    limit: usize,
    pool: Arc<PoolBytes>,
    /// Some tasks were declined since [`ByteBudget::take_declined`].
    has_declined: AtomicBool,
}

/// Bytes of results that wait in all queues of a pool.
pub(super) struct PoolBytes {
    waiting: AtomicUsize,
    limit: usize,
}

impl PoolBytes {
    pub(super) fn new(limit: usize) -> Self {
        PoolBytes {
            waiting: AtomicUsize::new(0),
            limit,
        }
    }
}

impl ByteBudget {
    pub(super) fn new(limit: usize, pool: Arc<PoolBytes>) -> Self {
        ByteBudget {
            waiting: AtomicUsize::new(0),
            limit,
            pool,
            has_declined: AtomicBool::new(false),
        }
    }

    /// True if no task should begin before its turn.
    pub(super) fn is_spent(&self) -> bool {
        self.waiting.load(Ordering::Relaxed) >= self.limit
            || self.pool.waiting.load(Ordering::Relaxed) >= self.pool.limit
    }

    /// Bytes that wait.
    #[cfg(test)]
    pub(super) fn waiting(&self) -> usize {
        self.waiting.load(Ordering::Relaxed)
    }

    fn add(&self, bytes: usize) {
        self.waiting.fetch_add(bytes, Ordering::Relaxed);
        self.pool.waiting.fetch_add(bytes, Ordering::Relaxed);
    }

    fn give_back(&self, bytes: usize) {
        self.waiting.fetch_sub(bytes, Ordering::Relaxed);
        self.pool.waiting.fetch_sub(bytes, Ordering::Relaxed);
    }

    /// True if tasks were declined and may be offered again now; the note is cleared.
    pub(super) fn take_declined(&self) -> bool {
        self.has_declined.load(Ordering::Relaxed)
            && !self.is_spent()
            && self.has_declined.swap(false, Ordering::Relaxed)
    }
}

/// A task of a queue. The queue holds it, and the pool does until a thread has taken it out.
pub(super) struct Task<'w, T> {
    state: Mutex<TaskState<'w, T>>,
    done: Condvar,
    budget: Arc<ByteBudget>,
    /// A thread of the pool declined it, so that the pool does not hold it any more.
    is_declined: AtomicBool,
}

enum TaskState<'w, T> {
    Waiting(Work<'w, T>),
    Running,
    /// The result or the panic, and the bytes that it holds.
    Done(thread::Result<T>, usize),
    /// The result was taken, or the queue was dropped.
    Gone,
}

type Work<'w, T> = Box<dyn FnOnce() -> (T, usize) + Send + 'w>;

impl<'w, T> Task<'w, T> {
    pub(super) fn new(work: impl FnOnce() -> (T, usize) + Send + 'w, budget: Arc<ByteBudget>) -> Self {
        Task {
            state: Mutex::new(TaskState::Waiting(Box::new(work))),
            done: Condvar::new(),
            budget,
            is_declined: AtomicBool::new(false),
        }
    }

    /// Runs the task, unless it has begun already; returns whether it did.
    pub(super) fn run(&self) -> bool {
        let work = {
            let mut state = self.state.lock();
            match std::mem::replace(&mut *state, TaskState::Running) {
                TaskState::Waiting(work) => work,
                other => {
                    *state = other;
                    return false;
                }
            }
        };
        let (result, bytes) = match catch_unwind(AssertUnwindSafe(work)) {
            Ok((value, bytes)) => (Ok(value), bytes),
            Err(panic) => (Err(panic), 0),
        };
        let mut state = self.state.lock();
        if let TaskState::Running = *state {
            self.budget.add(bytes);
            *state = TaskState::Done(result, bytes);
            self.done.notify_one();
        }
        true
    }

    /// True if the result can be taken.
    pub(super) fn is_done(&self) -> bool {
        matches!(*self.state.lock(), TaskState::Done(..))
    }

    /// Takes the result if it is there.
    pub(super) fn try_take(&self) -> Option<thread::Result<T>> {
        self.take_from(&mut self.state.lock())
    }

    /// Waits for the result of a task that has begun, and takes it.
    pub(super) fn wait_and_take(&self) -> thread::Result<T> {
        let mut state = self.state.lock();
        loop {
            if let Some(result) = self.take_from(&mut state) {
                return result;
            }
            self.done.wait(&mut state);
        }
    }

    fn take_from(&self, state: &mut TaskState<'w, T>) -> Option<thread::Result<T>> {
        match std::mem::replace(state, TaskState::Gone) {
            TaskState::Done(result, bytes) => {
                self.budget.give_back(bytes);
                Some(result)
            }
            other => {
                *state = other;
                None
            }
        }
    }

    /// Cancels the task, or drops its result.
    pub(super) fn abandon(&self) {
        let mut state = self.state.lock();
        if let TaskState::Done(_, bytes) = std::mem::replace(&mut *state, TaskState::Gone) {
            self.budget.give_back(bytes);
        }
    }

    /// True if a thread of the pool declined the task.
    #[cfg(test)]
    pub(super) fn is_marked_declined(&self) -> bool {
        self.is_declined.load(Ordering::Relaxed)
    }

    /// True if a thread of the pool declined the task; the note is cleared.
    pub(super) fn take_declined(&self) -> bool {
        self.is_declined.swap(false, Ordering::Relaxed)
    }
}

impl<T: Send> Job for Task<'_, T> {
    fn run_if_affordable(&self) {
        if self.budget.is_spent() {
            self.is_declined.store(true, Ordering::Relaxed);
            self.budget.has_declined.store(true, Ordering::Relaxed);
        } else {
            self.run();
        }
    }
}
