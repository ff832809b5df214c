//! `svn delete`: deletes nodes in a repository.

use std::ffi::OsString;

use base::{Code, Error, Result};
use client::url_commit;

use super::commit_output::{commit_urls, with_help_hint, with_targets_file};
use super::options::TargetsOption;
use crate::client_context::log_message::{LogMessage, LogMessageOptions};
use crate::client_context::target;
use crate::client_context::url_targets::{
    UniformTargets, not_a_working_copy, refuse_pegs, uniform, unnecessary_message,
};
use crate::client_context::{AccessOptions, ClientContext};
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
        let outcome = ClientContext::run(self.access.clone(), out, |context, out| {
            self.work(context, &mut message, out)
        });
        outcome.map_err(|error| with_help_hint(out, "delete", error))
    }

    fn work(&self, context: &ClientContext, message: &mut LogMessage, out: &mut Out) -> Result<()> {
        let operands = with_targets_file(&self.operands, self.targets.targets.as_ref())?;
        if operands.is_empty() {
            return Err(Error::bare(Code::CL_INSUFFICIENT_ARGS));
        }
        let targets = target::parse_targets(&operands)?;
        let uniform = uniform(&targets).map_err(|error| error.wrap_bare(Code::CL_ARG_PARSING_ERROR))?;
        let urls = match uniform {
            UniformTargets::Paths(_) if self.log.is_given() => return Err(unnecessary_message()),
            UniformTargets::Paths(paths) => return Err(not_a_working_copy(&paths[0])),
            UniformTargets::Urls(urls) => urls,
        };
        refuse_pegs(&targets, &operands)?;
        commit_urls(context, out, message, self.quiet, |ui| {
            url_commit::delete(ui, &urls)
        })
    }
}
