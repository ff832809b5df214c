//! The lease of a job: one run at a time in the whole cluster.
//!
//! A run takes the row of its job with a random number, the *holder*. A thread of the run renews the lease three times in the time that
//! it lasts, by the database's clock. If the process stops, another run takes the job when the lease has ended, or at once if the node was
//! declared dead.
//!
//! A run that was paused for longer than its lease may not know that another one has begun. So a change that must not be made twice
//! checks the holder and the lease in its own transaction (`sven_holds_job` in the tables).

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use base::{Cancel, Code, Error, Result};
use uuid::Uuid;

use crate::database::{Database, sql_error};
use crate::state::ClusterState;

/// The kinds of jobs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum JobKind {
    /// Packing of a repository's complete shards.
    Pack,
    /// Removal of objects that no row names.
    Garbage,
    /// Reading all objects.
    Scrub,
}

/// The right to do a job. Dropping it gives it back.
pub(crate) struct JobLease {
    run: Arc<JobRun>,
    /// Raised when the run ends: then the lease is not renewed any more.
    ended: Cancel,
    renewal: Option<JoinHandle<()>>,
}

struct JobRun {
    database: Database,
    kind: JobKind,
    /// 0 for a job of the whole cluster.
    repository: i64,
    holder: Uuid,
    is_lost: AtomicBool,
    /// Raised when the lease is lost.
    cancel: Cancel,
}

impl JobKind {
    /// The name in `sven_job.kind`.
    fn name(self) -> &'static str {
        match self {
            JobKind::Pack => "pack",
            JobKind::Garbage => "gc",
            JobKind::Scrub => "scrub",
        }
    }
}

impl JobLease {
    /// Takes a job if no other run has it, and if the last complete run ended at least `interval` ago. `cancel` ends the run; it is raised
    /// when the lease is lost, too.
    ///
    /// # Errors
    /// `FS_GENERAL` if the database cannot be reached.
    pub(crate) fn take(
        cluster: &Arc<ClusterState>,
        kind: JobKind,
        repository: i64,
        interval: Duration,
        cancel: &Cancel,
    ) -> Result<Option<JobLease>> {
        let run = Arc::new(JobRun {
            database: cluster.database.clone(),
            kind,
            repository,
            holder: Uuid::new_v4(),
            is_lost: AtomicBool::new(false),
            cancel: cancel.clone(),
        });
        let lease = cluster.settings.lease() * LEASES;
        let (holder, epoch) = (run.holder, cluster.nodes.epoch());
        let taken = cluster.database.run("take a job", |client| async move {
            let values: [&(dyn tokio_postgres::types::ToSql + Sync); 6] = [
                &kind.name(),
                &repository,
                &holder,
                &epoch,
                &lease.as_secs_f64(),
                &interval.as_secs_f64(),
            ];
            client.execute(TAKE, &values).await
        })?;
        if taken == 0 {
            return Ok(None);
        }
        let ended = Cancel::new();
        let (renewed, until) = (run.clone(), ended.clone());
        let renewal = std::thread::Builder::new()
            .name("cluster-job".to_owned())
            .spawn(move || renewed.renew_until(&until, lease))
            .map_err(|e| Error::os(&e, "Can't start a thread"))?;
        Ok(Some(JobLease {
            run,
            ended,
            renewal: Some(renewal),
        }))
    }

    /// The number of this run, for the statements that check it.
    pub(crate) fn holder(&self) -> Uuid {
        self.run.holder
    }

    /// The error of a run that is cancelled because its lease was lost; otherwise `outcome`.
    ///
    /// # Errors
    /// `FS_GENERAL` if the lease was lost; those of `outcome`.
    pub(crate) fn explain<T>(&self, outcome: Result<T>) -> Result<T> {
        match outcome {
            Err(e) if e.code() == Code::CANCELLED && self.run.is_lost.load(Ordering::Acquire) => {
                Err(self.lost())
            }
            outcome => outcome,
        }
    }

    /// The error of a run whose lease has ended.
    pub(crate) fn lost(&self) -> Error {
        Error::new(
            Code::FS_GENERAL,
            format!(
                "The job '{}' of the cluster was taken over: its lease has ended",
                self.run.kind.name()
            ),
        )
    }

    /// Notes that the job is done, and gives it back.
    ///
    /// # Errors
    /// `FS_GENERAL`.
    pub(crate) fn finish(self) -> Result<()> {
        let (kind, repository, holder) = (self.run.kind.name(), self.run.repository, self.run.holder);
        self.run
            .database
            .run("note the end of a job", |client| async move {
                client
                    .execute(FINISH, &[&kind, &repository, &holder])
                    .await
                    .map(drop)
            })
    }
}

