//! `svnadmin dump` and `svnadmin dump-revprops`: write the repository as a dump stream.

use std::borrow::Cow;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, BufWriter, Write};

use base::{Code, Error, Result, Revnum};
use repos::dump::{self, DumpObserver, DumpOptions, Filter, FilterRule};

use super::range::RangeOption;
use super::repository;
use crate::args::operand::{misuse, text};
use crate::args::option::{CacheSizeOption, LongRunOptions};
use crate::interrupt::Interrupt;
use crate::local_path;
use crate::out::{Out, write_failed};
use crate::progress::{Lines, Progress, ProgressOption};

/// Writes the repository to standard output as a dump stream, which 'load'
/// reads. Progress is printed on standard error.
///
/// Without '-r' all revisions are written. The first one of a range is written
/// as a whole tree, unless '--incremental' asks for its changes alone.
///
/// Paths that '--exclude' or '--include' leaves out are treated as if nobody
/// might read them: a copy from such a path becomes an addition.
#[derive(clap::Args)]
#[command(override_usage = "dump REPOS_PATH [-r LOWER[:UPPER] [--incremental]]")]
pub struct DumpArgs {
    #[command(flatten)]
    range: RangeOption,
    /// write the changes of the first revision, not its tree
    #[arg(long)]
    incremental: bool,
    /// write texts and properties as differences
    #[arg(long)]
    deltas: bool,
    /// tell nothing on standard error but errors
    #[arg(short = 'q', long)]
    quiet: bool,
    #[command(flatten)]
    memory: CacheSizeOption,
    /// write to the file ARG instead of standard output
    #[arg(short = 'F', long)]
    file: Option<OsString>,
    /// leave out ARG and everything below it; may be given again
    #[arg(long)]
    exclude: Vec<OsString>,
    /// write only ARG and everything below it; may be given again
    #[arg(long)]
    include: Vec<OsString>,
    /// read the ARGs of '--exclude' and '--include' as patterns with '*', '?', '[]' and '\'; a slash is
    /// a character like any other
    #[arg(long)]
    pattern: bool,
    #[command(flatten)]
    long_run: LongRunOptions,
    operands: Vec<OsString>,
}

/// Writes the revision properties of the repository to standard output as a dump
/// stream without any content.
#[derive(clap::Args)]
#[command(override_usage = "dump-revprops REPOS_PATH [-r LOWER[:UPPER]]")]
pub struct DumpRevpropsArgs {
    #[command(flatten)]
    range: RangeOption,
    /// tell nothing on standard error but errors
    #[arg(short = 'q', long)]
    quiet: bool,
    /// write to the file ARG instead of standard output
    #[arg(short = 'F', long)]
    file: Option<OsString>,
    operands: Vec<OsString>,
}

impl DumpArgs {
    /// Runs the subcommand.
    pub fn run(self, out: &mut Out) -> Result<()> {
        let interrupt = Interrupt::install()?;
        let meter = self.long_run.meter(&interrupt.cancel);
        let repository =
            repository::open_for_one_pass(out, &self.operands, self.memory.budget(), meter.as_ref())?;
        let (start, end) = self.range.ascending(out, &repository)?;
        let rule = match (self.exclude.is_empty(), self.include.is_empty()) {
            (true, true) => None,
            (false, true) => Some((FilterRule::Exclude, &self.exclude)),
            (true, false) => Some((FilterRule::Include, &self.include)),
            (false, false) => {
                let text = "'--exclude' and '--include' options cannot be used simultaneously";
                return Err(misuse(
                    out.program(),
                    Error::new(Code::CL_ARG_PARSING_ERROR, text),
                ));
            }
        };
        let filter = match rule {
            None => None,
            Some((rule, words)) => Some(Filter {
                rule,
                patterns: words
                    .iter()
                    .map(|word| text(word).map(Cow::into_owned))
                    .collect::<Result<_>>()?,
                glob: self.pattern,
            }),
        };
        let options = DumpOptions {
            start: Some(start),
            end: Some(end),
            incremental: self.incremental,
            deltas: self.deltas,
            filter,
            ..DumpOptions::default()
        };
        let progress = Progress::of_revisions(
            self.long_run.progress,
            self.quiet,
            Lines::OnStderr,
            meter.as_ref(),
        );
        progress.step("Dumped", 0, Some(end.0 - start.0 + 1));
        let observer = DumpProgress {
            progress,
            start,
            quiet: self.quiet,
        };
        write(
            out,
            self.file.as_ref(),
            observer,
            &interrupt,
            |stream, observer| dump::dump(&repository, &options, stream, observer, &interrupt.cancel),
        )
    }
}

