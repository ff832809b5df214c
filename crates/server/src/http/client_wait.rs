//! How blocking code waits for a client: it blocks on the async runtime, and another thread runs in its place if that takes long.

use std::future::Future;
use std::io;
use std::net::IpAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use repos::hooks::HookWait;
use tokio::runtime::Handle;
use tokio::sync::mpsc::Sender;
use tokio::sync::mpsc::error::TrySendError;
use tokio::time::timeout;

use crate::config::Limits;
use crate::net::{BlockOutcome, ThreadPool};

/// How long a thread waits for its client before another may run in its place.
const SHORT: Duration = Duration::from_millis(50);

/// How long a thread may wait for its client when as many threads as may wait already wait for clients of its network.
const UNCOUNTED: Duration = Duration::from_millis(500);

/// How long the thread of a request waits for its client, and the pool that replaces it meanwhile. Cheap to clone.
#[derive(Clone)]
pub(crate) struct ClientWait {
    pub(super) runtime: Handle,
    pub(super) pool: Arc<ThreadPool>,
    /// The client's address.
    pub(super) address: IpAddr,
    /// How long a peer may neither send nor read.
    stall: Duration,
    /// How long the client may send nothing within the body of its request.
    pub(super) silence: Duration,
    /// How long a body may take, besides the time that its bytes need at `rate` bytes a second.
    body: Duration,
    /// Bytes a second; 0 is no limit on the time of a body.
    rate: u64,
}

impl ClientWait {
    pub(super) fn new(
        runtime: Handle,
        pool: Arc<ThreadPool>,
        address: IpAddr,
        limits: &Limits,
    ) -> ClientWait {
        ClientWait {
            runtime,
            pool,
            address,
            stall: limits.stall,
            silence: limits.body_silence.min(limits.stall),
            body: limits.body_timeout,
            rate: limits.body_rate,
        }
    }

    /// Returns how long a peer may neither send nor read.
    pub(super) fn stall(&self) -> Duration {
        self.stall
    }

    /// Returns how long a thread may wait in all for a body of which `bytes` bytes have arrived.
    pub(super) fn for_body(&self, bytes: u64) -> Duration {
        match bytes.checked_div(self.rate) {
            Some(seconds) => self.body.saturating_add(Duration::from_secs(seconds)),
            None => NO_LIMIT,
        }
    }

    /// Waits for `what`; another thread runs in place of this one if that takes long. Returns `None` after `limit`, or where too many
    /// threads wait for clients of the same network.
    pub(super) fn wait<T>(&self, limit: Option<Duration>, what: impl Future<Output = T>) -> Option<T> {
        let mut what = pin!(what);
        let mut wait_at_most = |limit| {
            self.runtime
                .block_on(async { timeout(limit, what.as_mut()).await })
        };
        if let Ok(done) = wait_at_most(SHORT) {
            return Some(done);
        }
        let moment = || wait_at_most(UNCOUNTED).ok();
        let _blocked = match self.pool.block_or(self.address, moment)? {
            BlockOutcome::Done(done) => return Some(done),
            blocked => blocked,
        };
        match limit {
            Some(limit) => self.runtime.block_on(async { timeout(limit, what).await.ok() }),
            None => Some(self.runtime.block_on(what)),
        }
    }

    /// Runs `wait`, which blocks until another request or another server has done something. The thread does not count among the
    /// running ones meanwhile.
    pub(crate) fn while_blocked<T>(&self, wait: impl FnOnce() -> T) -> T {
        let _blocked = self.pool.block(self.address);
        wait()
    }

    /// Returns how the thread waits for the processes of hooks.
    pub(crate) fn hook_waiting(&self) -> HookWait {
        self.pool.hook_waiting(self.address)
    }

    /// Hands a piece to the connection's task. How long that may take is limited by the connection's timeouts.
    ///
    /// # Errors
    /// `BrokenPipe` if the task has ended.
    pub(super) fn send(&self, to: &Sender<io::Result<Bytes>>, piece: io::Result<Bytes>) -> io::Result<()> {
        let gone = || io::ErrorKind::BrokenPipe.into();
        let piece = match to.try_send(piece) {
            Ok(()) => return Ok(()),
            Err(TrySendError::Full(piece)) => piece,
            Err(TrySendError::Closed(_)) => return Err(gone()),
        };
        match self.wait(None, to.reserve()) {
            Some(Ok(place)) => {
                place.send(piece);
                Ok(())
            }
            _ => Err(gone()),
        }
    }
}

/// Thirty years: a limit that is never reached.
const NO_LIMIT: Duration = Duration::from_secs(30 * 365 * 24 * 3600);
