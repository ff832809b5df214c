//! What `svnadmin verify` prints while it runs.

use std::ops::ControlFlow;

use base::{Cancel, Error, Result, Revnum};
use fsfs::Fs;
use fsfs::admin::history_index;
use fsfs::admin::verify::{VerifyObserver, VerifyPosition, VerifyProgress, VerifyWarning};

use super::state::{RevisionFailure, StateFile};
use crate::out::Out;
use crate::progress::Progress;

/// Prints the progress of the run: verified revisions on standard output, failures on standard error.
pub(super) struct VerifyPrinter<'o> {
    pub(super) progress: Progress,
    /// The first and the last revision of the range.
    pub(super) range: (Revnum, Revnum),
    /// The step that `progress` shows.
    pub(super) step: Option<&'static str>,
    pub(super) quiet: bool,
    pub(super) keep_going: bool,
    /// The failures of this run and of the interrupted ones before it.
    pub(super) failures: Vec<RevisionFailure>,
    /// The file for the next run.
    pub(super) state: Option<StateFile>,
    /// The token that cancels the run.
    pub(super) cancel: Cancel,
    pub(super) out: &'o mut Out,
}

impl VerifyPrinter<'_> {
    /// Compares the history index, if there is one, with the repository. A difference is a warning, because the
    /// repository has no damage.
    pub(super) fn check_index(&mut self, fs: &Fs) {
        if !matches!(history_index::status(fs), Ok(Some(_))) {
            return;
        }
        if self.progress.has_lines() {
            self.out.notice_line("* Verifying the history index ...");
        }
        if let Err(error) = history_index::check(fs, &self.cancel, &mut |_| {})
            && !self.cancel.is_cancelled()
        {
            let (progress, out) = (&self.progress, &mut self.out);
            progress.suspend(|| out.print_warning(&error));
        }
    }
}

impl VerifyPrinter<'_> {
    /// Ends the display, and removes or saves the state. Returns the failures.
    pub(super) fn finish(self, is_complete: bool) -> Result<Vec<RevisionFailure>> {
        self.progress.finish(is_complete);
        if let Some(state) = self.state {
            match is_complete {
                true => state.remove()?,
                false => state.save(&self.failures)?,
            }
        }
        Ok(self.failures)
    }

    /// Shows how far the run is; called before the first step too.
    pub(super) fn show(&mut self, position: VerifyPosition) {
        let (what, next) = match position {
            VerifyPosition::Files(next) => ("Checked the files of", next),
            VerifyPosition::RepositoryMetadata => return,
            VerifyPosition::Revision(next) => ("Verified", next),
        };
        let (start, end) = self.range;
        let total = end.0 - start.0 + 1;
        let done = next.0.saturating_sub(start.0).min(total);
        if self.step == Some(what) {
            self.progress.set(done);
        } else {
            self.step = Some(what);
            self.progress.step(what, done, Some(total));
        }
    }
}

impl VerifyObserver for VerifyPrinter<'_> {
    fn progress(&mut self, progress: VerifyProgress) {
        match progress {
            VerifyProgress::Revision(revision) => {
                if self.progress.has_lines() {
                    self.out.notice_line(&format!("* Verified revision {revision}."));
                }
            }
            VerifyProgress::Metadata(revision) if self.progress.has_lines() => {
                self.out
                    .notice_line(&format!("* Verifying metadata at revision {revision} ..."));
            }
            VerifyProgress::RepositoryMetadata if self.progress.has_lines() => {
                self.out.notice_line("* Verifying repository metadata ...");
            }
            VerifyProgress::Metadata(_) | VerifyProgress::RepositoryMetadata => {}
        }
    }

    fn reached(&mut self, position: VerifyPosition) {
        self.show(position);
        if let Some(state) = &mut self.state
            && let Err(error) = state.reached(position, &self.failures)
        {
            // The verification is worth more than the file.
            self.state = None;
            self.progress.suspend(|| self.out.print_warning(&error));
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
        self.out.notice_line(&format!("WARNING 0x{number:04x}: {text}"));
    }
}
