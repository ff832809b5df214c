//! The threads that run tasks.

use std::collections::VecDeque;
use std::sync::Arc;
use std::thread;

use parking_lot::{Condvar, Mutex};

use super::task::PoolBytes;

/// Threads that run the tasks of queues. Tasks may borrow for `'w`. A clone is the same pool.
#[derive(Clone)]
pub struct ThreadPool<'w>(Arc<Shared<'w>>);

struct Shared<'w> {
    waiting: Mutex<Waiting<'w>>,
    /// Signalled when a job was added or the threads should end.
    wakeup: Condvar,
    bytes: Arc<PoolBytes>,
}

#[derive(Default)]
struct Waiting<'w> {
    jobs: VecDeque<Arc<dyn Job + 'w>>,
    is_closed: bool,
}

/// A task, whatever its result is.
pub(super) trait Job: Send + Sync {
    /// Runs the task unless it has begun, or declines it while too many bytes of its queue wait.
    fn run_if_affordable(&self);
}

/// Where a task is put among those that wait.
#[derive(Clone, Copy)]
pub(super) enum Priority {
    Normal,
    Urgent,
}

/// The most tasks that wait for a thread; the queue's owner runs what is beyond.
const MOST_WAITING: usize = 1024;

impl ThreadPool<'static> {
    /// Starts a pool that lasts until [`ThreadPool::close`], with `threads` threads in addition to the callers'. Together
    /// the results of all queues hold at most `bytes`, see [`Limits::bytes`](super::Limits::bytes). `None` if no
    /// thread was started.
    pub fn start(name: &str, threads: usize, bytes: usize) -> Option<Self> {
        let pool = ThreadPool::new(bytes);
        let started = (0..threads).filter(|_| {
            let thread = thread::Builder::new().name(name.to_owned());
            let pool = pool.clone();
            thread.spawn(move || pool.work()).is_ok()
        });
        (started.count() > 0).then_some(pool)
    }
}

impl<'w> ThreadPool<'w> {
    /// Calls `body` with a pool of `threads` threads, the caller's included, which end with `body`. Tasks that wait then are
    /// given up. Fewer threads run if the system refuses to start them.
    pub fn scope<R>(threads: usize, body: impl FnOnce(&ThreadPool<'w>) -> R) -> R {
        let pool = ThreadPool::new(usize::MAX);
        // However `body` ends, the threads must end, or the scope would wait for them.
        thread::scope(|scope| {
            let _close = CloseOnDrop(&pool);
            if threads < 2 {
                pool.close();
            }
            for _ in 1..threads {
                let pool = pool.clone();
                if thread::Builder::new()
                    .spawn_scoped(scope, move || pool.work())
                    .is_err()
                {
                    break;
                }
            }
            body(&pool)
        })
    }

    fn new(bytes: usize) -> Self {
        ThreadPool(Arc::new(Shared {
            waiting: Mutex::default(),
            wakeup: Condvar::new(),
            bytes: Arc::new(PoolBytes::new(bytes)),
        }))
    }

    /// Ends the threads after their current jobs, and takes no jobs any more.
    pub fn close(&self) {
        let jobs = {
            let mut waiting = self.0.waiting.lock();
            waiting.is_closed = true;
            std::mem::take(&mut waiting.jobs)
        };
        // A job may hold the pool: left in it, both would stay.
        drop(jobs);
        self.0.wakeup.notify_all();
    }

    pub(super) fn bytes(&self) -> &Arc<PoolBytes> {
        &self.0.bytes
    }

    /// Adds a job, unless too many wait already: then the owner of its queue runs it.
    pub(super) fn offer(&self, job: Arc<dyn Job + 'w>, priority: Priority) {
        let mut waiting = self.0.waiting.lock();
        if waiting.jobs.len() < MOST_WAITING && !waiting.is_closed {
            match priority {
                Priority::Normal => waiting.jobs.push_back(job),
                Priority::Urgent => waiting.jobs.push_front(job),
            }
            drop(waiting);
            self.0.wakeup.notify_one();
        }
    }

    /// Runs jobs until the pool is closed.
    fn work(&self) {
        loop {
            let job = {
                let mut waiting = self.0.waiting.lock();
                loop {
                    if waiting.is_closed {
                        return;
                    }
                    match waiting.jobs.pop_front() {
                        Some(job) => break job,
                        None => self.0.wakeup.wait(&mut waiting),
                    }
                }
            };
            job.run_if_affordable();
        }
    }

    /// True if no job waits for a thread.
    #[cfg(test)]
    pub(super) fn is_idle(&self) -> bool {
        self.0.waiting.lock().jobs.is_empty()
    }
}

struct CloseOnDrop<'p, 'w>(&'p ThreadPool<'w>);

impl Drop for CloseOnDrop<'_, '_> {
    fn drop(&mut self) {
        self.0.close();
    }
}
