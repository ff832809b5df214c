//! `svnlook uuid`: prints the repository's UUID.

use std::ffi::OsString;

use base::Result;

use super::lookup;
use crate::out::Out;

/// Prints the UUID of the repository.
#[derive(clap::Args)]
#[command(override_usage = "uuid REPOS_PATH")]
pub struct UuidArgs {
    operands: Vec<OsString>,
}

impl UuidArgs {
    /// Runs the subcommand.
    pub fn run(self, out: &mut Out) -> Result<()> {
        let repository = lookup::open(out, &self.operands, 1)?;
        out.line(&repository.uuid())
    }
}
