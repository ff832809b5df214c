//! The seeds of random cases, and samples of large tables.

use std::ops::Range;

/// Returns the seeds in the environment variable (`17` or `100..200`), or `default`.
pub fn seeds(variable: &str, default: Range<u64>) -> Range<u64> {
    let Ok(named) = std::env::var(variable) else {
        return default;
    };
    let number = |text: &str| -> u64 {
        let parsed = text.trim().parse();
        parsed.unwrap_or_else(|_| panic!("{variable}: a seed or a range of them"))
    };
    match named.split_once("..") {
        Some((first, end)) => number(first)..number(end),
        None => number(&named)..number(&named) + 1,
    }
}

/// Runs `case` with each seed that [`seeds`] returns, and goes on after failed ones.
///
/// # Panics
/// After the last seed if some failed, with the message of each.
pub fn each_seed(variable: &str, default: Range<u64>, mut case: impl FnMut(u64)) {
    let mut failed = Vec::new();
    for seed in seeds(variable, default) {
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| case(seed)));
        let Err(panic) = outcome else { continue };
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
        failed.push(format!("{variable}={seed}\n{}", text.unwrap_or_default()));
    }
    let count = failed.len();
    assert!(failed.is_empty(), "{count} failed\n{}", failed.join("\n====\n"));
}

/// Returns every `step`-th case of a table that has more of them than a run of all tests has time for, or all of them if the environment
/// has `SVEN_ALL_CASES`. In a table of several columns, a `step` without common divisors with their lengths meets each value of each.
pub fn sample<T>(step: usize, cases: impl IntoIterator<Item = T>) -> impl Iterator<Item = T> {
    sample_from(0, step, cases)
}

/// As [`sample`], beginning at the case `first` modulo `step`. Several runs of one table take different cases if their `first` differs.
pub fn sample_from<T>(
    first: usize,
    step: usize,
    cases: impl IntoIterator<Item = T>,
) -> impl Iterator<Item = T> {
    let (first, step) = if runs_all_cases() {
        (0, 1)
    } else {
        (first % step, step)
    };
    cases.into_iter().skip(first).step_by(step)
}

/// Whether the environment has `SVEN_ALL_CASES`: nothing is left out for the sake of time.
pub fn runs_all_cases() -> bool {
    std::env::var_os("SVEN_ALL_CASES").is_some()
}
