//! An ordered pipeline: several threads make pieces, one takes them in order.
//!
//! Pieces are numbered. A worker takes the next number whenever the pieces that wait to be consumed are within the budget,
//! so memory is bounded however slow the consumer is; the piece that the consumer waits for is always worked on, so
//! nobody waits for ever. If the consumer fails, the workers stop after their current piece.

use std::collections::VecDeque;
use std::thread;

use parking_lot::{Condvar, Mutex};

/// Makes the pieces `0..count` by `work` on `threads` threads and hands each to `consume`, in order.
///
/// `size` says what a piece costs while it waits; `budget` is how much may wait altogether.
pub(super) fn run<T: Send, E>(
    count: u64,
    threads: usize,
    budget: usize,
    work: impl Fn(u64) -> T + Sync,
    size: impl Fn(&T) -> usize + Sync,
    mut consume: impl FnMut(u64, T) -> Result<(), E>,
) -> Result<(), E> {
    let line = Line {
        state: Mutex::new(State {
            next: 0,
            first: 0,
            waiting: VecDeque::new(),
            cost: 0,
            stopped: false,
        }),
        room: Condvar::new(),
        ready: Condvar::new(),
        count,
        budget,
    };
    thread::scope(|scope| {
        // However this ends, the workers must be told, or the scope would wait for them.
        let _stop = Stop(&line);
        for _ in 0..threads.max(1) {
            scope.spawn(|| {
                let _stop = StopOnPanic(&line);
                line.work(&work, &size);
            });
        }
        for number in 0..count {
            let Some(piece) = line.take(&size) else {
                // A worker panicked; the scope passes the panic on.
                break;
            };
            consume(number, piece)?;
        }
        Ok(())
    })
}

struct Line<T> {
    state: Mutex<State<T>>,
    /// Signalled when there may be room for another piece.
    room: Condvar,
    /// Signalled when the first piece is there.
    ready: Condvar,
    count: u64,
    budget: usize,
}

struct State<T> {
    /// The next number to work on.
    next: u64,
    /// The number that the consumer wants.
    first: u64,
    /// Pieces from `first` on, as far as they are taken up.
    waiting: VecDeque<Option<T>>,
    /// Size of the pieces that are done.
    cost: usize,
    stopped: bool,
}

impl<T> Line<T> {
    fn work(&self, work: &impl Fn(u64) -> T, size: &impl Fn(&T) -> usize) {
        loop {
            let number = {
                let mut state = self.state.lock();
                loop {
                    if state.stopped || state.next == self.count {
                        return;
                    }
                    let ahead = state.next - state.first;
                    if ahead == 0 || ahead < FARTHEST && state.cost < self.budget {
                        break;
                    }
                    self.room.wait(&mut state);
                }
                state.next += 1;
                state.waiting.push_back(None);
                state.next - 1
            };
            let piece = work(number);
            let cost = size(&piece);
            let mut state = self.state.lock();
            state.cost += cost;
            let at = number - state.first;
            if let Some(slot) = usize::try_from(at).ok().and_then(|at| state.waiting.get_mut(at)) {
                *slot = Some(piece);
            }
            if at == 0 {
                self.ready.notify_one();
            }
        }
    }

    /// Waits for the next piece; `None` if there will be none.
    fn take(&self, size: &impl Fn(&T) -> usize) -> Option<T> {
        let mut state = self.state.lock();
        loop {
            if let Some(Some(_)) = state.waiting.front() {
                let piece = state.waiting.pop_front().flatten()?;
                state.first += 1;
                state.cost -= size(&piece);
                self.room.notify_all();
                return Some(piece);
            }
            if state.stopped {
                return None;
            }
            self.ready.wait(&mut state);
        }
    }

    fn stop(&self) {
        self.state.lock().stopped = true;
        self.room.notify_all();
        self.ready.notify_all();
    }
}

struct Stop<'l, T>(&'l Line<T>);

impl<T> Drop for Stop<'_, T> {
    fn drop(&mut self) {
        self.0.stop();
    }
}

struct StopOnPanic<'l, T>(&'l Line<T>);

impl<T> Drop for StopOnPanic<'_, T> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.stop();
        }
    }
}

/// How many pieces the workers may be ahead: cheap pieces must not pile up by number either.
const FARTHEST: u64 = 4096;

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[test]
    fn order_is_kept_whatever_the_pieces_take() {
        let work = |n: u64| {
            if n.is_multiple_of(7) {
                thread::yield_now();
            }
            vec![0u8; (n % 13) as usize * 100]
        };
        let mut seen = Vec::new();
        let result: Result<(), ()> = run(500, 4, 2000, work, Vec::len, |n, piece| {
            assert_eq!(piece.len(), (n % 13) as usize * 100);
            seen.push(n);
            Ok(())
        });
        assert_eq!(result, Ok(()));
        assert!(seen.iter().copied().eq(0..500));
    }

    #[test]
    fn workers_stay_within_the_budget() {
        let (made, taken) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let work = |_| {
            let ahead = made.fetch_add(1, Ordering::SeqCst) - taken.load(Ordering::SeqCst);
            assert!(ahead <= 10 + 3 + 1, "{ahead} pieces ahead");
        };
        let result: Result<(), ()> = run(
            200,
            3,
            10,
            work,
            |()| 1,
            |_, ()| {
                taken.fetch_add(1, Ordering::SeqCst);
                thread::yield_now();
                Ok(())
            },
        );
        assert_eq!(result, Ok(()));
    }

    #[test]
    fn a_failing_consumer_stops_the_workers() {
        let made = AtomicUsize::new(0);
        let work = |_| {
            made.fetch_add(1, Ordering::SeqCst);
        };
        let consume = |n, ()| if n == 3 { Err("full") } else { Ok(()) };
        assert_eq!(run(1_000_000, 2, 100, work, |()| 1, consume), Err("full"));
        assert!(made.load(Ordering::SeqCst) < 1000);
    }

    /// With a worker that waits for room, one that is busy, and a consumer that waits: none may wait for ever.
    #[test]
    fn a_panic_ends_it_all() {
        for threads in [1, 3] {
            let work = |n: u64| assert!(n != 20, "the twentieth");
            let run = || run(1000, threads, 5, work, |()| 1, |_, ()| Ok::<(), ()>(()));
            let panic = std::panic::catch_unwind(run).expect_err("the worker's");
            drop(panic);
        }
    }
}
