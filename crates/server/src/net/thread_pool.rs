//! The threads of a server, for both protocols.
//!
//! A job is a request over HTTP, or a part of a svn:// session. A thread takes a job and runs it to its end. Threads are started
//! when there is a job and no idle thread, and end after a while without a job. A thread that waits for its peer, or for the process of
//! a hook, holds a [`BlockedGuard`]: it does not count among the threads that may run, so slow peers do not keep others from being
//! served, and hooks can be clients of the same server.
//!
//! The queue has no bound of its own: a connection has one job at a time, and connections are bounded. Networks take turns
//! in it, and each has a part of the threads: a thousand jobs of one network do not delay the first job of another. A network
//! is an IPv4 address or an IPv6 prefix of 64 bits ([`network_of`]).
//!
//! A job that needs long can ask now and then whether others wait for its thread ([`ThreadPool::is_needed`]), and submit the
//! rest of its work as another job ([`ThreadPool::resubmit`]).

use std::collections::{HashMap, VecDeque};
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};
use repos::hooks::HookWait;

use super::{Quota, QuotaShare, network_of};
use crate::config::Threads;

/// A piece of work.
type Job = Box<dyn FnOnce() + Send>;

/// How long an idle thread stays.
const LEAVE_AFTER: Duration = Duration::from_secs(2);
/// Stack of a thread, bytes. Only touched pages take memory.
const STACK: usize = 1 << 20;
/// The highest number of threads that wait for their peers beside those that run.
const MAX_BLOCKED: usize = 8192;
/// The highest number of them that wait for peers of one network.
const MAX_BLOCKED_PER_NETWORK: u64 = MAX_BLOCKED as u64 / 8;

/// The threads of a server.
#[derive(Debug)]
pub(crate) struct ThreadPool {
    /// The name of the threads.
    name: &'static str,
    /// How many idle threads stay, and how many threads may run.
    limits: Threads,
    /// How many threads may run for one network.
    max_per_network: usize,
    state: Mutex<PoolState>,
    /// Threads that wait for their peers.
    blocked: Arc<Quota>,
    /// Notified when the last thread has ended.
    ended: Condvar,
    /// How many connections may answer inline at the same time.
    max_inline: usize,
    inline: AtomicUsize,
}

/// The right to answer a request inline, without a thread of the pool, until it is dropped.
#[must_use]
pub(crate) struct InlinePermit<'a>(&'a AtomicUsize);

impl Drop for InlinePermit<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The queue of one network.
#[derive(Default)]
struct NetworkQueue {
    /// Jobs that have not begun.
    new: VecDeque<Job>,
    /// Jobs that have begun and have given their threads back.
    resubmitted: VecDeque<Job>,
    /// The last job taken was a new one.
    took_new: bool,
    /// Threads that run a job of this network and do not wait for their peers.
    running: usize,
    /// The network is in [`PoolState::order`].
    is_listed: bool,
}

impl NetworkQueue {
    fn len(&self) -> usize {
        self.new.len() + self.resubmitted.len()
    }

    /// Returns how many jobs may begin now.
    fn ready(&self, max: usize) -> usize {
        self.len().min(max.saturating_sub(self.running))
    }

    /// Takes new and resubmitted jobs in turn: short jobs do not wait until all long ones have ended, and the long ones go on.
    fn pop(&mut self) -> Option<Job> {
        self.took_new = !self.new.is_empty() && (!self.took_new || self.resubmitted.is_empty());
        match self.took_new {
            true => self.new.pop_front(),
            false => self.resubmitted.pop_front(),
        }
    }
}

#[derive(Default)]
struct PoolState {
    queues: HashMap<IpAddr, NetworkQueue>,
    /// The networks with jobs that may begin, in the order of their turns.
    order: VecDeque<IpAddr>,
    /// How many jobs may begin now.
    ready: usize,
    threads: usize,
    /// The condition variables of idle threads. The thread that ran last is woken first: its memory is warm, and few clients touch
    /// the memory of few threads.
    idle: Vec<Arc<Condvar>>,
    /// Threads that were woken and have not taken a job yet.
    woken: usize,
    /// Threads that were started and have not taken a job yet.
    starting: usize,
    /// Threads that wait for their peers.
    blocked: usize,
    stopping: bool,
}

