//! Work on several threads whose results are taken in the order of the tasks.
//!
//! A [`ThreadPool`] runs tasks; an [`OrderedQueue`] puts tasks into it and returns their results in order. [`in_order`]
//! is the loop that most callers need: a pool of its own, a sequence of items, a function that works and one that
//! consumes.
//!
//! The thread that takes results works too: it runs the task whose turn it is if no thread has begun it, and a later one
//! while a thread of the pool is still busy with the task whose turn it is. So a busy pool never delays a queue: at worst
//! the caller does all the work itself. A pool of `n` threads for one caller therefore starts `n - 1`.
//!
//! What is begun and not yet taken is bounded twice ([`Limits`]): in tasks, and in bytes that finished results hold. A
//! thread of the pool declines a task of a queue whose bytes are used up; the queue offers it again when results were
//! taken.
//!
//! Dropping a queue cancels its tasks: those that wait are never run, and the result of one that runs is dropped. A task
//! that panics yields the panic as its result; the caller turns it into an error or resumes it.
//!
//! What is absent: I/O and clocks.

mod pool;
mod task;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::panic::resume_unwind;
use std::sync::Arc;
use std::thread;

pub use pool::ThreadPool;

use pool::Priority;
use task::{ByteBudget, Task};

/// How much of a queue may be begun and not yet taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Tasks in the queue.
    pub tasks: usize,
    /// Bytes of results that wait to be taken. It is exceeded by at most the results of the tasks that are running when it
    /// is reached.
    pub bytes: usize,
}

/// Tasks whose results are taken in the order in which they were pushed. `T` is the type of a result.
pub struct OrderedQueue<'w, T> {
    pool: ThreadPool<'w>,
    tasks: VecDeque<Arc<Task<'w, T>>>,
    budget: Arc<ByteBudget>,
    limits: Limits,
    priority: Priority,
}

impl<'w, T: Send + 'w> OrderedQueue<'w, T> {
    /// Returns an empty queue on `pool`.
    pub fn new(pool: &ThreadPool<'w>, limits: Limits) -> Self {
        Self::with_priority(pool, limits, Priority::Normal)
    }

    /// Returns an empty queue whose tasks are run before those of other queues: for the parts of a task that is running.
    pub fn urgent(pool: &ThreadPool<'w>, limits: Limits) -> Self {
        Self::with_priority(pool, limits, Priority::Urgent)
    }

    fn with_priority(pool: &ThreadPool<'w>, limits: Limits, priority: Priority) -> Self {
        OrderedQueue {
            pool: pool.clone(),
            tasks: VecDeque::new(),
            budget: Arc::new(ByteBudget::new(limits.bytes, pool.bytes().clone())),
            limits,
            priority,
        }
    }

    /// True if another task may be pushed within the limits. [`OrderedQueue::push`] does not check it.
    pub fn has_room(&self) -> bool {
        self.tasks.len() < self.limits.tasks && !self.budget.is_spent()
    }

    /// Appends a task. `work` returns the result and how many bytes it holds.
    pub fn push(&mut self, work: impl FnOnce() -> (T, usize) + Send + 'w) {
        let task = Arc::new(Task::new(work, self.budget.clone()));
        self.pool.offer(task.clone(), self.priority);
        self.tasks.push_back(task);
    }

    /// Lets the threads of another pool run the tasks from now on, those too that wait. The bytes of results count for the
    /// first pool.
    pub fn move_to(&mut self, pool: &ThreadPool<'w>) {
        self.pool = pool.clone();
        for task in self.tasks.iter().filter(|task| !task.is_done()) {
            self.pool.offer(task.clone(), self.priority);
        }
    }

    /// True if the result of the first task can be taken without waiting for it.
    pub fn is_first_done(&self) -> bool {
        self.tasks.front().is_some_and(|task| task.is_done())
    }

    /// Takes the result of the first task, or its panic; `None` if the queue is empty. Waits for the result, and runs tasks
    /// of this queue meanwhile.
    pub fn take(&mut self) -> Option<thread::Result<T>> {
        let first = self.tasks.pop_front()?;
        let result = loop {
            if first.run() {
                continue;
            }
            if let Some(result) = first.try_take() {
                break result;
            }
            // A thread of the pool runs it: do a later one meanwhile.
            if self.budget.is_spent() || !self.tasks.iter().any(|task| task.run()) {
                break first.wait_and_take();
            }
        };
        self.offer_declined();
        Some(result)
    }

    /// Offers again what the pool's threads declined while too many bytes waited.
    fn offer_declined(&self) {
        if self.budget.take_declined() {
            for task in self.tasks.iter().filter(|task| task.take_declined()) {
                self.pool.offer(task.clone(), self.priority);
            }
        }
    }
}

impl<T> Drop for OrderedQueue<'_, T> {
    fn drop(&mut self) {
        for task in &self.tasks {
            task.abandon();
        }
    }
}

/// Runs `work` on every item with `threads` threads, the caller's included; `take` gets the results in the order of the
/// items. `work` returns its result and how many bytes that holds.
///
/// # Errors
/// The first error of `take`. Tasks that have begun are finished then, all others are given up.
///
/// # Panics
/// With the panic of the first task that panicked.
pub fn in_order<I: Send, R: Send, E>(
    threads: usize,
    limits: Limits,
    items: impl IntoIterator<Item = I>,
    work: impl Fn(I) -> (R, usize) + Send + Sync,
    take: impl FnMut(R) -> Result<(), E>,
) -> Result<(), E> {
    ThreadPool::scope(threads, |pool| in_order_on(pool, limits, items, work, take))
}

/// As [`in_order`], on a pool that is there already.
///
/// # Errors
/// As [`in_order`].
///
/// # Panics
/// As [`in_order`].
pub fn in_order_on<'w, I: Send + 'w, R: Send + 'w, E>(
    pool: &ThreadPool<'w>,
    limits: Limits,
    items: impl IntoIterator<Item = I>,
    work: impl Fn(I) -> (R, usize) + Send + Sync + 'w,
    mut take: impl FnMut(R) -> Result<(), E>,
) -> Result<(), E> {
    let mut queue = OrderedQueue::new(pool, limits);
    let mut items = items.into_iter().fuse();
    let work = Arc::new(work);
    loop {
        // With one task at least, however tight the limits are.
        while queue.tasks.is_empty() || queue.has_room() {
            let Some(item) = items.next() else { break };
            let work = work.clone();
            queue.push(move || work(item));
        }
        match queue.take() {
            Some(Ok(result)) => take(result)?,
            Some(Err(panic)) => resume_unwind(panic),
            None => return Ok(()),
        }
    }
}

/// Threads worth starting on this machine.
pub fn cores() -> usize {
    thread::available_parallelism().map_or(1, usize::from)
}
