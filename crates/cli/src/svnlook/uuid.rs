//! `svnlook uuid`: the repository's UUID.

use std::ffi::OsString;

use base::Result;

use super::at;
use crate::out::Out;

/// Prints the UUID of the repository.
#[derive(clap::Args)]
#[command(override_usage = "uuid REPOS_PATH")]
pub struct Uuid {
    operands: Vec<OsString>,
}

impl Uuid {
    /// Runs it.
    pub fn run(self, out: &mut Out) -> Result<()> {
        let repository = at::open(out, &self.operands, 1)?;
        out.line(&repository.uuid())
    }
}
