//! `svn mkdir`: makes directories in a repository.

use std::ffi::OsString;

use base::{Code, Error, Result};
use client::url_commit;

use super::commit_output::{commit_urls, with_help_hint};
use crate::client_context::log_message::{LogMessage, LogMessageOptions};
use crate::client_context::target;
use crate::client_context::url_targets::{
    UniformTargets, not_a_working_copy, refuse_pegs, uniform, unnecessary_message,
};
use crate::client_context::{AccessOptions, ClientContext};
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
        let outcome = ClientContext::run(self.access.clone(), out, |context, out| {
            self.work(context, &mut message, out)
        });
        outcome.map_err(|error| with_help_hint(out, "mkdir", error))
    }

    fn work(&self, context: &ClientContext, message: &mut LogMessage, out: &mut Out) -> Result<()> {
        if self.operands.is_empty() {
            return Err(Error::bare(Code::CL_INSUFFICIENT_ARGS));
        }
        let targets = target::parse_targets(&self.operands)?;
        let uniform = uniform(&targets).map_err(|error| error.wrap_bare(Code::CL_ARG_PARSING_ERROR))?;
        let urls = match uniform {
            UniformTargets::Paths(_) if self.log.is_given() => return Err(unnecessary_message()),
            UniformTargets::Paths(paths) => return Err(not_a_working_copy(&paths[0])),
            UniformTargets::Urls(urls) => urls,
        };
        refuse_pegs(&targets, &self.operands)?;
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
