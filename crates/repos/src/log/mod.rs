//! The log: which revisions changed something, and what.
//!
//! [`run`] sends entries youngest first, or oldest first if `start` is older than `end`. There are three kinds:
//! * The log of the root scans revision numbers ([`scan`]).
//! * The log of paths follows the history of each path ([`path_history`]) and takes the youngest revision that any of
//!   them has next. Only the present position of each path is held.
//! * With `include_merged`, the revisions that a merge brought follow it ([`merged_log`]).
//!
//! Oldest first, the numbers of the revisions are collected before the first entry is sent.
//!
//! [`entry`] decides what an entry shows of a revision, by access rights.

use base::{Cancel, Code, Error, FsPath, Result, Revnum};

use crate::access::Readable;
use crate::repo::Repository;

mod entry;
mod merged;
mod merged_log;
mod path_history;
mod scan;
mod searched;

pub use entry::LogEntry;
pub(crate) use merged::changes_of_file as merged_into_file;

use entry::EntrySender;
use path_history::{MissingPaths, PathHistories};

/// The request for a log.
#[derive(Clone, Debug, Default)]
pub struct LogOptions {
    /// Paths whose changes count; empty means the whole repository (but nothing with `include_merged`).
    pub paths: Vec<FsPath>,
    /// First revision of the output; `None` is the youngest.
    pub start: Option<Revnum>,
    /// Last revision of the output; `None` is the youngest.
    pub end: Option<Revnum>,
    /// Maximum number of entries, merged ones not counted; 0 is no limit.
    pub limit: u64,
    /// Send the changed paths of each revision.
    pub changed_paths: bool,
    /// Stop at copies.
    pub strict: bool,
    /// Send the merged revisions below each revision that merged them.
    pub include_merged: bool,
    /// Which revision properties to send.
    pub revprops: Revprops,
}

/// A selection of revision properties.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Revprops {
    /// All that the user may see.
    #[default]
    All,
    /// The named ones that are set and that the user may see.
    Names(Vec<String>),
}

/// Receives the entries.
pub type LogSink<'a> = dyn FnMut(&LogEntry<'_>) -> Result<()> + 'a;

/// Sends the log to `sink`.
///
/// # Errors
/// `FS_NO_SUCH_REVISION`; `FS_NOT_FOUND` for a path that is not in the younger of the two revisions,
/// `AUTHZ_UNREADABLE` for one that may not be read there; whatever `sink` returns.
pub fn run(
    repo: &Repository,
    options: &LogOptions,
    readable: &dyn Readable,
    sink: &mut LogSink<'_>,
    cancel: &Cancel,
) -> Result<()> {
    log(repo, options, readable, sink, cancel, false)
}

/// Sends the log as [`run`] does, with the errors of the incumbent's log of merged revisions: for tests that compare.
#[doc(hidden)]
pub fn run_with_lapses(
    repo: &Repository,
    options: &LogOptions,
    readable: &dyn Readable,
    sink: &mut LogSink<'_>,
    cancel: &Cancel,
) -> Result<()> {
    log(repo, options, readable, sink, cancel, true)
}

fn log(
    repo: &Repository,
    options: &LogOptions,
    readable: &dyn Readable,
    sink: &mut LogSink<'_>,
    cancel: &Cancel,
    lapses: bool,
) -> Result<()> {
    let youngest = repo.youngest()?;
    let span = RevisionSpan::requested(options, youngest)?;
    let root = [FsPath::root()];
    let paths = if options.paths.is_empty() {
        &root[..]
    } else {
        &options.paths
    };
    let mut entries = EntrySender::new(repo, options, youngest, readable, sink, cancel);
    if options.include_merged {
        // With merged revisions, the incumbent sends nothing for an empty list of paths.
        if options.paths.is_empty() {
            return Ok(());
        }
        return merged_log::run(&mut entries, paths, span, lapses);
    }
    let limit = match options.limit {
        0 => usize::MAX,
        limit => usize::try_from(limit).unwrap_or(usize::MAX),
    };
    if let [path] = paths
        && path.is_root()
    {
        if !readable.read(path) {
            return Err(Error::bare(Code::AUTHZ_UNREADABLE));
        }
        let revs = span.old.0..=span.young.0;
        return if span.descending {
            scan::run(&mut entries, revs.rev().take(limit).map(Revnum))
        } else {
            scan::run(&mut entries, revs.take(limit).map(Revnum))
        };
    }
    let mut traces = PathHistories::open(
        repo.fs(),
        paths,
        MissingPaths::Refused,
        span,
        options.strict,
        readable,
    )?;
    send_histories(&mut entries, &mut traces, span.descending, limit)
}

/// Sends the revisions of several histories, at most `limit`. Those before a failure are sent.
fn send_histories(
    entries: &mut EntrySender<'_, '_>,
    traces: &mut PathHistories<'_>,
    descending: bool,
    limit: usize,
) -> Result<()> {
    let (mut failed, cancel) = (None, entries.cancel);
    let revs = std::iter::from_fn(|| {
        let next = traces.next(cancel);
        next.unwrap_or_else(|e| {
            failed = Some(e);
            None
        })
    });
    if descending {
        scan::run(entries, revs.fuse().take(limit))?;
        return failed.map_or(Ok(()), Err);
    }
    let revs: Vec<Revnum> = revs.collect();
    match failed {
        Some(e) => Err(e),
        None => scan::run(entries, revs.into_iter().rev().take(limit)),
    }
}

/// A range of revisions and the direction in which it is sent.
#[derive(Clone, Copy, Debug)]
struct RevisionSpan {
    old: Revnum,
    young: Revnum,
    descending: bool,
}

impl RevisionSpan {
    /// Returns the range that a request asks for.
    ///
    /// # Errors
    /// `FS_NO_SUCH_REVISION`.
    fn requested(options: &LogOptions, youngest: Revnum) -> Result<RevisionSpan> {
        let start = options.start.unwrap_or(youngest);
        let end = options.end.unwrap_or(youngest);
        if let Some(missing) = [start, end].into_iter().find(|rev| *rev > youngest) {
            return Err(Error::new(
                Code::FS_NO_SUCH_REVISION,
                format!("No such revision {missing}"),
            ));
        }
        Ok(RevisionSpan {
            old: start.min(end),
            young: start.max(end),
            descending: start >= end,
        })
    }
}
