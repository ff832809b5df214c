//! `svn copy`: copies nodes in a repository. Also the frame of `svn move`.

use std::ffi::OsString;

use base::{Code, Error, Result, Url};
use client::url_commit::{self, CopyRequest, CopySource, PinExternals};

use super::commit_output::commit_urls;
use super::options::{RevisionOption, TargetsOption};
use crate::args::date;
use crate::args::revision::Revision;
use crate::client_context::log_message::{LogMessage, LogMessageOptions};
use crate::client_context::target::{self, Target, TypedTarget};
use crate::client_context::url_targets::unnecessary_message;
use crate::client_context::{AccessOptions, ClientContext};
use crate::out::Out;

/// Copies files and directories in a repository, with their history, all in one commit.
///
/// Several sources, or a single one whose target exists, are copied into the directory DST.
#[derive(clap::Args)]
#[command(visible_alias = "cp", override_usage = "copy SRC[@REV]... DST")]
pub struct CopyArgs {
    /// leave out externals; of no effect for URLs
    #[arg(long)]
    ignore_externals: bool,
    /// fix the revisions of externals in the copies
    #[arg(long)]
    pin_externals: bool,
    #[command(flatten)]
    options: TransferOptions,
}

/// The options and operands that `svn copy` and `svn move` share.
#[derive(clap::Args)]
pub struct TransferOptions {
    #[command(flatten)]
    pub revision: RevisionOption,
    /// print nothing
    #[arg(short, long)]
    quiet: bool,
    /// make the directories above the targets too
    #[arg(long)]
    parents: bool,
    #[command(flatten)]
    pub log: LogMessageOptions,
    #[command(flatten)]
    access: AccessOptions,
    operands: Vec<OsString>,
}

/// What is copied or moved to where.
pub struct Transfer {
    pub sources: Vec<CopySource>,
    pub to: Url,
    pub is_move: bool,
    pub pins_externals: bool,
}

impl TransferOptions {
    /// Reads the targets, of which there are at least two, and commits what `parse` makes of the sources and the last target.
    pub fn run(
        &self,
        out: &mut Out,
        parse: impl FnOnce(&[TypedTarget], &TypedTarget) -> Result<Transfer>,
    ) -> Result<()> {
        let mut message = LogMessage::new(&self.log, &self.access, out)?;
        ClientContext::run(self.access.clone(), out, |context, out| {
            let targets = target::read_targets(context, out, &self.operands, &TargetsOption::default())?;
            let transfer = match targets.split_last() {
                Some((last, sources)) if !sources.is_empty() => parse(sources, last)?,
                _ => return Err(Error::bare(Code::CL_INSUFFICIENT_ARGS)),
            };
            let request = CopyRequest {
                sources: &transfer.sources,
                target: &transfer.to,
                is_move: transfer.is_move,
                with_parents: self.parents,
                pin: transfer.pins_externals.then_some(PinExternals {
                    parse_date: &|text| date::parse(text),
                }),
            };
            commit_urls(context, out, &mut message, self.quiet, |ui| {
                url_commit::copy(ui, &request)
            })
        })
    }
}

impl CopyArgs {
    /// Runs the subcommand.
    pub fn run(self, out: &mut Out) -> Result<()> {
        self.options.run(out, |sources, last| {
            let parsed: Vec<Target> = sources.iter().map(TypedTarget::parse).collect::<Result<_>>()?;
            last.parse()?;
            let to = last.without_peg()?;
            if !to.is_url() && self.options.log.is_given() {
                return Err(unnecessary_message());
            }
            refuse_mixed_sources(sources)?;
            if !to.is_url() {
                // The error is about the source if that is a path too.
                parsed[0].url()?;
            }
            let to = to.url()?;
            let mut found = Vec::new();
            for source in &parsed {
                let url = source.url()?.clone();
                let peg = source.peg.unwrap_or(Revision::Head).of_url()?;
                let rev = match self.options.revision.start() {
                    Some(start) => start.of_url()?,
                    None => peg,
                };
                found.push(CopySource { url, peg, rev });
            }
            Ok(Transfer {
                sources: found,
                to,
                is_move: false,
                pins_externals: self.pin_externals,
            })
        })
    }
}

/// # Errors
/// `UNSUPPORTED_FEATURE` for URLs and paths together.
pub fn refuse_mixed_sources(sources: &[TypedTarget]) -> Result<()> {
    let count = sources.iter().filter(|source| source.is_url()).count();
    if count == 0 || count == sources.len() {
        return Ok(());
    }
    let message = "Cannot mix repository and working copy sources";
    Err(Error::new(Code::UNSUPPORTED_FEATURE, message))
}
