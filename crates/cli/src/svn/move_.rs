//! `svn move`: moves nodes in a repository.

use base::{Code, Error, Result};
use client::locate;
use client::url_commit::CopySource;

use super::copy::{Transfer, TransferOptions, refuse_mixed_sources};
use crate::args::revision::Revision;
use crate::client_context::url_targets::{unnecessary_message, without_pegs};
use crate::out::Out;

/// Moves files and directories in a repository, with their history, all in one commit.
///
/// Several sources, or a single one whose target exists, are moved into the directory DST.
#[derive(clap::Args)]
#[command(visible_aliases = ["mv", "rename", "ren"], override_usage = "move SRC... DST")]
pub struct MoveArgs {
    /// move what is modified too; of no effect for URLs
    #[arg(long)]
    force: bool,
    /// allow mixed revisions in a working copy; of no effect for URLs
    #[arg(long)]
    allow_mixed_revisions: bool,
    #[command(flatten)]
    options: TransferOptions,
}

impl MoveArgs {
    /// Runs the subcommand.
    pub fn run(self, out: &mut Out) -> Result<()> {
        self.options.run(out, |sources, last| {
            let start = self.options.revision.start();
            if start.is_some_and(|start| start != Revision::Head) {
                let message = "Cannot specify revisions (except HEAD) with move operations";
                return Err(Error::new(Code::UNSUPPORTED_FEATURE, message));
            }
            if !last.is_url() && self.options.log.is_given() {
                return Err(unnecessary_message());
            }
            let sources = without_pegs(sources)?;
            refuse_mixed_sources(&sources)?;
            if sources[0].is_url() && !last.is_url() {
                let message = "Moves between the working copy and the repository are not supported";
                return Err(Error::new(Code::UNSUPPORTED_FEATURE, message));
            }
            let mut found = Vec::new();
            for source in &sources {
                found.push(CopySource {
                    url: source.url()?,
                    peg: locate::Revision::Head,
                    rev: locate::Revision::Head,
                });
            }
            Ok(Transfer {
                sources: found,
                // An `@` is a part of the name here.
                to: last.url()?,
                is_move: true,
                pins_externals: false,
            })
        })
    }
}
