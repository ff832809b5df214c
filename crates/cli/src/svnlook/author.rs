//! `svnlook author`: prints the author of a revision.

use std::ffi::OsString;

use base::{Result, props};

use super::lookup::{self, RootOption};
use crate::out::Out;

/// Prints the author.
#[derive(clap::Args)]
#[command(override_usage = "author REPOS_PATH")]
pub struct AuthorArgs {
    #[command(flatten)]
    target: RootOption,
    operands: Vec<OsString>,
}

impl AuthorArgs {
    /// Runs the subcommand.
    pub fn run(self, out: &mut Out) -> Result<()> {
        let repository = lookup::open(out, &self.operands, 1)?;
        let all = lookup::revision_props(&self.target.root(&repository)?)?;
        out.line(&lookup::shown(&all, props::AUTHOR))
    }
}
