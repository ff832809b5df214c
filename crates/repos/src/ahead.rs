//! Reading ahead: what a long answer will need next is made by other threads while the answer is being sent.
//!
//! One conversation puts pieces of work in a [`Line`] and takes their results out in the same order. The process has one
//! small pool of threads for all conversations, one fewer than cores. Nobody waits for it: a piece that no thread has
//! begun when its turn comes is done by the conversation itself, and while a thread is still busy with the piece whose
//! turn it is, the conversation does a later one. So a busy pool costs nothing but the help, and a thousand clients at
//! once are a thousand threads that each do their own work.
//!
//! What was made and not yet taken is bounded in bytes, for each line and for the process. A line that is dropped takes
//! its pieces back; one that a thread is busy with ends for nothing. A piece that panics is an error of the answer.

use std::any::Any;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread;

use base::{Code, Error, Result};
use parking_lot::{Condvar, Mutex};

/// Pieces of work whose results come in order. `T` is a result.
pub(crate) struct Line<T> {
    pool: &'static Pool,
    pieces: VecDeque<Arc<Piece<T>>>,
    budget: Arc<Budget>,
}

/// The most pieces of a line that are begun before their turn.
const AHEAD: usize = 64;

/// The most bytes of a line that wait for their turn.
const LINE_BYTES: usize = 4 << 20;

/// The most bytes of all lines together.
const ALL_BYTES: usize = 64 << 20;

/// Bytes that wait in all lines.
static ALL_WAITING: AtomicUsize = AtomicUsize::new(0);

/// Pieces that wait for a thread of the pool.
const QUEUE: usize = 1024;

impl<T: Send + 'static> Line<T> {
    /// A line on the process's pool; `None` on a machine on which nothing is gained.
    pub(crate) fn new() -> Option<Self> {
        Self::on(Pool::shared()?)
    }

    fn on(pool: &'static Pool) -> Option<Self> {
        Some(Line {
            pool,
            pieces: VecDeque::new(),
            budget: Arc::default(),
        })
    }

    /// True if another piece may be put in.
    pub(crate) fn has_room(&self) -> bool {
        self.pieces.len() < AHEAD && !self.budget.is_spent()
    }

    /// Puts a piece at the end. `work` returns the result and how many bytes it takes.
    pub(crate) fn push(&mut self, work: impl FnOnce() -> (T, usize) + Send + 'static) {
        let piece = Arc::new(Piece {
            state: Mutex::new(State::Waiting(Box::new(work))),
            done: Condvar::new(),
            budget: self.budget.clone(),
        });
        self.pool.offer(piece.clone());
        self.pieces.push_back(piece);
    }

    /// The result of the first piece; `None` if there is no piece.
    ///
    /// # Errors
    /// `ASSERTION_FAIL` if the piece panicked.
    pub(crate) fn take(&mut self) -> Option<Result<T>> {
        let first = self.pieces.pop_front()?;
        loop {
            if first.run() {
                continue;
            }
            if let Some(result) = first.result() {
                return Some(result);
            }
            // A thread is busy with it: do the next one meanwhile.
            if self.budget.is_spent() || !self.pieces.iter().any(|piece| piece.run()) {
                return Some(first.wait());
            }
        }
    }
}

impl<T> Drop for Line<T> {
    fn drop(&mut self) {
        for piece in &self.pieces {
            piece.give_up();
        }
    }
}

/// Bytes of a line that wait for their turn.
#[derive(Default)]
struct Budget(AtomicUsize);

impl Budget {
    fn is_spent(&self) -> bool {
        self.0.load(Ordering::Relaxed) >= LINE_BYTES || ALL_WAITING.load(Ordering::Relaxed) >= ALL_BYTES
    }

    fn add(&self, bytes: usize) {
        self.0.fetch_add(bytes, Ordering::Relaxed);
        ALL_WAITING.fetch_add(bytes, Ordering::Relaxed);
    }

