//! `svnlook date`: prints the date of a revision.

use std::ffi::OsString;

use base::Result;

use super::lookup::{self, RootOption};
use crate::out::Out;

/// Prints the date.
#[derive(clap::Args)]
#[command(override_usage = "date REPOS_PATH")]
pub struct DateArgs {
    #[command(flatten)]
    target: RootOption,
    operands: Vec<OsString>,
}

impl DateArgs {
    /// Runs the subcommand.
    pub fn run(self, out: &mut Out) -> Result<()> {
        let repository = lookup::open(out, &self.operands, 1)?;
        let all = lookup::revision_props(&self.target.root(&repository)?)?;
        out.line(&lookup::date(&all)?)
    }
}
