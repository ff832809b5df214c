//! Prefetch: other threads read what a long response needs next, while the response is being sent.
//!
//! A [`PrefetchPool`] is a small pool of threads for all responses of a server, one fewer than there are cores. A response that finds the
//! pool busy does the work itself (see [`base::ordered`]): a thousand clients at once are a thousand threads that each do
//! their own work.
//!
//! Where several machines share a repository, reading may wait for an object store for as long as the processor needs for hundreds of
//! nodes. Such repositories have more threads, which wait side by side. Waking them costs more than reading from memory, so a response
//! uses them only from the moment at which it had to wait for a result, and no longer when it has not waited for a while.
//!
//! A task that panics is an error of its response.

use std::any::Any;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use base::ordered::{Limits, OrderedQueue, ThreadPool, cores};
use base::{Code, Error, Result};

/// The threads that prefetch for the repositories of a server. They start when they are first needed, and end when this is dropped.
#[derive(Default)]
pub struct PrefetchPool {
    threads: OnceLock<Option<ThreadPool<'static>>>,
    /// For repositories that several machines share.
    waiting_threads: OnceLock<Option<ThreadPool<'static>>>,
}

/// Prefetched results in the order in which they are sent.
pub(crate) struct PrefetchQueue<T> {
    queue: OrderedQueue<'static, T>,
    /// For a repository that several machines share.
    pools: Option<Pools>,
}

/// The pools between which a queue changes.
struct Pools {
    few: ThreadPool<'static>,
    many: ThreadPool<'static>,
    /// Results to be taken without a wait until `few` is used again; 0 while it is.
    left: usize,
}

/// How much of one response may be prefetched.
const LIMITS: Limits = Limits {
    tasks: 64,
    bytes: 4 << 20,
};

/// Threads that read ahead in repositories that several machines share.
const WAITING_THREADS: usize = 32;

/// A result that takes longer than this was not in memory.
const WAIT: Duration = Duration::from_millis(1);

/// Results without a wait after which few threads are used again: more than are read ahead.
const WITHOUT_WAIT: usize = 256;

/// Bytes that all responses together may have prefetched.
const TOTAL_BYTES: usize = 64 << 20;

impl PrefetchPool {
    /// Returns an empty queue for a repository, which may be shared with other machines. `None` if no thread was started: for a
    /// repository of files so on a machine with one core, where prefetch gains nothing.
    pub(crate) fn queue<T: Send + 'static>(&self, is_shared: bool) -> Option<PrefetchQueue<T>> {
        let pool = |threads: &'_ OnceLock<Option<ThreadPool<'static>>>, count| {
            let start = || ThreadPool::start("prefetch", count, TOTAL_BYTES);
            threads.get_or_init(start).clone()
        };
        let few = pool(&self.threads, cores() - 1);
        let many = is_shared
            .then(|| pool(&self.waiting_threads, WAITING_THREADS))
            .flatten();
        let pools = few.clone().zip(many.clone());
        Some(PrefetchQueue {
            queue: OrderedQueue::new(few.as_ref().or(many.as_ref())?, LIMITS),
            pools: pools.map(|(few, many)| Pools { few, many, left: 0 }),
        })
    }
}

impl Drop for PrefetchPool {
    fn drop(&mut self) {
        for threads in [&self.threads, &self.waiting_threads] {
            if let Some(Some(pool)) = threads.get() {
                pool.close();
            }
        }
    }
}

impl std::fmt::Debug for PrefetchPool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("PrefetchPool")
    }
}

impl<T: Send + 'static> PrefetchQueue<T> {
    /// True if another task may be pushed.
    pub(crate) fn has_room(&self) -> bool {
        self.queue.has_room()
    }

    /// Appends a task. `work` returns the result and how many bytes it holds.
    pub(crate) fn push(&mut self, work: impl FnOnce() -> (T, usize) + Send + 'static) {
        self.queue.push(work);
    }

    /// Takes the result of the first task; `None` if the queue is empty.
    ///
    /// # Errors
    /// `ASSERTION_FAIL` if the task panicked.
    pub(crate) fn take(&mut self) -> Option<Result<T>> {
        let begun = self.pools.is_some().then(Instant::now);
        let result = self.queue.take()?;
        self.choose_pool(begun.is_some_and(|begun| begun.elapsed() >= WAIT));
        Some(result.map_err(|panic| panic_error(&*panic)))
    }

    /// Chooses the threads for what comes next.
    fn choose_pool(&mut self, has_waited: bool) {
        let Some(pools) = &mut self.pools else {
            return;
        };
        let uses_few = pools.left == 0;
        pools.left = match has_waited {
            true => WITHOUT_WAIT,
            false => pools.left.saturating_sub(1),
        };
        match (uses_few, pools.left == 0) {
            (true, false) => self.queue.move_to(&pools.many),
            (false, true) => self.queue.move_to(&pools.few),
            _ => {}
        }
    }
}

fn panic_error(panic: &(dyn Any + Send)) -> Error {
    let message = panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    Error::new(
        Code::ASSERTION_FAIL,
        format!("Reading ahead failed: {}", message.unwrap_or("panic")),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_threads_work_only_while_results_are_waited_for() {
        let pool = PrefetchPool::default();
        let Some(mut queue) = pool.queue(true) else {
            return;
        };
        let Some(pools) = &queue.pools else {
            // With one core there is one pool.
            return;
        };
        assert_eq!(pools.left, 0);
        queue.push(|| {
            std::thread::sleep(2 * WAIT);
            (0, 1)
        });
        assert_eq!(queue.take().and_then(Result::ok), Some(0));
        assert_eq!(queue.pools.as_ref().map(|pools| pools.left), Some(WITHOUT_WAIT));
        // The second task ends only when the third has begun, and the caller may be busy with one of them.
        let (sender, receiver) = std::sync::mpsc::channel();
        queue.push(move || (receiver.recv().map_or(0, |()| 1), 1));
        queue.push(move || (sender.send(()).map_or(0, |()| 2), 1));
        assert_eq!(queue.take().and_then(Result::ok), Some(1));
        assert_eq!(queue.take().and_then(Result::ok), Some(2));
    }

    #[test]
    fn a_panic_is_an_error_of_its_task() {
        let pool = PrefetchPool::default();
        let Some(mut queue) = pool.queue(true) else {
            return;
        };
        for number in 0..3 {
            queue.push(move || {
                assert!(number != 1, "number {number}");
                (number, 1)
            });
        }
        assert_eq!(queue.take().and_then(Result::ok), Some(0));
        let error = queue.take().expect("it was pushed").expect_err("it panicked");
        assert_eq!(error.code(), Code::ASSERTION_FAIL);
        assert_eq!(error.message(), "Reading ahead failed: number 1");
        assert_eq!(queue.take().and_then(Result::ok), Some(2));
        assert!(queue.take().is_none());
    }
}
