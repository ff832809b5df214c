//! `svnlook author`: who made a revision.

use std::ffi::OsString;

use base::{Result, props};

use super::at::{self, At};
use crate::out::Out;

/// Prints the author.
#[derive(clap::Args)]
#[command(override_usage = "author REPOS_PATH")]
pub struct Author {
    #[command(flatten)]
    at: At,
    operands: Vec<OsString>,
}

impl Author {
    /// Runs it.
    pub fn run(self, out: &mut Out) -> Result<()> {
        let repository = at::open(out, &self.operands, 1)?;
        let all = at::revision_props(&self.at.root(&repository)?)?;
        out.line(&at::shown(&all, props::AUTHOR))
    }
}
