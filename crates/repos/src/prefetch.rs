//! Prefetch: other threads read what a long response needs next, while the response is being sent.
//!
//! A [`PrefetchPool`] is a small pool of threads for all responses of a server, one fewer than there are cores. A response that finds the
//! pool busy does the work itself (see [`base::ordered`]): a thousand clients at once are a thousand threads that each do
//! their own work.
//!
//! Where several machines share a repository, reading may wait for an object store for as long as the processor needs for hundreds of
//! nodes. Such repositories have more threads, which wait side by side.
//!
//! A task that panics is an error of its response.

use std::any::Any;
use std::sync::OnceLock;

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
pub(crate) struct PrefetchQueue<T>(OrderedQueue<'static, T>);

/// How much of one response may be prefetched.
const LIMITS: Limits = Limits {
    tasks: 64,
    bytes: 4 << 20,
};

/// Threads that read ahead in repositories that several machines share.
const WAITING_THREADS: usize = 32;

/// Bytes that all responses together may have prefetched.
const TOTAL_BYTES: usize = 64 << 20;

impl PrefetchPool {
    /// Returns an empty queue for a repository, which may be shared with other machines. `None` if no thread was started: for a
    /// repository of files so on a machine with one core, where prefetch gains nothing.
    pub(crate) fn queue<T: Send + 'static>(&self, is_shared: bool) -> Option<PrefetchQueue<T>> {
        let (threads, count) = match is_shared {
            false => (&self.threads, cores() - 1),
            true => (&self.waiting_threads, WAITING_THREADS),
        };
        let start = || ThreadPool::start("prefetch", count, TOTAL_BYTES);
        let pool = threads.get_or_init(start).as_ref()?;
        Some(PrefetchQueue(OrderedQueue::new(pool, LIMITS)))
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
        self.0.has_room()
    }

    /// Appends a task. `work` returns the result and how many bytes it holds.
    pub(crate) fn push(&mut self, work: impl FnOnce() -> (T, usize) + Send + 'static) {
        self.0.push(work);
    }

    /// Takes the result of the first task; `None` if the queue is empty.
    ///
    /// # Errors
    /// `ASSERTION_FAIL` if the task panicked.
    pub(crate) fn take(&mut self) -> Option<Result<T>> {
        let result = self.0.take()?;
        Some(result.map_err(|panic| panic_error(&*panic)))
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
