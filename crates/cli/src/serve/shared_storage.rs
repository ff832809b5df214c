//! A cluster, as the server sees it: for the health page, the metrics, and the requests of other nodes.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use base::Result;
use cluster::{Cluster, ClusterMetrics};
use server::{MetricSample, SealedBlock, SharedStorage};

/// Returns a cluster in the form of the server.
pub fn of_cluster(cluster: Cluster) -> Arc<dyn SharedStorage> {
    Arc::new(ClusterStorage(cluster))
}

struct ClusterStorage(Cluster);

impl SharedStorage for ClusterStorage {
    fn not_ready(&self) -> Option<String> {
        self.0.why_not_ready().map(str::to_owned)
    }

    fn samples(&self) -> Vec<MetricSample> {
        let mut samples = vec![
            MetricSample::gauge(
                "cluster_epoch",
                "The epoch of this node; 0 while it has none",
                self.0.epoch().unwrap_or(0),
            ),
            MetricSample::gauge(
                "cluster_ready",
                "1 if this node should get clients",
                u64::from(self.0.why_not_ready().is_none()),
            ),
        ];
        samples.extend(counters(self.0.metrics()));
        samples.extend(job_counters(self.0.metrics()));
        samples
    }

    fn block(&self, query: &str, seal: &str) -> Result<Option<SealedBlock>> {
        let found = self.0.block_for_node(query, seal)?;
        Ok(found.map(|(bytes, seal)| SealedBlock { bytes, seal }))
    }
}

fn counters(metrics: &ClusterMetrics) -> Vec<MetricSample> {
    vec![
        counter(
            "cluster_lost_epochs",
            "Epochs that this node has lost",
            "",
            &[("", &metrics.lost_epochs)],
        ),
        counter(
            "cluster_publications",
            "Attempts to make revisions in the cluster",
            "outcome",
            &[
                ("published", &metrics.published),
                ("outdated", &metrics.outdated),
                ("failed", &metrics.failed),
            ],
        ),
        counter(
            "cluster_publish_microseconds",
            "Time of publications: all of it, and the part for uploads of long revisions",
            "phase",
            &[
                ("all", &metrics.publish_micros),
                ("upload", &metrics.upload_micros),
            ],
        ),
        counter(
            "cluster_blocks",
            "Blocks of objects: found on the disk of the node, fetched, or damaged and fetched again",
            "result",
            &[
                ("hit", &metrics.block_hits),
                ("miss", &metrics.block_misses),
                ("damaged", &metrics.damaged_blocks),
            ],
        ),
        counter(
            "cluster_node_blocks",
            "Blocks that were asked of other nodes",
            "result",
            &[
                ("sent", &metrics.blocks_of_nodes),
                ("failed", &metrics.failed_nodes),
            ],
        ),
        counter(
            "cluster_fetched_bytes",
            "Bytes that were read from the object store",
            "",
            &[("", &metrics.fetched_bytes)],
        ),
    ]
}

/// What the jobs that one node does for all have done here.
fn job_counters(metrics: &ClusterMetrics) -> Vec<MetricSample> {
    vec![
        counter(
            "cluster_packed_shards",
            "Shards that this node has packed",
            "",
            &[("", &metrics.packed_shards)],
        ),
        counter(
            "cluster_removed_objects",
            "Objects without a name in the database that this node has removed",
            "",
            &[("", &metrics.removed_objects)],
        ),
        counter(
            "cluster_scrubbed_objects",
            "Objects that this node has read to check them: all, and those that were missing or damaged",
            "result",
            &[
                ("read", &metrics.scrubbed_objects),
                ("damaged", &metrics.damaged_objects),
            ],
        ),
        counter(
            "cluster_scrubbed_bytes",
            "Bytes of objects that this node has read to check them",
            "",
            &[("", &metrics.scrubbed_bytes)],
        ),
    ]
}

fn counter(
    name: &'static str,
    help: &'static str,
    label: &'static str,
    values: &[(&'static str, &AtomicU64)],
) -> MetricSample {
    let values = values
        .iter()
        .map(|(label, value)| (*label, value.load(Ordering::Relaxed)));
    MetricSample {
        name,
        help,
        grows: true,
        label,
        values: values.collect(),
    }
}
