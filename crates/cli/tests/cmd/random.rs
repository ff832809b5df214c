//! Functions of the random comparisons.

use testkit::history::Random;

/// Returns a random element.
pub fn one_of<T: Copy>(random: &mut Random, all: &[T]) -> T {
    all[random.below(all.len())]
}
