//! `sven cluster fsck`, `gc` and `scrub`: objects and rows compared.

use std::ffi::OsString;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use base::{Code, Error, Result};
use cluster::jobs::ScrubReport;
use cluster::{ClusterSettings, ObjectReport};

use super::{ConfigOption, operands};
use crate::args::option::LongRunOptions;
use crate::interrupt::Interrupt;
use crate::out::Out;
use crate::progress::{Lines, Progress};

/// Checks that every object that the database names is there, with the right
/// length, and reports those that the last 'scrub' has found damaged.
#[derive(clap::Args)]
#[command(override_usage = "fsck [--config FILE]")]
pub(super) struct FsckArgs {
    #[command(flatten)]
    config: ConfigOption,
    #[arg(hide = true)]
    operands: Vec<OsString>,
}

impl FsckArgs {
    pub(super) fn run(self, out: &mut Out) -> Result<()> {
        operands::<0>(&self.operands, out)?;
        let cluster = self.config.connect()?;
        let interrupt = Interrupt::install()?;
        let outcome = cluster
            .compare_objects(DAY, &interrupt.cancel)
            .and_then(|report| {
                print(&report, out)?;
                if let Some(warning) = cluster.durability_warning()? {
                    out.warning(&warning)?;
                }
                match report.damaged.len() {
                    0 => Ok(()),
                    count => Err(Error::new(
                        Code::FS_CORRUPT,
                        format!("{count} objects are missing or damaged"),
                    )),
                }
            });
        interrupt.finish(out, outcome)
    }
}

/// Removes objects that the database does not name: of commits that failed, of
/// shards that were packed, and of repositories that were removed. An object
/// stays until it is known for the grace time that it has no name: one run finds
/// it, and a later one removes it.
#[derive(clap::Args)]
#[command(override_usage = "gc [--config FILE] [--grace SECONDS] [--dry-run]")]
pub(super) struct GcArgs {
    #[command(flatten)]
    config: ConfigOption,
    /// remove what is known to have no name for ARG seconds; by default, and at least, 'gc-grace' of the configuration: what is younger may belong to a commit that is under way
    #[arg(long, value_name = "SECONDS")]
    grace: Option<u64>,
    /// only say what would be removed
    #[arg(long)]
    dry_run: bool,
    #[arg(hide = true)]
    operands: Vec<OsString>,
}

impl GcArgs {
    pub(super) fn run(self, out: &mut Out) -> Result<()> {
        operands::<0>(&self.operands, out)?;
        let cluster = self.config.connect()?;
        let grace = self.grace_of(cluster.settings())?;
        let interrupt = Interrupt::install()?;
        let removed = cluster.collect_garbage(grace, self.dry_run, &interrupt.cancel);
        let outcome = removed.and_then(|report| {
            let what = match self.dry_run {
                true => "to remove",
                false => "removed",
            };
            out.line(&format!(
                "{} objects {what}, {} bytes",
                report.removed, report.removed_bytes
            ))?;
            out.line(&format!(
                "{} objects to remove later, {} bytes",
                report.waiting, report.waiting_bytes
            ))
        });
        interrupt.finish(out, outcome)
    }
}

impl GcArgs {
    /// The grace time, seconds.
    fn grace_of(&self, settings: &ClusterSettings) -> Result<u64> {
        let shortest = settings.gc_grace_ms.div_ceil(1000);
        let grace = self.grace.unwrap_or(shortest);
        match grace >= shortest || self.dry_run {
            true => Ok(grace),
            false => Err(Error::new(
                Code::INCORRECT_PARAMS,
                format!(
                    "'--grace {grace}' is shorter than 'gc-grace' in [cluster], {shortest} seconds: for half of that time, an object may belong to a commit \
                     that is under way. If all nodes are stopped, use a configuration with a shorter 'gc-grace'"
                ),
            )),
        }
    }
}

/// Reads all objects of the cluster or of one repository from the object store,
/// and compares their bytes with the digests in the database. What is damaged is
/// reported, and stays.
#[derive(clap::Args)]
#[command(override_usage = "scrub [--config FILE] [NAME]")]
pub(super) struct ScrubArgs {
    #[command(flatten)]
    config: ConfigOption,
    /// say nothing unless something is wrong
    #[arg(short = 'q', long)]
    quiet: bool,
    #[command(flatten)]
    long_run: LongRunOptions,
    #[arg(hide = true)]
    operands: Vec<OsString>,
}

impl ScrubArgs {
    pub(super) fn run(self, out: &mut Out) -> Result<()> {
        let name = match self.operands.len() {
            0 => None,
            _ => Some(operands::<1>(&self.operands, out)?),
        };
        let name = name.as_ref().map(|[name]| name.as_str());
        let cluster = self.config.connect()?;
        let interrupt = Interrupt::install()?;
        let meter = self.long_run.meter(&interrupt.cancel);
        let read = Arc::new(AtomicU64::new(0));
        let option = self.long_run.progress;
        let progress = Progress::of_input(option, self.quiet, Lines::OnStdout, "Read", &read, None);
        let mut done = |report: &ScrubReport| read.store(report.bytes, Ordering::Relaxed);
        let scrubbed = cluster.scrub(name, meter.as_deref(), &mut done, &interrupt.cancel);
        progress.finish(scrubbed.is_ok());
        let outcome = scrubbed.and_then(|report| {
            for (name, damage) in &report.damaged {
                out.line(&format!("damaged: {name}: {damage}"))?;
            }
            if !self.quiet {
                out.line(&format!("{} objects, {} bytes", report.objects, report.bytes))?;
            }
            match report.damaged.len() {
                0 => Ok(()),
                count => Err(Error::new(
                    Code::FS_CORRUPT,
                    format!("{count} objects are damaged"),
                )),
            }
        });
        interrupt.finish(out, outcome)
    }
}

fn print(report: &ObjectReport, out: &mut Out) -> Result<()> {
    for name in &report.damaged {
        out.line(&format!("missing or damaged: {name}"))?;
    }
    out.line(&format!("{} objects, {} bytes", report.objects, report.bytes))?;
    out.line(&format!(
        "{} objects older than a day that the database does not name, {} bytes",
        report.garbage, report.garbage_bytes
    ))
}

/// Seconds.
const DAY: u64 = 24 * 60 * 60;
