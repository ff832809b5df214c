//! `svnfsfs stats`: prints the sizes of a repository's parts.

use std::ffi::OsString;

use base::{Result, Revnum};
use fsfs::admin::stats;

use crate::args::option::CacheSizeOption;
use crate::interrupt::Interrupt;
use crate::out::Out;

/// Reads the whole repository and prints how much room its parts take: nodes,
/// texts and properties, what is shared, the largest, and how sizes are spread.
#[derive(clap::Args)]
#[command(override_usage = "stats REPOS_PATH")]
pub struct StatsArgs {
    #[command(flatten)]
    memory: CacheSizeOption,
    operands: Vec<OsString>,
}

impl StatsArgs {
    /// Runs the subcommand.
    pub fn run(self, out: &mut Out) -> Result<()> {
        out.line("Reading revisions")?;
        out.flush()?;
        let fs = super::open(&self.operands, self.memory)?;
        let interrupt = Interrupt::install()?;
        let mut written = Ok(());
        let outcome = {
            let mut shard = |rev: Revnum| {
                if written.is_ok() {
                    written = out.print(&format!("{:>8}", rev.0)).and_then(|()| out.flush());
                    if written.is_err() {
                        interrupt.cancel.cancel();
                    }
                }
            };
            stats::run(&fs, &mut shard, &interrupt.cancel)
        };
        written?;
        let outcome = outcome.and_then(|stats| out.print(&format!("\n\n{stats}")));
        interrupt.finish(out, outcome)
    }
}
