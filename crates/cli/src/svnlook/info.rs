//! `svnlook info`: author, date and log message of a revision.

use std::ffi::OsString;

use base::{Result, props};

use super::at::{self, At};
use crate::out::Out;

/// Prints the author, the date, the size of the log message in bytes, and the
/// log message.
#[derive(clap::Args)]
#[command(override_usage = "info REPOS_PATH")]
pub struct Info {
    #[command(flatten)]
    at: At,
    operands: Vec<OsString>,
}

impl Info {
    /// Runs it.
    pub fn run(self, out: &mut Out) -> Result<()> {
        let repository = at::open(out, &self.operands, 1)?;
        let all = at::revision_props(&self.at.root(&repository)?)?;
        let log = at::shown(&all, props::LOG);
        // The size is that of what is printed.
        let log = out.charset().show(&log).into_owned();
        out.line(&at::shown(&all, props::AUTHOR))?;
        out.line(&at::date(&all)?)?;
        out.line(&log.len().to_string())?;
        match all.contains_key(props::LOG) {
            true => out.line(&log),
            false => Ok(()),
        }
    }
}
