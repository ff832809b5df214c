//! `svnadmin rev-size`: prints the size of a revision on disk.

use std::ffi::OsString;

use base::{Code, Error, Result};

use super::range::RangeOption;
use super::repository;
use crate::args::operand::misuse;
use crate::args::option::CacheSizeOption;
use crate::args::revision::{Revision, RevisionRangeArg};
use crate::out::Out;

/// Prints how many bytes a revision takes on disk. What it shares with others
/// (indexes of packed shards) does not count.
#[derive(clap::Args)]
#[command(override_usage = "rev-size REPOS_PATH -r REVISION")]
pub struct RevSizeArgs {
    #[command(flatten)]
    range: RangeOption,
    /// print the number alone
    #[arg(short = 'q', long)]
    quiet: bool,
    #[command(flatten)]
    memory: CacheSizeOption,
    operands: Vec<OsString>,
}

impl RevSizeArgs {
    /// Runs the subcommand.
    pub fn run(self, out: &mut Out) -> Result<()> {
        let Some(RevisionRangeArg {
            start: Revision::Number(revision),
            end: None,
        }) = self.range.given()
        else {
            let error = Error::new(Code::CL_ARG_PARSING_ERROR, "Invalid revision specifier");
            return Err(misuse(out.program(), error));
        };
        // The incumbent ignores more operands here.
        let first = &self.operands[..self.operands.len().min(1)];
        let repository = repository::open_with(out, first, self.memory.budget())?;
        let size = repository.fs().rev_size(revision)?;
        match self.quiet {
            true => out.line(&size.to_string()),
            false => out.line(&format!("{size:>12} bytes in revision {revision}")),
        }
    }
}
