//! Functions of the random comparisons.

use testkit::history::Random;
use testkit::runs_all_cases;

/// Returns a random element.
pub fn one_of<T: Copy>(random: &mut Random, all: &[T]) -> T {
    all[random.below(all.len())]
}

/// Returns `short` in the run of all tests, and `all` if the environment has `SVEN_ALL_CASES`.
pub fn short_or_all<T>(short: T, all: T) -> T {
    if runs_all_cases() { all } else { short }
}
