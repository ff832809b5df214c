//! Threads that answer requests.
//!
//! A request is a job; a thread takes one and does it to its end. Threads are started when there is something to do and nobody
//! idle, and leave after a while. A thread that waits for its client steps aside: it does not count among the most that there
//! may be until the client moves on, so clients that read or write slowly keep nobody else from being served.
//!
//! The queue has no bound of its own: a connection has one request at a time, and connections are bounded. Addresses take turns
//! in it, and each has a part of the threads: a thousand requests from one address do not keep the first of another waiting.

use std::collections::{HashMap, VecDeque};
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use parking_lot::{Condvar, Mutex};

use crate::shares::{Share, Shares};

/// Something to do.
type Job = Box<dyn FnOnce() + Send>;

/// How long a thread with nothing to do stays.
const LEAVE_AFTER: Duration = Duration::from_secs(5);
/// Requests need little stack; only what is touched takes memory.
const STACK: usize = 1 << 20;
/// Most threads that may wait for their clients beside those that work.
const AWAY: usize = 8192;
/// Most of them that wait for clients of one address.
const AWAY_EACH: u64 = AWAY as u64 / 8;

/// The threads of a server's requests.
pub(crate) struct Crew {
    /// How many may be at work.
    most: usize,
    /// How many of them for one address.
    most_each: usize,
    state: Mutex<State>,
    /// Threads that wait for their clients.
    waiting: Arc<Shares>,
    /// How many connections may answer on their own threads at the same time.
    most_prompt: usize,
    prompt: AtomicUsize,
}

/// The right to answer a request without a thread of the crew, until it is dropped.
#[must_use]
pub(crate) struct Permit<'a>(&'a AtomicUsize);

impl Drop for Permit<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The requests of one address.
#[derive(Default)]
struct Lane {
    jobs: VecDeque<Job>,
    /// Threads that do such a job and do not wait for their clients.
    working: usize,
    /// It stands in [`State::order`].
    is_listed: bool,
}

impl Lane {
    /// How many jobs may be begun now.
    fn ready(&self, most: usize) -> usize {
        self.jobs.len().min(most.saturating_sub(self.working))
    }
}

#[derive(Default)]
struct State {
    lanes: HashMap<IpAddr, Lane>,
    /// The addresses with jobs that may be begun, in turn.
    order: VecDeque<IpAddr>,
    /// How many jobs may be begun now.
    ready: usize,
    threads: usize,
    /// Those that have nothing to do, by what they sleep on. The last to have worked is woken first: its memory is warm, and
    /// few clients touch the memory of few threads.
    idle: Vec<Arc<Condvar>>,
    /// Those that were woken and have not come yet.
    called: usize,
    /// Those that were started and have not come yet.
    starting: usize,
    away: usize,
}

impl State {
    /// Changes an address's lane.
    fn change(&mut self, address: IpAddr, most: usize, change: impl FnOnce(&mut Lane)) {
        let lane = self.lanes.entry(address).or_default();
        let before = lane.ready(most);
        change(lane);
        let after = lane.ready(most);
        self.ready = self.ready - before + after;
        if after > 0 && !lane.is_listed {
            lane.is_listed = true;
            self.order.push_back(address);
        }
        if lane.jobs.is_empty() && lane.working == 0 && !lane.is_listed {
            self.lanes.remove(&address);
        }
    }

    /// Takes the next job.
    fn take(&mut self, most: usize) -> Option<(IpAddr, Job)> {
        while let Some(address) = self.order.pop_front() {
            let mut job = None;
            self.change(address, most, |lane| {
                lane.is_listed = false;
                if lane.ready(most) > 0 {
                    job = lane.jobs.pop_front();
                    lane.working += 1;
                }
            });
            if let Some(job) = job {
                return Some((address, job));
            }
        }
        None
    }

