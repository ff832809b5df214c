//! `svnlook filesize`: prints the length of a file's text.

use std::ffi::OsString;

use base::Result;

use super::lookup::{self, RootOption};
use crate::args::operand;
use crate::out::Out;

/// Prints the size of a file's text in bytes, as it is stored.
#[derive(clap::Args)]
#[command(override_usage = "filesize REPOS_PATH PATH_IN_REPOS")]
pub struct FileSizeArgs {
    #[command(flatten)]
    target: RootOption,
    operands: Vec<OsString>,
}

impl FileSizeArgs {
    /// Runs the subcommand.
    pub fn run(self, out: &mut Out) -> Result<()> {
        operand::at_most(&self.operands, 2, out.program(), "Too many arguments given")?;
        operand::at_least(&self.operands, 2, out.program(), lookup::NO_PATH)?;
        let repository = lookup::open(out, &self.operands, 2)?;
        let root = self.target.root(&repository)?;
        let size = lookup::file(&root, &self.operands[1])?.size()?;
        out.line(&size.to_string())
    }
}
