//! `svnadmin build-repcache`: enters existing representations into the rep-cache, so that new commits share them.

use std::ffi::OsString;

use base::{Code, Result, Revnum};
use fsfs::admin::rep_cache;

use super::range::RangeOption;
use super::repository;
use crate::args::option::{CacheSizeOption, LongRunOptions};
use crate::interrupt::Interrupt;
use crate::out::Out;
use crate::progress::{Lines, Progress};

/// Enters into the rep-cache what revisions store, where it is missing there, so
/// that commits find it. All revisions are read unless '-r' names some.
#[derive(clap::Args)]
#[command(override_usage = "build-repcache REPOS_PATH [-r LOWER[:UPPER]]")]
pub struct BuildRepCacheArgs {
    #[command(flatten)]
    range: RangeOption,
    /// say nothing
    #[arg(short = 'q', long)]
    quiet: bool,
    #[command(flatten)]
    memory: CacheSizeOption,
    #[command(flatten)]
    long_run: LongRunOptions,
    operands: Vec<OsString>,
}

impl BuildRepCacheArgs {
    /// Runs the subcommand.
    pub fn run(self, out: &mut Out) -> Result<()> {
        out.set_output_ignorable();
        let interrupt = Interrupt::install()?;
        let meter = self.long_run.meter(&interrupt.cancel);
        let repository =
            repository::open_for_one_pass(out, &self.operands, self.memory.budget(), meter.as_ref())?;
        let (first, last) = match self.range.given() {
            None => (Revnum(1), repository.youngest()?),
            Some(_) => self.range.ascending(out, &repository)?,
        };
        let progress = Progress::of_revisions(
            self.long_run.progress,
            self.quiet,
            Lines::OnStdout,
            meter.as_ref(),
        );
        progress.step("Processed", 0, Some((last.0 + 1).saturating_sub(first.0)));
        let mut processed = |rev: Revnum| {
            progress.set(rev.0.saturating_sub(first.0) + 1);
            if progress.has_lines() {
                out.notice_line(&format!("* Processed revision {rev}."));
            }
        };
        let outcome = rep_cache::build(repository.fs(), first, last, &mut processed, &interrupt.cancel);
        progress.finish(outcome.is_ok());
        if matches!(&outcome, Err(error) if error.code() == Code::FS_REP_SHARING_NOT_ALLOWED) {
            let program = out.program().to_owned();
            out.print(&format!(
                "{program}: Warning - this repository has rep-sharing disabled. Building rep-cache has no effect.\n"
            ))?;
            return interrupt.finish(out, Ok(()));
        }
        interrupt.finish(out, outcome)
    }
}
