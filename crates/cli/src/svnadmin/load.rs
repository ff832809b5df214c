//! `svnadmin load` and `svnadmin load-revprops`: make revisions of a dump stream.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use base::{Code, Error, RelPath, Result, Revnum, disk_path};
use repos::hooks::Hooks;
use repos::load::{self, LoadEvent, LoadObserver, LoadOptions, UuidAction};
use repos::{Cache, OpenOptions, Repository};
use rustix::fs::FileType;

use super::locks::now;
use super::range::RangeOption;
use super::repository;
use crate::args::operand::{at_most, misuse, text};
use crate::args::option::{self, CacheSizeOption};
use crate::args::revision::{Revision, RevisionRangeArg};
use crate::interrupt::Interrupt;
use crate::local_path;
use crate::out::Out;
use crate::progress::{Lines, Progress, ProgressOption};

/// Reads a dump stream from standard input and commits its revisions to the
/// repository.
///
/// If the repository is empty, it takes the UUID of the stream. With '-r' only
/// those revisions of the stream are committed.
#[derive(clap::Args)]
#[command(override_usage = "load REPOS_PATH")]
pub struct LoadArgs {
    #[command(flatten)]
    common: CommonLoadArgs,
    /// give the revisions the time at which they are loaded
    #[arg(long)]
    ignore_dates: bool,
    /// keep the repository's UUID, whatever the stream says
    #[arg(long, overrides_with = "force_uuid")]
    ignore_uuid: bool,
    /// run the hook before each commit
    #[arg(long)]
    use_pre_commit_hook: bool,
    /// run the hook after each commit
    #[arg(long)]
    use_post_commit_hook: bool,
    /// load below the directory ARG of the repository, which must exist
    #[arg(long)]
    parent_dir: Option<OsString>,
    #[command(flatten)]
    memory: CacheSizeOption,
    operands: Vec<OsString>,
}

/// Reads a dump stream from standard input and gives the revisions of the
/// repository the properties that they have in the stream. What else the stream
/// holds is passed over.
#[derive(clap::Args)]
#[command(override_usage = "load-revprops REPOS_PATH")]
pub struct LoadRevpropsArgs {
    #[command(flatten)]
    common: CommonLoadArgs,
    operands: Vec<OsString>,
}

/// The options of both subcommands.
#[derive(clap::Args)]
struct CommonLoadArgs {
    #[command(flatten)]
    range: RangeOption,
    /// tell nothing on standard output
    #[arg(short = 'q', long)]
    quiet: bool,
    /// take the UUID of the stream
    #[arg(long)]
    force_uuid: bool,
    /// make line ends in properties that Subversion itself uses line feeds
    #[arg(long)]
    normalize_props: bool,
    /// do not look at what properties hold
    #[arg(long)]
    bypass_prop_validation: bool,
    /// do not wait until what was written has reached the disk: faster, and a crash of the machine may
    /// leave nothing of use
    #[arg(long)]
    no_flush_to_disk: bool,
    /// read from the file ARG instead of standard input
    #[arg(short = 'F', long)]
    file: Option<OsString>,
    #[command(flatten)]
    progress: ProgressOption,
}

impl LoadArgs {
    /// Runs the subcommand.
    pub fn run(self, out: &mut Out) -> Result<()> {
        at_most(&self.operands, 1, out.program(), "Too many arguments")?;
        let range = self.common.range(out)?;
        let parent_dir = match &self.parent_dir {
            None => RelPath::empty(),
            Some(typed) => RelPath::canonicalize(text(typed)?.trim_start_matches('/'))?,
        };
        let repository = self.common.open(&self.operands, self.memory.budget())?;
        let hooks = Hooks::of(&repository, Arc::default());
        let options = LoadOptions {
            range,
            uuid: match (self.ignore_uuid, self.common.force_uuid) {
                (_, true) => UuidAction::Force,
                (true, false) => UuidAction::Ignore,
                (false, false) => UuidAction::IfEmpty,
            },
            parent_dir,
            pre_commit: self.use_pre_commit_hook.then(|| hooks.clone()),
            post_commit: self.use_post_commit_hook.then(|| hooks.clone()),
            validate_props: !self.common.bypass_prop_validation,
            ignore_dates: self.ignore_dates,
            normalize_props: self.common.normalize_props,
        };
        let input = self.common.input()?;
        let interrupt = Interrupt::install()?;
        out.set_output_ignorable();
        let mut observer = LoadPrinter {
            out,
            progress: self.common.progress(&input),
        };
        let clock: load::Clock = Arc::new(now);
        let outcome = load::run(
            &repository,
            input,
            &options,
            &mut observer,
            &interrupt.cancel,
            &clock,
        );
        observer.progress.finish(outcome.is_ok());
        interrupt.finish(out, outcome)
    }
}

