//! Things of which a peer may hold a part but never all: bytes of requests, connections, threads that wait, work that is
//! expensive.
//!
//! Each kind has a number for all peers together and a lower one for the peers of one network ([`network_of`]), so one network
//! alone never keeps the others from being served. Nothing waits here: a caller that gets no share refuses, or tries again.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use parking_lot::{Condvar, Mutex};

/// One kind of thing.
#[derive(Debug)]
pub(crate) struct Shares {
    /// Most for all addresses.
    most: AtomicU64,
    /// Most for one address.
    most_each: AtomicU64,
    held: Mutex<Held>,
}

#[derive(Debug, Default)]
struct Held {
    all: u64,
    by_address: HashMap<IpAddr, u64>,
}

/// Returns what counts as one peer: an IPv4 address, however it is written, or the 64 bits of an IPv6 address that name a
/// network, in which one machine can have any number of addresses.
pub(crate) fn network_of(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(v6) => {
            let [a, b, c, d, ..] = v6.segments();
            IpAddr::V6(Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0))
        }
        v4 => v4,
    }
}

/// What one peer holds; given back when it is dropped.
#[derive(Debug)]
#[must_use]
pub(crate) struct Share {
    shares: Arc<Shares>,
    network: IpAddr,
    amount: u64,
}

impl Shares {
    /// `most` for all addresses together, `most_each` for one.
    pub(crate) fn new(most: u64, most_each: u64) -> Arc<Shares> {
        Arc::new(Shares {
            most: most.into(),
            most_each: most_each.into(),
            held: Mutex::default(),
        })
    }

    /// Changes both numbers. What is held already stays.
    pub(crate) fn resize(&self, most: u64, most_each: u64) {
        self.most.store(most, Ordering::Relaxed);
        self.most_each.store(most_each, Ordering::Relaxed);
    }

    /// A share of nothing, which can grow. A peer without an address counts as one of its own.
    pub(crate) fn of(self: &Arc<Self>, address: Option<IpAddr>) -> Share {
        Share {
            shares: self.clone(),
            network: network_of(address.unwrap_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED))),
            amount: 0,
        }
    }

    /// A share of `amount`, if there is that much left.
    pub(crate) fn take(self: &Arc<Self>, address: Option<IpAddr>, amount: u64) -> Option<Share> {
        let mut share = self.of(address);
        share.set(amount).then_some(share)
    }

    /// What all peers hold together.
    pub(crate) fn held(&self) -> u64 {
        self.held.lock().all
    }
}

impl Share {
    /// Makes it `amount`; false, and nothing changes, if that is more than before and more than is left.
    #[must_use]
    pub(crate) fn set(&mut self, amount: u64) -> bool {
        if amount == self.amount {
            return true;
        }
        let mut held = self.shares.held.lock();
        let all = held.all - self.amount + amount;
        let own = held.by_address.get(&self.network).copied().unwrap_or(0) - self.amount + amount;
        let fits = all <= self.shares.most.load(Ordering::Relaxed)
            && own <= self.shares.most_each.load(Ordering::Relaxed);
        if amount > self.amount && !fits {
            return false;
        }
        held.all = all;
        match own {
            0 => _ = held.by_address.remove(&self.network),
            own => _ = held.by_address.insert(self.network, own),
        }
        self.amount = amount;
        true
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        // Less is always possible.
        _ = self.set(0);
    }
}

/// Work of which only so much may run at the same time, and little more wait.
#[derive(Debug)]
pub(crate) struct Turns {
    waiting: Arc<Shares>,
    free: Mutex<usize>,
    freed: Condvar,
}

/// The right to work; given back when it is dropped.
#[derive(Debug)]
#[must_use]
pub(crate) struct Turn<'a> {
    turns: &'a Turns,
    _share: Share,
}

impl Turns {
    /// At most `waiting` peers run or wait, a quarter of them from one network; `running` run.
    pub(crate) fn new(waiting: u64, running: usize) -> Turns {
        Turns {
            waiting: Shares::new(waiting, waiting / 4),
            free: Mutex::new(running.max(1)),
            freed: Condvar::new(),
        }
    }

    /// As [`Turns::new`], for work that needs much of a processor: one processor is left for other requests.
    pub(crate) fn of_processors(waiting: u64) -> Turns {
        let cores = thread::available_parallelism().map_or(2, usize::from);
        Turns::new(waiting, cores - 1)
    }

    /// Waits for a turn; `None` if too many peers wait already.
    pub(crate) fn wait(&self, address: IpAddr) -> Option<Turn<'_>> {
        let share = self.waiting.take(Some(address), 1)?;
        let mut free = self.free.lock();
        while *free == 0 {
            self.freed.wait(&mut free);
        }
        *free -= 1;
        Some(Turn {
            turns: self,
            _share: share,
        })
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        *self.turns.free.lock() += 1;
        self.turns.freed.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(n: u8) -> Option<IpAddr> {
        Some(IpAddr::from([127, 0, 0, n]))
    }

    #[test]
    fn one_address_never_holds_all() {
        let shares = Shares::new(100, 40);
        let mut first = shares.take(address(1), 30).expect("there is enough");
        assert!(
            shares.take(address(1), 11).is_none(),
            "more than one address may hold"
        );
        let second = shares.take(address(2), 40).expect("another address");
        assert!(!first.set(41) && first.set(40));
        assert!(shares.take(address(3), 21).is_none(), "more than there is");
        drop(second);
        assert!(first.set(5));
        assert_eq!(shares.held(), 5);
        drop(first);
        assert_eq!(shares.held(), 0);
        assert!(shares.held.lock().by_address.is_empty());
    }

    #[test]
    fn addresses_of_one_ipv6_network_count_as_one() {
        let network = |text: &str| network_of(text.parse().expect("an address"));
        assert_eq!(network("2001:db8:1:2:3:4:5:6"), network("2001:db8:1:2::7"));
        assert_ne!(network("2001:db8:1:2::7"), network("2001:db8:1:3::7"));
        assert_eq!(network("::ffff:10.0.0.1"), network("10.0.0.1"));
        assert_ne!(network("::ffff:10.0.0.1"), network("::ffff:10.0.0.2"));
    }

    #[test]
    fn a_share_may_become_smaller_below_a_new_limit() {
        let shares = Shares::new(100, 100);
        let mut share = shares.take(address(1), 90).expect("there is enough");
        shares.resize(10, 10);
        assert!(share.set(50) && !share.set(51));
    }

    #[test]
    fn expensive_work_is_limited_by_address() {
        let turns = Turns::of_processors(8);
        let held = turns.waiting.take(address(1), 2).expect("a quarter of eight");
        assert!(turns.wait(address(1).expect("an address")).is_none());
        let turn = turns.wait(address(2).expect("an address"));
        assert!(turn.is_some());
        drop((held, turn));
        assert!(turns.wait(address(1).expect("an address")).is_some());
    }
}