    fn give_back(&self, bytes: usize) {
        self.0.fetch_sub(bytes, Ordering::Relaxed);
        ALL_WAITING.fetch_sub(bytes, Ordering::Relaxed);
    }
}

struct Piece<T> {
    state: Mutex<State<T>>,
    done: Condvar,
    budget: Arc<Budget>,
}

enum State<T> {
    Waiting(Work<T>),
    Busy,
    /// The result, or what the panic said.
    Done(Result<T>, usize),
    /// Taken, or not wanted any more.
    Gone,
}

type Work<T> = Box<dyn FnOnce() -> (T, usize) + Send>;

impl<T> Piece<T> {
    /// Does the work, unless somebody else has begun; returns whether it did.
    fn run(&self) -> bool {
        let work = {
            let mut state = self.state.lock();
            match std::mem::replace(&mut *state, State::Busy) {
                State::Waiting(work) => work,
                other => {
                    *state = other;
                    return false;
                }
            }
        };
        let (result, bytes) = match catch_unwind(AssertUnwindSafe(work)) {
            Ok((value, bytes)) => (Ok(value), bytes),
            Err(panic) => (Err(panicked(&*panic)), 0),
        };
        let mut state = self.state.lock();
        if let State::Busy = *state {
            self.budget.add(bytes);
            *state = State::Done(result, bytes);
            self.done.notify_one();
        }
        true
    }

    /// The result, if it is there.
    fn result(&self) -> Option<Result<T>> {
        self.taken(&mut self.state.lock())
    }

    /// The result, when it is there.
    fn wait(&self) -> Result<T> {
        let mut state = self.state.lock();
        loop {
            if let Some(result) = self.taken(&mut state) {
                return result;
            }
            self.done.wait(&mut state);
        }
    }

    fn taken(&self, state: &mut State<T>) -> Option<Result<T>> {
        match std::mem::replace(state, State::Gone) {
            State::Done(result, bytes) => {
                self.budget.give_back(bytes);
                Some(result)
            }
            other => {
                *state = other;
                None
            }
        }
    }

    /// Nobody wants the result.
    fn give_up(&self) {
        let mut state = self.state.lock();
        if let State::Done(_, bytes) = std::mem::replace(&mut *state, State::Gone) {
            self.budget.give_back(bytes);
        }
    }
}

fn panicked(panic: &(dyn Any + Send)) -> Error {
    let said = panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    Error::new(
        Code::ASSERTION_FAIL,
        format!("Reading ahead failed: {}", said.unwrap_or("panic")),
    )
}

/// The threads of the process that read ahead for all.
struct Pool {
    queue: Mutex<VecDeque<Arc<dyn Job>>>,
    work: Condvar,
}

trait Job: Send + Sync {
    fn run(&self);
}

impl<T: Send> Job for Piece<T> {
    fn run(&self) {
        // Enough waits already: this one is done when its turn comes.
        if !self.budget.is_spent() {
            Piece::run(self);
        }
    }
}

