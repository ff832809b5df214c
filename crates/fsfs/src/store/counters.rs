//! Counters for many threads, and what the cache and the deltas count with them.
//!
//! A counter is a handful of numbers, each in a cache line of its own; a thread adds to one of them, whoever asks adds them
//! up. So counting costs a hot look-up nothing that can be measured.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// How many threads can count at once without getting into each other's way.
const PARTS: usize = 16;

/// A number that only grows.
#[derive(Default)]
pub(crate) struct Counter([PaddedCounter; PARTS]);

#[derive(Default)]
#[repr(align(64))]
struct PaddedCounter(AtomicU64);

impl Counter {
    /// One more.
    pub(crate) fn add(&self) {
        thread_local! {
            static MINE: usize = {
                static NEXT: AtomicUsize = AtomicUsize::new(0);
                NEXT.fetch_add(1, Ordering::Relaxed) % PARTS
            };
        }
        let mine = MINE.with(|mine| *mine);
        self.0[mine].0.fetch_add(1, Ordering::Relaxed);
    }

    fn sum(&self) -> u64 {
        self.0.iter().map(|stripe| stripe.0.load(Ordering::Relaxed)).sum()
    }
}

/// What is counted beside a cache.
#[derive(Default)]
pub(crate) struct Counters {
    pub(crate) hits: Counter,
    pub(crate) misses: Counter,
    pub(crate) waits: Counter,
    pub(crate) stored_windows: Counter,
    pub(crate) cached_windows: Counter,
    pub(crate) made_windows: Counter,
}

/// What a process has counted since it began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CacheCounts {
    /// Values that were there.
    pub hits: u64,
    /// Values that had to be loaded.
    pub misses: u64,
    /// Values that somebody else was loading.
    pub waits: u64,
    /// Windows of deltas that were passed on as they are stored.
    pub stored_windows: u64,
    /// Windows of deltas that were passed on as the cache had them.
    pub cached_windows: u64,
    /// Windows of deltas that were made for whoever asked.
    pub made_windows: u64,
}

impl Counters {
    pub(crate) fn sums(&self) -> CacheCounts {
        CacheCounts {
            hits: self.hits.sum(),
            misses: self.misses.sum(),
            waits: self.waits.sum(),
            stored_windows: self.stored_windows.sum(),
            cached_windows: self.cached_windows.sum(),
            made_windows: self.made_windows.sum(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_threads_count() {
        let counter = Counter::default();
        std::thread::scope(|scope| {
            for _ in 0..40 {
                scope.spawn(|| (0..100).for_each(|_| counter.add()));
            }
        });
        assert_eq!(counter.sum(), 4000);
    }
}
