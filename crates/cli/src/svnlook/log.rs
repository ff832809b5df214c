//! `svnlook log`: prints the log message of a revision.

use std::ffi::OsString;

use base::{Result, props};

use super::lookup::{self, RootOption};
use crate::out::Out;

/// Prints the log message.
#[derive(clap::Args)]
#[command(override_usage = "log REPOS_PATH")]
pub struct LogArgs {
    #[command(flatten)]
    target: RootOption,
    operands: Vec<OsString>,
}

impl LogArgs {
    /// Runs the subcommand.
    pub fn run(self, out: &mut Out) -> Result<()> {
        let repository = lookup::open(out, &self.operands, 1)?;
        let all = lookup::revision_props(&self.target.root(&repository)?)?;
        out.line(&lookup::shown(&all, props::LOG))
    }
}
