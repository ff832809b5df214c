//! `svnadmin pack`: moves the revisions of each complete shard into a pack file.

use std::ffi::OsString;

use base::Result;
use fsfs::admin::pack::{self, PackEvent};

use super::repository;
use crate::args::option::CacheSizeOption;
use crate::interrupt::Interrupt;
use crate::out::Out;

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
    operands: Vec<OsString>,
}

impl PackArgs {
    /// Runs the subcommand.
    pub fn run(self, out: &mut Out) -> Result<()> {
        let repository = repository::open_with(out, &self.operands, self.memory.budget())?;
        let info = repository.fs_info()?;
        if !self.quiet && info.shard_size == 0 && info.format >= FIRST_WITH_PACKING {
            let program = out.program().to_owned();
            out.line(&format!(
                "{program}: Warning - this repository is not sharded. Packing has no effect."
            ))?;
        }
        let interrupt = Interrupt::install()?;
        let mut written = Ok(());
        let outcome = {
            let mut observer = |event: PackEvent| {
                if self.quiet || written.is_err() {
                    return;
                }
                written = match event {
                    PackEvent::Start(shard) => out.print(&format!("Packing revisions in shard {shard}...")),
                    PackEvent::End(_) => out.line("done."),
                    PackEvent::SetAside(shard) => out.print(&format!(
                        "another pack of shard {shard} was renamed to 'svn-stray-{shard}.pack-…'..."
                    )),
                }
                .and_then(|()| out.flush());
                if written.is_err() {
                    interrupt.cancel.cancel();
                }
            };
            pack::run(repository.fs(), &mut observer, &interrupt.cancel)
        };
        written?;
        interrupt.finish(out, outcome)
    }
}

/// The oldest format whose revisions can be packed.
const FIRST_WITH_PACKING: u32 = 4;
