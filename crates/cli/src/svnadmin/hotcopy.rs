//! `svnadmin hotcopy`: copies a repository that may be in use.

use std::ffi::OsString;

use base::Result;
use fsfs::Cache;
use fsfs::admin::hotcopy::CopiedRevisions;
use repos::admin::{self, HotcopyOptions};

use super::repository;
use crate::args::operand::{at_least, at_most};
use crate::args::option;
use crate::interrupt::Interrupt;
use crate::local_path;
use crate::out::Out;

/// Copies a repository, configuration and hooks included, while it may be in use.
///
/// With '--incremental' only what an earlier copy lacks is copied.
#[derive(clap::Args)]
#[command(override_usage = "hotcopy REPOS_PATH NEW_REPOS_PATH")]
pub struct HotcopyArgs {
    /// accepted, and of no use: it is about Berkeley DB
    #[arg(long)]
    clean_logs: bool,
    /// copy only what the destination, an earlier copy, lacks
    #[arg(long)]
    incremental: bool,
    /// say nothing
    #[arg(short = 'q', long)]
    quiet: bool,
    operands: Vec<OsString>,
}

impl HotcopyArgs {
    /// Runs the subcommand.
    pub fn run(self, out: &mut Out) -> Result<()> {
        at_most(&self.operands, 2, out.program(), "Too many arguments")?;
        at_least(&self.operands, 2, out.program(), "Not enough arguments")?;
        let destination = local_path::canonical(&self.operands[1]);
        let interrupt = Interrupt::install()?;
        let mut written = Ok(());
        let outcome = {
            let mut observer = |copied: CopiedRevisions| {
                if self.quiet || written.is_err() {
                    return;
                }
                let CopiedRevisions { start, end } = copied;
                let line = match start == end {
                    true => format!("* Copied revision {start}."),
                    false => format!("* Copied revisions from {start} to {end}."),
                };
                written = out.line(&line).and_then(|()| out.flush());
                if written.is_err() {
                    interrupt.cancel.cancel();
                }
            };
            admin::hotcopy(
                &repository::path(&self.operands),
                &destination,
                HotcopyOptions {
                    incremental: self.incremental,
                },
                &mut observer,
                &interrupt.cancel,
                &Cache::new(option::default_budget()),
            )
        };
        written?;
        interrupt.finish(out, outcome)
    }
}
