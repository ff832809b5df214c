//! Checking a filesystem for damage: `svnadmin verify`.
//!
//! The three steps are the incumbent's. First the files: indexes and the checksum of every item (logical addressing only), and
//! revision properties. Then the rep-cache database. Then each revision: its tree, the text and properties of every node that it
//! made, and its changed-path list. The first two steps end at their first error; the third continues with the next revision if
//! the [`VerifyObserver`] says so.
//!
//! All steps use all cores and report in order, as a single thread would. A run opens the files again, with a cache of its own, so
//! that it checks what is on disk and not the cache of the given filesystem.

mod changed_paths;
mod content;
mod fsx_files;
mod hasher;
mod index;
mod names;
mod rep_cache;
mod tree;

use std::collections::HashSet;
use std::ops::ControlFlow;

use base::ordered::{Limits, ThreadPool, cores, in_order, in_order_on};
use base::{Cancel, Code, Error, Result, Revnum};

use self::changed_paths::ChangedPathsCheck;
use self::content::{BATCH_BYTES, ContentBatch, VerifyShared};
use self::tree::{TreeCheck, TreeOwner};
use crate::format::changes::{ChangeKind, RawChange};
use crate::format::fold;
use crate::format::short_line::{CORRUPT_CURRENT, NextIds};
use crate::store::disk::read_replaced;
use crate::store::rep_cache::RepCache;
use crate::tree::Fs;

pub use self::names::VerifyWarning;

/// Options of a run.
#[derive(Clone, Debug)]
pub struct VerifyOptions {
    /// First revision.
    pub start: Revnum,
    /// Last revision.
    pub end: Revnum,
    /// True for the first two steps only.
    pub metadata_only: bool,
    /// True to warn of names that differ in their Unicode composition only.
    pub check_normalization: bool,
    /// Budget of the run's own cache, bytes.
    pub cache_budget: u64,
    /// Number of threads; 0 is the number of cores.
    pub jobs: usize,
    /// Bytes of contents that one thread queues before it hashes them. A revision with more is shared among the threads.
    pub batch_bytes: usize,
    /// Where to begin; `None` for the beginning. A run that continues an interrupted one has the same range.
    pub from: Option<VerifyPosition>,
    /// Stops the run.
    pub cancel: Cancel,
}

impl VerifyOptions {
    /// Options that check everything, for the revisions `start` to `end`.
    pub fn range(start: Revnum, end: Revnum) -> Self {
        VerifyOptions {
            start,
            end,
            metadata_only: false,
            check_normalization: false,
            cache_budget: 256 << 20,
            jobs: 0,
            batch_bytes: BATCH_BYTES,
            from: None,
            cancel: Cancel::new(),
        }
    }

    fn threads(&self) -> usize {
        if self.jobs == 0 { cores() } else { self.jobs }
    }
}

/// The point that a run has reached: what comes before it is checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VerifyPosition {
    /// The first step is to continue with the file of this revision.
    Files(Revnum),
    /// The second step is to begin.
    RepositoryMetadata,
    /// The third step is to continue with this revision.
    Revision(Revnum),
}

/// Receives the progress and the findings of a run.
pub trait VerifyObserver {
    /// Called at each successful step.
    fn progress(&mut self, progress: VerifyProgress);

    /// Called for each failure; `None` stands for the first two steps. The result says whether to continue.
    fn failed(&mut self, at: Option<Revnum>, error: &Error) -> ControlFlow<()>;

    /// Called before the revision's [`VerifyProgress::Revision`].
    fn warn(&mut self, revision: Revnum, warning: &VerifyWarning);

    /// Called when everything before `position` is checked and reported. A run that begins there completes this one.
    fn reached(&mut self, position: VerifyPosition) {
        let _ = position;
    }
}

/// The progress of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VerifyProgress {
    /// The first step begins to check the shard that begins with this revision.
    Metadata(Revnum),
    /// The second step begins.
    RepositoryMetadata,
    /// A revision has no damage.
    Revision(Revnum),
}

