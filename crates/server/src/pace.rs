//! How fast a peer takes what it is sent, and whether compressing for it pays.
//!
//! Compressing costs both sides time and saves the network some. Where the peer takes bytes as fast as we make them there
//! is nothing to save, so a conversation begins without. As soon as a quarter of the time goes by in waiting for the
//! peer, and it takes less than a fast network carries, everything is compressed, to the end of the connection. Each
//! connection is judged by itself: an address says little about a peer, and behind a proxy all peers have the same.

use std::time::{Duration, Instant};

/// What is known of a peer's speed.
#[derive(Debug)]
pub(crate) struct Pace {
    is_slow: bool,
    /// Whoever takes more is not slow, bytes a second.
    fast: f64,
    /// When the stretch at hand began, if there is one.
    since: Option<Instant>,
    /// Bytes of the stretch.
    sent: u64,
    /// How much of it was waiting.
    waited: Duration,
}

/// Bytes of a stretch that is judged.
const STRETCH: u64 = 128 << 10;

/// The time spent waiting that makes a peer slow, as a part of all.
const PART: u32 = 4;

/// Bytes a second that are not slow: then waiting is for a peer that is as busy as we are.
pub(crate) const FAST: f64 = 100e6;

impl Pace {
    /// Whether the peer counts as slow from the beginning; whoever takes more than `fast` bytes a second never does.
    pub(crate) fn new(is_slow: bool, fast: f64) -> Pace {
        Pace {
            is_slow,
            fast,
            since: None,
            sent: 0,
            waited: Duration::ZERO,
        }
    }

    /// True if compressing pays.
    pub(crate) fn is_slow(&self) -> bool {
        self.is_slow
    }

    /// Bytes are about to be sent.
    pub(crate) fn begin(&mut self) {
        if !self.is_slow && self.since.is_none() {
            self.since = Some(Instant::now());
        }
    }

    /// So many bytes were sent, after waiting so long.
    pub(crate) fn sent(&mut self, bytes: usize, waited: Duration) {
        self.sent += bytes as u64;
        self.waited += waited;
        if self.sent >= STRETCH
            && let Some(since) = self.since
        {
            let all = since.elapsed();
            self.is_slow = is_slow(self.fast, self.sent, all, self.waited);
            self.pause();
            self.begin();
        }
    }

    /// Nothing is sent for a while: time does not count until something is.
    pub(crate) fn pause(&mut self) {
        *self = Pace::new(self.is_slow, self.fast);
    }
}

fn is_slow(fast: f64, bytes: u64, all: Duration, waited: Duration) -> bool {
    waited >= all / PART && (bytes as f64) < fast * all.as_secs_f64()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_is_waited_for_is_slow_unless_fast() {
        let ms = Duration::from_millis;
        // A megabyte in a second, all of it waiting.
        assert!(is_slow(FAST, 1 << 20, ms(1000), ms(1000)));
        // As much, but it was us who took the time.
        assert!(!is_slow(FAST, 1 << 20, ms(1000), ms(100)));
        // Two hundred megabytes in a second.
        assert!(!is_slow(FAST, 200 << 20, ms(1000), ms(900)));
    }

    #[test]
    fn short_answers_say_nothing_and_slow_stays_slow() {
        let hour = Duration::from_secs(3600);
        let mut pace = Pace::new(false, FAST);
        pace.begin();
        pace.sent(1000, hour);
        pace.pause();
        pace.begin();
        pace.sent(STRETCH as usize - 1, hour);
        assert!(!pace.is_slow());
        pace.since = Instant::now().checked_sub(Duration::from_secs(1));
        pace.sent(1, hour);
        assert!(pace.is_slow());
        pace.begin();
        pace.sent(1 << 30, Duration::ZERO);
        assert!(pace.is_slow());
        assert!(Pace::new(true, FAST).is_slow());
    }
}