impl DumpRevpropsArgs {
    /// Runs the subcommand.
    pub fn run(self, out: &mut Out) -> Result<()> {
        let interrupt = Interrupt::install()?;
        let repository = repository::open(out, &self.operands)?;
        let (start, end) = self.range.ascending(out, &repository)?;
        let options = DumpOptions {
            start: Some(start),
            end: Some(end),
            ..DumpOptions::default()
        };
        let no_option = ProgressOption::default();
        let observer = DumpProgress {
            progress: Progress::of_revisions(no_option, self.quiet, Lines::OnStderr, None),
            start,
            quiet: self.quiet,
        };
        write(
            out,
            self.file.as_ref(),
            observer,
            &interrupt,
            |stream, observer| {
                dump::dump_revprops(&repository, &options, stream, observer, &interrupt.cancel)
            },
        )
    }
}

/// Shorter writes to the output are collected, bytes. Longer ones, most revisions, are not copied.
const BUFFER: usize = 32 << 10;

/// Opens the output, standard output or `file`, and passes it to `work`.
fn write(
    out: &mut Out,
    file: Option<&OsString>,
    mut observer: DumpProgress,
    interrupt: &Interrupt,
    work: impl FnOnce(&mut dyn Write, &mut DumpProgress) -> Result<()>,
) -> Result<()> {
    let outcome = match file {
        Some(name) => {
            let path = local_path::canonical(name);
            let file = File::create(&path).map_err(|e| Error::io("Can't open file", &path, &e))?;
            let mut stream = BufWriter::with_capacity(BUFFER, OutputFile { file, failed: None });
            let outcome =
                work(&mut stream, &mut observer).and_then(|()| stream.flush().map_err(|e| unnamed(&e)));
            match stream.get_mut().failed.take() {
                Some(e) => Err(Error::io("Can't write to file", &path, &e)),
                None => outcome,
            }
        }
        None => {
            out.flush()?;
            let mut stream = BufWriter::with_capacity(BUFFER, io::stdout().lock());
            work(&mut stream, &mut observer).and_then(|()| stream.flush().map_err(|e| unnamed(&e)))
        }
    };
    observer.progress.finish(outcome.is_ok());
    interrupt.finish(out, outcome)
}

/// The error of a write to standard output.
fn unnamed(e: &io::Error) -> Error {
    write_failed(e, "Can't write to stream")
}

/// The file of the option `--file`. It keeps the error of a failed write: what makes the dump does not know the file's name.
struct OutputFile {
    file: File,
    failed: Option<io::Error>,
}

impl Write for OutputFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.file.write(bytes);
        if let Err(e) = &written
            && e.kind() != io::ErrorKind::Interrupted
        {
            let number = e.raw_os_error();
            self.failed = Some(number.map_or_else(|| e.kind().into(), io::Error::from_raw_os_error));
        }
        written
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// Prints the progress of a dump on standard error.
struct DumpProgress {
    progress: Progress,
    /// The first revision.
    start: Revnum,
    quiet: bool,
}

impl DumpObserver for DumpProgress {
    fn dumped(&mut self, rev: Revnum) {
        self.progress.set(rev.0.saturating_sub(self.start.0) + 1);
        if self.progress.has_lines() {
            // A closed standard error is ignored.
            let _ = writeln!(io::stderr(), "* Dumped revision {rev}.");
        }
    }

    fn warning(&mut self, number: u16, text: &str) {
        if !self.quiet {
            self.progress.suspend(|| {
                let _ = writeln!(io::stderr(), "WARNING 0x{number:04x}: {text}");
            });
        }
    }
}
