//! Notes about the digests that clients have got, and so about the texts that they check themselves.
//!
//! The report of a checkout or an export contains the digest of each file; then the client fetches the texts one by one and
//! compares. To compute the digest of a text once more before it is sent is a fifth of a cold export's cost. Over svn://
//! the receiver alone checks (see the decision on encoded windows). Here texts are fetched by requests of their own, and `svn cat` sends
//! the same bytes but has got no digest. So each announced digest is noted for a minute or two, and the first request for that
//! text from the same address takes the note, unless it comes on the connection of another session: one that began with OPTIONS
//! and had no report. So a `svn cat` does not take what an interrupted checkout has left.
//!
//! A note says nothing about a text, only about a client. It may get lost, since the table is bounded: then the text is checked
//! here, as every other one.

use std::hash::{BuildHasher as _, RandomState};
use std::net::IpAddr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Notes of one bucket: a line of the processor's cache.
const BUCKET: usize = 8;
/// The number of buckets. A full table takes a mebibyte.
const BUCKETS: usize = 1 << 14;
/// The shortest time that a note is valid; the longest is twice as long.
const PERIOD: Duration = Duration::from_secs(60);

/// The notes: hashes of client, repository and location.
pub(crate) struct AnnouncedDigests {
    hasher: RandomState,
    since: Instant,
    /// Allocated with the first note. Zero is a free place.
    notes: OnceLock<Box<[AtomicU64]>>,
}

impl Default for AnnouncedDigests {
    fn default() -> AnnouncedDigests {
        AnnouncedDigests {
            hasher: RandomState::new(),
            since: Instant::now(),
            notes: OnceLock::new(),
        }
    }
}

impl AnnouncedDigests {
    /// Notes that `client` has got the digest of the text at `location` in the repository at `root`.
    pub(crate) fn note(&self, client: IpAddr, root: &str, location: &[u8]) {
        let notes = self.notes.get_or_init(|| {
            let empty = std::iter::repeat_with(AtomicU64::default);
            empty.take(BUCKETS * BUCKET).collect()
        });
        let note = self.hash(self.period(), client, root, location);
        let (bucket, victim) = (bucket(notes, note), note as usize % BUCKET);
        let free = |place: &&AtomicU64| {
            let free = place.compare_exchange(0, note, Ordering::Relaxed, Ordering::Relaxed);
            free.is_ok()
        };
        if bucket.iter().find(free).is_none() {
            bucket[victim].store(note, Ordering::Relaxed);
        }
    }

    /// Takes a note; returns whether there was one.
    pub(crate) fn take(&self, client: IpAddr, root: &str, location: &[u8]) -> bool {
        let Some(notes) = self.notes.get() else {
            return false;
        };
        let now = self.period();
        let taken = |period: u64| {
            let note = self.hash(period, client, root, location);
            let mut places = bucket(notes, note).iter();
            places.any(|place| {
                let there = place.compare_exchange(note, 0, Ordering::Relaxed, Ordering::Relaxed);
                there.is_ok()
            })
        };
        taken(now) || now > 0 && taken(now - 1)
    }

    /// Returns a note. No client can predict it.
    fn hash(&self, period: u64, client: IpAddr, root: &str, location: &[u8]) -> u64 {
        self.hasher.hash_one((period, client, root, location)).max(1)
    }

    fn period(&self) -> u64 {
        self.since.elapsed().as_secs() / PERIOD.as_secs()
    }
}

fn bucket(notes: &[AtomicU64], note: u64) -> &[AtomicU64] {
    let at = (note >> 32) as usize % BUCKETS * BUCKET;
    &notes[at..at + BUCKET]
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    #[test]
    fn a_note_is_for_one_client_and_one_request() {
        let digests = AnnouncedDigests::default();
        let (one, other) = (
            Ipv4Addr::new(10, 0, 0, 1).into(),
            Ipv4Addr::new(10, 0, 0, 2).into(),
        );
        assert!(!digests.take(one, "/r", b"1/a"));
        digests.note(one, "/r", b"1/a");
        digests.note(one, "/r", b"1/b");
        assert!(!digests.take(other, "/r", b"1/a"));
        assert!(!digests.take(one, "/s", b"1/a"));
        assert!(!digests.take(one, "/r", b"2/a"));
        assert!(digests.take(one, "/r", b"1/a"));
        assert!(!digests.take(one, "/r", b"1/a"));
        assert!(digests.take(one, "/r", b"1/b"));
    }

    #[test]
    fn notes_expire() {
        let mut digests = AnnouncedDigests::default();
        let client = Ipv4Addr::LOCALHOST.into();
        digests.note(client, "/r", b"1/a");
        digests.note(client, "/r", b"1/b");
        let earlier = |periods: u32| Instant::now().checked_sub(PERIOD * periods);
        let Some(since) = earlier(1) else { return };
        digests.since = since;
        assert!(digests.take(client, "/r", b"1/a"));
        let Some(since) = earlier(2) else { return };
        digests.since = since;
        assert!(!digests.take(client, "/r", b"1/b"));
    }

    #[test]
    fn most_notes_of_a_large_checkout_are_found() {
        let digests = AnnouncedDigests::default();
        let client = Ipv4Addr::LOCALHOST.into();
        let locations: Vec<String> = (0..80_000).map(|at| format!("7/file{at}")).collect();
        for location in &locations {
            digests.note(client, "/r", location.as_bytes());
        }
        let found = locations
            .iter()
            .filter(|at| digests.take(client, "/r", at.as_bytes()));
        assert!(found.count() > 70_000);
    }
}
