//! The numbers of the items of a transaction (logical addressing).
//!
//! In FSFS only representations and the items that the commit writes have numbers. In FSX node-revisions have them as soon as
//! they are made, also while a text is being written.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The next number. Clones share one counter.
#[derive(Clone, Debug)]
pub(crate) struct ItemNumbers(Arc<AtomicU64>);

impl ItemNumbers {
    /// Starts at `next`.
    pub(crate) fn starting_at(next: u64) -> Self {
        ItemNumbers(Arc::new(AtomicU64::new(next)))
    }

    /// Returns the next number, without taking it.
    pub(crate) fn next(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    /// Takes the next number.
    pub(crate) fn take(&self) -> u64 {
        self.0.fetch_add(1, Ordering::Relaxed)
    }

    /// Gives unused numbers back, unless others were taken after them.
    pub(crate) fn give_back(&self, numbers: Range<u64>) {
        let (end, start) = (numbers.end, numbers.start);
        // If others were taken, the numbers stay unused, which is allowed.
        _ = self
            .0
            .compare_exchange(end, start, Ordering::Relaxed, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_last_numbers_are_given_back() {
        let numbers = ItemNumbers::starting_at(3);
        let clone = numbers.clone();
        assert_eq!([numbers.take(), clone.take(), numbers.next()], [3, 4, 5]);
        numbers.give_back(3..4);
        assert_eq!(clone.next(), 5);
        numbers.give_back(3..5);
        assert_eq!(clone.take(), 3);
    }
}