    /// A thread that sleeps, to be woken if there is something to do for it.
    fn call(&mut self) -> Option<Arc<Condvar>> {
        if self.ready <= self.called {
            return None;
        }
        let sleeper = self.idle.pop()?;
        self.called += 1;
        Some(sleeper)
    }

    fn at_work(&self) -> usize {
        self.threads - self.away.min(AWAY)
    }
}

/// A thread that waits for its client; dropped, it is at work again.
#[must_use]
pub(crate) struct Aside<'a> {
    crew: &'a Crew,
    address: IpAddr,
    _share: Share,
}

impl Drop for Aside<'_> {
    fn drop(&mut self) {
        let mut state = self.crew.state.lock();
        state.away -= 1;
        state.change(self.address, self.crew.most_each, |lane| lane.working += 1);
    }
}

impl Crew {
    /// At most `most` threads work; `most_prompt` connections may answer by themselves meanwhile.
    pub(crate) fn new(most: usize, most_prompt: usize) -> Arc<Crew> {
        let cores = thread::available_parallelism().map_or(2, usize::from);
        Arc::new(Crew {
            most: most.max(1),
            most_each: (most / 16).max(cores * 8),
            state: Mutex::default(),
            waiting: Shares::new(u64::MAX, AWAY_EACH),
            most_prompt,
            prompt: AtomicUsize::new(0),
        })
    }

