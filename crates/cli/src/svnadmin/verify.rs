//! `svnadmin verify`: compares the contents of the repository with the stored checksums.
//!
//! With `--state-file` an interrupted run leaves a file, with which the next one continues it.

mod printer;
mod state;

use std::ffi::OsString;

use base::{Code, Error, Result, Revnum};
use fsfs::admin::verify::{self, VerifyOptions, VerifyPosition};
use repos::Repository;

use self::printer::VerifyPrinter;
use self::state::{RevisionFailure, StateFile, VerifyState};
use super::range::RangeOption;
use super::repository;
use crate::args::operand::misuse;
use crate::args::option::{CacheSizeOption, LongRunOptions};
use crate::args::revision::Revision;
use crate::interrupt::Interrupt;
use crate::local_path;
use crate::out::{Out, chain_lines};
use crate::progress::{Lines, Progress};

/// Reads everything that a repository holds and compares it with the checksums
/// that were stored with it.
#[derive(clap::Args)]
#[command(override_usage = "verify REPOS_PATH")]
pub struct VerifyArgs {
    /// check the transaction ARG instead of revisions
    #[arg(short = 't', long)]
    transaction: Option<String>,
    #[command(flatten)]
    range: RangeOption,
    /// tell nothing but errors
    #[arg(short = 'q', long)]
    quiet: bool,
    /// go on after damage was found
    #[arg(long)]
    keep_going: bool,
    #[command(flatten)]
    memory: CacheSizeOption,
    /// warn of names that look alike: the same characters in another Unicode composition, in one directory
    /// or in one mergeinfo
    #[arg(long)]
    check_normalization: bool,
    /// check indexes, checksums of stored items and the rep-cache, not the contents of revisions
    #[arg(long)]
    metadata_only: bool,
    #[command(flatten)]
    long_run: LongRunOptions,
    /// write to the file ARG how far the verification is, and continue the interrupted one that the file
    /// describes; the file is removed at the end (an option of Sven)
    #[arg(long)]
    state_file: Option<OsString>,
    operands: Vec<OsString>,
}

impl VerifyArgs {
    /// Runs the subcommand.
    pub fn run(self, out: &mut Out) -> Result<()> {
        let wrong =
            |out: &Out, text: &str| misuse(out.program(), Error::new(Code::CL_ARG_PARSING_ERROR, text));
        crate::args::operand::at_most(&self.operands, 1, out.program(), "Too many arguments")?;
        if self.transaction.is_some() && self.range.given().is_some() {
            return Err(wrong(
                out,
                "--revision (-r) and --transaction (-t) are mutually exclusive",
            ));
        }
        if let Some(txn) = &self.transaction {
            let repository = repository::open_with(out, &self.operands, self.memory.budget())?;
            return verify::transaction(repository.fs(), txn);
        }
        out.set_output_ignorable();
        let interrupt = Interrupt::install()?;
        let meter = self.long_run.meter(&interrupt.cancel);
        let repository =
            repository::open_for_one_pass(out, &self.operands, self.memory.budget(), meter.as_ref())?;
        let (start, end) = self.revisions(out, &repository)?;
        let state = self.state(&repository, (start, end))?;
        let (start, end) = state.as_ref().map_or((start, end), StateFile::range);
        let options = VerifyOptions {
            metadata_only: self.metadata_only,
            check_normalization: self.check_normalization,
            cache_budget: self.memory.budget(),
            cancel: interrupt.cancel.clone(),
            ..VerifyOptions::range(start, end)
        };
        let from = state.as_ref().map(StateFile::position);
        let options = VerifyOptions { from, ..options };
        if let Some(text) = state.as_ref().and_then(StateFile::greeting)
            && !self.quiet
        {
            out.print_stderr(&format!("{text}\n"));
        }
        let mut printer = VerifyPrinter {
            progress: Progress::of_revisions(
                self.long_run.progress,
                self.quiet,
                Lines::OnStdout,
                meter.as_ref(),
            ),
            range: (start, end),
            step: None,
            quiet: self.quiet,
            keep_going: self.keep_going,
            failures: state.as_ref().map(StateFile::failures).unwrap_or_default(),
            state,
            cancel: interrupt.cancel.clone(),
            out,
        };
        printer.show(from.unwrap_or(VerifyPosition::Files(start)));
        let outcome = verify::run(repository.fs(), &options, &mut printer);
        if outcome.is_ok() && printer.failures.is_empty() && self.checks_index() {
            printer.check_index(repository.fs());
        }
        let failures = printer.finish(outcome.is_ok())?;
        interrupt.finish(out, outcome.and_then(|()| interrupt.cancel.check()))?;
        self.conclude(out, failures)
    }

    /// Returns the range of `-r`, or all revisions.
    fn revisions(&self, out: &Out, repository: &Repository) -> Result<(Revnum, Revnum)> {
        let youngest = repository.youngest()?;
        let range = self.range.resolve(out, repository, youngest)?;
        let start = range.start.unwrap_or(Revnum::ZERO);
        let end = range.end.or(range.start).unwrap_or(youngest);
        match start > end {
            true => Err(Error::new(
                Code::REPOS_BAD_ARGS,
                format!("Start revision {start} is greater than end revision {end}"),
            )),
            false => Ok((start, end)),
        }
    }

    /// Reads the state of an interrupted run, or begins a new one.
    fn state(&self, repository: &Repository, range: (Revnum, Revnum)) -> Result<Option<StateFile>> {
        let Some(name) = &self.state_file else {
            return Ok(None);
        };
        let new = VerifyState::new(
            repository.fs().identity()?,
            range,
            [self.metadata_only, self.check_normalization, self.keep_going],
        );
        let last = self.range.given().map(|range| range.end.unwrap_or(range.start));
        let is_fixed = !matches!(last, None | Some(Revision::Head));
        StateFile::open(&local_path::canonical(name), repository.path(), new, is_fixed).map(Some)
    }

    /// True if the history index is checked after the revisions: a run over all of them does it.
    fn checks_index(&self) -> bool {
        self.range.given().is_none() && !self.metadata_only
    }

    fn conclude(&self, out: &mut Out, failures: Vec<RevisionFailure>) -> Result<()> {
        if failures.is_empty() {
            return Ok(());
        }
        if !self.keep_going {
            // The tool ends with the last failure.
            return Err(failures
                .into_iter()
                .next_back()
                .map(|(_, error)| error)
                .unwrap_or_else(|| Error::bare(Code::CL_REPOS_VERIFY_FAILED)));
        }
        out.print("\n-----Summary of corrupt revisions-----\n")?;
        for (revision, error) in &failures {
            let Some(revision) = revision else {
                continue;
            };
            for line in chain_lines(error) {
                out.line(&format!("{:>6}: {line}", format!("r{revision}")))?;
            }
        }
        Err(Error::new(
            Code::CL_REPOS_VERIFY_FAILED,
            format!(
                "Failed to verify repository '{}'",
                local_path::shown(&repository::path(&self.operands))
            ),
        ))
    }
}
