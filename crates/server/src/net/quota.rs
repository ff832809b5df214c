//! Quotas: limits on what peers hold, such as bytes of requests, connections, threads that wait, and expensive work.
//!
//! Each quota has a limit for all peers together and a lower one for the peers of one network ([`network_of`]): one network
//! alone never keeps the others from being served. A [`Quota`] never waits: a caller that gets no share refuses, or tries again.
//! A [`ConcurrencyLimit`] waits.

use std::collections::{BTreeMap, HashMap};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use parking_lot::{Condvar, Mutex};

/// A limit on what all peers hold together, and on what the peers of one network hold.
#[derive(Debug)]
pub(crate) struct Quota {
    max: AtomicU64,
    max_per_network: AtomicU64,
    held: Mutex<HeldAmounts>,
}

#[derive(Debug, Default)]
struct HeldAmounts {
    all: u64,
    by_network: HashMap<IpAddr, u64>,
}

/// Returns the network of an address: an IPv4 address, however it is written, or the first 64 bits of an IPv6 address. In an IPv6
/// network one machine can have any number of addresses.
pub(crate) fn network_of(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(v6) => {
            let [a, b, c, d, ..] = v6.segments();
            IpAddr::V6(Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0))
        }
        v4 => v4,
    }
}

/// What one peer holds. It returns to the quota when it is dropped.
#[derive(Debug)]
#[must_use]
pub(crate) struct QuotaShare {
    quota: Arc<Quota>,
    network: IpAddr,
    amount: u64,
}

impl Quota {
    /// Returns a quota of `max` for all networks together and `max_per_network` for each.
    pub(crate) fn new(max: u64, max_per_network: u64) -> Arc<Quota> {
        Arc::new(Quota {
            max: max.into(),
            max_per_network: max_per_network.into(),
            held: Mutex::default(),
        })
    }

    /// Changes both limits. What is held already stays held.
    pub(crate) fn resize(&self, max: u64, max_per_network: u64) {
        self.max.store(max, Ordering::Relaxed);
        self.max_per_network.store(max_per_network, Ordering::Relaxed);
    }

    /// Returns an empty share, which can grow. Peers without an address count as one network.
    pub(crate) fn of(self: &Arc<Self>, address: Option<IpAddr>) -> QuotaShare {
        QuotaShare {
            quota: self.clone(),
            network: network_of(address.unwrap_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED))),
            amount: 0,
        }
    }

    /// Returns a share of `amount` if that much is left.
    pub(crate) fn take(self: &Arc<Self>, address: Option<IpAddr>, amount: u64) -> Option<QuotaShare> {
        let mut share = self.of(address);
        share.set(amount).then_some(share)
    }

    /// Returns what all peers hold together.
    pub(crate) fn held(&self) -> u64 {
        self.held.lock().all
    }
}

impl QuotaShare {
    /// Changes the share to `amount`. Returns false, and changes nothing, if that is more than before and more than is left.
    #[must_use]
    pub(crate) fn set(&mut self, amount: u64) -> bool {
        if amount == self.amount {
            return true;
        }
        let mut held = self.quota.held.lock();
        let all = held.all - self.amount + amount;
        let own = held.by_network.get(&self.network).copied().unwrap_or(0) - self.amount + amount;
        let fits = all <= self.quota.max.load(Ordering::Relaxed)
            && own <= self.quota.max_per_network.load(Ordering::Relaxed);
        if amount > self.amount && !fits {
            return false;
        }
        held.all = all;
        match own {
            0 => _ = held.by_network.remove(&self.network),
            own => _ = held.by_network.insert(self.network, own),
        }
        self.amount = amount;
        true
    }
}

impl Drop for QuotaShare {
    fn drop(&mut self) {
        // A smaller amount is always granted.
        _ = self.set(0);
    }
}

/// A limit on how many threads do some expensive work at the same time, and on how many wait for that. Networks take turns.
#[derive(Debug)]
pub(crate) struct ConcurrencyLimit {
    waiting: Arc<Quota>,
    turns: Mutex<Turns>,
    freed: Condvar,
}

/// The right to do the work, until it is dropped.
#[derive(Debug)]
#[must_use]
pub(crate) struct ConcurrencyPermit<'a> {
    limit: &'a ConcurrencyLimit,
    _share: QuotaShare,
}

/// The order in which waiting threads get permits.
#[derive(Debug, Default)]
struct Turns {
    /// How many threads may begin.
    free: usize,
    /// The waiting threads with their networks. In each round a network has one thread.
    queue: BTreeMap<Turn, IpAddr>,
    /// The round of the thread that began last.
    round: u64,
    /// How many threads have come.
    count: u64,
}

/// A thread's round, and its number among all threads.
type Turn = (u64, u64);

impl Turns {
    /// Adds a thread: its round is the one after the last of its network, and no earlier than the current one.
    fn enqueue(&mut self, network: IpAddr) -> Turn {
        let mut own = self.queue.iter().rev().filter(|(_, other)| **other == network);
        let after = own.next().map_or(0, |((round, _), _)| round + 1);
        self.count += 1;
        let turn = (after.max(self.round), self.count);
        self.queue.insert(turn, network);
        turn
    }

    /// Lets a thread begin, if it is the next one and one may begin.
    fn try_begin(&mut self, turn: Turn) -> bool {
        let is_next = self
            .queue
            .first_key_value()
            .is_some_and(|(next, _)| *next == turn);
        if self.free == 0 || !is_next {
            return false;
        }
        self.free -= 1;
        self.queue.pop_first();
        self.round = turn.0;
        true
    }
}