    /// The right to answer on the connection's own thread. Should those who have it be held up by their disks, there is none
    /// left, and everything goes on as if there were no such thing.
    pub(crate) fn permit(&self) -> Option<Permit<'_>> {
        let permit = Permit(&self.prompt);
        (self.prompt.fetch_add(1, Ordering::Relaxed) < self.most_prompt).then_some(permit)
    }

    /// Has `job` of a client at `address` done, now or when a thread is free. A job must not panic.
    pub(crate) fn submit(self: &Arc<Self>, address: IpAddr, job: impl FnOnce() + Send + 'static) {
        let mut state = self.state.lock();
        state.change(address, self.most_each, |lane| lane.jobs.push_back(Box::new(job)));
        self.hire(&mut state);
        let sleeper = state.call();
        drop(state);
        if let Some(sleeper) = sleeper {
            sleeper.notify_one();
        }
    }

    /// The calling thread will wait for its client: another may work meanwhile. `None` if too many wait for clients of this
    /// address already.
    pub(crate) fn step_aside(self: &Arc<Self>, address: IpAddr) -> Option<Aside<'_>> {
        let share = self.waiting.take(Some(address), 1)?;
        let mut state = self.state.lock();
        state.away += 1;
        state.change(address, self.most_each, |lane| {
            lane.working = lane.working.saturating_sub(1)
        });
        self.hire(&mut state);
        if let Some(sleeper) = state.call() {
            sleeper.notify_one();
        }
        drop(state);
        Some(Aside {
            crew: self,
            address,
            _share: share,
        })
    }

    /// How many threads there are, and how many of them wait for clients.
    pub(crate) fn count(&self) -> (usize, usize) {
        let state = self.state.lock();
        (state.threads, state.away)
    }

    /// Starts a thread if there is something to do for one.
    fn hire(self: &Arc<Self>, state: &mut State) {
        if state.idle.len() + state.called + state.starting >= state.ready || state.at_work() >= self.most {
            return;
        }
        state.threads += 1;
        state.starting += 1;
        let crew = self.clone();
        let thread = thread::Builder::new().name("http".to_owned()).stack_size(STACK);
        if thread.spawn(move || crew.serve()).is_err() {
            // Those that run will come to it. If there is none the client is cut off.
            state.threads -= 1;
            state.starting -= 1;
            if state.threads == 0 {
                (state.ready, state.lanes) = (0, HashMap::new());
                state.order.clear();
            }
        }
    }

    fn serve(&self) {
        let bed = Arc::new(Condvar::new());
        let mut is_new = true;
        while let Some((address, job)) = self.next(&bed, std::mem::take(&mut is_new)) {
            job();
            let mut state = self.state.lock();
            state.change(address, self.most_each, |lane| {
                lane.working = lane.working.saturating_sub(1)
            });
        }
        self.state.lock().threads -= 1;
    }

    fn next(&self, bed: &Arc<Condvar>, is_new: bool) -> Option<(IpAddr, Job)> {
        let mut state = self.state.lock();
        state.starting -= usize::from(is_new);
        loop {
            // Those who waited for their clients are back: there are enough without this one.
            if state.at_work() > self.most {
                if let Some(sleeper) = state.call() {
                    sleeper.notify_one();
                }
                return None;
            }
            if let Some(next) = state.take(self.most_each) {
                return Some(next);
            }
            state.idle.push(bed.clone());
            let waited = bed.wait_for(&mut state, LEAVE_AFTER);
            match state.idle.iter().position(|other| Arc::ptr_eq(other, bed)) {
                Some(at) => _ = state.idle.remove(at),
                // Who calls takes off the list.
                None => state.called -= 1,
            }
            if waited.timed_out() && state.ready == 0 {
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

    #[test]
    fn who_waits_for_a_client_is_replaced() {
        let crew = Crew::new(2, 1);
        let (done, finished) = mpsc::channel();
        let (release, held) = mpsc::channel::<()>();
        let held = Arc::new(Mutex::new(held));
        for _ in 0..20 {
            let (waiting, done, held) = (crew.clone(), done.clone(), held.clone());
            crew.submit(HERE, move || {
                let _aside = waiting.step_aside(HERE);
                _ = held.lock().recv();
                _ = done.send(false);
            });
        }
        let last = done.clone();
        crew.submit(HERE, move || _ = last.send(true));
        let first = finished.recv_timeout(Duration::from_secs(20));
        assert_eq!(first, Ok(true), "twenty slow clients must not stop the next");
        assert!(crew.count().1 >= 19);
        drop(release);
        for _ in 0..20 {
            assert_eq!(finished.recv_timeout(Duration::from_secs(20)), Ok(false));
        }
    }

    #[test]
    fn the_requests_of_one_address_do_not_stand_before_another() {
        let crew = Crew::new(1, 1);
        let (done, finished) = mpsc::channel();
        let (release, held) = mpsc::channel::<()>();
        crew.submit(HERE, move || _ = held.recv());
        for number in 0..100 {
            let done = done.clone();
            crew.submit(HERE, move || _ = done.send(number));
        }
        crew.submit(IpAddr::from([127, 0, 0, 2]), move || _ = done.send(1000));
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
    fn an_address_has_its_part_of_the_threads() {
        let crew = Crew::new(1024, 1);
        let (done, finished) = mpsc::channel();
        for _ in 0..500 {
            let (count, done) = (crew.clone(), done.clone());
            crew.submit(HERE, move || {
                thread::sleep(Duration::from_millis(1));
                _ = done.send(count.count().0);
            });
        }
        drop(done);
        let most = crew.most_each * 2;
        let threads: Vec<usize> = finished.iter().collect();
        assert_eq!(threads.len(), 500);
        assert!(threads.iter().all(|threads| *threads <= most), "{threads:?}");
        assert!(crew.state.lock().lanes.len() <= 1);
    }

    #[test]
    fn no_more_threads_than_may_work() {
        let crew = Crew::new(3, 1);
        let (done, finished) = mpsc::channel();
        for _ in 0..50 {
            let (crew_of_it, done) = (crew.clone(), done.clone());
            crew.submit(HERE, move || {
                thread::sleep(Duration::from_millis(2));
                _ = done.send(crew_of_it.count().0);
            });
        }
        for _ in 0..50 {
            let threads = finished.recv_timeout(Duration::from_secs(20));
            assert!(threads.expect("a job is done") <= 3);
        }
    }
}
