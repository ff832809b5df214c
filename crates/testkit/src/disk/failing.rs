//! A disk on which one call fails.
//!
//! A test runs once to count the calls ([`FailingDisk::calls`]), and then once for each of them.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use super::{CallDecision, DiskCall, WatchedDisk, Watcher};

/// A disk on which one call fails.
pub type FailingDisk = WatchedDisk<FailingCall>;

/// The failure of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DiskFault {
    /// An I/O error (EIO).
    Eio,
    /// No space (ENOSPC).
    Enospc,
    /// No space after half of the bytes.
    Short,
    /// This call and all later ones fail with EIO.
    Dead,
}

/// The calls that are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CountedCalls {
    /// CountedCalls that change something.
    Changes,
    /// CountedCalls that read.
    Reads,
}

/// A watcher that counts calls and lets one fail.
pub struct FailingCall {
    counted: CountedCalls,
    /// The call that fails, counted from 0, and its failure.
    at: Option<(u64, DiskFault)>,
    calls: AtomicU64,
    is_on: AtomicBool,
}

impl FailingDisk {
    /// Returns a disk that only counts.
    pub fn counting(counted: CountedCalls) -> Self {
        Self::of(counted, None)
    }

    /// Returns a disk on which the call with this number, counted from 0, fails.
    pub fn failing(counted: CountedCalls, at: u64, fault: DiskFault) -> Self {
        Self::of(counted, Some((at, fault)))
    }

    fn of(counted: CountedCalls, at: Option<(u64, DiskFault)>) -> Self {
        WatchedDisk::new(FailingCall {
            counted,
            at,
            calls: AtomicU64::new(0),
            is_on: AtomicBool::new(true),
        })
    }

    /// Returns the number of calls so far.
    pub fn calls(&self) -> u64 {
        self.watcher().calls.load(Ordering::Relaxed)
    }

    /// Switches counting and failing on or off.
    pub fn switch(&self, on: bool) {
        self.watcher().is_on.store(on, Ordering::Relaxed);
    }
}

impl Watcher for FailingCall {
    fn before(&self, call: DiskCall<'_>) -> CallDecision {
        let kind = match call {
            DiskCall::Open(_)
            | DiskCall::ReadSmall(_)
            | DiskCall::ReadAt(_)
            | DiskCall::List(_)
            | DiskCall::Metadata(_)
            | DiskCall::OpenVolume(_) => CountedCalls::Reads,
            _ => CountedCalls::Changes,
        };
        if kind != self.counted || !self.is_on.load(Ordering::Relaxed) {
            return CallDecision::Proceed;
        }
        let number = self.calls.fetch_add(1, Ordering::Relaxed);
        let Some((at, fault)) = self.at else {
            return CallDecision::Proceed;
        };
        if number != at && !(fault == DiskFault::Dead && number > at) {
            return CallDecision::Proceed;
        }
        let (eio, enospc) = (io::Error::from_raw_os_error(5), io::Error::from_raw_os_error(28));
        match (fault, call) {
            (DiskFault::Eio | DiskFault::Dead, _) => CallDecision::Fail(eio),
            (DiskFault::Short, DiskCall::Append(..)) => CallDecision::FailAfterHalf(enospc),
            (DiskFault::Short | DiskFault::Enospc, _) => CallDecision::Fail(enospc),
        }
    }
}
