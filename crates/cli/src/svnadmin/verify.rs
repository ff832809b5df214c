//! `svnadmin verify`: compares the contents of the repository with the stored checksums.

use std::ffi::OsString;
use std::ops::ControlFlow;

use base::{Code, Error, Result, Revnum};
use fsfs::Fs;
use fsfs::admin::history_index;
use fsfs::admin::verify::{self, VerifyObserver, VerifyOptions, VerifyProgress, VerifyWarning};

use super::range::RangeOption;
use super::repository;
use crate::args::operand::misuse;
use crate::args::option::CacheSizeOption;
use crate::interrupt::Interrupt;
use crate::local_path;
use crate::out::{Out, chain_lines};
use crate::progress;

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
        let repository = repository::open_with(out, &self.operands, self.memory.budget())?;
        if let Some(txn) = &self.transaction {
            return verify::transaction(repository.fs(), txn);
        }
        let youngest = repository.youngest()?;
        let range = self.range.resolve(out, &repository, youngest)?;
        let start = range.start.unwrap_or(Revnum::ZERO);
        let end = range.end.or(range.start).unwrap_or(youngest);
        if start > end {
            return Err(Error::new(
                Code::REPOS_BAD_ARGS,
                format!("Start revision {start} is greater than end revision {end}"),
            ));
        }
        let interrupt = Interrupt::install()?;
        let options = VerifyOptions {
            metadata_only: self.metadata_only,
            check_normalization: self.check_normalization,
            cache_budget: self.memory.budget(),
            cancel: interrupt.cancel.clone(),
            ..VerifyOptions::range(start, end)
        };
        let mut printer = VerifyPrinter {
            progress: progress::Progress::over(start, end, self.quiet, true),
            quiet: self.quiet,
            keep_going: self.keep_going,
            failures: Vec::new(),
            written: Ok(()),
            cancel: interrupt.cancel.clone(),
            out,
        };
        let outcome = verify::run(repository.fs(), &options, &mut printer);
        printer.progress.clear();
        if outcome.is_ok() && printer.failures.is_empty() && self.checks_index() {
            printer.check_index(repository.fs());
        }
        let (failures, written) = (printer.failures, printer.written);
        written?;
        interrupt.finish(out, outcome.and_then(|()| interrupt.cancel.check()))?;
        self.conclude(out, failures)
    }

    /// True if the history index is checked after the revisions: a run over all of them does it.
    fn checks_index(&self) -> bool {
        self.range.given().is_none() && !self.metadata_only
    }

    fn conclude(&self, out: &mut Out, failures: Vec<(Option<Revnum>, Error)>) -> Result<()> {
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

/// Prints the progress of the run: verified revisions on standard output, failures on standard error.
struct VerifyPrinter<'o> {
    progress: progress::Progress,
    quiet: bool,
    keep_going: bool,
    failures: Vec<(Option<Revnum>, Error)>,
    /// The first error of writing to standard output.
    written: Result<()>,
    /// The token that cancels the run when standard output is closed.
    cancel: base::Cancel,
    out: &'o mut Out,
}

impl VerifyPrinter<'_> {
    /// Compares the history index, if there is one, with the repository. A difference is a warning, because the
    /// repository has no damage.
    fn check_index(&mut self, fs: &Fs) {
        if !matches!(history_index::status(fs), Ok(Some(_))) {
            return;
        }
        if !self.quiet && self.progress.in_lines() {
            self.line("* Verifying the history index ...");
        }
        if let Err(error) = history_index::check(fs, &self.cancel, &mut |_| {})
            && !self.cancel.is_cancelled()
        {
            let lines: String = chain_lines(&error)
                .iter()
                .map(|line| format!("{}: warning: {line}\n", self.out.program()))
                .collect();
            self.out.print_stderr(&lines);
        }
    }

    fn line(&mut self, text: &str) {
        if self.written.is_ok() {
            self.written = self.out.line(text).and_then(|()| self.out.flush());
            if self.written.is_err() {
                self.cancel.cancel();
            }
        }
    }
}

impl VerifyObserver for VerifyPrinter<'_> {
    fn progress(&mut self, progress: VerifyProgress) {
        match progress {
            VerifyProgress::Revision(revision) => {
                if self.progress.done("Verified", revision) {
                    self.line(&format!("* Verified revision {revision}."));
                }
            }
            VerifyProgress::Metadata(revision) if self.progress.in_lines() => {
                self.line(&format!("* Verifying metadata at revision {revision} ..."));
            }
            VerifyProgress::RepositoryMetadata if self.progress.in_lines() => {
                self.line("* Verifying repository metadata ...");
            }
            VerifyProgress::Metadata(_) | VerifyProgress::RepositoryMetadata => {}
        }
    }

    fn failed(&mut self, at: Option<Revnum>, error: &Error) -> ControlFlow<()> {
        let what = match at {
            Some(revision) => format!("* Error verifying revision {revision}.\n"),
            None => "* Error verifying repository metadata.\n".to_owned(),
        };
        let (progress, out) = (&self.progress, &mut self.out);
        progress.suspend(|| {
            out.print_stderr(&what);
            if self.keep_going {
                out.print_error(error);
            }
        });
        self.failures.push((at, error.clone()));
        match self.keep_going {
            true => ControlFlow::Continue(()),
            false => ControlFlow::Break(()),
        }
    }

    fn warn(&mut self, _revision: Revnum, warning: &VerifyWarning) {
        if self.quiet {
            return;
        }
        let (number, text) = match warning {
            VerifyWarning::NameCollision(path) => (3, format!("Duplicate representation of path '{path}'")),
            VerifyWarning::MergeinfoCollision { source, node } => (
                4,
                format!("Duplicate representation of path '{source}' in svn:mergeinfo property of '{node}'"),
            ),
        };
        self.line(&format!("WARNING 0x{number:04x}: {text}"));
    }
}
