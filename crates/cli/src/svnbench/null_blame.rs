//! `svnbench null-blame`: receives the revisions of files.

use std::ffi::OsString;

use base::{Code, Error, RelPath, Result, Revnum};
use client::locate;
use delta::editor::{EncodedVersions, TextChunk};
use ra::{FileRev, FileRevSink, FileRevsRequest};

use super::measure;
use super::null_export::target_len;
use super::report::{StatisticsOption, count};
use crate::args::revision::Revision;
use crate::client_context::target::{self, Target};
use crate::client_context::{AccessOptions, ClientContext};
use crate::out::Out;
use crate::svn::options::{RevisionOption, TargetsOption};

/// Receives all revisions of files, as a blame does, and counts them.
#[derive(clap::Args)]
#[command(override_usage = "null-blame [-rM:N] TARGET[@REV]...")]
pub struct NullBlameArgs {
    #[command(flatten)]
    revision: RevisionOption,
    /// receive merged revisions too
    #[arg(short = 'g', long)]
    use_merge_history: bool,
    #[command(flatten)]
    statistics: StatisticsOption,
    #[command(flatten)]
    access: AccessOptions,
    operands: Vec<OsString>,
}

impl NullBlameArgs {
    /// Runs the subcommand.
    pub fn run(self, out: &mut Out) -> Result<()> {
        measure(&self.access, false, self.statistics, out, |context, out| {
            let targets = target::read_targets(context, out, &self.operands, &TargetsOption::default())?;
            if targets.is_empty() {
                return Err(Error::bare(Code::CL_INSUFFICIENT_ARGS));
            }
            let mut has_missing = false;
            for target in &targets {
                context.cancel().check()?;
                let mut counts = Counts::default();
                match self.blame(context, &target.parse()?, &mut counts) {
                    Ok(()) => counts.print(out)?,
                    Err(error) if matches!(error.code(), Code::FS_NOT_FILE | Code::FS_NOT_FOUND) => {
                        out.flush()?;
                        // The incumbent has the name of another program here.
                        let (code, text) = (error.code().0, error.message());
                        out.print_stderr(&format!("svn: warning: W{code:06}: {text}\n"));
                        has_missing = true;
                    }
                    Err(error) => return Err(error),
                }
            }
            if has_missing {
                let message = "Could not perform blame on all targets because some targets don't exist";
                return Err(Error::new(Code::ILLEGAL_TARGET, message));
            }
            Ok(())
        })
    }

    fn blame(&self, context: &ClientContext, target: &Target, counts: &mut Counts) -> Result<()> {
        let url = target.url()?;
        let peg = target.peg.unwrap_or(Revision::Head);
        let (start, end) = match self.revision.range() {
            None => (Revision::Number(Revnum(1)), peg),
            Some(range) => match range.end {
                Some(end) => (range.start, end),
                None => (Revision::Number(Revnum(1)), range.start),
            },
        };
        let (peg, start, end) = (peg.of_url()?, start.of_url()?, end.of_url()?);
        let mut session = context.open(url)?;
        let start = start.number(&mut *session)?;
        let end = end.number(&mut *session)?;
        let peg_rev = peg.number(&mut *session)?;
        // The node must exist in the later of both, which may be the first one.
        locate::move_from_peg(&mut *session, peg, peg_rev, start.max(end))?;
        let request = FileRevsRequest {
            path: &RelPath::empty(),
            start: Some(Revnum(start.0.saturating_sub(u64::from(start <= end)))),
            end: Some(end),
            include_merged: self.use_merge_history,
        };
        session.file_revs(&request, counts)
    }
}

/// Counts revisions of a file.
#[derive(Default)]
struct Counts {
    revisions: u64,
    deltas: u64,
    bytes: u64,
}

impl Counts {
    fn print(&self, out: &mut Out) -> Result<()> {
        count(out, self.revisions, "revisions")?;
        count(out, self.deltas, "deltas")?;
        count(out, self.bytes, "bytes in deltas")
    }
}

impl FileRevSink for Counts {
    fn revision(&mut self, _: &FileRev) -> Result<()> {
        self.revisions += 1;
        Ok(())
    }

    fn text_chunk(&mut self, chunk: TextChunk<'_>) -> Result<()> {
        self.bytes += target_len(chunk);
        Ok(())
    }

    fn text_end(&mut self) -> Result<()> {
        self.deltas += 1;
        Ok(())
    }

    fn accepts_encoded(&self) -> EncodedVersions {
        EncodedVersions::up_to(2)
    }
}
