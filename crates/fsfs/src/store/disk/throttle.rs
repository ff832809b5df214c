//! A limit on bytes per second that all threads of a run obey together.
//!
//! A [`Throttle`] has two token buckets: bytes that are read and bytes that are written are limited separately, to the same
//! rate. A caller reports bytes after it has read or written them, and waits until they are paid for. What a bucket owes is
//! known at once to all threads, so that threads which wait at the same time wait in turn.

use std::time::{Duration, Instant};

use base::Cancel;
use parking_lot::Mutex;

/// A source of time for a [`Throttle`].
pub trait Clock: Send + Sync {
    /// Returns the time since a moment that stays the same.
    fn now(&self) -> Duration;

    /// Waits for `time`, or shorter if the run was cancelled.
    fn wait(&self, time: Duration);
}

/// The clock of the machine. Its waits end when the run is cancelled.
#[derive(Debug)]
pub struct SystemClock {
    start: Instant,
    cancel: Cancel,
}

impl SystemClock {
    /// Returns a clock for a run that `cancel` ends.
    pub fn new(cancel: Cancel) -> Self {
        SystemClock {
            start: Instant::now(),
            cancel,
        }
    }
}

impl Clock for SystemClock {
    fn now(&self) -> Duration {
        self.start.elapsed()
    }

    fn wait(&self, time: Duration) {
        self.cancel.wait(time);
    }
}

/// A limit on the bytes per second that are read, and on those that are written.
pub struct Throttle {
    rate: u64,
    clock: Box<dyn Clock>,
    read: Mutex<TokenBucket>,
    written: Mutex<TokenBucket>,
}

impl Throttle {
    /// Returns a limit of `rate` bytes per second in each direction; 0 counts as 1.
    pub fn new(rate: u64, clock: Box<dyn Clock>) -> Self {
        let rate = rate.max(1);
        let bucket = TokenBucket {
            rate,
            paid_at: clock.now(),
        };
        Throttle {
            rate,
            clock,
            read: Mutex::new(bucket),
            written: Mutex::new(bucket),
        }
    }

    /// Returns the limit, bytes per second.
    pub fn rate(&self) -> u64 {
        self.rate
    }

    /// Waits until `bytes` that were read are paid for.
    pub(super) fn read(&self, bytes: u64) {
        self.pay(&self.read, bytes);
    }

    /// Waits until `bytes` that were written are paid for.
    pub(super) fn wrote(&self, bytes: u64) {
        self.pay(&self.written, bytes);
    }

    fn pay(&self, bucket: &Mutex<TokenBucket>, bytes: u64) {
        let debt = bucket.lock().take(bytes, self.clock.now());
        // Many short waits would cost more than they are worth; the debt stays.
        if debt >= SHORTEST_WAIT {
            self.clock.wait(debt);
        }
    }
}

impl std::fmt::Debug for Throttle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Throttle")
            .field("rate", &self.rate)
            .finish_non_exhaustive()
    }
}

/// The bytes of one direction.
#[derive(Clone, Copy, Debug)]
struct TokenBucket {
    /// Bytes per second, at least 1.
    rate: u64,
    /// The time at which all bytes so far are paid for.
    paid_at: Duration,
}

impl TokenBucket {
    /// Takes `bytes` out of the bucket; returns the time until they are paid for.
    fn take(&mut self, bytes: u64, now: Duration) -> Duration {
        let start = self.paid_at.max(now.saturating_sub(BURST));
        self.paid_at = start.saturating_add(self.cost(bytes));
        self.paid_at.saturating_sub(now)
    }

    /// Returns the time in which the rate allows this many bytes.
    fn cost(&self, bytes: u64) -> Duration {
        let rest = u128::from(bytes % self.rate) * 1_000_000_000 / u128::from(self.rate);
        // Below a second.
        Duration::new(bytes / self.rate, rest as u32)
    }
}

/// The time whose bytes may be used later at once.
const BURST: Duration = Duration::from_secs(1);

/// A shorter debt is not waited for.
const SHORTEST_WAIT: Duration = Duration::from_millis(10);

#[cfg(test)]
mod tests {
    use super::*;

    const MEGABYTE: u64 = 1_000_000;

    fn bucket(rate: u64) -> TokenBucket {
        TokenBucket {
            rate,
            paid_at: Duration::ZERO,
        }
    }

    #[test]
    fn bytes_cost_time() {
        let mut bucket = bucket(10 * MEGABYTE);
        assert_eq!(bucket.take(MEGABYTE, Duration::ZERO), Duration::from_millis(100));
        // Another thread comes before that time: it waits for both.
        let now = Duration::from_millis(40);
        assert_eq!(bucket.take(2 * MEGABYTE, now), Duration::from_millis(260));
        assert_eq!(
            bucket.take(0, Duration::from_secs(600)),
            Duration::ZERO,
            "nothing is free of charge"
        );
    }

    #[test]
    fn a_pause_gives_a_burst_of_one_second() {
        let mut bucket = bucket(10 * MEGABYTE);
        let now = Duration::from_secs(3600);
        assert_eq!(bucket.take(10 * MEGABYTE, now), Duration::ZERO);
        assert_eq!(bucket.take(MEGABYTE, now), Duration::from_millis(100));
    }

    #[test]
    fn the_largest_values_do_not_overflow() {
        let mut slow = bucket(1);
        assert!(slow.take(u64::MAX, Duration::ZERO) > Duration::from_secs(1 << 60));
        slow.take(u64::MAX, Duration::MAX);
        let mut fast = bucket(u64::MAX);
        assert!(fast.take(u64::MAX - 1, Duration::ZERO) < Duration::from_secs(1));
    }
}
