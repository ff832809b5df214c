//! `svn mkdir`: makes directories in a repository.

use std::ffi::OsString;

use base::{Code, Result};
use client::url_commit;

use super::commit_output::commit_urls;
use super::options::TargetsOption;
use crate::client_context::log_message::{LogMessage, LogMessageOptions};
use crate::client_context::{AccessOptions, ClientContext, target, url_targets};
use crate::out::Out;

/// Makes directories in a repository, all in one commit.
#[derive(clap::Args)]
#[command(override_usage = "mkdir URL...")]
pub struct MkdirArgs {
    /// print nothing
    #[arg(short, long)]
    quiet: bool,
    /// make the directories above too
    #[arg(long)]
    parents: bool,
    #[command(flatten)]
    log: LogMessageOptions,
    #[command(flatten)]
    access: AccessOptions,
    operands: Vec<OsString>,
}

impl MkdirArgs {
    /// Runs the subcommand.
    pub fn run(self, out: &mut Out) -> Result<()> {
        let mut message = LogMessage::new(&self.log, &self.access, out)?;
        ClientContext::run(self.access.clone(), out, |context, out| {
            self.work(context, &mut message, out)
        })
    }

    fn work(&self, context: &ClientContext, message: &mut LogMessage, out: &mut Out) -> Result<()> {
        let targets = target::read_targets(context, out, &self.operands, &TargetsOption::default())?;
        let urls = url_targets::urls(&targets, self.log.is_given())?;
        let made = commit_urls(context, out, message, self.quiet, |ui| {
            url_commit::mkdir(ui, &urls, self.parents)
        });
        made.map_err(|error| match error.code() {
            Code::FS_NOT_FOUND | Code::FS_NOT_DIRECTORY | ENOENT if !self.parents => {
                error.context("Try 'svn mkdir --parents' instead?")
            }
            _ => error,
        })
    }
}

/// The `errno` of a missing file.
const ENOENT: Code = Code(2);
