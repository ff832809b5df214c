//! `svnadmin pack`: moves the revisions of each complete shard into a pack file.

use std::ffi::OsString;

use base::Result;
use fsfs::admin::pack::{self, PackEvent};

use super::repository;
use crate::args::option::{CacheSizeOption, LongRunOptions};
use crate::interrupt::Interrupt;
use crate::out::Out;
use crate::progress::{Lines, Progress};

/// Puts the revisions of each complete shard into one file, which reads faster
/// and takes less room. May run while the repository is in use.
#[derive(clap::Args)]
#[command(override_usage = "pack REPOS_PATH")]
pub struct PackArgs {
    /// say nothing
    #[arg(short = 'q', long)]
    quiet: bool,
    #[command(flatten)]
    memory: CacheSizeOption,
    #[command(flatten)]
    long_run: LongRunOptions,
    operands: Vec<OsString>,
}

impl PackArgs {
    /// Runs the subcommand.
    pub fn run(self, out: &mut Out) -> Result<()> {
        out.set_output_ignorable();
        let interrupt = Interrupt::install()?;
        let meter = self.long_run.meter(&interrupt.cancel);
        let repository =
            repository::open_for_one_pass(out, &self.operands, self.memory.budget(), meter.as_ref())?;
        let info = repository.fs_info()?;
        if !self.quiet && info.shard_size == 0 && info.format >= FIRST_WITH_PACKING {
            let program = out.program().to_owned();
            out.line(&format!(
                "{program}: Warning - this repository is not sharded. Packing has no effect."
            ))?;
        }
        let progress = Progress::of_revisions(
            self.long_run.progress,
            self.quiet,
            Lines::OnStdout,
            meter.as_ref(),
        );
        let first = info.min_unpacked_rev.0;
        let after_last = (repository.youngest()?.0 + 1)
            .checked_div(info.shard_size)
            .map_or(first, |shards| shards * info.shard_size);
        progress.step("Packed", 0, Some(after_last.saturating_sub(first)));
        let outcome = {
            let mut observer = |event: PackEvent| {
                if let PackEvent::End(shard) = event {
                    progress.set(((shard + 1) * info.shard_size).saturating_sub(first));
                }
                if !progress.has_lines() {
                    return;
                }
                out.notice(&match event {
                    PackEvent::Start(shard) => format!("Packing revisions in shard {shard}..."),
                    PackEvent::End(_) => "done.\n".to_owned(),
                    PackEvent::SetAside(shard) => {
                        format!("another pack of shard {shard} was renamed to 'svn-stray-{shard}.pack-…'...")
                    }
                });
            };
            match repository.fs().is_shared() {
                true => cluster::jobs::pack(repository.fs(), &mut observer, &interrupt.cancel),
                false => pack::run(repository.fs(), &mut observer, &interrupt.cancel),
            }
        };
        progress.finish(outcome.is_ok());
        interrupt.finish(out, outcome)
    }
}

/// The oldest format whose revisions can be packed.
const FIRST_WITH_PACKING: u32 = 4;
