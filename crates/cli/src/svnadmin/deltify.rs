//! `svnadmin deltify`: only storage back ends other than FSFS need it.

use std::ffi::OsString;

use base::{Result, Revnum};

use super::range::RangeOption;
use super::repository;
use crate::args::option::CacheSizeOption;
use crate::out::Out;

/// Stores revisions as differences from others, the youngest one if none is
/// named. FSFS has done that when they were committed: there is nothing left
/// to do.
#[derive(clap::Args)]
#[command(override_usage = "deltify [-r LOWER[:UPPER]] REPOS_PATH")]
pub struct DeltifyArgs {
    #[command(flatten)]
    range: RangeOption,
    /// say nothing
    #[arg(short = 'q', long)]
    quiet: bool,
    #[command(flatten)]
    memory: CacheSizeOption,
    operands: Vec<OsString>,
}

impl DeltifyArgs {
    /// Runs the subcommand.
    pub fn run(self, out: &mut Out) -> Result<()> {
        let repository = repository::open_with(out, &self.operands, self.memory.budget())?;
        let youngest = repository.youngest()?;
        let (first, last) = match self.range.given() {
            None => (youngest, youngest),
            Some(_) => self.range.ascending(out, &repository)?,
        };
        for rev in first.0..=last.0 {
            repository.fs().root(Revnum(rev))?;
            if !self.quiet {
                out.line(&format!("Deltifying revision {rev}...done."))?;
            }
        }
        Ok(())
    }
}
