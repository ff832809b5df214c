//! `svnadmin hotcopy`: copies a repository that may be in use.

use std::ffi::OsString;
use std::path::Path;

use base::{Cancel, Result, Revnum};
use fsfs::Cache;
use fsfs::admin::hotcopy::CopiedRevisions;
use repos::Repository;
use repos::admin::{self, HotcopyOptions};

use super::repository;
use crate::args::operand::{at_least, at_most};
use crate::args::option::{self, LongRunOptions};
use crate::interrupt::Interrupt;
use crate::local_path;
use crate::out::Out;
use crate::progress::{Lines, Progress};

/// Copies a repository, configuration and hooks included, while it may be in use.
///
/// With '--incremental' only what an earlier copy lacks is copied. With '--resume'
/// (an option of Sven) a first copy that was interrupted is continued.
#[derive(clap::Args)]
#[command(override_usage = "hotcopy REPOS_PATH NEW_REPOS_PATH")]
pub struct HotcopyArgs {
    /// accepted, and of no use: it is about Berkeley DB
    #[arg(long)]
    clean_logs: bool,
    /// copy only what the destination, an earlier copy, lacks
    #[arg(long)]
    incremental: bool,
    /// say nothing
    #[arg(short = 'q', long)]
    quiet: bool,
    /// continue a copy that was interrupted before it was complete, or begin one (an option of Sven)
    #[arg(long)]
    resume: bool,
    #[command(flatten)]
    long_run: LongRunOptions,
    operands: Vec<OsString>,
}

impl HotcopyArgs {
    /// Runs the subcommand.
    pub fn run(self, out: &mut Out) -> Result<()> {
        at_most(&self.operands, 2, out.program(), "Too many arguments")?;
        at_least(&self.operands, 2, out.program(), "Not enough arguments")?;
        let destination = local_path::canonical(&self.operands[1]);
        let source = repository::path(&self.operands);
        out.set_output_ignorable();
        let interrupt = Interrupt::install()?;
        let meter = self.long_run.meter(&interrupt.cancel);
        let progress = Progress::of_revisions(
            self.long_run.progress,
            self.quiet,
            Lines::OnStdout,
            meter.as_ref(),
        );
        let total = match self.long_run.progress.is_given {
            true => revisions(&source)?,
            false => 0,
        };
        let mut is_begun = false;
        let outcome = {
            let mut observer = |CopiedRevisions { start, end }| {
                if !is_begun {
                    // What an earlier run has copied is not copied again.
                    progress.step("Copied", start.0, Some(total));
                    is_begun = true;
                }
                progress.set(end.0 + 1);
                if progress.has_lines() {
                    out.notice_line(&match start == end {
                        true => format!("* Copied revision {start}."),
                        false => format!("* Copied revisions from {start} to {end}."),
                    });
                }
            };
            match cluster::is_node_dir(&source.join("db")) {
                true => copy_from_cluster(&source, &destination, &mut observer, &interrupt.cancel),
                false => admin::hotcopy(
                    &source,
                    &destination,
                    HotcopyOptions {
                        incremental: self.incremental,
                        resume: self.resume,
                        meter,
                    },
                    &mut observer,
                    &interrupt.cancel,
                    &Cache::new(option::default_budget()),
                ),
            }
        };
        progress.finish(outcome.is_ok());
        interrupt.finish(out, outcome)
    }
}

/// Copies the repository of a cluster whose directory at this node is `source`. An earlier copy is brought up to date, and an interrupted
/// one continued, with or without the options for that.
fn copy_from_cluster(
    source: &Path,
    destination: &Path,
    observer: &mut dyn FnMut(CopiedRevisions),
    cancel: &Cancel,
) -> Result<()> {
    admin::refuse_itself(source, destination, "Hotcopy")?;
    let (cluster, repository) = cluster::find(&source.join("db"))?;
    let mut next = cluster::transfer::exported(destination)?.map_or(0, |youngest| youngest.0 + 1);
    let mut done = |rev: Revnum| {
        // A pack may replace revisions that were copied before.
        if rev.0 >= next {
            let start = Revnum(next);
            next = rev.0 + 1;
            observer(CopiedRevisions { start, end: rev });
        }
    };
    cluster::transfer::export(&cluster, &repository.name, destination, &mut done, cancel).map(drop)
}

/// Returns the number of revisions of the source.
fn revisions(source: &Path) -> Result<u64> {
    let youngest = Repository::open(source, &Cache::new(SMALL_CACHE))?.youngest()?;
    Ok(youngest.0 + 1)
}

/// Cache budget of a handle that reads small files only, bytes.
const SMALL_CACHE: u64 = 1 << 20;
