//! `sven cluster status`: the state of a cluster on one page.

use std::ffi::OsString;
use std::time::Duration;

use base::{Code, Error, Result};
use cluster::jobs::JobInfo;
use cluster::{ClusterStatus, NodeInfo, RepositoryInfo};

use super::{ConfigOption, operands};
use crate::out::Out;

/// Shows the state of the cluster: whether database and object store answer
/// and how fast, nodes with their leases, repositories with their youngest
/// revisions, revisions that wait in the database to be moved to the object
/// store, and jobs: those that run, and the last runs of those that concern
/// the whole cluster.
#[derive(clap::Args)]
#[command(override_usage = "status [--config FILE]")]
pub(super) struct StatusArgs {
    #[command(flatten)]
    config: ConfigOption,
    #[arg(hide = true)]
    operands: Vec<OsString>,
}

impl StatusArgs {
    pub(super) fn run(self, out: &mut Out) -> Result<()> {
        operands::<0>(&self.operands, out)?;
        let cluster = self.config.connect()?;
        let status = cluster.status()?;
        out.line(&format!(
            "database  {}, PostgreSQL {}, tables of version {} (this program: {}), program {}",
            shown(status.database_time),
            status.database_version,
            status.tables_version,
            status.own_tables_version,
            env!("CARGO_PKG_VERSION"),
        ))?;
        if let Some(warning) = cluster.durability_warning()? {
            out.warning(&warning)?;
        }
        let objects = &cluster.settings().objects;
        match &status.objects {
            Ok(time) => out.line(&format!("objects   {}, {objects}", shown(*time)))?,
            Err(why) => out.line(&format!("objects   not reachable, {objects}: {why}"))?,
        }
        out.line("\nnodes")?;
        for node in cluster.nodes()? {
            out.line(&node_line(&node))?;
        }
        out.line("\nrepositories")?;
        for repository in cluster.repositories()? {
            out.line(&repository_line(&repository, &status))?;
        }
        let jobs = cluster.jobs()?;
        // Where packing is automatic, each repository has a job. Those that run are of interest.
        let shown: Vec<_> = jobs
            .iter()
            .filter(|job| job.is_running || job.repository.is_none())
            .collect();
        if !shown.is_empty() {
            out.line("\njobs")?;
        }
        for job in shown {
            out.line(&job_line(job))?;
        }
        match status.objects {
            Ok(_) => Ok(()),
            Err(_) => Err(Error::new(
                Code::FS_GENERAL,
                "The object store of the cluster cannot be reached",
            )),
        }
    }
}

fn node_line(node: &NodeInfo) -> String {
    let (state, lease) = match node.is_alive {
        true => (
            "alive",
            format!(
                "lease for {}",
                shown(Duration::from_millis(node.lease_left_ms.cast_unsigned()))
            ),
        ),
        false if node.lease_left_ms < 0 => (
            "gone",
            format!(
                "lease ended {} ago",
                shown(Duration::from_millis(node.lease_left_ms.unsigned_abs()))
            ),
        ),
        false => ("dead", "declared dead".to_owned()),
    };
    let url = match node.url.is_empty() {
        true => "-",
        false => &node.url,
    };
    format!(
        "  epoch {:>4}  {state:5}  {}  {url}  {}  {lease}",
        node.epoch, node.name, node.program
    )
}

fn repository_line(repository: &RepositoryInfo, status: &ClusterStatus) -> String {
    let state = match repository.youngest {
        Some(rev) => format!("r{rev}"),
        None => "(import has not ended)".to_owned(),
    };
    let inline = status
        .inline
        .iter()
        .find(|inline| inline.repository == repository.name);
    let inline = inline.map_or(String::new(), |inline| {
        format!(
            "  {} revisions in the database, {} bytes",
            inline.revisions, inline.bytes
        )
    });
    format!("  {state:>9}  {}{inline}", repository.name)
}

fn job_line(job: &JobInfo) -> String {
    let place = match job.epoch {
        Some(epoch) => format!("at the node of epoch {epoch}"),
        None => "by a command".to_owned(),
    };
    let state = match (job.is_running, job.finished_ago) {
        (true, _) => format!("running {place}"),
        (false, Some(ago)) => format!("ended {ago} s ago {place}"),
        (false, None) => format!("not completed yet {place}"),
    };
    let repository = job.repository.as_deref().unwrap_or("(all)");
    format!("  {:5}  {repository}  {state}", job.kind)
}

/// A time in a unit that fits.
fn shown(time: Duration) -> String {
    let micros = time.as_micros();
    match micros {
        0..1_000 => format!("{micros} µs"),
        1_000..1_000_000 => format!("{}.{} ms", micros / 1_000, micros / 100 % 10),
        _ => format!("{} s", time.as_secs()),
    }
}
