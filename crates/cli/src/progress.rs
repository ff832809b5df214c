//! The progress of long operations on standard error, for `--progress`.
//!
//! [`Progress`] has a thread that prints: how much is done, bytes per second of the last ten seconds and of the whole run, and
//! the estimated rest. On a terminal that is one line, which is rewritten; elsewhere it is a line every thirty seconds. At the
//! end there is one line of totals. Operations report how far they are; bytes come from a function that the thread calls.
//!
//! Without the option nothing is printed, and the incumbent's lines are printed as always. With the option, these lines are
//! left out where they would disturb: on standard error, and on a standard output that is a terminal.

mod text;

use std::io::{self, IsTerminal as _, Write as _};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use base::Cancel;
use clap::Args;
use fsfs::disk::IoMeter;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use parking_lot::Mutex;

use self::text::Estimate;

/// The option `--progress`.
#[derive(Clone, Copy, Debug, Default, Args)]
pub struct ProgressOption {
    /// show on standard error how much is done, how fast, and how long the rest may take (an option of
    /// Sven)
    #[arg(id = "progress", long = "progress")]
    pub is_given: bool,
}

/// What an operation counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Unit {
    /// Revisions. Bytes are those that are read from the disk.
    Revisions,
    /// Bytes of the input.
    Bytes,
}

/// The output stream of the incumbent's progress lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lines {
    /// Standard output.
    OnStdout,
    /// Standard error.
    OnStderr,
}

/// Returns the bytes that an operation has read so far.
type ReadBytes = Box<dyn Fn() -> u64 + Send>;

/// The display of an operation.
pub struct Progress {
    /// True if the incumbent's lines are printed.
    has_lines: bool,
    display: Option<Display>,
}

/// The thread that prints.
struct Display {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

/// What the thread prints and where.
struct Shared {
    estimate: Mutex<Estimate>,
    bar: Option<ProgressBar>,
    /// Raised at the end.
    end: Cancel,
}

impl Progress {
    /// Starts the display of an operation over revisions, whose bytes `meter` counts, if `option` asks for it and `quiet` does
    /// not forbid it.
    pub fn of_revisions(
        option: ProgressOption,
        quiet: bool,
        lines: Lines,
        meter: Option<&Arc<IoMeter>>,
    ) -> Self {
        let meter = meter.cloned().unwrap_or_default();
        let read = Box::new(move || meter.counts().read);
        Self::start(option, quiet, lines, Unit::Revisions, read)
    }

    /// Starts the display of an operation on an input of `total` bytes, if that is known, as [`Progress::of_revisions`]. `what`
    /// is as for [`Progress::step`].
    pub fn of_input(
        option: ProgressOption,
        quiet: bool,
        lines: Lines,
        what: &'static str,
        read: &Arc<AtomicU64>,
        total: Option<u64>,
    ) -> Self {
        let read = Arc::clone(read);
        let read = Box::new(move || read.load(Ordering::Relaxed));
        let this = Self::start(option, quiet, lines, Unit::Bytes, read);
        this.step(what, 0, total);
        this
    }

    fn start(option: ProgressOption, quiet: bool, lines: Lines, unit: Unit, read: ReadBytes) -> Self {
        let is_shown = option.is_given && !quiet;
        let in_the_way = lines == Lines::OnStderr || io::stdout().is_terminal();
        Progress {
            has_lines: !(quiet || is_shown && in_the_way),
            display: is_shown.then(|| Display::start(unit, read)),
        }
    }

    /// Begins a step of `total` units, of which `done` are done already. `what` says what is done with them: "Verified".
    pub fn step(&self, what: &'static str, done: u64, total: Option<u64>) {
        self.with(|estimate, now| estimate.step(what, done, total, now));
    }

    /// Sets how many units of the step are done.
    pub fn set(&self, done: u64) {
        self.with(|estimate, _| estimate.set(done));
    }

    /// True if the incumbent's lines are printed.
    pub fn has_lines(&self) -> bool {
        self.has_lines
    }

    /// Hides the line while `print` writes to standard error.
    pub fn suspend<T>(&self, print: impl FnOnce() -> T) -> T {
        match self
            .display
            .as_ref()
            .and_then(|display| display.shared.bar.as_ref())
        {
            Some(bar) => bar.suspend(print),
            None => print(),
        }
    }

    /// Ends the display. Prints the totals unless the operation has failed.
    pub fn finish(mut self, is_complete: bool) {
        let Some(mut display) = self.display.take() else {
            return;
        };
        display.stop();
        if is_complete {
            let totals = display.shared.estimate.lock().totals(Instant::now());
            write_line(&totals);
        }
    }

    fn with(&self, change: impl FnOnce(&mut Estimate, Instant)) {
        if let Some(display) = &self.display {
            change(&mut display.shared.estimate.lock(), Instant::now());
        }
    }
}

impl Display {
    fn start(unit: Unit, read: ReadBytes) -> Self {
        let bar = io::stderr().is_terminal().then(|| {
            let target = ProgressDrawTarget::stderr_with_hz(5);
            let style = ProgressStyle::with_template("{wide_msg}");
            let style = style.unwrap_or_else(|_| ProgressStyle::default_bar());
            ProgressBar::with_draw_target(None, target).with_style(style)
        });
        let shared = Arc::new(Shared {
            estimate: Mutex::new(Estimate::new(unit, Instant::now())),
            bar,
            end: Cancel::new(),
        });
        let for_thread = Arc::clone(&shared);
        let thread = std::thread::Builder::new()
            .name("progress".into())
            .spawn(move || for_thread.run(read));
        Display {
            shared,
            // Without a thread there is no display: the operation is more important.
            thread: thread.ok(),
        }
    }

    fn stop(&mut self) {
        self.shared.end.cancel();
        // The thread does not panic, and if it did, the operation would be done all the same.
        _ = self.thread.take().map(JoinHandle::join);
    }
}

impl Drop for Display {
    fn drop(&mut self) {
        self.stop();
    }
}

impl Shared {
    fn run(&self, read: ReadBytes) {
        let interval = if self.bar.is_some() {
            ON_TERMINAL
        } else {
            ELSEWHERE
        };
        while !self.end.wait(interval) {
            let text = {
                let mut estimate = self.estimate.lock();
                estimate.sample(read(), Instant::now());
                estimate.text(Instant::now())
            };
            match (&self.bar, text) {
                (_, None) => {}
                (Some(bar), Some(text)) => {
                    bar.set_message(text);
                    bar.tick();
                }
                (None, Some(text)) => write_line(&text),
            }
        }
        self.estimate.lock().sample(read(), Instant::now());
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

/// Prints a line on standard error; a closed one is ignored.
fn write_line(text: &str) {
    _ = writeln!(io::stderr(), "{text}");
}

/// The time between two updates of the line on a terminal.
const ON_TERMINAL: Duration = Duration::from_millis(500);

/// The time between two lines elsewhere.
const ELSEWHERE: Duration = Duration::from_secs(30);
