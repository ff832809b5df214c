//! `svnlook youngest`: prints the number of the youngest revision.

use std::ffi::OsString;

use base::Result;

use super::lookup;
use crate::out::Out;

/// Prints the number of the youngest revision.
#[derive(clap::Args)]
#[command(override_usage = "youngest REPOS_PATH")]
pub struct YoungestArgs {
    /// print no line feed after the number
    #[arg(long = "no-newline")]
    no_newline: bool,
    operands: Vec<OsString>,
}

impl YoungestArgs {
    /// Runs the subcommand.
    pub fn run(self, out: &mut Out) -> Result<()> {
        let repository = lookup::open(out, &self.operands, 1)?;
        out.print(&repository.youngest()?.to_string())?;
        if !self.no_newline {
            out.print("\n")?;
        }
        Ok(())
    }
}
