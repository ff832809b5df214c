//! Writes a repository as a dump stream, byte for byte as `svnadmin dump` does.
//!
//! Each revision is a revision record and the node records of its changes. The replay decides which nodes, and in
//! which order ([`nodes`]). The first revision of a dump that begins in the middle is a whole tree ([`tree`]).
//! [`record`] writes one record; a [`Filter`] leaves paths out.
//!
//! Revisions do not depend on each other, so several are printed at once, each into memory, and written in order
//! ([`base::ordered`]). A revision that needs more than its share of memory is given up; when its turn comes, all
//! threads print its records, each batch of them into memory ([`parallel`]). Long texts go straight into the output
//! in chunks, so a file of any size takes no more memory than a small one.

mod filter;
mod memory;
mod nodes;
mod parallel;
mod printed;
mod record;
mod spool;
mod tree;
mod warnings;

use std::io::{self, Write};
use std::num::NonZero;
use std::ops::RangeInclusive;
use std::thread;

use base::ordered::{self, Limits, ThreadPool};
use base::{Cancel, Code, Error, PropList, Result, Revnum};

use crate::access::{Everything, Readable};
use crate::dumpfile;
use crate::replay::{self, Detail};
use crate::repo::Repository;
use parallel::MemoryLimits;
use printed::{PrintEnd, PrintLimits, PrintedGroup, PrintedRecords};
use record::{Output, Printer, RecordStyle, Scratch};
use warnings::{Warning, WarningLog};

pub use filter::{Filter, FilterRule};
pub(crate) use nodes::NodePrinter;
pub(crate) use record::{NodeRecord, Records};

/// The options of a dump.
#[derive(Clone, Debug, Default)]
pub struct DumpOptions {
    /// The first revision; `None` is 0.
    pub start: Option<Revnum>,
    /// The last revision; `None` is the youngest.
    pub end: Option<Revnum>,
    /// The first revision holds only what it changed, not the whole tree.
    pub incremental: bool,
    /// Texts and properties are written as differences (version 3 of the format).
    pub deltas: bool,
    /// Paths to leave out.
    pub filter: Option<Filter>,
    /// Threads; 0 = as many as there are cores.
    pub jobs: usize,
    /// Bytes of one revision that a thread may hold; 0 = 4 MiB. A larger revision is shared among the threads. Twice
    /// as much may wait to be written.
    pub share: usize,
}

/// Receives the progress of a dump.
pub trait DumpObserver {
    /// A revision was written.
    fn dumped(&mut self, rev: Revnum);

    /// Reports an obstacle to loading the dump. `number` and `text` are those that `svnadmin` prints: `WARNING
    /// 0x<number>: <text>`.
    fn warning(&mut self, number: u16, text: &str);
}

/// Dumps `repo` to `out`. The bytes do not depend on the number of processors.
///
/// # Errors
/// `REPOS_BAD_ARGS` for a reversed range or one that does not exist, `AUTHZ_ROOT_UNREADABLE` if a filter hides the
/// root of a whole tree, `CANCELLED`; those of the storage and of `out`. Everything before the failure was written.
pub fn dump(
    repo: &Repository,
    options: &DumpOptions,
    out: &mut dyn Write,
    observer: &mut dyn DumpObserver,
    cancel: &Cancel,
) -> Result<()> {
    let job = DumpRun::new(repo, options, false, cancel)?;
    job.run(out, observer)
}

/// Dumps only the revision properties: a stream of revision records. Only the range of `options` is used.
///
/// # Errors
/// As [`dump`].
pub fn dump_revprops(
    repo: &Repository,
    options: &DumpOptions,
    out: &mut dyn Write,
    observer: &mut dyn DumpObserver,
    cancel: &Cancel,
) -> Result<()> {
    let options = DumpOptions {
        start: options.start,
        end: options.end,
        jobs: options.jobs,
        share: options.share,
        ..DumpOptions::default()
    };
    let job = DumpRun::new(repo, &options, true, cancel)?;
    job.run(out, observer)
}

struct DumpRun<'a> {
    repo: &'a Repository,
    start: Revnum,
    end: Revnum,
    incremental: bool,
    deltas: bool,
    revprops_only: bool,
    readable: &'a dyn Readable,
    threads: usize,
    /// Revisions of one task.
    group: u64,
    /// Bytes of one revision that may be in memory.
    share: u64,
    cancel: &'a Cancel,
}

