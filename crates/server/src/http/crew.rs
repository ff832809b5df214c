//! Threads that answer requests.
//!
//! A request is a job; a thread takes one and does it to its end. Threads are started when there is something to do and nobody
//! idle, and leave after a while. A thread that waits for its client steps aside: it does not count among the most that there
//! may be until the client moves on, so clients that read or write slowly keep nobody else from being served.
//!
//! The queue has no bound of its own: a connection has one request at a time, and connections are bounded.

use std::collections::VecDeque;
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
const AWAY_EACH: u64 = AWAY as u64 / 4;

/// The threads of a server's requests.
pub(crate) struct Crew {
    /// How many may be at work.
    most: usize,
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

#[derive(Default)]
struct State {
    queue: VecDeque<Job>,
    threads: usize,
    /// Those that have nothing to do, by what they sleep on. The last to have worked is woken first: its memory is warm, and
    /// few clients touch the memory of few threads.
    idle: Vec<Arc<Condvar>>,
    /// Those that were woken and have not come yet.
    called: usize,
    away: usize,
}

impl State {
    fn at_work(&self) -> usize {
        self.threads - self.away.min(AWAY)
    }
}

/// A thread that waits for its client; dropped, it is at work again.
#[must_use]
pub(crate) struct Aside<'a> {
    crew: &'a Crew,
    _share: Share,
}

impl Drop for Aside<'_> {
    fn drop(&mut self) {
        self.crew.state.lock().away -= 1;
    }
}

impl Crew {
    /// At most `most` threads work; `most_prompt` connections may answer by themselves meanwhile.
    pub(crate) fn new(most: usize, most_prompt: usize) -> Arc<Crew> {
        Arc::new(Crew {
            most: most.max(1),
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

    /// Has `job` done, now or when a thread is free. A job must not panic.
    pub(crate) fn submit(self: &Arc<Self>, job: impl FnOnce() + Send + 'static) {
        let mut state = self.state.lock();
        state.queue.push_back(Box::new(job));
        self.hire(&mut state);
        let sleeper = state.idle.pop();
        state.called += usize::from(sleeper.is_some());
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
        self.hire(&mut state);
        Some(Aside {
            crew: self,
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
        if state.idle.len() + state.called >= state.queue.len() || state.at_work() >= self.most {
            return;
        }
        state.threads += 1;
        let crew = self.clone();
        let thread = thread::Builder::new().name("http".to_owned()).stack_size(STACK);
        if thread.spawn(move || crew.serve()).is_err() {
            // Those that run will come to it. If there is none the client is cut off.
            state.threads -= 1;
            if state.threads == 0 {
                state.queue.clear();
            }
        }
    }

    fn serve(&self) {
        let bed = Arc::new(Condvar::new());
        while let Some(job) = self.next(&bed) {
            job();
        }
        self.state.lock().threads -= 1;
    }

    fn next(&self, bed: &Arc<Condvar>) -> Option<Job> {
        let mut state = self.state.lock();
        loop {
            // Those who waited for their clients are back: there are enough without this one.
            if state.at_work() > self.most {
                return None;
            }
            if let Some(job) = state.queue.pop_front() {
                return Some(job);
            }
            state.idle.push(bed.clone());
            let waited = bed.wait_for(&mut state, LEAVE_AFTER);
            match state.idle.iter().position(|other| Arc::ptr_eq(other, bed)) {
                Some(at) => _ = state.idle.remove(at),
                // Who calls takes off the list.
                None => state.called -= 1,
            }
            if waited.timed_out() && state.queue.is_empty() {
                return None;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    #[test]
    fn who_waits_for_a_client_is_replaced() {
        let crew = Crew::new(2, 1);
        let (done, finished) = mpsc::channel();
        let (release, held) = mpsc::channel::<()>();
        let held = Arc::new(Mutex::new(held));
        for _ in 0..20 {
            let (waiting, done, held) = (crew.clone(), done.clone(), held.clone());
            crew.submit(move || {
                let _aside = waiting.step_aside(IpAddr::from([127, 0, 0, 1]));
                _ = held.lock().recv();
                _ = done.send(false);
            });
        }
        let last = done.clone();
        crew.submit(move || _ = last.send(true));
        let first = finished.recv_timeout(Duration::from_secs(20));
        assert_eq!(first, Ok(true), "twenty slow clients must not stop the next");
        assert!(crew.count().1 >= 19);
        drop(release);
        for _ in 0..20 {
            assert_eq!(finished.recv_timeout(Duration::from_secs(20)), Ok(false));
        }
    }

    #[test]
    fn no_more_threads_than_may_work() {
        let crew = Crew::new(3, 1);
        let (done, finished) = mpsc::channel();
        for _ in 0..50 {
            let (crew_of_it, done) = (crew.clone(), done.clone());
            crew.submit(move || {
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
