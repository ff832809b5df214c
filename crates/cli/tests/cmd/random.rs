//! What the random comparisons share.

use testkit::history::Random;

/// One of several.
pub fn one_of<T: Copy>(random: &mut Random, all: &[T]) -> T {
    all[random.below(all.len())]
}