impl LoadRevpropsArgs {
    /// Runs the subcommand.
    pub fn run(self, out: &mut Out) -> Result<()> {
        at_most(&self.operands, 1, out.program(), "Too many arguments")?;
        let range = self.common.range(out)?;
        let repository = self.common.open(&self.operands, option::default_budget())?;
        let options = LoadOptions {
            range,
            uuid: match self.common.force_uuid {
                true => UuidAction::Force,
                false => UuidAction::Ignore,
            },
            validate_props: !self.common.bypass_prop_validation,
            normalize_props: self.common.normalize_props,
            ..LoadOptions::default()
        };
        let input = self.common.input()?;
        let interrupt = Interrupt::install()?;
        out.set_output_ignorable();
        let mut observer = LoadPrinter {
            out,
            progress: self.common.progress(&input),
        };
        let input = io::BufReader::with_capacity(256 << 10, input);
        let outcome = load::revprops(&repository, input, &options, &mut observer, &interrupt.cancel);
        observer.progress.finish(outcome.is_ok());
        interrupt.finish(out, outcome)
    }
}

impl CommonLoadArgs {
    /// Returns the range of `-r`: revisions of the stream, as ascending numbers.
    fn range(&self, out: &Out) -> Result<Option<(Revnum, Revnum)>> {
        let Some(RevisionRangeArg { start, end }) = self.range.given() else {
            return Ok(None);
        };
        let wrong = |text: &str| misuse(out.program(), Error::new(Code::CL_ARG_PARSING_ERROR, text));
        let number = |revision: Revision| match revision {
            Revision::Number(rev) => Ok(rev),
            _ => Err(wrong("Non-numeric revision specified")),
        };
        let first = number(start)?;
        let last = end.map_or(Ok(first), number)?;
        match first > last {
            true => Err(wrong("First revision cannot be higher than second")),
            false => Ok(Some((first, last))),
        }
    }

    fn open(&self, operands: &[OsString], budget: u64) -> Result<Repository> {
        let options = OpenOptions {
            no_flush: self.no_flush_to_disk,
            ..OpenOptions::default()
        };
        repository::avoid_large_pages();
        Repository::open_with(&repository::path(operands), &Cache::for_load(budget), options)
    }

    fn input(&self) -> Result<DumpInput> {
        match &self.file {
            None => {
                let stdin = io::stdin();
                // What is before the position of a redirected file is not read.
                let start = rustix::fs::tell(&stdin).unwrap_or(0);
                let length = length(&stdin).map(|length| length.saturating_sub(start));
                Ok(DumpInput::new(Box::new(stdin), length))
            }
            Some(name) => {
                let path = local_path::canonical(name);
                let file = File::open(&path).map_err(|e| Error::io("Can't open file", &path, &e))?;
                let length = length(&file);
                Ok(DumpInput::new(Box::new(file), length))
            }
        }
    }

    fn progress(&self, input: &DumpInput) -> Progress {
        Progress::of_input(
            self.progress,
            self.quiet,
            Lines::OnStdout,
            "Loaded",
            &input.read,
            input.length,
        )
    }
}

/// Returns the length of a regular file, bytes.
fn length(file: impl AsFd) -> Option<u64> {
    let stat = rustix::fs::fstat(file).ok()?;
    let is_file = FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile;
    u64::try_from(stat.st_size).ok().filter(|_| is_file)
}

/// A dump stream whose bytes are counted.
struct DumpInput {
    stream: Box<dyn Read + Send>,
    read: Arc<AtomicU64>,
    /// The bytes of the stream, if it is a file.
    length: Option<u64>,
}

impl DumpInput {
    fn new(stream: Box<dyn Read + Send>, length: Option<u64>) -> Self {
        DumpInput {
            stream,
            read: Arc::default(),
            length,
        }
    }
}

impl Read for DumpInput {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let length = self.stream.read(buf)?;
        self.read.fetch_add(length as u64, Ordering::Relaxed);
        Ok(length)
    }
}

/// Prints the progress of a load on standard output.
struct LoadPrinter<'o> {
    out: &'o mut Out,
    progress: Progress,
}

impl LoadObserver for LoadPrinter<'_> {
    fn event(&mut self, event: LoadEvent) -> Result<()> {
        if !self.progress.has_lines() && !matches!(event, LoadEvent::SetAside(_)) {
            return Ok(());
        }
        match event {
            LoadEvent::Started { original } => self.out.line(&format!(
                "<<< Started new transaction, based on original revision {original}"
            )),
            LoadEvent::Editing(path) => self.out.print(&format!("     * editing path : {path} ...")),
            LoadEvent::Copied => self.out.print("COPIED..."),
            LoadEvent::NormalizedMergeinfo => self.out.print(" removing '\\r' from svn:mergeinfo ..."),
            LoadEvent::Done => self.out.line(" done."),
            LoadEvent::Committed { rev, original } if rev == original => {
                self.committed(&format!("Committed revision {rev}"))
            }
            LoadEvent::Committed { rev, original } => self.committed(&format!(
                "Committed new rev {rev} (loaded from original rev {original})"
            )),
            LoadEvent::Skipped { original } => self
                .out
                .line(&format!("<<< Skipped original revision {original}")),
            LoadEvent::PropsSet(rev) => self.out.line(&format!("Properties set on revision {rev}.")),
            LoadEvent::Warning(number, text) => self.out.line(&format!("WARNING 0x{number:04x}: {text}")),
            LoadEvent::SetAside(path) => self.out.line(&format!(
                "WARNING: A file that was in the way of a revision was renamed to '{}'",
                disk_path::shown(&path)
            )),
        }
    }
}

impl LoadPrinter<'_> {
    fn committed(&mut self, text: &str) -> Result<()> {
        self.out.print(&format!("\n------- {text} >>>\n\n"))?;
        self.out.flush()
    }
}
