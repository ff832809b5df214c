//! `svnfsfs stats`: the sizes of a repository's parts.

use std::ffi::OsString;

use base::{Result, Revnum};
use fsfs::admin::stats;

use crate::args::option::Memory;
use crate::interrupt::Interrupt;
use crate::out::Out;

/// Reads the whole repository and prints how much room its parts take: nodes,
/// texts and properties, what is shared, the largest, and how sizes are spread.
#[derive(clap::Args)]
#[command(override_usage = "stats REPOS_PATH")]
pub struct Stats {
    #[command(flatten)]
    memory: Memory,
    operands: Vec<OsString>,
}

impl Stats {
    /// Runs it.
    pub fn run(self, out: &mut Out) -> Result<()> {
        out.line("Reading revisions")?;
        out.flush()?;
        let fs = super::open(&self.operands, self.memory)?;
        let interrupt = Interrupt::listen()?;
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
        interrupt.settle(out, outcome)
    }
}
