//! Which random cases a comparison runs.

use std::ops::Range;

/// The seeds of a run: those that the environment variable names (`17` or `100..200`), or the usual ones.
pub fn seeds(variable: &str, usual: Range<u64>) -> Range<u64> {
    let Ok(named) = std::env::var(variable) else {
        return usual;
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
