//! `svnlook lock`: who locked a file.

use std::ffi::OsString;

use base::Result;

use super::at;
use crate::args::operand;
use crate::lock_text;
use crate::out::Out;

/// Describes the lock on a path, if there is one.
#[derive(clap::Args)]
#[command(override_usage = "lock REPOS_PATH PATH_IN_REPOS")]
pub struct Lock {
    operands: Vec<OsString>,
}

impl Lock {
    /// Runs it.
    pub fn run(self, out: &mut Out) -> Result<()> {
        operand::at_most(&self.operands, 2, out.program(), "Too many arguments given")?;
        operand::at_least(&self.operands, 2, out.program(), at::NO_PATH)?;
        let repository = at::open(out, &self.operands, 2)?;
        // No lock can be on a path that is none.
        let Ok(path) = operand::fs_path(&self.operands[1]) else {
            return Ok(());
        };
        match repository.get_lock(&path)? {
            Some(lock) => out.print(&lock_text::describe(&lock)),
            None => Ok(()),
        }
    }
}
