//! A disk of which one call fails.
//!
//! A test runs once to learn how many calls there are ([`FailingDisk::calls`]), and then once for each of them.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use super::{Op, Verdict, Watched, Watcher};

/// A disk of which one call fails.
pub type FailingDisk = Watched<Failing>;

/// How it fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The medium is bad.
    Eio,
    /// The medium is full.
    Enospc,
    /// The medium is full after half of the bytes.
    Short,
    /// From this call on nothing can be written or made durable any more.
    Dead,
}

/// Which calls are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Calls {
    /// Those that change something.
    Changes,
    /// Those that read.
    Reads,
}

/// Counts calls and lets one fail.
pub struct Failing {
    counted: Calls,
    /// The call that fails, from 0 on, and how.
    at: Option<(u64, Fault)>,
    calls: AtomicU64,
    is_on: AtomicBool,
}

impl FailingDisk {
    /// Lets nothing fail, only counts.
    pub fn counting(counted: Calls) -> Self {
        Self::of(counted, None)
    }

    /// Lets the call with this number, from 0 on, fail.
    pub fn failing(counted: Calls, at: u64, fault: Fault) -> Self {
        Self::of(counted, Some((at, fault)))
    }

    fn of(counted: Calls, at: Option<(u64, Fault)>) -> Self {
        Watched::new(Failing {
            counted,
            at,
            calls: AtomicU64::new(0),
            is_on: AtomicBool::new(true),
        })
    }

    /// Number of calls counted so far.
    pub fn calls(&self) -> u64 {
        self.watcher().calls.load(Ordering::Relaxed)
    }

    /// Whether calls are counted (and fail), from now on.
    pub fn switch(&self, on: bool) {
        self.watcher().is_on.store(on, Ordering::Relaxed);
    }
}

impl Watcher for Failing {
    fn before(&self, op: Op<'_>) -> Verdict {
        let kind = match op {
            Op::Open(_) | Op::ReadSmall(_) | Op::ReadAt(_) | Op::List(_) | Op::Metadata(_) => Calls::Reads,
            _ => Calls::Changes,
        };
        if kind != self.counted || !self.is_on.load(Ordering::Relaxed) {
            return Verdict::Go;
        }
        let number = self.calls.fetch_add(1, Ordering::Relaxed);
        let Some((at, fault)) = self.at else {
            return Verdict::Go;
        };
        if number != at && !(fault == Fault::Dead && number > at) {
            return Verdict::Go;
        }
        let (eio, enospc) = (io::Error::from_raw_os_error(5), io::Error::from_raw_os_error(28));
        match (fault, op) {
            (Fault::Eio | Fault::Dead, _) => Verdict::Fail(eio),
            (Fault::Short, Op::Append(..)) => Verdict::Half(enospc),
            (Fault::Short | Fault::Enospc, _) => Verdict::Fail(enospc),
        }
    }
}