impl Pool {
    /// The process's pool, with its threads; `None` with a single core, or if no thread could be started.
    fn shared() -> Option<&'static Pool> {
        static SHARED: OnceLock<Option<&'static Pool>> = OnceLock::new();
        *SHARED.get_or_init(|| {
            let cores = thread::available_parallelism().map_or(1, usize::from);
            Pool::start(cores - 1)
        })
    }

    fn start(threads: usize) -> Option<&'static Pool> {
        // It lasts as long as the process.
        let pool: &'static Pool = Box::leak(Box::new(Pool {
            queue: Mutex::default(),
            work: Condvar::new(),
        }));
        let started = (0..threads).filter(|_| {
            let thread = thread::Builder::new().name("ahead".to_owned());
            thread.spawn(|| pool.work()).is_ok()
        });
        (started.count() > 0).then_some(pool)
    }

    /// Hands out a piece, unless too many wait already: then whose it is will come to it.
    fn offer(&self, job: Arc<dyn Job>) {
        let mut queue = self.queue.lock();
        if queue.len() < QUEUE {
            queue.push_back(job);
            drop(queue);
            self.work.notify_one();
        }
    }

    fn work(&self) {
        loop {
            let job = {
                let mut queue = self.queue.lock();
                loop {
                    match queue.pop_front() {
                        Some(job) => break job,
                        None => self.work.wait(&mut queue),
                    }
                }
            };
            job.run();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicU32;
    use std::sync::mpsc;
    use std::time::Duration;

    use super::*;

    fn line<T: Send + 'static>(threads: usize) -> Line<T> {
        Pool::start(threads)
            .and_then(Line::on)
            .expect("because threads can be started")
    }

    #[test]
    fn results_come_in_order_whatever_the_work_takes() {
        let mut line = line(3);
        let (mut given, mut taken) = (0u64, 0);
        loop {
            while given < 500 && line.has_room() {
                let number = given;
                line.push(move || {
                    thread::sleep(Duration::from_micros(number * 37 % 400));
                    (number, 100)
                });
                given += 1;
            }
            match line.take() {
                Some(result) => assert_eq!(result.expect("no panic"), taken),
                None => break,
            }
            taken += 1;
        }
        assert_eq!(taken, 500);
        assert_eq!(line.budget.0.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn a_panic_is_an_error_of_its_piece_and_no_other() {
        let mut line = line(2);
        for number in 0..20 {
            line.push(move || {
                assert!(number != 7, "seven");
                (number, 1)
            });
        }
        for number in 0..20 {
            let result = line.take().expect("as many as were pushed");
            if number == 7 {
                let error = result.expect_err("it panicked");
                assert_eq!(error.code(), Code::ASSERTION_FAIL);
                assert!(error.message().contains("seven"), "{}", error.message());
            } else {
                assert_eq!(result.expect("no panic"), number);
            }
        }
        assert!(line.take().is_none());
    }

    /// The only thread of the pool is held: the caller does everything itself.
    #[test]
    fn nobody_waits_for_a_busy_pool() {
        let pool = Pool::start(1).expect("because a thread can be started");
        let (let_go, held) = mpsc::channel::<()>();
        let mut other = Line::on(pool).expect("on this pool");
        other.push(move || (held.recv().is_ok(), 1));
        while !pool.queue.lock().is_empty() {
            thread::yield_now();
        }
        let mut line = Line::on(pool).expect("on this pool");
        for number in 0..50 {
            line.push(move || (number, 1));
        }
        for number in 0..50 {
            assert_eq!(line.take().expect("it is there").expect("no panic"), number);
        }
        let_go.send(()).expect("because it waits");
        assert!(other.take().expect("it is there").expect("no panic"));
    }

    #[test]
    fn what_is_not_wanted_any_more_is_not_done() {
        let pool = Pool::start(1).expect("because a thread can be started");
        let (let_go, held) = mpsc::channel::<()>();
        let done = Arc::new(AtomicU32::new(0));
        let mut line = Line::on(pool).expect("on this pool");
        line.push(move || (held.recv().is_ok(), 1));
        for _ in 0..10 {
            let done = done.clone();
            line.push(move || (done.fetch_add(1, Ordering::Relaxed) == 0, 1));
        }
        let budget = line.budget.clone();
        drop(line);
        drop(let_go);
        let mut last = Line::on(pool).expect("on this pool");
        last.push(|| ((), 1));
        while !pool.queue.lock().is_empty() {
            thread::yield_now();
        }
        last.take().expect("it is there").expect("no panic");
        assert_eq!(done.load(Ordering::Relaxed), 0);
        assert_eq!(budget.0.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn bytes_that_wait_are_bounded() {
        let mut line = line(2);
        let (mut pushed, mut taken) = (0, 0);
        while line.has_room() {
            line.push(|| ((), LINE_BYTES / 4));
            pushed += 1;
            thread::sleep(Duration::from_millis(1));
        }
        assert!(pushed < AHEAD);
        while let Some(result) = line.take() {
            result.expect("no panic");
            taken += 1;
        }
        assert_eq!(taken, pushed);
        assert!(line.has_room());
    }
}
