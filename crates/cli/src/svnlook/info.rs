//! `svnlook info`: prints author, date and log message of a revision.

use std::ffi::OsString;

use base::{Result, props};

use super::lookup::{self, RootOption};
use crate::out::Out;

/// Prints the author, the date, the size of the log message in bytes, and the
/// log message.
#[derive(clap::Args)]
#[command(override_usage = "info REPOS_PATH")]
pub struct InfoArgs {
    #[command(flatten)]
    target: RootOption,
    operands: Vec<OsString>,
}

impl InfoArgs {
    /// Runs the subcommand.
    pub fn run(self, out: &mut Out) -> Result<()> {
        let repository = lookup::open(out, &self.operands, 1)?;
        let all = lookup::revision_props(&self.target.root(&repository)?)?;
        let log = lookup::shown(&all, props::LOG);
        // The printed size is the size after conversion to the terminal's character set.
        let log_size = out.charset().show(&log).len();
        out.line(&lookup::shown(&all, props::AUTHOR))?;
        out.line(&lookup::date(&all)?)?;
        out.line(&log_size.to_string())?;
        match all.contains_key(props::LOG) {
            true => out.line(&log),
            false => Ok(()),
        }
    }
}
