//! `svn delete`: deletes nodes in a repository.

use std::ffi::OsString;

use base::Result;
use client::url_commit;

use super::commit_output::commit_urls;
use super::options::TargetsOption;
use crate::client_context::log_message::{LogMessage, LogMessageOptions};
use crate::client_context::{AccessOptions, ClientContext, target, url_targets};
use crate::out::Out;

/// Deletes files and directories in a repository, those of one repository in one commit.
#[derive(clap::Args)]
#[command(visible_aliases = ["del", "remove", "rm"], override_usage = "delete URL...")]
pub struct DeleteArgs {
    /// delete what is modified or not under version control too; of no effect for URLs
    #[arg(long)]
    force: bool,
    /// print nothing
    #[arg(short, long)]
    quiet: bool,
    #[command(flatten)]
    targets: TargetsOption,
    #[command(flatten)]
    log: LogMessageOptions,
    /// leave the files of a working copy; of no effect for URLs
    #[arg(long)]
    keep_local: bool,
    #[command(flatten)]
    access: AccessOptions,
    operands: Vec<OsString>,
}

impl DeleteArgs {
    /// Runs the subcommand.
    pub fn run(self, out: &mut Out) -> Result<()> {
        let mut message = LogMessage::new(&self.log, &self.access, out)?;
        ClientContext::run(self.access.clone(), out, |context, out| {
            self.work(context, &mut message, out)
        })
    }

    fn work(&self, context: &ClientContext, message: &mut LogMessage, out: &mut Out) -> Result<()> {
        let targets = target::read_targets(context, out, &self.operands, &self.targets)?;
        let urls = url_targets::urls(&targets, self.log.is_given())?;
        commit_urls(context, out, message, self.quiet, |ui| {
            url_commit::delete(ui, &urls)
        })
    }
}
