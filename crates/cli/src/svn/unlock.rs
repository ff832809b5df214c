//! `svn unlock`: unlocks files in a repository.

use std::ffi::OsString;

use base::{Result, Url};
use client::lock;

use super::commit_output::with_help_hint;
use super::lock::{finish, urls_to_lock};
use super::options::TargetsOption;
use crate::client_context::{AccessOptions, ClientContext};
use crate::out::Out;

/// Unlocks files in a repository.
#[derive(clap::Args)]
#[command(override_usage = "unlock TARGET...")]
pub struct UnlockArgs {
    #[command(flatten)]
    targets: TargetsOption,
    /// break the locks of other users
    #[arg(long)]
    force: bool,
    /// print nothing
    #[arg(short, long)]
    quiet: bool,
    #[command(flatten)]
    access: AccessOptions,
    operands: Vec<OsString>,
}

impl UnlockArgs {
    /// Runs the subcommand.
    pub fn run(self, out: &mut Out) -> Result<()> {
        let outcome = ClientContext::run(self.access.clone(), out, |context, out| self.work(context, out));
        outcome.map_err(|error| with_help_hint(out, "unlock", error))
    }

    fn work(&self, context: &ClientContext, out: &mut Out) -> Result<()> {
        let urls = urls_to_lock(&self.operands, &self.targets)?;
        let open = |url: &Url| context.open_without_redirects(url);
        let mut is_complete = true;
        lock::unlock(&open, &urls, self.force, &mut |url, result| {
            match result {
                Ok(()) if !self.quiet => out.line(&format!("'{url}' unlocked."))?,
                Ok(()) => {}
                Err(error) => {
                    is_complete = false;
                    if !self.quiet {
                        out.print_warning(&error);
                    }
                }
            }
            Ok(())
        })?;
        finish(is_complete, "One or more locks could not be released")
    }
}
