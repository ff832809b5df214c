//! `svnlook lock`: prints the lock of a file.

use std::ffi::OsString;

use base::Result;

use super::lookup;
use crate::args::operand;
use crate::lock_text;
use crate::out::Out;

/// Describes the lock on a path, if there is one.
#[derive(clap::Args)]
#[command(override_usage = "lock REPOS_PATH PATH_IN_REPOS")]
pub struct LockArgs {
    operands: Vec<OsString>,
}

impl LockArgs {
    /// Runs the subcommand.
    pub fn run(self, out: &mut Out) -> Result<()> {
        operand::at_most(&self.operands, 2, out.program(), "Too many arguments given")?;
        operand::at_least(&self.operands, 2, out.program(), lookup::NO_PATH)?;
        let repository = lookup::open(out, &self.operands, 2)?;
        // An invalid path has no lock.
        let Ok(path) = operand::fs_path(&self.operands[1]) else {
            return Ok(());
        };
        match repository.get_lock(&path)? {
            Some(lock) => out.print(&lock_text::describe(&lock)),
            None => Ok(()),
        }
    }
}
