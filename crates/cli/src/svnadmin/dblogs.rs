//! `svnadmin list-dblogs` and `list-unused-dblogs`: log files of Berkeley DB. An FSFS repository has none.

use std::ffi::OsString;

use base::Result;

use super::repository;
use crate::out::Out;

/// Lists the log files of a Berkeley DB repository; others have none.
#[derive(clap::Args)]
#[command(override_usage = "list-dblogs REPOS_PATH")]
pub struct ListDbLogsArgs {
    operands: Vec<OsString>,
}

/// Lists the log files of a Berkeley DB repository that it needs no longer;
/// others have none.
#[derive(clap::Args)]
#[command(override_usage = "list-unused-dblogs REPOS_PATH")]
pub struct ListUnusedDbLogsArgs {
    operands: Vec<OsString>,
}

impl ListDbLogsArgs {
    /// Runs the subcommand.
    pub fn run(self, out: &mut Out) -> Result<()> {
        repository::open(out, &self.operands).map(drop)
    }
}

impl ListUnusedDbLogsArgs {
    /// Runs the subcommand.
    pub fn run(self, out: &mut Out) -> Result<()> {
        repository::open(out, &self.operands).map(drop)
    }
}
