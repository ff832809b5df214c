//! Counters that many threads increment, and the counters of the cache and of delta windows.
//!
//! A counter is several numbers, each in its own cache line. A thread increments one of them; a reader adds them up.
//! So counting costs a hot look-up nothing measurable.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// The numbers of a counter: threads up to this many do not share a cache line.
const PARTS: usize = 16;

/// A number that only grows.
#[derive(Default)]
pub(crate) struct Counter([PaddedCounter; PARTS]);

#[derive(Default)]
#[repr(align(64))]
struct PaddedCounter(AtomicU64);

impl Counter {
    /// Adds one.
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

/// The counters of a cache.
#[derive(Default)]
pub(crate) struct Counters {
    pub(crate) hits: Counter,
    pub(crate) misses: Counter,
    pub(crate) waits: Counter,
    pub(crate) stored_windows: Counter,
    pub(crate) cached_windows: Counter,
    pub(crate) made_windows: Counter,
    pub(crate) index_steps: Counter,
    pub(crate) index_misses: Counter,
}

/// The values of the counters since the process began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CacheCounts {
    /// Look-ups that found the value in the cache.
    pub hits: u64,
    /// Look-ups that loaded the value.
    pub misses: u64,
    /// Look-ups that waited for another thread to load the value.
    pub waits: u64,
    /// Delta windows that were sent as they are stored.
    pub stored_windows: u64,
    /// Delta windows that were sent from the cache.
    pub cached_windows: u64,
    /// Delta windows that were made for the request.
    pub made_windows: u64,
    /// Steps of histories that the history index answered.
    pub index_steps: u64,
    /// Node-revisions that were looked up in a history index in vain.
    pub index_misses: u64,
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
            index_steps: self.index_steps.sum(),
            index_misses: self.index_misses.sum(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn increments_of_all_threads_are_counted() {
        let counter = Counter::default();
        std::thread::scope(|scope| {
            for _ in 0..40 {
                scope.spawn(|| (0..100).for_each(|_| counter.add()));
            }
        });
        assert_eq!(counter.sum(), 4000);
    }
}
