//! `svnsync initialize`: makes a repository a mirror.

use std::ffi::OsString;

use base::Result;
use client::sync;

use super::context::change;
use super::options::{self, ChangeOptions, SyncAccessOptions};
use crate::out::Out;

/// Makes the repository at DEST_URL a mirror of SOURCE_URL.
///
/// DEST_URL is the root of a repository that lets its revision properties be changed (a hook 'pre-revprop-change' that
/// succeeds), and that has no revisions yet; with '--allow-non-empty' it may have some, which must be those of the
/// source. If SOURCE_URL is not the root of a repository, only what is below it is mirrored.
///
/// Nothing but svnsync may change a mirror.
#[derive(clap::Args)]
#[command(visible_alias = "init", override_usage = "initialize DEST_URL SOURCE_URL")]
pub struct InitializeArgs {
    #[command(flatten)]
    access: SyncAccessOptions,
    #[command(flatten)]
    options: ChangeOptions,
    /// accept a repository that has revisions: those of the source
    #[arg(long)]
    allow_non_empty: bool,
    operands: Vec<OsString>,
}

impl InitializeArgs {
    /// Runs the subcommand.
    pub fn run(self, out: &mut Out) -> Result<()> {
        let targets = options::targets(&self.operands)?;
        let urls = options::urls(&targets, 2, 2).map_err(|error| super::misuse(out, error))?;
        change(self.access, &self.options, out, |context, observer| {
            sync::initialize(&urls[0], &urls[1], self.allow_non_empty, context, observer)
        })
    }
}
