//! Numbers about a cluster, for the metrics of a server.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use base::Result;
use fsfs::shared::Outcome;

/// The numbers of one process. All only grow.
#[derive(Debug, Default)]
pub struct ClusterMetrics {
    /// Publications that made revisions.
    pub published: AtomicU64,
    /// Publications that another node had outdated.
    pub outdated: AtomicU64,
    /// Publications that failed.
    pub failed: AtomicU64,
    /// Microseconds of all publications, uploads included.
    pub publish_micros: AtomicU64,
    /// Microseconds of uploads of long revisions.
    pub upload_micros: AtomicU64,
    /// Blocks of objects that were on the disk of the node.
    pub block_hits: AtomicU64,
    /// Blocks that were not there.
    pub block_misses: AtomicU64,
    /// Bytes of blocks that were read from the object store.
    pub fetched_bytes: AtomicU64,
    /// Blocks that other nodes have sent.
    pub blocks_of_nodes: AtomicU64,
    /// Requests for blocks that other nodes have not answered.
    pub failed_nodes: AtomicU64,
    /// Blocks on disk that were damaged, and read again.
    pub damaged_blocks: AtomicU64,
    /// Epochs that were lost: the node had to register again.
    pub lost_epochs: AtomicU64,
    /// Shards that this process has packed.
    pub packed_shards: AtomicU64,
    /// Objects without a row that this process has removed.
    pub removed_objects: AtomicU64,
    /// Objects that this process has read to check them.
    pub scrubbed_objects: AtomicU64,
    /// Bytes of these.
    pub scrubbed_bytes: AtomicU64,
    /// Objects among these that were missing or had other bytes.
    pub damaged_objects: AtomicU64,
}

impl ClusterMetrics {
    pub(crate) fn publication(&self, time: Duration, outcome: &Result<Outcome>) {
        let counter = match outcome {
            Ok(Outcome::Done) => &self.published,
            Ok(Outcome::Outdated) => &self.outdated,
            Err(_) => &self.failed,
        };
        add(counter, 1);
        add(&self.publish_micros, micros(time));
    }

    pub(crate) fn uploaded(&self, time: Duration) {
        add(&self.upload_micros, micros(time));
    }
}

pub(crate) fn add(counter: &AtomicU64, amount: u64) {
    counter.fetch_add(amount, Ordering::Relaxed);
}

fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}
