//! The progress of long operations: a bar on a terminal, the incumbent's lines elsewhere.

use std::io::{self, IsTerminal as _};
use std::time::Duration;

use base::Revnum;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// The display of progress over a range of revisions.
pub enum Progress {
    /// No display, for `--quiet`.
    Quiet,
    /// The incumbent's lines, one per revision: standard error is not a terminal.
    Lines,
    /// A bar on standard error.
    Bar(ProgressBar),
}

impl Progress {
    /// Returns the display for the revisions `first..=last`. With `lines_on_stdout` the incumbent's lines go to
    /// standard output. Then the bar is shown only if standard output is a terminal too, because a script reads the
    /// lines.
    pub fn over(first: Revnum, last: Revnum, quiet: bool, lines_on_stdout: bool) -> Self {
        if quiet {
            return Progress::Quiet;
        }
        if !io::stderr().is_terminal() || (lines_on_stdout && !io::stdout().is_terminal()) {
            return Progress::Lines;
        }
        let total = last.0.saturating_sub(first.0).saturating_add(1);
        let bar = ProgressBar::with_draw_target(Some(total), ProgressDrawTarget::stderr_with_hz(5));
        let style = ProgressStyle::with_template("{msg} {wide_bar} {pos}/{len} ({per_sec}, {eta} left)");
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        bar.enable_steady_tick(Duration::from_millis(500));
        Progress::Bar(bar)
    }

    /// Counts a completed revision. Returns true if the caller must print the incumbent's line for it.
    pub fn done(&self, what: &str, revision: Revnum) -> bool {
        match self {
            Progress::Quiet => false,
            Progress::Lines => true,
            Progress::Bar(bar) => {
                bar.set_message(format!("{what} r{revision}"));
                bar.inc(1);
                false
            }
        }
    }

    /// True if the incumbent's lines are printed.
    pub fn in_lines(&self) -> bool {
        matches!(self, Progress::Lines)
    }

    /// Hides the bar while `print` writes to standard error.
    pub fn suspend(&self, print: impl FnOnce()) {
        match self {
            Progress::Bar(bar) => bar.suspend(print),
            Progress::Quiet | Progress::Lines => print(),
        }
    }

    /// Removes the bar, before a message or at the end.
    pub fn clear(&self) {
        if let Progress::Bar(bar) = self {
            bar.finish_and_clear();
        }
    }
}