/// Checks a filesystem and reports to the observer.
///
/// # Errors
/// Those before the first step (`FS_NO_SUCH_REVISION`, the system's), and `CANCELLED`.
pub fn run(fs: &Fs, options: &VerifyOptions, observer: &mut dyn VerifyObserver) -> Result<()> {
    let fs = fs.reopen(options.cache_budget)?;
    fs.check_rev(options.end)?;
    check_counters(&fs)?;
    let run = VerifyRun {
        fs: &fs,
        options,
        shared: VerifyShared::new(&fs, &options.cancel, options.batch_bytes),
    };
    match run.metadata(observer) {
        Err(e) if options.cancel.is_cancelled() => return Err(e),
        Err(e) if observer.failed(None, &e).is_break() => return Ok(()),
        _ => {}
    }
    observer.reached(VerifyPosition::Revision(run.first_revision()));
    if !options.metadata_only {
        run.revisions(observer);
    }
    options.cancel.check()
}

/// Checks the next IDs in `current` (formats 1 and 2): no reader needs them, but the next commit does.
fn check_counters(fs: &Fs) -> Result<()> {
    if !fs.format().has_ids_in_current() {
        return Ok(());
    }
    let text = read_replaced(fs.disk(), &fs.layout().file("current"))?;
    if text.strip_suffix(b"\n").and_then(NextIds::parse).is_some() {
        return Ok(());
    }
    Err(Error::new(Code::FS_CORRUPT, CORRUPT_CURRENT))
}

/// Checks an open transaction: the part of the tree that it has made, and its changed paths.
///
/// # Errors
/// `FS_NO_SUCH_TRANSACTION`, `FS_CORRUPT`; those of reading.
pub fn transaction(fs: &Fs, txn: &str) -> Result<()> {
    let fs = fs.reopen(VerifyOptions::range(Revnum::ZERO, Revnum::ZERO).cache_budget)?;
    let id = fs.check_txn(txn)?;
    let cancel = Cancel::new();
    let shared = VerifyShared::new(&fs, &cancel, BATCH_BYTES);
    let (walked, failures) = ThreadPool::scope(1, |pool| {
        let mut batch = ContentBatch::new(&shared, pool);
        let walked = TreeCheck::new(&fs, &mut batch, TreeOwner::Transaction(id), Revnum::MAX, 0).run();
        (walked, batch.failures())
    });
    // A failing content was asked for before the walk failed.
    if let Some((_, e)) = failures.into_iter().min_by_key(|(origin, _)| *origin) {
        return Err(e);
    }
    walked?;
    let root = fs.txn_root(txn)?;
    let changes = root.changed_paths()?;
    ChangedPathsCheck::check(&fs, &root, root.base_revision(), &changes)?;
    fs.txn_props(txn).map(drop)
}

/// The observer asked the run to stop, or the run was cancelled.
struct Stopped;

struct VerifyRun<'a> {
    fs: &'a Fs,
    options: &'a VerifyOptions,
    shared: VerifyShared<'a>,
}

/// Files that one thread checks: the first revisions of each.
struct FileGroup {
    revs: Vec<Revnum>,
    /// The first revision after these files.
    next: Revnum,
}

/// The result for one revision.
struct RevisionOutcome {
    rev: Revnum,
    warnings: Vec<VerifyWarning>,
    result: Result<()>,
}