impl JobRun {
    /// Renews the lease until the run has ended.
    fn renew_until(&self, ended: &Cancel, lease: Duration) {
        let (kind, repository, holder) = (self.kind.name(), self.repository, self.holder);
        while !ended.wait(lease / 3) {
            let renewed = self
                .database
                .run("renew the lease of a job", |client| async move {
                    client
                        .execute(RENEW, &[&kind, &repository, &holder, &lease.as_secs_f64()])
                        .await
                });
            match renewed {
                Ok(0) => {
                    self.is_lost.store(true, Ordering::Release);
                    self.cancel.cancel();
                    return;
                }
                Ok(_) => {}
                // The lease may last until the database is back. If not, the next renewal finds that out.
                Err(e) => tracing::warn!("can't renew the lease of the job '{kind}': {}", e.message()),
            }
        }
    }
}

impl Drop for JobLease {
    fn drop(&mut self) {
        self.ended.cancel();
        if let Some(renewal) = self.renewal.take() {
            _ = renewal.join();
        }
        let (kind, repository, holder) = (self.run.kind.name(), self.run.repository, self.run.holder);
        // Without it the job is free a little later.
        _ = self
            .run
            .database
            .run_once(|client| async move { client.execute(RELEASE, &[&kind, &repository, &holder]).await });
    }
}

/// A job that is being done, or was done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobInfo {
    /// `pack`, `gc` or `scrub`.
    pub kind: String,
    /// The name of the repository; `None` for a job of the whole cluster.
    pub repository: Option<String>,
    /// True while a run has the job.
    pub is_running: bool,
    /// The epoch of the node of the last run; `None` for a command.
    pub epoch: Option<u64>,
    /// Seconds since the last complete run; `None` without one.
    pub finished_ago: Option<u64>,
}

/// Lists the jobs.
pub(super) fn list(database: &Database) -> Result<Vec<JobInfo>> {
    let rows = database.run(
        "list the jobs",
        |client| async move { client.query(LIST, &[]).await },
    )?;
    let jobs = rows.iter().map(|row| {
        let (epoch, ago): (Option<i64>, Option<i64>) = (row.try_get(3)?, row.try_get(4)?);
        Ok(JobInfo {
            kind: row.try_get(0)?,
            repository: row.try_get(1)?,
            is_running: row.try_get(2)?,
            epoch: epoch.and_then(|epoch| u64::try_from(epoch).ok()),
            finished_ago: ago.map(|ago| u64::try_from(ago).unwrap_or_default()),
        })
    });
    jobs.collect::<std::result::Result<_, _>>().map_err(sql_error)
}

/// The lease of a job, in leases of a node. A job is longer than a request, and loses more.
const LEASES: u32 = 3;

const TAKE: &str = "INSERT INTO sven_job (kind, repository, holder, epoch, lease_until) \
     VALUES ($1, $2, $3, $4, clock_timestamp() + make_interval(secs => $5)) \
     ON CONFLICT (kind, repository) DO UPDATE SET holder = excluded.holder, epoch = excluded.epoch, \
         lease_until = excluded.lease_until, begun = clock_timestamp() \
     WHERE sven_job.holder = excluded.holder OR \
         ((sven_job.lease_until <= clock_timestamp() \
             OR EXISTS (SELECT FROM sven_node n WHERE n.epoch = sven_job.epoch AND n.is_dead)) \
         AND (sven_job.finished IS NULL OR sven_job.finished <= clock_timestamp() - make_interval(secs => $6)))";
const RENEW: &str = "UPDATE sven_job SET lease_until = clock_timestamp() + make_interval(secs => $4) \
     WHERE kind = $1 AND repository = $2 AND holder = $3 AND lease_until > clock_timestamp() \
     AND NOT EXISTS (SELECT FROM sven_node n WHERE n.epoch = sven_job.epoch AND n.is_dead)";
const RELEASE: &str = "UPDATE sven_job SET lease_until = least(lease_until, clock_timestamp()) \
     WHERE kind = $1 AND repository = $2 AND holder = $3";
const FINISH: &str = "UPDATE sven_job SET finished = clock_timestamp() \
     WHERE kind = $1 AND repository = $2 AND holder = $3";
const LIST: &str = "SELECT j.kind, r.name, j.lease_until > clock_timestamp(), j.epoch, \
     extract(epoch FROM clock_timestamp() - j.finished)::bigint \
     FROM sven_job j LEFT JOIN sven_repository r ON r.id = j.repository ORDER BY j.kind, r.name";
