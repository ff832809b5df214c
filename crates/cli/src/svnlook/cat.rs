//! `svnlook cat`: prints a file's text.

use std::ffi::OsString;

use base::Result;

use super::lookup::{self, RootOption};
use crate::args::operand;
use crate::out::Out;

/// Prints the text of a file, as it is stored.
#[derive(clap::Args)]
#[command(override_usage = "cat REPOS_PATH FILE_PATH")]
pub struct CatArgs {
    #[command(flatten)]
    target: RootOption,
    operands: Vec<OsString>,
}

impl CatArgs {
    /// Runs the subcommand.
    pub fn run(self, out: &mut Out) -> Result<()> {
        operand::at_most(&self.operands, 2, out.program(), "Too many arguments given")?;
        operand::at_least(&self.operands, 2, out.program(), lookup::NO_PATH)?;
        let repository = lookup::open(out, &self.operands, 2)?;
        let root = self.target.root(&repository)?;
        let mut reader = lookup::file(&root, &self.operands[1])?.reader()?;
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