impl VerifyRun<'_> {
    fn metadata(&self, observer: &mut dyn VerifyObserver) -> Result<()> {
        match self.from() {
            VerifyPosition::Files(from) if self.fs.format().logical => self.indexes(from, observer)?,
            VerifyPosition::Files(_) | VerifyPosition::RepositoryMetadata => {}
            VerifyPosition::Revision(_) => return Ok(()),
        }
        observer.reached(VerifyPosition::RepositoryMetadata);
        if !self.fs.format().has_rep_sharing() {
            return Ok(());
        }
        let (first, last) = (self.options.start, self.options.end);
        if let Some(shared) = self.fs.shared_fs() {
            observer.progress(VerifyProgress::RepositoryMetadata);
            return rep_cache::check_shared(self.fs, &*shared.heads, first, last, &self.options.cancel);
        }
        if let Some(cache) = RepCache::open(&self.fs.layout().file("rep-cache.db"))? {
            observer.progress(VerifyProgress::RepositoryMetadata);
            rep_cache::check(self.fs, &cache, first, last)?;
        }
        Ok(())
    }

    fn indexes(&self, from: Revnum, observer: &mut dyn VerifyObserver) -> Result<()> {
        let shard_size = self.fs.format().shard_size.max(1);
        let check = |file: FileGroup| {
            let mut results: Vec<(Revnum, Result<()>)> = Vec::with_capacity(file.revs.len());
            for rev in file.revs {
                let result = self
                    .options
                    .cancel
                    .check()
                    .and_then(|()| index::check(self.fs, rev));
                let failed = result.is_err();
                results.push((rev, result));
                if failed {
                    break;
                }
            }
            ((results, file.next), 0)
        };
        in_order(
            self.options.threads(),
            self.limits(),
            self.files(from),
            check,
            |(results, next)| {
                for (rev, result) in results {
                    if rev.0 % shard_size == 0 {
                        observer.progress(VerifyProgress::Metadata(rev));
                    }
                    result?;
                }
                observer.reached(VerifyPosition::Files(next));
                Ok(())
            },
        )
    }

    /// Returns the files that have the range, beginning with that of revision `from`.
    fn files(&self, from: Revnum) -> impl Iterator<Item = FileGroup> {
        let shard_size = self.fs.format().shard_size.max(1);
        let mut next = Some(from.0);
        let end = self.options.end.0;
        std::iter::from_fn(move || {
            let first = next.filter(|first| *first <= end)?;
            if self.fs.is_packed(Revnum(first)) {
                let start = first - first % shard_size;
                next = start.checked_add(shard_size);
                return Some(FileGroup {
                    revs: vec![Revnum(start)],
                    next: Revnum(start.saturating_add(shard_size)),
                });
            }
            let last = end.min(first.saturating_add(UNPACKED_AT_ONCE - 1));
            next = last.checked_add(1);
            Some(FileGroup {
                revs: (first..=last).map(Revnum).collect(),
                next: Revnum(last.saturating_add(1)),
            })
        })
    }

    /// Returns where the run begins.
    fn from(&self) -> VerifyPosition {
        self.options
            .from
            .unwrap_or(VerifyPosition::Files(self.options.start))
    }

    /// Returns the revision with which the third step begins.
    fn first_revision(&self) -> Revnum {
        match self.from() {
            VerifyPosition::Revision(from) => from,
            VerifyPosition::Files(_) | VerifyPosition::RepositoryMetadata => self.options.start,
        }
    }

    fn revisions(&self, observer: &mut dyn VerifyObserver) {
        let (start, end) = (self.first_revision().0, self.options.end.0);
        let groups = (start..=end)
            .step_by(REVISIONS_AT_ONCE as usize)
            .map(|first| first..=end.min(first.saturating_add(REVISIONS_AT_ONCE - 1)));
        let stopped = ThreadPool::scope(self.options.threads(), |pool| {
            let check = {
                let pool = pool.clone();
                move |revs| (self.group(&pool, revs), 0)
            };
            in_order_on(pool, self.limits(), groups, check, |outcomes| {
                for RevisionOutcome {
                    rev,
                    warnings,
                    result,
                } in outcomes
                {
                    warnings.iter().for_each(|warning| observer.warn(rev, warning));
                    match result {
                        _ if self.options.cancel.is_cancelled() => return Err(Stopped),
                        Ok(()) => observer.progress(VerifyProgress::Revision(rev)),
                        Err(e) if observer.failed(Some(rev), &e).is_break() => return Err(Stopped),
                        Err(_) => {}
                    }
                    observer.reached(VerifyPosition::Revision(rev.next()));
                }
                Ok(())
            })
        });
        // The caller looks at the cancellation itself; the observer needs no error for what it asked for.
        let (Ok(()) | Err(Stopped)) = stopped;
    }

    fn limits(&self) -> Limits {
        Limits {
            tasks: 4 * self.options.threads(),
            bytes: usize::MAX,
        }
    }

    /// Checks some revisions; their contents are hashed together.
    fn group<'s>(
        &'s self,
        pool: &ThreadPool<'s>,
        revs: std::ops::RangeInclusive<u64>,
    ) -> Vec<RevisionOutcome> {
        let mut batch = ContentBatch::new(&self.shared, pool);
        let mut outcomes = Vec::new();
        let mut errors = Vec::new();
        for (at, rev) in revs.map(Revnum).enumerate() {
            let mut outcome = RevisionOutcome {
                rev,
                warnings: Vec::new(),
                result: self.options.cancel.check(),
            };
            if outcome.result.is_ok() {
                let owner = TreeOwner::Revision(rev);
                let mut tree = TreeCheck::new(self.fs, &mut batch, owner, self.options.start, at);
                let result = tree.run();
                let origin = tree.origin();
                let result = result.and_then(|()| self.revision(&mut outcome));
                errors.extend(result.err().map(|e| (origin, e)));
            }
            outcomes.push(outcome);
        }
        // Contents are checked late, so errors are sorted by their origin: a revision fails with the first error in the order of
        // its walk. An error of the walk itself comes after all contents that it has reached.
        let mut failures = batch.failures();
        failures.append(&mut errors);
        failures.sort_by_key(|(origin, _)| *origin);
        for (origin, e) in failures.into_iter().rev() {
            outcomes[origin.revision].result = Err(e);
        }
        outcomes
    }

    /// Checks the parts of a revision besides its tree.
    fn revision(&self, outcome: &mut RevisionOutcome) -> Result<()> {
        let root = self.fs.root(outcome.rev)?;
        let changes = self.fs.stored_changes(outcome.rev)?;
        check_added_once(&changes)?;
        let changes = fold::normalize(changes);
        if let Some(before) = outcome.rev.prev() {
            ChangedPathsCheck::check(self.fs, &root, before, &changes)?;
        }
        // With logical addressing, the first step has read all lists of the file.
        let first = match self.fs.format().logical {
            true => Revnum::ZERO,
            false => self.options.start,
        };
        self.fs.revprops_in_turn(outcome.rev, first)?;
        if self.options.check_normalization {
            outcome.warnings = names::check(&root, &changes)?;
        }
        Ok(())
    }
}

/// Checks that no path is added again before it was deleted. (Lists of old revisions may name a path several times.)
fn check_added_once(changes: &[RawChange]) -> Result<()> {
    if changes
        .windows(2)
        .all(|pair| pair[0].info.path < pair[1].info.path)
    {
        return Ok(());
    }
    let mut added = HashSet::new();
    for RawChange { info, is_reset, .. } in changes {
        match info.change {
            _ if *is_reset => {}
            ChangeKind::Modify => {}
            ChangeKind::Delete => {
                added.remove(&info.path);
            }
            ChangeKind::Replace => {
                added.insert(&info.path);
            }
            ChangeKind::Add => {
                if !added.insert(&info.path) {
                    let message = format!("Adding already existing path '{}'", info.path);
                    return Err(Error::new(Code::FS_ALREADY_EXISTS, message));
                }
            }
        }
    }
    Ok(())
}

/// Revisions that a worker takes at once: their contents are hashed together.
const REVISIONS_AT_ONCE: u64 = 16;

/// Unpacked revision files that a worker takes at once.
const UNPACKED_AT_ONCE: u64 = 64;
