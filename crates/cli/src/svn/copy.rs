//! `svn copy`: copies nodes in a repository.

use std::ffi::OsString;

use base::{Code, Error, Result};
use client::url_commit::{self, CopyRequest, CopySource, PinExternals};

use super::commit_output::{commit_urls, with_help_hint};
use super::options::RevisionOption;
use crate::args::date;
use crate::args::revision::{Revision, RevisionRangeArg};
use crate::client_context::log_message::{LogMessage, LogMessageOptions};
use crate::client_context::target::{self, Target, TargetPath};
use crate::client_context::url_targets::{not_a_working_copy, refuse_pegs, unnecessary_message};
use crate::client_context::{AccessOptions, ClientContext};
use crate::out::Out;

/// Copies files and directories in a repository, with their history, all in one commit.
///
/// Several sources, or a single one whose target exists, are copied into the directory DST.
#[derive(clap::Args)]
#[command(visible_alias = "cp", override_usage = "copy SRC[@REV]... DST")]
pub struct CopyArgs {
    #[command(flatten)]
    revision: RevisionOption,
    /// print nothing
    #[arg(short, long)]
    quiet: bool,
    /// leave out externals; of no effect for URLs
    #[arg(long)]
    ignore_externals: bool,
    /// make the directories above the targets too
    #[arg(long)]
    parents: bool,
    #[command(flatten)]
    log: LogMessageOptions,
    /// fix the revisions of externals in the copies
    #[arg(long)]
    pin_externals: bool,
    #[command(flatten)]
    access: AccessOptions,
    operands: Vec<OsString>,
}

impl CopyArgs {
    /// Runs the subcommand.
    pub fn run(self, out: &mut Out) -> Result<()> {
        let mut message = LogMessage::new(&self.log, &self.access, out)?;
        let outcome = ClientContext::run(self.access.clone(), out, |context, out| {
            self.work(context, &mut message, out)
        });
        outcome.map_err(|error| with_help_hint(out, "copy", error))
    }

    fn work(&self, context: &ClientContext, message: &mut LogMessage, out: &mut Out) -> Result<()> {
        refuse_range(self.revision.range())?;
        if self.operands.len() < 2 {
            return Err(Error::bare(Code::CL_INSUFFICIENT_ARGS));
        }
        let targets = target::parse_targets(&self.operands)?;
        let (sources, last) = targets.split_at(targets.len() - 1);
        let TargetPath::Url(to) = &last[0].path else {
            return Err(without_urls(&targets, self.log.is_given()));
        };
        let mut found = Vec::new();
        for source in sources {
            let TargetPath::Url(url) = &source.path else {
                return Err(without_urls(&targets, false));
            };
            let peg = source.peg.unwrap_or(Revision::Head).of_url()?;
            let rev = match self.revision.start() {
                Some(start) => start.of_url()?,
                None => peg,
            };
            let url = url.clone();
            found.push(CopySource { url, peg, rev });
        }
        refuse_pegs(last, &self.operands[sources.len()..])?;
        let parse_date = |text: &str| date::parse(text);
        let request = CopyRequest {
            sources: &found,
            target: to,
            is_move: false,
            with_parents: self.parents,
            pin: self.pin_externals.then_some(PinExternals {
                parse_date: &parse_date,
            }),
        };
        commit_urls(context, out, message, self.quiet, |ui| {
            url_commit::copy(ui, &request)
        })
    }
}

/// # Errors
/// `CLIENT_REVISION_RANGE` for two revisions.
pub fn refuse_range(revision: Option<RevisionRangeArg>) -> Result<()> {
    match revision {
        Some(RevisionRangeArg { end: Some(_), .. }) => Err(Error::bare(Code::CLIENT_REVISION_RANGE)),
        _ => Ok(()),
    }
}

/// The error for targets of which at least one is a path.
pub fn without_urls(targets: &[Target], has_message: bool) -> Error {
    if has_message {
        return unnecessary_message();
    }
    let path = targets.iter().find_map(|target| match &target.path {
        TargetPath::Local(path) => Some(path.as_str()),
        TargetPath::Url(_) => None,
    });
    not_a_working_copy(path.unwrap_or_default())
}
