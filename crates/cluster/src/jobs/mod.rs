//! Jobs that one node does for the whole cluster: packing, removal of garbage, reading of all objects.
//!
//! Each job has a lease in the database (`lease`). Every node that serves looks every few seconds for jobs that are due, and does those
//! that no other node has; when a node dies, another one goes on. An administrator can do them by a command, which takes the same
//! lease.
//!
//! | job | when | goes on after an interrupt |
//! |---|---|---|
//! | [`pack`](self::pack()) | a shard is complete | with the shard that was not packed |
//! | `gc` ([`crate::garbage`]) | `[cluster] gc` | from the beginning; nothing depends on it |
//! | `scrub` | `[cluster] scrub`, for each object | with the object that was not read for the longest time |

mod lease;
mod pack;
mod scrub;

use std::sync::{Arc, Weak};
use std::time::Duration;

use base::{Cancel, Code, Result};
use fsfs::disk::{IoMeter, SystemClock, Throttle};

pub use self::lease::JobInfo;
pub(crate) use self::lease::{JobKind, JobLease};
pub use self::pack::pack;
pub use self::scrub::ScrubReport;
use crate::cluster::Cluster;
use crate::state::ClusterState;

/// Does the jobs that are due, again and again, until the last handle to the cluster is dropped.
pub(crate) fn run(weak: &Weak<ClusterState>) {
    while let Some(state) = weak.upgrade() {
        Cluster(state).do_due_jobs();
        std::thread::sleep(INTERVAL);
    }
}

impl Cluster {
    /// Lists the jobs that are being done, or were done.
    ///
    /// # Errors
    /// `FS_GENERAL`.
    pub fn jobs(&self) -> Result<Vec<JobInfo>> {
        lease::list(&self.0.database)
    }

    /// Does the jobs that are due.
    fn do_due_jobs(&self) {
        let settings = &self.0.settings;
        let report = |what: &str, outcome: Result<()>| match outcome {
            Err(e) if e.code() == Code::CANCELLED => {}
            Err(e) => tracing::warn!("the job '{what}' of the cluster failed: {}", e.message()),
            Ok(()) => {}
        };
        if settings.pack {
            report("pack", self.pack_due());
        }
        if let Some(interval) = settings.gc() {
            report("gc", self.collect_due_garbage(interval));
        }
        if let Some(interval) = settings.scrub() {
            report("scrub", self.scrub_due(interval));
        }
    }

    fn collect_due_garbage(&self, interval: Duration) -> Result<()> {
        let cancel = Cancel::new();
        let Some(lease) = JobLease::take(&self.0, JobKind::Garbage, 0, interval, &cancel)? else {
            return Ok(());
        };
        let removed = self.remove_garbage(self.0.settings.gc_grace_ms.div_ceil(1000), &cancel);
        let report = lease.explain(removed)?;
        tracing::info!(
            objects = report.removed,
            bytes = report.removed_bytes,
            waiting = report.waiting,
            "removed objects of the cluster that no row names"
        );
        lease.finish()
    }

    /// Waits for a job that another run has, and takes it.
    pub(crate) fn wait_for_job(&self, kind: JobKind, repository: i64, cancel: &Cancel) -> Result<JobLease> {
        loop {
            cancel.check()?;
            if let Some(lease) = JobLease::take(&self.0, kind, repository, Duration::ZERO, cancel)? {
                return Ok(lease);
            }
            cancel.wait(TAKE_PAUSE);
        }
    }

    /// The limit on the bytes that a job reads, for a run that `cancel` ends.
    fn job_meter(&self, cancel: &Cancel) -> Arc<IoMeter> {
        let clock = SystemClock::new(cancel.clone());
        let throttle = Throttle::new(self.0.settings.job_rate, Box::new(clock));
        Arc::new(IoMeter::new(Some(throttle), cancel.clone()))
    }
}

/// The pause between two looks for jobs that are due.
const INTERVAL: Duration = Duration::from_secs(5);

/// The pause between two attempts to take a job.
const TAKE_PAUSE: Duration = Duration::from_millis(200);
