//! `svnadmin lstxns`: lists the transactions.

use std::ffi::OsString;

use base::{Code, Error, Result};

use super::range::RangeOption;
use super::repository;
use crate::args::operand::{at_most, misuse};
use crate::out::Out;

/// Prints the names of all transactions that were not committed; with '-r' only
/// those that are based on that revision or an older one.
#[derive(clap::Args)]
#[command(override_usage = "lstxns REPOS_PATH")]
pub struct LsTxnsArgs {
    #[command(flatten)]
    range: RangeOption,
    operands: Vec<OsString>,
}

impl LsTxnsArgs {
    /// Runs the subcommand.
    pub fn run(self, out: &mut Out) -> Result<()> {
        at_most(&self.operands, 1, out.program(), "Too many arguments")?;
        if self.range.given().is_some_and(|range| range.end.is_some()) {
            let error = Error::new(Code::CL_ARG_PARSING_ERROR, "Revision range is not allowed");
            return Err(misuse(out.program(), error));
        }
        let repository = repository::open(out, &self.operands)?;
        let newest = self
            .range
            .resolve(out, &repository, repository.youngest()?)?
            .start;
        for name in repository.fs().list_txns()? {
            let wanted = match newest {
                Some(newest) => repository.fs().txn_root(&name)?.base_revision() <= newest,
                None => true,
            };
            if wanted {
                out.line(&name)?;
            }
        }
        Ok(())
    }
}
