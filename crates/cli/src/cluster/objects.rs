//! `sven cluster fsck` and `sven cluster gc`: objects and rows compared.

use std::ffi::OsString;

use base::{Code, Error, Result};
use cluster::ObjectReport;

use super::{ConfigOption, operands};
use crate::interrupt::Interrupt;
use crate::out::Out;

/// Checks that every object that the database names is there, with the right
/// length. 'svnadmin verify' checks the contents.
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
        operands::<0>(&self.operands)?;
        let cluster = self.config.connect()?;
        let interrupt = Interrupt::install()?;
        let outcome = cluster
            .compare_objects(DAY, false, &interrupt.cancel)
            .and_then(|report| {
                print(&report, out)?;
                match report.damaged.len() {
                    0 => Ok(()),
                    count => Err(Error::new(
                        Code::FS_CORRUPT,
                        format!("{count} objects are missing or have another length"),
                    )),
                }
            });
        interrupt.finish(out, outcome)
    }
}

/// Removes objects that the database does not name: of commits that failed,
/// and of repositories that were removed.
#[derive(clap::Args)]
#[command(override_usage = "gc [--config FILE] [--grace SECONDS] [--dry-run]")]
pub(super) struct GcArgs {
    #[command(flatten)]
    config: ConfigOption,
    /// keep what was written in the last ARG seconds, which may belong to a commit that is under way
    #[arg(long, value_name = "SECONDS", default_value_t = 2 * DAY)]
    grace: u64,
    /// only say what would be removed
    #[arg(long)]
    dry_run: bool,
    #[arg(hide = true)]
    operands: Vec<OsString>,
}

impl GcArgs {
    pub(super) fn run(self, out: &mut Out) -> Result<()> {
        operands::<0>(&self.operands)?;
        let cluster = self.config.connect()?;
        let interrupt = Interrupt::install()?;
        let compared = cluster.compare_objects(self.grace, !self.dry_run, &interrupt.cancel);
        let outcome = compared.and_then(|report| {
            let what = match self.dry_run {
                true => "to remove",
                false => "removed",
            };
            out.line(&format!(
                "{} objects {what}, {} bytes",
                report.garbage, report.garbage_bytes
            ))
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
        "{} objects that the database does not name, {} bytes",
        report.garbage, report.garbage_bytes
    ))
}

/// Seconds.
const DAY: u64 = 24 * 60 * 60;