impl std::fmt::Debug for PoolState {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PoolState")
            .field("ready", &self.ready)
            .field("threads", &self.threads)
            .field("blocked", &self.blocked)
            .finish_non_exhaustive()
    }
}

impl PoolState {
    /// Changes a network's queue.
    fn change(&mut self, network: IpAddr, max: usize, change: impl FnOnce(&mut NetworkQueue)) {
        let queue = self.queues.entry(network).or_default();
        let before = queue.ready(max);
        change(queue);
        let after = queue.ready(max);
        self.ready = self.ready - before + after;
        if after > 0 && !queue.is_listed {
            queue.is_listed = true;
            self.order.push_back(network);
        }
        if queue.len() == 0 && queue.running == 0 && !queue.is_listed {
            self.queues.remove(&network);
        }
    }

    /// Takes the next job.
    fn take(&mut self, max: usize) -> Option<(IpAddr, Job)> {
        while let Some(network) = self.order.pop_front() {
            let mut job = None;
            self.change(network, max, |queue| {
                queue.is_listed = false;
                if queue.ready(max) > 0 {
                    job = queue.pop();
                    queue.running += 1;
                }
            });
            if let Some(job) = job {
                return Some((network, job));
            }
        }
        None
    }

    /// Drops all jobs that no thread has taken.
    fn clear(&mut self) {
        (self.ready, self.order) = (0, VecDeque::new());
        self.queues = HashMap::new();
    }

    /// Takes an idle thread to wake, if there is a job for it.
    fn wake_one(&mut self) -> Option<Arc<Condvar>> {
        if self.ready <= self.woken {
            return None;
        }
        let idle_thread = self.idle.pop()?;
        self.woken += 1;
        Some(idle_thread)
    }

    /// Returns how many threads do not wait for their peers. More may wait than there are threads: a request that an I/O thread answers
    /// waits too, and a thread that waits for a hook can do so within another wait.
    fn running(&self) -> usize {
        self.threads.saturating_sub(self.blocked.min(MAX_BLOCKED))
    }
}

/// Marks a thread that waits for its peer. When it is dropped the thread counts as running again.
#[must_use]
pub(crate) struct BlockedGuard {
    pool: Arc<ThreadPool>,
    network: IpAddr,
    _share: QuotaShare,
}

/// How a thread that wants to wait for its peer may go on.
pub(crate) enum BlockOutcome<T> {
    /// It may wait.
    Blocked(BlockedGuard),
    /// It may wait, and belongs to no pool.
    Uncounted,
    /// It need not wait: the result is there.
    Done(T),
}

impl Drop for BlockedGuard {
    fn drop(&mut self) {
        let mut state = self.pool.state.lock();
        state.blocked -= 1;
        state.change(self.network, self.pool.max_per_network, |queue| {
            queue.running += 1
        });
    }
}

impl ThreadPool {
    /// Returns a pool whose threads have this name. At most `max_inline` connections answer inline at the same time.
    pub(crate) fn new(name: &'static str, limits: Threads, max_inline: usize) -> Arc<ThreadPool> {
        let cores = thread::available_parallelism().map_or(2, usize::from);
        Arc::new(ThreadPool {
            name,
            limits: Threads {
                min: limits.min,
                max: limits.max.max(1),
            },
            max_per_network: (limits.max / 16).max(cores * 8),
            state: Mutex::default(),
            blocked: Quota::new(u64::MAX, MAX_BLOCKED_PER_NETWORK),
            ended: Condvar::new(),
            max_inline,
            inline: AtomicUsize::new(0),
        })
    }

