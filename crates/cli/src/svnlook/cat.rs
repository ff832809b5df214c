//! `svnlook cat`: a file's text.

use std::ffi::OsString;

use base::Result;

use super::at::{self, At};
use crate::args::operand;
use crate::out::Out;

/// Prints the text of a file, as it is stored.
#[derive(clap::Args)]
#[command(override_usage = "cat REPOS_PATH FILE_PATH")]
pub struct Cat {
    #[command(flatten)]
    at: At,
    operands: Vec<OsString>,
}

impl Cat {
    /// Runs it.
    pub fn run(self, out: &mut Out) -> Result<()> {
        operand::at_most(&self.operands, 2, out.program(), "Too many arguments given")?;
        operand::at_least(&self.operands, 2, out.program(), at::NO_PATH)?;
        let repository = at::open(out, &self.operands, 2)?;
        let root = self.at.root(&repository)?;
        let mut reader = at::file(&root, &self.operands[1])?.reader()?;
        let mut buffer = vec![0; 64 << 10];
        loop {
            let read = reader.read_some(&mut buffer)?;
            if read == 0 {
                return Ok(());
            }
            out.raw(&buffer[..read])?;
        }
    }
}
