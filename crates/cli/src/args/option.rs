//! Options of several subcommands.

use std::sync::Arc;

use base::{Cancel, Code, Error, Result};
use clap::Args;
use fsfs::disk::{IoMeter, SystemClock, Throttle};

use crate::progress::ProgressOption;

/// `-M`: the size of the cache.
#[derive(Clone, Copy, Debug, Args)]
pub struct CacheSizeOption {
    /// spend at most ARG megabytes on the cache that all open repositories share
    #[arg(id = "memory-cache-size", short = 'M', long = "memory-cache-size", value_parser = megabytes)]
    megabytes: Option<u64>,
}

impl CacheSizeOption {
    /// Returns the given size of the cache in bytes, or `None`.
    pub fn given(self) -> Option<u64> {
        self.megabytes.map(|megabytes| megabytes.saturating_mul(1 << 20))
    }

    /// Returns the size of the cache in bytes: as given, or [`default_budget`].
    pub fn budget(self) -> u64 {
        self.given().unwrap_or_else(default_budget)
    }
}

/// Returns the default size of the cache in bytes: a quarter of the machine's memory, 16 MiB to 1 GiB.
pub fn default_budget() -> u64 {
    let info = rustix::system::sysinfo();
    let total = u64::from(info.mem_unit).saturating_mul(info.totalram);
    (total / 4).clamp(16 << 20, 1 << 30)
}

fn megabytes(text: &str) -> Result<u64> {
    let number = text.trim_start_matches([' ', '\t', '\n', '\x0b', '\x0c', '\r']);
    let (minus, digits) = match number.as_bytes().first() {
        Some(b'-') => (true, &number[1..]),
        Some(b'+') => (false, &number[1..]),
        _ => (false, number),
    };
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return Err(Error::new(
            Code::INCORRECT_PARAMS,
            format!("Could not convert '{text}' into a number"),
        ));
    }
    match digits.parse() {
        Ok(megabytes) if !minus || megabytes == 0 => Ok(megabytes),
        _ => Err(Error::new(
            Code::INCORRECT_PARAMS,
            format!("Number '{text}' is out of range '[0, {}]'", u64::MAX),
        )),
    }
}

/// The options of long operations on a repository: `--progress` and `--max-rate`.
#[derive(Clone, Copy, Debug, Args)]
pub struct LongRunOptions {
    #[command(flatten)]
    pub progress: ProgressOption,
    /// read at most ARG bytes per second from the repository, and write at most as many; K, M and G
    /// stand for 1024, 1024K and 1024M (an option of Sven)
    #[arg(id = "max-rate", long = "max-rate", value_parser = bytes_per_second)]
    rate: Option<u64>,
}

impl LongRunOptions {
    /// Returns the counters of a run that `cancel` ends, with the limit if there is one; `None` without either option.
    pub fn meter(self, cancel: &Cancel) -> Option<Arc<IoMeter>> {
        let throttle = self
            .rate
            .map(|rate| Throttle::new(rate, Box::new(SystemClock::new(cancel.clone()))));
        let is_needed = self.progress.is_given || throttle.is_some();
        is_needed.then(|| Arc::new(IoMeter::new(throttle, cancel.clone())))
    }
}

fn bytes_per_second(text: &str) -> Result<u64> {
    let wrong = |what: &str| {
        let message = format!("'{text}' is not a rate: {what}");
        Err(Error::new(Code::CL_ARG_PARSING_ERROR, message))
    };
    let unit = match text.bytes().last() {
        Some(b'K' | b'k') => 1 << 10,
        Some(b'M' | b'm') => 1 << 20,
        Some(b'G' | b'g') => 1 << 30,
        _ => 1,
    };
    let digits = if unit == 1 { text } else { &text[..text.len() - 1] };
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return wrong("use a number of bytes per second, or of K, M or G");
    }
    match digits
        .parse::<u64>()
        .ok()
        .and_then(|number| number.checked_mul(unit))
    {
        None => wrong("it is too large"),
        Some(rate) if rate < LOWEST_RATE => wrong("the lowest is 64K"),
        Some(rate) => Ok(rate),
    }
}

/// The lowest limit, bytes per second: with a lower one, commits would wait for seconds while `pack` holds the write lock.
const LOWEST_RATE: u64 = 64 << 10;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_have_a_unit_and_a_lowest_value() {
        for (text, rate) in [
            ("65536", 65536),
            ("64K", 65536),
            ("50m", 50 << 20),
            ("2G", 2 << 30),
            ("18446744073709551615", u64::MAX),
        ] {
            assert_eq!(bytes_per_second(text).expect("a rate"), rate);
        }
        for (text, complaint) in [
            ("", "use a number"),
            ("K", "use a number"),
            ("-1M", "use a number"),
            ("1.5M", "use a number"),
            ("5 M", "use a number"),
            ("5MB", "use a number"),
            ("5é", "use a number"),
            ("63K", "the lowest"),
            ("0", "the lowest"),
            ("18446744073709551616", "too large"),
            ("18446744073709551615K", "too large"),
        ] {
            let message = bytes_per_second(text).expect_err(text).message();
            assert!(message.contains(complaint), "{message}");
        }
    }
}
