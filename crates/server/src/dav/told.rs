//! Which digests clients were told, and so which texts they check themselves.
//!
//! A checkout or an export hears in its report the digest of each file, then fetches the texts one by one and compares. To take the
//! digest of a text once more before it leaves is a fifth of what a cold export costs a server. Over svn:// the receiver
//! alone checks (see the decision on encoded windows); here the texts come by requests of their own, and `svn cat` asks
//! with the very same bytes but was told no digest. So what a report tells is noted, for a minute or two, and the first request from
//! the same address for that text finds the note and takes it away.
//!
//! A note says nothing about a text, only about a client. It may get lost, since there is room for so many and no more: then
//! the text is checked here, as every other.

use std::hash::{BuildHasher as _, RandomState};
use std::net::IpAddr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Notes that lie beside each other: a line of the processor's cache.
const BESIDE: usize = 8;
/// Such lines: with all of them in use, notes take a mebibyte.
const LINES: usize = 1 << 14;
/// How long a note holds at least; at most twice as long.
const HOLDS: Duration = Duration::from_secs(60);

/// Whom a digest was told, of what.
pub(crate) struct Told {
    hasher: RandomState,
    since: Instant,
    /// Made when the first report is answered. Zero is no note.
    notes: OnceLock<Box<[AtomicU64]>>,
}

impl Default for Told {
    fn default() -> Told {
        Told {
            hasher: RandomState::new(),
            since: Instant::now(),
            notes: OnceLock::new(),
        }
    }
}

impl Told {
    /// Notes that `client` was told the digest of the text at `location` of the repository at `root`.
    pub(crate) fn note(&self, client: IpAddr, root: &str, location: &[u8]) {
        let notes = self.notes.get_or_init(|| {
            let empty = std::iter::repeat_with(AtomicU64::default);
            empty.take(LINES * BESIDE).collect()
        });
        let note = self.name(self.period(), client, root, location);
        let (line, victim) = (line(notes, note), note as usize % BESIDE);
        let free = |place: &&AtomicU64| {
            let free = place.compare_exchange(0, note, Ordering::Relaxed, Ordering::Relaxed);
            free.is_ok()
        };
        if line.iter().find(free).is_none() {
            line[victim].store(note, Ordering::Relaxed);
        }
    }

    /// True, once, if that was noted not long ago.
    pub(crate) fn take(&self, client: IpAddr, root: &str, location: &[u8]) -> bool {
        let Some(notes) = self.notes.get() else {
            return false;
        };
        let now = self.period();
        let taken = |period: u64| {
            let note = self.name(period, client, root, location);
            let mut places = line(notes, note).iter();
            places.any(|place| {
                let there = place.compare_exchange(note, 0, Ordering::Relaxed, Ordering::Relaxed);
                there.is_ok()
            })
        };
        taken(now) || now > 0 && taken(now - 1)
    }

    /// A note, which nobody else can make up.
    fn name(&self, period: u64, client: IpAddr, root: &str, location: &[u8]) -> u64 {
        self.hasher.hash_one((period, client, root, location)).max(1)
    }

    fn period(&self) -> u64 {
        self.since.elapsed().as_secs() / HOLDS.as_secs()
    }
}

fn line(notes: &[AtomicU64], note: u64) -> &[AtomicU64] {
    let at = (note >> 32) as usize % LINES * BESIDE;
    &notes[at..at + BESIDE]
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    #[test]
    fn a_note_is_for_one_client_and_one_request() {
        let told = Told::default();
        let (one, other) = (
            Ipv4Addr::new(10, 0, 0, 1).into(),
            Ipv4Addr::new(10, 0, 0, 2).into(),
        );
        assert!(!told.take(one, "/r", b"1/a"));
        told.note(one, "/r", b"1/a");
        told.note(one, "/r", b"1/b");
        assert!(!told.take(other, "/r", b"1/a"));
        assert!(!told.take(one, "/s", b"1/a"));
        assert!(!told.take(one, "/r", b"2/a"));
        assert!(told.take(one, "/r", b"1/a"));
        assert!(!told.take(one, "/r", b"1/a"));
        assert!(told.take(one, "/r", b"1/b"));
    }

    #[test]
    fn notes_grow_old() {
        let mut told = Told::default();
        let client = Ipv4Addr::LOCALHOST.into();
        told.note(client, "/r", b"1/a");
        told.note(client, "/r", b"1/b");
        let earlier = |periods: u32| Instant::now().checked_sub(HOLDS * periods);
        let Some(since) = earlier(1) else { return };
        told.since = since;
        assert!(told.take(client, "/r", b"1/a"));
        let Some(since) = earlier(2) else { return };
        told.since = since;
        assert!(!told.take(client, "/r", b"1/b"));
    }

    #[test]
    fn most_notes_of_a_large_checkout_are_found() {
        let told = Told::default();
        let client = Ipv4Addr::LOCALHOST.into();
        let locations: Vec<String> = (0..80_000).map(|at| format!("7/file{at}")).collect();
        for location in &locations {
            told.note(client, "/r", location.as_bytes());
        }
        let found = locations
            .iter()
            .filter(|at| told.take(client, "/r", at.as_bytes()));
        assert!(found.count() > 70_000);
    }
}