impl<'a> DumpRun<'a> {
    fn new(
        repo: &'a Repository,
        options: &'a DumpOptions,
        revprops_only: bool,
        cancel: &'a Cancel,
    ) -> Result<Self> {
        let youngest = repo.youngest()?;
        let start = options.start.unwrap_or(Revnum::ZERO);
        let end = options.end.unwrap_or(youngest);
        let refuse = |message| Err(Error::new(Code::REPOS_BAD_ARGS, message));
        if start > end {
            return refuse(format!(
                "Start revision {start} is greater than end revision {end}"
            ));
        }
        if end > youngest {
            return refuse(format!(
                "End revision {end} is invalid (youngest revision is {youngest})"
            ));
        }
        let threads = match options.jobs {
            0 => thread::available_parallelism().map_or(1, NonZero::get),
            jobs => jobs,
        };
        // Every thread gets several groups.
        let group = (end.0 - start.0) / (4 * threads as u64);
        Ok(DumpRun {
            repo,
            start,
            end,
            incremental: options.incremental,
            deltas: options.deltas,
            revprops_only,
            readable: match &options.filter {
                Some(filter) => filter,
                None => &Everything,
            },
            threads,
            group: group.clamp(1, GROUP),
            share: match options.share {
                0 => SHARE,
                share => share as u64,
            },
            cancel,
        })
    }

    fn run(&self, out: &mut dyn Write, observer: &mut dyn DumpObserver) -> Result<()> {
        ThreadPool::scope(self.threads, |pool| self.run_on(pool, out, observer))
    }

