//! `svnlook date`: when a revision was made.

use std::ffi::OsString;

use base::Result;

use super::at::{self, At};
use crate::out::Out;

/// Prints the date.
#[derive(clap::Args)]
#[command(override_usage = "date REPOS_PATH")]
pub struct Date {
    #[command(flatten)]
    at: At,
    operands: Vec<OsString>,
}

impl Date {
    /// Runs it.
    pub fn run(self, out: &mut Out) -> Result<()> {
        let repository = at::open(out, &self.operands, 1)?;
        let all = at::revision_props(&self.at.root(&repository)?)?;
        out.line(&at::date(&all)?)
    }
}
