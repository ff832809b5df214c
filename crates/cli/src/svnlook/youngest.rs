//! `svnlook youngest`: the number of the youngest revision.

use std::ffi::OsString;

use base::Result;

use super::at;
use crate::out::Out;

/// Prints the number of the youngest revision.
#[derive(clap::Args)]
#[command(override_usage = "youngest REPOS_PATH")]
pub struct Youngest {
    /// print no line feed after the number
    #[arg(long = "no-newline")]
    no_newline: bool,
    operands: Vec<OsString>,
}

impl Youngest {
    /// Runs it.
    pub fn run(self, out: &mut Out) -> Result<()> {
        let repository = at::open(out, &self.operands, 1)?;
        out.print(&repository.youngest()?.to_string())?;
        if !self.no_newline {
            out.print("\n")?;
        }
        Ok(())
    }
}