    /// Returns the right to answer inline, on the connection's own thread. `None` if as many as may do so already: should a disk
    /// delay them all, requests use the pool.
    pub(crate) fn try_inline(&self) -> Option<InlinePermit<'_>> {
        let permit = InlinePermit(&self.inline);
        (self.inline.fetch_add(1, Ordering::Relaxed) < self.max_inline).then_some(permit)
    }

    /// Runs `job` for a client at `address`, now or when a thread is free. A job must not panic.
    pub(crate) fn submit(self: &Arc<Self>, address: IpAddr, job: impl FnOnce() + Send + 'static) {
        self.push(address, |queue| queue.new.push_back(Box::new(job)));
    }

    /// As [`ThreadPool::submit`], for the rest of a job that has used its thread for a while.
    pub(crate) fn resubmit(self: &Arc<Self>, address: IpAddr, job: impl FnOnce() + Send + 'static) {
        self.push(address, |queue| queue.resubmitted.push_back(Box::new(job)));
    }

    fn push(self: &Arc<Self>, address: IpAddr, push: impl FnOnce(&mut NetworkQueue)) {
        let mut state = self.state.lock();
        if state.stopping {
            return;
        }
        state.change(network_of(address), self.max_per_network, push);
        self.start_thread(&mut state);
        let idle_thread = state.wake_one();
        drop(state);
        if let Some(idle_thread) = idle_thread {
            idle_thread.notify_one();
        }
    }

    /// Returns whether a job waits that needs the thread of the calling job, which is of a client at `address`.
    pub(crate) fn is_needed(&self, address: IpAddr) -> bool {
        let state = self.state.lock();
        let is_full = state.ready > 0 && state.running() >= self.limits.max;
        is_full
            || state
                .queues
                .get(&network_of(address))
                .is_some_and(|queue| queue.len() > 0)
    }

    /// Marks the calling thread, which runs a job of a client at `address`, as one that waits for its peer: another may run
    /// meanwhile. Returns `None` if too many threads wait for peers of this network already.
    pub(crate) fn block(self: &Arc<Self>, address: IpAddr) -> Option<BlockedGuard> {
        let share = self.blocked.take(Some(address), 1)?;
        let network = network_of(address);
        let mut state = self.state.lock();
        state.blocked += 1;
        state.change(network, self.max_per_network, |queue| {
            queue.running = queue.running.saturating_sub(1)
        });
        if !state.stopping {
            self.start_thread(&mut state);
        }
        let idle_thread = state.wake_one();
        drop(state);
        if let Some(idle_thread) = idle_thread {
            idle_thread.notify_one();
        }
        Some(BlockedGuard {
            pool: self.clone(),
            network,
            _share: share,
        })
    }

    /// Returns how a thread that runs a job of a client at `address` waits for the processes of hooks: it does not count meanwhile,
    /// since a hook may be a client of this server.
    pub(crate) fn hook_waiting(self: &Arc<Self>, address: IpAddr) -> HookWait {
        let pool = Arc::downgrade(self);
        HookWait::within(move |wait| {
            let _blocked = pool.upgrade().and_then(|pool| pool.block(address));
            wait();
        })
    }

    /// As [`ThreadPool::block`]. Where too many threads wait already, the thread runs `wait_briefly`, still counted, and tries again:
    /// most peers are only slow. Returns `None` if too many wait then as well.
    pub(crate) fn block_or<T>(
        self: &Arc<Self>,
        address: IpAddr,
        wait_briefly: impl FnOnce() -> Option<T>,
    ) -> Option<BlockOutcome<T>> {
        if let Some(blocked) = self.block(address) {
            return Some(BlockOutcome::Blocked(blocked));
        }
        match wait_briefly() {
            Some(done) => Some(BlockOutcome::Done(done)),
            None => self.block(address).map(BlockOutcome::Blocked),
        }
    }

    /// Returns how many threads there are, and how many of them wait for their peers.
    pub(crate) fn count(&self) -> (usize, usize) {
        let state = self.state.lock();
        (state.threads, state.blocked)
    }

    /// Starts a thread if there is a job for one.
    fn start_thread(self: &Arc<Self>, state: &mut PoolState) {
        let enough = state.idle.len() + state.woken + state.starting >= state.ready;
        if enough || state.running() >= self.limits.max {
            return;
        }
        state.threads += 1;
        state.starting += 1;
        let pool = self.clone();
        let thread = thread::Builder::new()
            .name(self.name.to_owned())
            .stack_size(STACK);
        if thread.spawn(move || pool.run()).is_err() {
            // A running thread takes the job later. Without any, the jobs are dropped and their connections close.
            state.threads -= 1;
            state.starting -= 1;
            if state.threads == 0 {
                state.clear();
            }
        }
    }

    /// Drops the jobs that no thread has taken, and waits at most `grace` until those that run have ended.
    pub(crate) fn stop(&self, grace: Duration) {
        let mut state = self.state.lock();
        state.stopping = true;
        state.clear();
        for idle_thread in std::mem::take(&mut state.idle) {
            state.woken += 1;
            idle_thread.notify_one();
        }
        let end = Instant::now() + grace;
        while state.threads > 0 {
            if self.ended.wait_until(&mut state, end).timed_out() {
                return;
            }
        }
    }

    fn run(&self) {
        let wakeup = Arc::new(Condvar::new());
        let mut is_new = true;
        while let Some((network, job)) = self.next(&wakeup, std::mem::take(&mut is_new)) {
            job();
            let mut state = self.state.lock();
            state.change(network, self.max_per_network, |queue| {
                queue.running = queue.running.saturating_sub(1)
            });
        }
        let mut state = self.state.lock();
        state.threads -= 1;
        if state.threads == 0 {
            self.ended.notify_all();
        }
    }

    fn next(&self, wakeup: &Arc<Condvar>, is_new: bool) -> Option<(IpAddr, Job)> {
        let mut state = self.state.lock();
        state.starting -= usize::from(is_new);
        loop {
            if state.stopping {
                return None;
            }
            // Threads that waited for their peers run again, so this one is not needed.
            if state.running() > self.limits.max {
                if let Some(idle_thread) = state.wake_one() {
                    idle_thread.notify_one();
                }
                return None;
            }
            if let Some(next) = state.take(self.max_per_network) {
                return Some(next);
            }
            state.idle.push(wakeup.clone());
            let waited = wakeup.wait_for(&mut state, LEAVE_AFTER);
            match state.idle.iter().position(|other| Arc::ptr_eq(other, wakeup)) {
                Some(at) => _ = state.idle.remove(at),
                // The waking thread has removed it.
                None => state.woken -= 1,
            }
            if waited.timed_out() && state.ready == 0 && state.threads > self.limits.min {
                return None;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;
    use std::sync::mpsc;

    use super::*;

    const HERE: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

    fn pool(max: usize) -> Arc<ThreadPool> {
        ThreadPool::new("test", Threads { min: 0, max }, 1)
    }

    #[test]
    fn a_thread_that_waits_for_a_client_is_replaced() {
        let pool = pool(2);
        let (done, finished) = mpsc::channel();
        let (release, held) = mpsc::channel::<()>();
        let held = Arc::new(Mutex::new(held));
        for _ in 0..20 {
            let (waiting, done, held) = (pool.clone(), done.clone(), held.clone());
            pool.submit(HERE, move || {
                let _blocked = waiting.block(HERE);
                _ = held.lock().recv();
                _ = done.send(false);
            });
        }
        let last = done.clone();
        pool.submit(HERE, move || _ = last.send(true));
        let first = finished.recv_timeout(Duration::from_secs(20));
        assert_eq!(first, Ok(true), "twenty slow clients must not stop the next");
        assert!(pool.count().1 >= 19);
        drop(release);
        for _ in 0..20 {
            assert_eq!(finished.recv_timeout(Duration::from_secs(20)), Ok(false));
        }
    }

    /// An I/O thread that waits is none of the pool's: a job must get a thread nevertheless.
    #[test]
    fn more_may_wait_than_there_are_threads() {
        let pool = pool(1);
        let waiting: Vec<_> = (0..3).map(|_| pool.block(HERE)).collect();
        assert!(waiting.iter().all(Option::is_some));
        let (done, finished) = mpsc::channel();
        pool.submit(HERE, move || _ = done.send(()));
        assert_eq!(finished.recv_timeout(Duration::from_secs(20)), Ok(()));
    }

    #[test]
    fn the_jobs_of_one_network_do_not_delay_another() {
        let pool = pool(1);
        let (done, finished) = mpsc::channel();
        let (release, held) = mpsc::channel::<()>();
        pool.submit(HERE, move || _ = held.recv());
        for number in 0..100 {
            let done = done.clone();
            pool.submit(HERE, move || _ = done.send(number));
        }
        pool.submit(IpAddr::from([127, 0, 0, 2]), move || _ = done.send(1000));
        drop(release);
        let order: Vec<i32> = finished.iter().collect();
        assert_eq!(order.len(), 101);
        assert!(
            order.iter().position(|number| *number == 1000) <= Some(1),
            "{order:?}"
        );
        assert!(order.iter().filter(|number| **number < 1000).is_sorted());
    }

    #[test]
    fn a_network_has_its_part_of_the_threads() {
        let pool = pool(1024);
        let (done, finished) = mpsc::channel();
        for _ in 0..500 {
            let (count, done) = (pool.clone(), done.clone());
            pool.submit(HERE, move || {
                thread::sleep(Duration::from_millis(1));
                _ = done.send(count.count().0);
            });
        }
        drop(done);
        let max = pool.max_per_network * 2;
        let threads: Vec<usize> = finished.iter().collect();
        assert_eq!(threads.len(), 500);
        assert!(threads.iter().all(|threads| *threads <= max), "{threads:?}");
        assert!(pool.state.lock().queues.len() <= 1);
    }

    #[test]
    fn no_more_threads_run_than_the_limit() {
        let pool = pool(3);
        let (done, finished) = mpsc::channel();
        for _ in 0..50 {
            let (counted, done) = (pool.clone(), done.clone());
            pool.submit(HERE, move || {
                thread::sleep(Duration::from_millis(2));
                _ = done.send(counted.count().0);
            });
        }
        for _ in 0..50 {
            let threads = finished.recv_timeout(Duration::from_secs(20));
            assert!(threads.expect("a job is done") <= 3);
        }
    }

    #[test]
    fn resubmitted_and_new_jobs_take_turns() {
        let pool = pool(1);
        let (done, finished) = mpsc::channel();
        let (release, held) = mpsc::channel::<()>();
        pool.submit(HERE, move || _ = held.recv());
        while pool.count().0 == 0 {
            thread::yield_now();
        }
        let report = |number: u32| {
            let done = done.clone();
            move || _ = done.send(number)
        };
        for number in 0..50 {
            pool.resubmit(HERE, report(number));
        }
        for number in 100..103 {
            pool.submit(HERE, report(number));
        }
        assert!(pool.is_needed(HERE));
        drop((release, done));
        let order: Vec<u32> = finished.iter().collect();
        assert_eq!(order.len(), 53);
        let last_new = order.iter().position(|number| *number == 102);
        assert!(last_new.is_some_and(|at| at <= 6), "{order:?}");
        assert!(order.iter().filter(|number| **number < 100).is_sorted());
        assert!(!pool.is_needed(HERE));
    }

    #[test]
    fn a_stopped_pool_has_no_threads() {
        let pool = pool(4);
        let (release, held) = mpsc::channel::<()>();
        pool.submit(HERE, move || _ = held.recv());
        pool.submit(HERE, || ());
        while pool.count().0 == 0 {
            thread::yield_now();
        }
        pool.stop(Duration::from_millis(10));
        drop(release);
        pool.stop(Duration::from_secs(20));
        assert_eq!(pool.count(), (0, 0));
        pool.submit(HERE, || panic!("it is stopped"));
        assert_eq!(pool.count(), (0, 0));
    }
}
