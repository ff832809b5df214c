//! Folding the log of a transaction into one entry a path, sorted by path.
//!
//! A log in memory is folded there ([`FoldedChanges`]). One that is in a file comes path by path, merged from its sorted runs, and is
//! folded while it comes: what is held is an entry of each run, the entries of one path, and the deletions of directories above
//! it, because a deletion takes away what happened below before it.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

use base::{FsPath, NodeKind, Result};

use super::change_log::{ChangeLog, Entries, Entry};
use crate::format::changes::{ChangeKind, RawChange};
use crate::format::fold::{self, FoldedChanges};

/// A log, folded.
pub(crate) enum FoldedLog<'a> {
    /// One that is in memory.
    Here(FoldedChanges<'a>),
    /// One that is in a file: folded whenever it is asked for.
    Away(&'a ChangeLog),
}

impl FoldedLog<'_> {
    /// Folds a log.
    ///
    /// # Errors
    /// `FS_CORRUPT` if it is none. (One in a file says so when it is read.)
    pub(super) fn of(log: &ChangeLog) -> Result<FoldedLog<'_>> {
        Ok(match log.in_memory() {
            Some(entries) => FoldedLog::Here(FoldedChanges::of(entries)?),
            None => FoldedLog::Away(log),
        })
    }

    /// Shows all entries, sorted by path.
    ///
    /// # Errors
    /// Those of `each`; `FS_CORRUPT`; those of reading.
    pub(super) fn each(&self, each: &mut dyn FnMut(&RawChange) -> Result<()>) -> Result<()> {
        match self {
            FoldedLog::Here(folded) => folded.iter().try_for_each(each),
            FoldedLog::Away(log) => merge(log, each),
        }
    }
}

/// The first entry of a run that has not been taken.
struct Head {
    entry: Entry,
    run: usize,
}

impl Head {
    fn key(&self) -> (&FsPath, u64) {
        (&self.entry.change.info.path, self.entry.number)
    }
}

impl PartialEq for Head {
    fn eq(&self, other: &Head) -> bool {
        self.key() == other.key()
    }
}

impl Eq for Head {}

impl PartialOrd for Head {
    fn partial_cmp(&self, other: &Head) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Head {
    fn cmp(&self, other: &Head) -> Ordering {
        self.key().cmp(&other.key())
    }
}

/// Something was deleted, with all below it.
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
    let mut entries: Vec<Entry> = Vec::new();
    while let Some(Reverse(Head { entry, run })) = heads.pop() {
        heads.extend(head(&mut runs, run)?);
        let path = &entry.change.info.path;
        let is_same = |head: &Reverse<Head>| head.0.entry.change.info.path == *path;
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

fn head(runs: &mut [Entries<'_>], run: usize) -> Result<Option<Reverse<Head>>> {
    let entry = runs[run].next()?;
    Ok(entry.map(|entry| Reverse(Head { entry, run })))
}

/// Folds all entries of one path, in order, and notes what they take away below it.
fn fold(entries: &mut Vec<Entry>, deletions: &mut Vec<Deletion>) -> Result<Vec<RawChange>> {
    let Some(path) = entries.first().map(|entry| entry.change.info.path.clone()) else {
        return Ok(Vec::new());
    };
    // What is below a path comes behind it, but what begins like it may stand between.
    deletions.retain(|deletion| *path <= *format!("{}0", deletion.path.as_str()));
    let above = deletions.iter().filter(|deletion| deletion.path.contains(&path));
    let mut taken_away: Vec<u64> = above
        .flat_map(|deletion| deletion.numbers.iter().copied())
        .collect();
    taken_away.sort_unstable();
    let own = entries.iter().filter(|entry| takes_away(&entry.change));
    let numbers: Vec<u64> = own.map(|entry| entry.number).collect();
    if !numbers.is_empty() {
        deletions.push(Deletion { path, numbers });
    }
    let mut taken_away = taken_away.into_iter().peekable();
    let mut since = Vec::new();
    for entry in entries.drain(..) {
        if taken_away.next_if(|number| *number < entry.number).is_some() {
            while taken_away.next_if(|number| *number < entry.number).is_some() {}
            // Must fit together all the same.
            fold::fold(since.drain(..))?;
        }
        since.push(entry.change);
    }
    let folded = fold::fold(since)?;
    Ok(match taken_away.next() {
        Some(_) => Vec::new(),
        None => folded,
    })
}

fn takes_away(change: &RawChange) -> bool {
    !change.is_reset
        && match change.info.change {
            ChangeKind::Delete => change.info.node_kind != NodeKind::File,
            // What was there before may have been a directory.
            ChangeKind::Replace => true,
            ChangeKind::Add | ChangeKind::Modify => false,
        }
}
