//! `svnlook filesize`: how long a file's text is.

use std::ffi::OsString;

use base::Result;

use super::at::{self, At};
use crate::args::operand;
use crate::out::Out;

/// Prints the size of a file's text in bytes, as it is stored.
#[derive(clap::Args)]
#[command(override_usage = "filesize REPOS_PATH PATH_IN_REPOS")]
pub struct FileSize {
    #[command(flatten)]
    at: At,
    operands: Vec<OsString>,
}

impl FileSize {
    /// Runs it.
    pub fn run(self, out: &mut Out) -> Result<()> {
        operand::at_most(&self.operands, 2, out.program(), "Too many arguments given")?;
        operand::at_least(&self.operands, 2, out.program(), at::NO_PATH)?;
        let repository = at::open(out, &self.operands, 2)?;
        let root = self.at.root(&repository)?;
        let size = at::file(&root, &self.operands[1])?.size()?;
        out.line(&size.to_string())
    }
}
