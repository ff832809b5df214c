//! Folding the log of a transaction into one entry per path, sorted by path.
//!
//! A log in memory is folded there ([`FoldedChanges`]). A spilled log is merged from its sorted runs and folded path by path on the way.
//! In memory are one entry of each run, the entries of one path, and the deletions of directories above it: a deletion cancels
//! earlier changes below the directory.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

use base::{FsPath, NodeKind, Result};

use super::change_log::{ChangeLog, ChangeLogEntry, RunEntries};
use crate::format::changes::{ChangeKind, RawChange};
use crate::format::fold::{self, FoldedChanges};

/// A folded log.
pub(crate) enum FoldedLog<'a> {
    /// One that is in memory.
    InMemory(FoldedChanges<'a>),
    /// One that is in a spill file: folded each time it is read.
    Spilled(&'a ChangeLog),
}

impl FoldedLog<'_> {
    /// Folds a log.
    ///
    /// # Errors
    /// `FS_CORRUPT` if the entries contradict each other; for a spilled log, [`FoldedLog::each`] returns it.
    pub(super) fn of(log: &ChangeLog) -> Result<FoldedLog<'_>> {
        Ok(match log.in_memory() {
            Some(entries) => FoldedLog::InMemory(FoldedChanges::of(entries)?),
            None => FoldedLog::Spilled(log),
        })
    }

    /// Calls `each` for all entries, sorted by path.
    ///
    /// # Errors
    /// Those of `each`; `FS_CORRUPT`; those of reading.
    pub(super) fn each(&self, each: &mut dyn FnMut(&RawChange) -> Result<()>) -> Result<()> {
        match self {
            FoldedLog::InMemory(folded) => folded.iter().try_for_each(each),
            FoldedLog::Spilled(log) => merge(log, each),
        }
    }
}

/// The next entry of a run.
struct RunHead {
    entry: ChangeLogEntry,
    run: usize,
}

impl RunHead {
    fn key(&self) -> (&FsPath, u64) {
        (&self.entry.change.info.path, self.entry.number)
    }
}

impl PartialEq for RunHead {
    fn eq(&self, other: &RunHead) -> bool {
        self.key() == other.key()
    }
}

impl Eq for RunHead {}

impl PartialOrd for RunHead {
    fn partial_cmp(&self, other: &RunHead) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for RunHead {
    fn cmp(&self, other: &RunHead) -> Ordering {
        self.key().cmp(&other.key())
    }
}

/// A deletion of a node and of everything below it, by the numbers of the log entries.
struct Deletion {
    path: FsPath,
    numbers: Vec<u64>,
}

fn merge(log: &ChangeLog, each: &mut dyn FnMut(&RawChange) -> Result<()>) -> Result<()> {
    let mut runs = log.sorted_runs();
    let mut heads = BinaryHeap::with_capacity(runs.len());
    for run in 0..runs.len() {
        heads.extend(head(&mut runs, run)?);
    }
    let mut deletions: Vec<Deletion> = Vec::new();
    let mut entries: Vec<ChangeLogEntry> = Vec::new();
    while let Some(Reverse(RunHead { entry, run })) = heads.pop() {
        heads.extend(head(&mut runs, run)?);
        let path = &entry.change.info.path;
        let is_same = |head: &Reverse<RunHead>| head.0.entry.change.info.path == *path;
        let is_last = !heads.peek().is_some_and(is_same);
        entries.push(entry);
        if is_last {
            fold(&mut entries, &mut deletions)?
                .iter()
                .try_for_each(&mut *each)?;
        }
    }
    Ok(())
}

fn head(runs: &mut [RunEntries<'_>], run: usize) -> Result<Option<Reverse<RunHead>>> {
    let entry = runs[run].next()?;
    Ok(entry.map(|entry| Reverse(RunHead { entry, run })))
}

/// Folds all entries of one path, in order, and adds its deletions to `deletions`.
fn fold(entries: &mut Vec<ChangeLogEntry>, deletions: &mut Vec<Deletion>) -> Result<Vec<RawChange>> {
    let Some(path) = entries.first().map(|entry| entry.change.info.path.clone()) else {
        return Ok(Vec::new());
    };
    // Paths below a directory follow it in the order, but siblings that begin with the same characters may be in between.
    deletions.retain(|deletion| *path <= *format!("{}0", deletion.path.as_str()));
    let above = deletions.iter().filter(|deletion| deletion.path.contains(&path));
    let mut deleted_at: Vec<u64> = above
        .flat_map(|deletion| deletion.numbers.iter().copied())
        .collect();
    deleted_at.sort_unstable();
    let own = entries.iter().filter(|entry| deletes_below(&entry.change));
    let numbers: Vec<u64> = own.map(|entry| entry.number).collect();
    if !numbers.is_empty() {
        deletions.push(Deletion { path, numbers });
    }
    let mut deleted_at = deleted_at.into_iter().peekable();
    let mut since = Vec::new();
    for entry in entries.drain(..) {
        if deleted_at.next_if(|number| *number < entry.number).is_some() {
            while deleted_at.next_if(|number| *number < entry.number).is_some() {}
            // The cancelled entries must fit together too.
            fold::fold(since.drain(..))?;
        }
        since.push(entry.change);
    }
    let folded = fold::fold(since)?;
    Ok(match deleted_at.next() {
        Some(_) => Vec::new(),
        None => folded,
    })
}

fn deletes_below(change: &RawChange) -> bool {
    !change.is_reset
        && match change.info.change {
            ChangeKind::Delete => change.info.node_kind != NodeKind::File,
            // The replaced node may have been a directory.
            ChangeKind::Replace => true,
            ChangeKind::Add | ChangeKind::Modify => false,
        }
}
