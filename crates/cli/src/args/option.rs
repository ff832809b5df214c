//! Options of several subcommands.

use base::{Code, Error, Result};
use clap::Args;

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
