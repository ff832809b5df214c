//! `svndumpfilter include` and `svndumpfilter exclude`.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::os::fd::AsFd as _;
use std::process::ExitCode;

use base::{Cancel, Code, Error, Result};
use repos::dump::{Filter, FilterRule};
use repos::dumpfile::DumpReader;
use repos::filter_stream::{self, DropRevisions, FilterOptions};

use super::NO_PREFIXES;
use super::prefixes::{self, Prefixes};
use super::report::Report;
use crate::out::{Out, write_failed};

/// Leaves out the nodes at and below the prefixes.
///
/// A kept node that was copied from one that is left out is an error: the stream
/// could not be loaded.
#[derive(clap::Args)]
#[command(override_usage = "exclude PATH_PREFIX...")]
pub struct ExcludeArgs {
    #[command(flatten)]
    common: FilterArgs,
}

/// Keeps only the nodes at and below the prefixes.
///
/// Their parent directories are left out. A kept node that was copied from one
/// that is left out is an error: the stream could not be loaded.
#[derive(clap::Args)]
#[command(override_usage = "include PATH_PREFIX...")]
pub struct IncludeArgs {
    #[command(flatten)]
    common: FilterArgs,
}

impl ExcludeArgs {
    /// Runs the subcommand.
    pub fn run(self, out: &mut Out) -> Result<ExitCode> {
        self.common.run(out, FilterRule::Exclude)
    }
}

impl IncludeArgs {
    /// Runs the subcommand.
    pub fn run(self, out: &mut Out) -> Result<ExitCode> {
        self.common.run(out, FilterRule::Include)
    }
}

/// The options of both subcommands.
#[derive(clap::Args)]
struct FilterArgs {
    /// leave out revisions that have no nodes left
    #[arg(long)]
    drop_empty_revs: bool,
    /// leave out revisions without nodes, also if they never had any, except revision 0
    #[arg(long)]
    drop_all_empty_revs: bool,
    /// number the revisions that are left without gaps
    #[arg(long)]
    renumber_revs: bool,
    /// leave out merge sources that are not in the stream any more
    #[arg(long)]
    skip_missing_merge_sources: bool,
    /// take more prefixes from the file ARG, one a line
    #[arg(long)]
    targets: Option<OsString>,
    /// keep the properties of revisions that have no nodes left
    #[arg(long)]
    preserve_revprops: bool,
    /// tell nothing on standard error but errors
    #[arg(long)]
    quiet: bool,
    /// read the prefixes as patterns with '*', '?', '[]' and '\'; a slash is a character like any other,
    /// and a pattern does not match what is below
    #[arg(long)]
    pattern: bool,
    prefixes: Vec<OsString>,
}

impl FilterArgs {
    fn run(self, out: &mut Out, rule: FilterRule) -> Result<ExitCode> {
        let Prefixes { all, has_used_stdin } = prefixes::collect(&self.prefixes, self.targets.as_deref())?;
        if all.is_empty() {
            out.print_stderr(&format!("{NO_PREFIXES}\n"));
            return Ok(ExitCode::FAILURE);
        }
        let options = FilterOptions {
            nodes: Filter {
                rule,
                patterns: all,
                glob: self.pattern,
            },
            drop_revisions: match (self.drop_empty_revs, self.drop_all_empty_revs) {
                (_, true) => DropRevisions::Empty,
                (true, false) => DropRevisions::Emptied,
                (false, false) => DropRevisions::None,
            },
            renumber: self.renumber_revs,
            skip_missing_merge_sources: self.skip_missing_merge_sources,
            preserve_revprops: self.preserve_revprops,
        };
        let mut report = Report::new(out, self.quiet);
        report.start(&options);
        if has_used_stdin {
            return Err(Error::new(EBADF, "Can't read stream: Bad file descriptor"));
        }
        let summary = filter(&options, &mut report)?;
        report.finish(&summary);
        Ok(ExitCode::SUCCESS)
    }
}

/// Filters standard input to standard output. What was written before an error stays.
fn filter(options: &FilterOptions, report: &mut Report<'_>) -> Result<filter_stream::FilterSummary> {
    let input = duplicate(io::stdin().as_fd().try_clone_to_owned(), "Can't open stdin")?;
    let output = duplicate(io::stdout().as_fd().try_clone_to_owned(), "Can't open stdout")?;
    // In a pipe there is no moving ahead.
    let can_seek = input.metadata().is_ok_and(|meta| meta.is_file());
    let input = BufReader::with_capacity(INPUT_BUFFER, input);
    let reader = match can_seek {
        true => DumpReader::open_file(input)?,
        false => DumpReader::open(input)?,
    };
    let mut output = BufWriter::with_capacity(OUTPUT_BUFFER, output);
    let outcome = filter_stream::run(reader, &mut output, options, report, &Cancel::new());
    let flushed = output
        .flush()
        .map_err(|e| write_failed(&e, "Can't write to stream"));
    // After a failed write, dropping the writer would try it again.
    let (_, _) = output.into_parts();
    let summary = outcome?;
    flushed?;
    Ok(summary)
}

/// Standard input and output as files: the standard library's own have buffers that end at each line.
fn duplicate(stream: io::Result<std::os::fd::OwnedFd>, what: &str) -> Result<File> {
    stream.map(File::from).map_err(|e| Error::os(&e, what))
}

/// Reads all of standard input.
pub fn read_stdin() -> Result<Vec<u8>> {
    let mut text = Vec::new();
    io::stdin()
        .lock()
        .read_to_end(&mut text)
        .map_err(|e| Error::os(&e, "Can't read stream"))?;
    Ok(text)
}

/// The buffer of the input, bytes.
const INPUT_BUFFER: usize = 128 << 10;
/// The buffer of the output, bytes. Parts of texts are longer, and are written from the input's buffer.
const OUTPUT_BUFFER: usize = 32 << 10;
/// The `errno` of a descriptor that was closed.
const EBADF: Code = Code(9);
