//! Long jobs on all cores: work in any order, results in the order of the work.
//!
//! The caller's thread hands out work and takes the results; workers are scoped threads. At most `ahead` pieces are handed
//! out and not yet taken, so a slow piece holds the others back instead of letting results pile up.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};

/// Runs `work` on every item with `workers` threads; `take` gets the results in the order of the items and may break off.
pub(crate) fn ordered<T: Send, R: Send>(
    workers: usize,
    ahead: usize,
    items: impl IntoIterator<Item = T>,
    work: impl Fn(T) -> R + Sync,
    mut take: impl FnMut(R) -> ControlFlow<()>,
) {
    let (to_workers, at_workers) = crossbeam_channel::unbounded::<(u64, T)>();
    let (from_workers, at_home) = crossbeam_channel::unbounded::<(u64, R)>();
    let broken_off = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..workers.max(1) {
            let (input, output) = (at_workers.clone(), from_workers.clone());
            let (work, broken_off) = (&work, &broken_off);
            scope.spawn(move || {
                for (number, item) in input {
                    if broken_off.load(Ordering::Relaxed) || output.send((number, work(item))).is_err() {
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
                Ok((number, result)) => waiting.insert(number, result),
                // A worker panicked; the scope passes it on.
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
}
