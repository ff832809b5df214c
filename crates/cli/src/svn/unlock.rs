//! `svn unlock`: unlocks files in a repository.

use std::ffi::OsString;

use base::{Result, Url};
use client::lock;

use super::lock::finish;
use super::options::TargetsOption;
use crate::client_context::{AccessOptions, ClientContext, target, url_targets};
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
        out.set_output_optional();
        ClientContext::run(self.access.clone(), out, |context, out| self.work(context, out))
    }

    fn work(&self, context: &ClientContext, out: &mut Out) -> Result<()> {
        let targets = target::read_targets(context, out, &self.operands, &self.targets)?;
        // Peg revisions are refused before a mixture of URLs and paths.
        url_targets::without_pegs(&targets)?;
        let urls = url_targets::urls(&targets, false)?;
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
