//! How fast a peer reads, and whether compression pays for it.
//!
//! Compression costs both sides time and saves the network some. Where the peer reads as fast as the server writes there is
//! nothing to save, so a connection begins uncompressed. When a quarter of the time is spent in waiting for the peer, and it
//! reads less than a fast network carries, everything is compressed until the connection ends. Each connection is judged by
//! itself: an address says little about a peer, and behind a proxy all peers have the same one.

use std::time::{Duration, Instant};

/// The measured speed of a peer.
#[derive(Debug)]
pub(crate) struct PeerSpeed {
    is_slow: bool,
    /// Peers that read more than this are not slow, bytes a second.
    fast: f64,
    /// The beginning of the current measurement, if there is one.
    since: Option<Instant>,
    /// Bytes sent in the measurement.
    sent: u64,
    /// The part of it that was spent in waiting.
    waited: Duration,
}

/// Bytes of one measurement.
const SAMPLE: u64 = 128 << 10;

/// A peer is slow if one in this many parts of the time is spent in waiting for it.
const WAITING_PART: u32 = 4;

/// Bytes a second of a fast network: a peer that reads more is only as busy as the server.
pub(crate) const FAST_NETWORK: f64 = 100e6;

impl PeerSpeed {
    /// Returns a measurement that begins with `is_slow`. A peer that reads more than `fast` bytes a second never counts as slow.
    pub(crate) fn new(is_slow: bool, fast: f64) -> PeerSpeed {
        PeerSpeed {
            is_slow,
            fast,
            since: None,
            sent: 0,
            waited: Duration::ZERO,
        }
    }

    /// Returns whether compression pays.
    pub(crate) fn is_slow(&self) -> bool {
        self.is_slow
    }

    /// Called before bytes are sent.
    pub(crate) fn begin(&mut self) {
        if !self.is_slow && self.since.is_none() {
            self.since = Some(Instant::now());
        }
    }

    /// Called after `bytes` bytes were sent, with the time spent in waiting for the peer.
    pub(crate) fn sent(&mut self, bytes: usize, waited: Duration) {
        self.sent += bytes as u64;
        self.waited += waited;
        if self.sent >= SAMPLE
            && let Some(since) = self.since
        {
            let all = since.elapsed();
            self.is_slow = is_slow(self.fast, self.sent, all, self.waited);
            self.pause();
            self.begin();
        }
    }

    /// Called when nothing is sent for a while: that time does not count.
    pub(crate) fn pause(&mut self) {
        *self = PeerSpeed::new(self.is_slow, self.fast);
    }
}

fn is_slow(fast: f64, bytes: u64, all: Duration, waited: Duration) -> bool {
    waited >= all / WAITING_PART && (bytes as f64) < fast * all.as_secs_f64()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_peer_that_is_waited_for_is_slow_unless_it_reads_fast() {
        let ms = Duration::from_millis;
        // A megabyte in a second, all of it waiting.
        assert!(is_slow(FAST_NETWORK, 1 << 20, ms(1000), ms(1000)));
        // As much, but the server took the time.
        assert!(!is_slow(FAST_NETWORK, 1 << 20, ms(1000), ms(100)));
        // Two hundred megabytes in a second.
        assert!(!is_slow(FAST_NETWORK, 200 << 20, ms(1000), ms(900)));
    }

    #[test]
    fn short_responses_are_not_measured_and_a_slow_peer_stays_slow() {
        let hour = Duration::from_secs(3600);
        let mut speed = PeerSpeed::new(false, FAST_NETWORK);
        speed.begin();
        speed.sent(1000, hour);
        speed.pause();
        speed.begin();
        speed.sent(SAMPLE as usize - 1, hour);
        assert!(!speed.is_slow());
        speed.since = Instant::now().checked_sub(Duration::from_secs(1));
        speed.sent(1, hour);
        assert!(speed.is_slow());
        speed.begin();
        speed.sent(1 << 30, Duration::ZERO);
        assert!(speed.is_slow());
        assert!(PeerSpeed::new(true, FAST_NETWORK).is_slow());
    }
}
