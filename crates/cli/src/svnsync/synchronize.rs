//! `svnsync synchronize`: copies new revisions to a mirror.

use std::ffi::OsString;

use base::Result;
use client::sync;

use super::context::change;
use super::options::{self, ChangeOptions, SyncAccessOptions};
use crate::out::Out;

/// Copies the revisions that the mirror at DEST_URL lacks from its source.
///
/// SOURCE_URL replaces the URL that is recorded in the mirror: give it if others can write to the mirror.
///
/// A run that was interrupted is continued by the next one.
#[derive(clap::Args)]
#[command(visible_alias = "sync", override_usage = "synchronize DEST_URL [SOURCE_URL]")]
pub struct SynchronizeArgs {
    #[command(flatten)]
    access: SyncAccessOptions,
    #[command(flatten)]
    options: ChangeOptions,
    operands: Vec<OsString>,
}

impl SynchronizeArgs {
    /// Runs the subcommand.
    pub fn run(self, out: &mut Out) -> Result<()> {
        let targets = options::targets(&self.operands)?;
        let urls = options::urls(&targets, 1, 2).map_err(|error| super::misuse(out, error))?;
        change(self.access, &self.options, out, |context, observer| {
            sync::synchronize(&urls[0], urls.get(1), context, observer)
        })
    }
}
