//! `svnadmin lslocks`: lists the locks at and below a path.

use std::ffi::OsString;

use base::{Depth, Result};
use repos::access::Everything;

use super::repository;
use crate::args::operand;
use crate::lock_text;
use crate::out::Out;

/// Describes all locks at and below a path (in the whole repository if none is
/// given).
#[derive(clap::Args)]
#[command(override_usage = "lslocks REPOS_PATH [PATH-IN-REPOS]")]
pub struct LsLocksArgs {
    operands: Vec<OsString>,
}

impl LsLocksArgs {
    /// Runs the subcommand.
    pub fn run(self, out: &mut Out) -> Result<()> {
        operand::at_most(&self.operands, 2, out.program(), "Too many arguments given")?;
        let repository = repository::open(out, &self.operands[..1])?;
        let typed = self
            .operands
            .get(1)
            .map(OsString::as_os_str)
            .unwrap_or("/".as_ref());
        // There are no locks below an invalid path.
        let Ok(path) = operand::fs_path(typed) else {
            return Ok(());
        };
        for lock in repository.locks(&path, Depth::Infinity, &Everything)? {
            out.line(&format!("Path: {}", lock.path))?;
            out.line(&lock_text::describe(&lock))?;
        }
        Ok(())
    }
}
