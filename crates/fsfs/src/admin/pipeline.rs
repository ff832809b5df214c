//! Long jobs on all cores: work in any order, results in the order of the work.
//!
//! The caller's thread hands out work and takes the results; workers are scoped threads. At most `ahead` pieces are handed
//! out and not yet taken, so a slow piece holds the others back instead of letting results pile up.
//!
//! A piece that is too large for one worker can lay parts of itself on a [`Counter`]: workers that would wait for a piece take
//! them from there.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, Ordering};

use crossbeam_channel::{Receiver, Sender, TrySendError, never, select};

/// Runs `work` on every item with `workers` threads; `take` gets the results in the order of the items and may break off.
pub(crate) fn ordered<T: Send, R: Send>(
    workers: usize,
    ahead: usize,
    items: impl IntoIterator<Item = T>,
    work: impl Fn(T) -> R + Sync,
    take: impl FnMut(R) -> ControlFlow<()>,
) {
    ordered_with(workers, ahead, items, &never::<()>(), drop, work, take);
}

/// As [`ordered`]; a worker without an item does the `parts` that others could not do alone. Whoever laid them out must
/// wait for them and take part in that: nobody else is bound to be there.
pub(crate) fn ordered_with<T: Send, R: Send, P: Send>(
    workers: usize,
    ahead: usize,
    items: impl IntoIterator<Item = T>,
    parts: &Receiver<P>,
    part: impl Fn(P) + Sync,
    work: impl Fn(T) -> R + Sync,
    mut take: impl FnMut(R) -> ControlFlow<()>,
) {
    let (to_workers, at_workers) = crossbeam_channel::unbounded::<(u64, T)>();
    let (from_workers, at_home) = crossbeam_channel::unbounded::<(u64, std::thread::Result<R>)>();
    let broken_off = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..workers.max(1) {
            let (input, output) = (at_workers.clone(), from_workers.clone());
            let (work, part, broken_off) = (&work, &part, &broken_off);
            scope.spawn(move || {
                loop {
                    let (number, item) = select! {
                        recv(input) -> item => match item {
                            Ok(item) => item,
                            Err(_) => return,
                        },
                        recv(parts) -> some => {
                            some.into_iter().for_each(part);
                            continue;
                        }
                    };
                    if broken_off.load(Ordering::Relaxed) {
                        return;
                    }
                    // The others may be idle and would not notice: whoever waits for this result must hear.
                    let result = catch_unwind(AssertUnwindSafe(|| work(item)));
                    if output.send((number, result)).is_err() {
                        return;
                    }
                }
            });
        }
        drop((at_workers, from_workers));
        // Dropped on leaving, which ends the workers.
        let to_workers = to_workers;
        let mut items = items.into_iter();
        let mut waiting: BTreeMap<u64, R> = BTreeMap::new();
        let (mut given, mut taken) = (0u64, 0u64);
        loop {
            while given - taken < ahead.max(1) as u64 {
                let Some(item) = items.next() else { break };
                if to_workers.send((given, item)).is_err() {
                    return;
                }
                given += 1;
            }
            if given == taken {
                return;
            }
            match at_home.recv() {
                Ok((number, Ok(result))) => waiting.insert(number, result),
                Ok((_, Err(panic))) => {
                    broken_off.store(true, Ordering::Relaxed);
                    resume_unwind(panic)
                }
                // A part panicked in every worker; the scope passes it on.
                Err(_) => return,
            };
            while let Some(result) = waiting.remove(&taken) {
                taken += 1;
                if take(result).is_break() {
                    // What is handed out but not begun is given up.
                    broken_off.store(true, Ordering::Relaxed);
                    return;
                }
            }
        }
    });
}

/// Where parts of large pieces wait for a worker that has nothing else to do.
pub(crate) struct Counter<P> {
    give: Sender<P>,
    parts: Receiver<P>,
}

impl<P> Counter<P> {
    /// A counter for so many workers: each finds one part that waits. A worker alone finds none.
    pub(crate) fn new(workers: usize) -> Self {
        let room = if workers > 1 { workers } else { 0 };
        let (give, parts) = crossbeam_channel::bounded(room);
        Counter { give, parts }
    }

    /// Lays a part out; gives it back if there is no room, and the caller had better do it.
    pub(crate) fn lay_out(&self, part: P) -> Option<P> {
        match self.give.try_send(part) {
            Ok(()) => None,
            Err(TrySendError::Full(part) | TrySendError::Disconnected(part)) => Some(part),
        }
    }

    /// The parts that wait. Never disconnected while the counter is there.
    pub(crate) fn parts(&self) -> &Receiver<P> {
        &self.parts
    }
}

/// Threads worth starting on this machine.
pub(crate) fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_come_in_order_whatever_the_work_takes() {
        let mut taken = Vec::new();
        ordered(
            4,
            7,
            0..100u64,
            |n| {
                std::thread::sleep(std::time::Duration::from_micros(n * 37 % 400));
                n * 2
            },
            |n| {
                taken.push(n);
                ControlFlow::Continue(())
            },
        );
        assert_eq!(taken, (0..100).map(|n| n * 2).collect::<Vec<_>>());
    }

    /// Each item lays out parts and does what nobody takes; with a panic or a lost part this would not end.
    #[test]
    fn parts_are_done_by_whoever_is_free() {
        for workers in [1, 2, 5] {
            let counter = Counter::new(workers);
            let (done, all_done) = crossbeam_channel::unbounded();
            let part = |(n, done): (u64, Sender<u64>)| done.send(n).expect("because both ends are here");
            let mut sums = Vec::new();
            ordered_with(
                workers,
                3,
                0..10u64,
                counter.parts(),
                part,
                |item| {
                    let (report, reports) = crossbeam_channel::unbounded();
                    for n in 0..item * 10 {
                        if let Some(back) = counter.lay_out((n, report.clone())) {
                            part(back);
                        }
                    }
                    let mut sum = 0;
                    for _ in 0..item * 10 {
                        sum += loop {
                            select! {
                                recv(reports) -> n => break n.expect("because we hold a sender"),
                                recv(counter.parts()) -> some => some.into_iter().for_each(part),
                            }
                        };
                    }
                    done.send(item).expect("because both ends are here");
                    sum
                },
                |sum| {
                    sums.push(sum);
                    ControlFlow::Continue(())
                },
            );
            let expected = (0..10u64).map(|item| (0..item * 10).sum::<u64>());
            assert_eq!(sums, expected.collect::<Vec<_>>());
            assert_eq!(all_done.try_iter().count(), 10);
        }
    }

    #[test]
    fn breaking_off_stops_the_rest() {
        let mut taken = 0;
        ordered(
            2,
            4,
            0..,
            |n: u64| n,
            |n| {
                taken = n;
                if n == 10 {
                    ControlFlow::Break(())
                } else {
                    ControlFlow::Continue(())
                }
            },
        );
        assert_eq!(taken, 10);
        ordered(2, 4, std::iter::empty::<u64>(), |n| n, |_| ControlFlow::Break(()));
    }

    /// One worker panics while the others have nothing to do: nobody may wait for ever.
    #[test]
    fn a_panic_ends_it_all() {
        for workers in [1, 4] {
            let run = || {
                let work = |n: u64| assert!(n != 20, "the twentieth");
                ordered(workers, 3, 0..1000u64, work, |()| ControlFlow::Continue(()));
            };
            assert!(catch_unwind(run).is_err());
        }
    }
}
