//! `svnlook log`: the log message of a revision.

use std::ffi::OsString;

use base::{Result, props};

use super::at::{self, At};
use crate::out::Out;

/// Prints the log message.
#[derive(clap::Args)]
#[command(override_usage = "log REPOS_PATH")]
pub struct Log {
    #[command(flatten)]
    at: At,
    operands: Vec<OsString>,
}

impl Log {
    /// Runs it.
    pub fn run(self, out: &mut Out) -> Result<()> {
        let repository = at::open(out, &self.operands, 1)?;
        let all = at::revision_props(&self.at.root(&repository)?)?;
        out.line(&at::shown(&all, props::LOG))
    }
}
