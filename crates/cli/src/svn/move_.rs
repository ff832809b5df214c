//! `svn move`: moves nodes in a repository.

use std::ffi::OsString;

use base::{Code, Error, Result};
use client::locate;
use client::url_commit::{self, CopyRequest, CopySource};

use super::commit_output::{commit_urls, with_help_hint};
use super::copy::{refuse_range, without_urls};
use super::options::RevisionOption;
use crate::args::revision::Revision;
use crate::client_context::log_message::{LogMessage, LogMessageOptions};
use crate::client_context::target::{self, TargetPath};
use crate::client_context::url_targets::refuse_pegs;
use crate::client_context::{AccessOptions, ClientContext};
use crate::out::Out;

/// Moves files and directories in a repository, with their history, all in one commit.
///
/// Several sources, or a single one whose target exists, are moved into the directory DST.
#[derive(clap::Args)]
#[command(visible_aliases = ["mv", "rename", "ren"], override_usage = "move SRC... DST")]
pub struct MoveArgs {
    /// print nothing
    #[arg(short, long)]
    quiet: bool,
    /// move what is modified too; of no effect for URLs
    #[arg(long)]
    force: bool,
    /// make the directories above the targets too
    #[arg(long)]
    parents: bool,
    /// allow mixed revisions in a working copy; of no effect for URLs
    #[arg(long)]
    allow_mixed_revisions: bool,
    #[command(flatten)]
    log: LogMessageOptions,
    #[command(flatten)]
    revision: RevisionOption,
    #[command(flatten)]
    access: AccessOptions,
    operands: Vec<OsString>,
}

impl MoveArgs {
    /// Runs the subcommand.
    pub fn run(self, out: &mut Out) -> Result<()> {
        let mut message = LogMessage::new(&self.log, &self.access, out)?;
        let outcome = ClientContext::run(self.access.clone(), out, |context, out| {
            self.work(context, &mut message, out)
        });
        outcome.map_err(|error| with_help_hint(out, "move", error))
    }

    fn work(&self, context: &ClientContext, message: &mut LogMessage, out: &mut Out) -> Result<()> {
        refuse_range(self.revision.range())?;
        if self.operands.len() < 2 {
            return Err(Error::bare(Code::CL_INSUFFICIENT_ARGS));
        }
        let targets = target::parse_targets(&self.operands)?;
        refuse_pegs(&targets, &self.operands)?;
        if self.revision.start().is_some_and(|start| start != Revision::Head) {
            let message = "Cannot specify revisions (except HEAD) with move operations";
            return Err(Error::new(Code::UNSUPPORTED_FEATURE, message));
        }
        let (sources, last) = targets.split_at(targets.len() - 1);
        let TargetPath::Url(to) = &last[0].path else {
            return Err(without_urls(&targets, self.log.is_given()));
        };
        let mut found = Vec::new();
        for source in sources {
            let TargetPath::Url(url) = &source.path else {
                return Err(without_urls(&targets, false));
            };
            found.push(CopySource {
                url: url.clone(),
                peg: locate::Revision::Head,
                rev: locate::Revision::Head,
            });
        }
        let request = CopyRequest {
            sources: &found,
            target: to,
            is_move: true,
            with_parents: self.parents,
            pin: None,
        };
        commit_urls(context, out, message, self.quiet, |ui| {
            url_commit::copy(ui, &request)
        })
    }
}
