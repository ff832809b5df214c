//! The seeds of random cases.

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