    fn run_on<'w>(
        &'w self,
        pool: &ThreadPool<'w>,
        out: &mut dyn Write,
        observer: &mut dyn DumpObserver,
    ) -> Result<()> {
        let mut head = Vec::new();
        let version = if self.deltas { 3 } else { 2 };
        dumpfile::write_start(&mut head, version, &self.repo.uuid());
        out.write_all(&head).map_err(|e| write_error(&e))?;
        let mut notes = WarningLog::new(self.start, observer);
        let count = self.end.0 - self.start.0 + 1;
        if self.threads == 1 || count == 1 {
            for rev in self.start.0..=self.end.0 {
                self.cancel.check()?;
                self.print_noted(pool, Revnum(rev), out, &mut notes)?;
            }
        } else {
            let work = move |number| {
                let group = self.printed_group(self.group(number));
                let bytes = group.buffer.footprint() + size_of_val(&*group.revisions);
                ((number, group), bytes)
            };
            let budget = self.share.saturating_mul(REVISIONS_AHEAD);
            let limits = Limits {
                tasks: GROUPS_AHEAD * self.threads,
                bytes: usize::try_from(budget).unwrap_or(usize::MAX),
            };
            let groups = 0..count.div_ceil(self.group);
            ordered::in_order_on(pool, limits, groups, work, |(number, group)| {
                let PrintedGroup { buffer, revisions } = group;
                for (rev, printed) in self.group(number).map(Revnum).zip(revisions) {
                    self.cancel.check()?;
                    if let PrintEnd::TooLarge = printed.ended {
                        self.print_noted(pool, rev, out, &mut notes)?;
                        continue;
                    }
                    let written = buffer.write_to(&printed.records, out);
                    written.map_err(|e| write_error(&e))?;
                    notes.warn(&printed.warnings);
                    if let PrintEnd::Failed(error) = printed.ended {
                        return Err(error);
                    }
                    notes.observer.dumped(rev);
                }
                Ok(())
            })?;
        }
        out.flush().map_err(|e| write_error(&e))?;
        notes.close();
        Ok(())
    }

    /// Returns the revisions of the task `number`.
    fn group(&self, number: u64) -> RangeInclusive<u64> {
        let first = self.start.0 + number * self.group;
        first..=self.end.0.min(first + (self.group - 1))
    }

    /// Prints some revisions into memory. One MD5 stream is slow, many side by side are fast: so the texts of all of
    /// them are checked together.
    fn printed_group(&self, revs: RangeInclusive<u64>) -> PrintedGroup {
        let mut group = PrintedGroup::default();
        let mut scratch = Scratch::default();
        let budget = usize::try_from(self.share.saturating_mul(2)).unwrap_or(usize::MAX);
        let mut is_full = false;
        let revs: Vec<Revnum> = revs.map(Revnum).collect();
        let props = self.repo.revprop_lists(&revs, self.readable);
        for (&rev, props) in revs.iter().zip(&props) {
            let left = budget.saturating_sub(group.buffer.footprint()) as u64;
            let limits = PrintLimits {
                style: self.style(rev),
                bytes: left.min(self.share),
                defer_checks: true,
            };
            let printed = match is_full {
                false => PrintedRecords::make(limits, &mut group.buffer, &mut scratch, |printer| {
                    self.revision(rev, props, printer)
                }),
                true => PrintedRecords::too_large(),
            };
            is_full |= limits.bytes < self.share && matches!(printed.ended, PrintEnd::TooLarge);
            group.revisions.push(printed);
        }
        let sound = printed::are_sound(&group);
        let PrintedGroup { buffer, revisions } = &mut group;
        let printed = revs.iter().zip(&props).zip(revisions);
        for (((&rev, props), printed), is_sound) in printed.zip(sound) {
            if !is_sound {
                // Reading the revision again, with a check, fails in the right place.
                let limits = PrintLimits {
                    style: self.style(rev),
                    bytes: self.share,
                    defer_checks: false,
                };
                *printed = PrintedRecords::make(limits, buffer, &mut scratch, |printer| {
                    self.revision(rev, props, printer)
                });
            }
        }
        group
    }

    /// Prints a revision with these properties.
    fn revision(&self, rev: Revnum, props: &Result<PropList>, printer: &mut Printer<'_>) -> Result<()> {
        let props = props.as_ref().map_err(Error::clone)?;
        printer.raw(&revision_record(rev, props))?;
        self.records(rev, printer)
    }

    /// Prints a revision straight into the output, with all threads.
    fn print_noted<'w>(
        &'w self,
        pool: &ThreadPool<'w>,
        rev: Revnum,
        out: &mut dyn Write,
        notes: &mut WarningLog<'_>,
    ) -> Result<()> {
        let props = self.repo.revprop_lists(&[rev], self.readable).pop();
        let record = revision_record(rev, &props.transpose()?.unwrap_or_default());
        out.write_all(&record).map_err(|e| write_error(&e))?;
        let mut warnings = Vec::new();
        let result = if self.threads == 1 || self.revprops_only {
            let mut scratch = Scratch::default();
            let mut printer = Printer::new(Output::Stream(out), self.style(rev), &mut scratch);
            let result = self.records(rev, &mut printer);
            warnings.append(&mut printer.warnings);
            result
        } else {
            let limits = MemoryLimits {
                text: self.share,
                waiting: self.share.saturating_mul(RECORDS_AHEAD),
            };
            parallel::print(out, pool, self.style(rev), limits, &mut warnings, |records| {
                self.records(rev, records)
            })
        };
        notes.warn(&warnings);
        result?;
        notes.observer.dumped(rev);
        Ok(())
    }

    /// Passes the changes of the revision, or its whole tree, to `records`.
    fn records(&self, rev: Revnum, records: &mut dyn Records) -> Result<()> {
        if rev == Revnum::ZERO || self.revprops_only {
            return Ok(());
        }
        let fs = self.repo.fs();
        if self.is_whole_tree(rev) {
            return tree::print(records, fs, rev, self.readable);
        }
        let root = fs.root(rev)?;
        let mut editor = NodePrinter::new(records, root.clone());
        let options = replay::ReplayOptions::default();
        replay::drive(&root, &options, Detail::MarksAlone, self.readable, &mut editor)
    }

    fn style(&self, rev: Revnum) -> RecordStyle<'a> {
        RecordStyle {
            deltas: self.deltas && !self.is_whole_tree(rev),
            oldest: self.start,
            cancel: self.cancel,
        }
    }

    fn is_whole_tree(&self, rev: Revnum) -> bool {
        rev == self.start && !self.incremental
    }
}

fn revision_record(rev: Revnum, props: &PropList) -> Vec<u8> {
    let mut record = Vec::with_capacity(props.bytes() + RECORD_HEADERS);
    dumpfile::write_revision(&mut record, rev, props);
    record
}

/// Makes the error of a failed write to the output.
fn write_error(error: &io::Error) -> Error {
    Error::os(error, "Can't write to stream")
}

/// Bytes of a revision record beside its properties, in most cases.
const RECORD_HEADERS: usize = 100;
/// Maximum number of revisions of one task.
const GROUP: u64 = 16;
/// Tasks per thread that may be begun before their turn.
const GROUPS_AHEAD: usize = 16;

/// Default of [`DumpOptions::share`].
const SHARE: u64 = 4 << 20;
/// Shares of finished revisions that may wait to be written.
const REVISIONS_AHEAD: u64 = 2;
/// Shares of a large revision's records that may wait beside them.
const RECORDS_AHEAD: u64 = 2;