impl ConcurrencyLimit {
    /// Returns a limit of `running` threads that work and `waiting` that work or wait, a quarter of the latter for one network.
    pub(crate) fn new(waiting: u64, running: usize) -> ConcurrencyLimit {
        ConcurrencyLimit {
            waiting: Quota::new(waiting, waiting / 4),
            turns: Mutex::new(Turns {
                free: running.max(1),
                ..Turns::default()
            }),
            freed: Condvar::new(),
        }
    }

    /// As [`ConcurrencyLimit::new`], for work that keeps a processor busy: one processor is left for other requests.
    pub(crate) fn of_processors(waiting: u64) -> ConcurrencyLimit {
        let cores = thread::available_parallelism().map_or(2, usize::from);
        ConcurrencyLimit::new(waiting, cores - 1)
    }

    /// Waits for a permit; returns `None` if too many threads wait already.
    pub(crate) fn acquire(&self, address: IpAddr) -> Option<ConcurrencyPermit<'_>> {
        let share = self.waiting.take(Some(address), 1)?;
        let mut turns = self.turns.lock();
        let turn = turns.enqueue(network_of(address));
        while !turns.try_begin(turn) {
            self.freed.wait(&mut turns);
        }
        if turns.free > 0 && !turns.queue.is_empty() {
            // The next thread may have been woken before this one.
            self.freed.notify_all();
        }
        Some(ConcurrencyPermit {
            limit: self,
            _share: share,
        })
    }
}

impl Drop for ConcurrencyPermit<'_> {
    fn drop(&mut self) {
        self.limit.turns.lock().free += 1;
        // Only the next thread begins.
        self.limit.freed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(n: u8) -> Option<IpAddr> {
        Some(IpAddr::from([127, 0, 0, n]))
    }

    #[test]
    fn one_network_never_holds_all() {
        let quota = Quota::new(100, 40);
        let mut first = quota.take(address(1), 30).expect("there is enough");
        assert!(
            quota.take(address(1), 11).is_none(),
            "more than one network may hold"
        );
        let second = quota.take(address(2), 40).expect("another address");
        assert!(!first.set(41) && first.set(40));
        assert!(quota.take(address(3), 21).is_none(), "more than there is");
        drop(second);
        assert!(first.set(5));
        assert_eq!(quota.held(), 5);
        drop(first);
        assert_eq!(quota.held(), 0);
        assert!(quota.held.lock().by_network.is_empty());
    }

    #[test]
    fn addresses_of_one_ipv6_network_are_one_network() {
        let network = |text: &str| network_of(text.parse().expect("an address"));
        assert_eq!(network("2001:db8:1:2:3:4:5:6"), network("2001:db8:1:2::7"));
        assert_ne!(network("2001:db8:1:2::7"), network("2001:db8:1:3::7"));
        assert_eq!(network("::ffff:10.0.0.1"), network("10.0.0.1"));
        assert_ne!(network("::ffff:10.0.0.1"), network("::ffff:10.0.0.2"));
    }

    #[test]
    fn a_share_can_shrink_below_a_new_limit() {
        let quota = Quota::new(100, 100);
        let mut share = quota.take(address(1), 90).expect("there is enough");
        quota.resize(10, 10);
        assert!(share.set(50) && !share.set(51));
    }

    #[test]
    fn expensive_work_is_limited_by_network() {
        let limit = ConcurrencyLimit::of_processors(8);
        let held = limit.waiting.take(address(1), 2).expect("a quarter of eight");
        assert!(limit.acquire(address(1).expect("an address")).is_none());
        let permit = limit.acquire(address(2).expect("an address"));
        assert!(permit.is_some());
        drop((held, permit));
        assert!(limit.acquire(address(1).expect("an address")).is_some());
    }

    #[test]
    fn networks_take_turns_for_expensive_work() {
        let mut turns = Turns {
            free: 1,
            ..Turns::default()
        };
        let network = |n| address(n).expect("an address");
        let many: Vec<Turn> = (0..4).map(|_| turns.enqueue(network(1))).collect();
        assert!(!turns.try_begin(many[1]) && turns.try_begin(many[0]));
        assert!(!turns.try_begin(many[1]), "one works already");
        let single = turns.enqueue(network(2));
        turns.free = 4;
        assert!(!turns.try_begin(many[1]) && turns.try_begin(single));
        assert!(turns.try_begin(many[1]));
        let next = turns.enqueue(network(2));
        assert!(turns.try_begin(next) && turns.try_begin(many[2]));
        turns.free = 1;
        assert!(turns.try_begin(many[3]) && turns.queue.is_empty());
    }

    #[test]
    fn waiting_threads_get_a_permit_each() {
        let limit = ConcurrencyLimit::new(64, 2);
        let running = AtomicU64::new(0);
        thread::scope(|scope| {
            for n in 0..12 {
                let (limit, running) = (&limit, &running);
                scope.spawn(move || {
                    let permit = limit.acquire(address(n % 3).expect("an address"));
                    assert!(running.fetch_add(1, Ordering::SeqCst) < 2);
                    thread::yield_now();
                    running.fetch_sub(1, Ordering::SeqCst);
                    drop(permit);
                });
            }
        });
        assert_eq!(limit.turns.lock().free, 2);
    }
}
