//! The log with merged revisions: below each entry that changed mergeinfo, the entries that it merged.
//!
//! A merged revision is shown once in the whole log, however often it was merged. One that changed nothing but the
//! target's own history is not shown either (it is in the natural log already), but what it merged is, at the
//! place where it would have been.

use std::collections::HashSet;

use base::{FsPath, Mergeinfo, Result, Revnum};

use super::Span;
use super::entry::Entries;
use super::merged::{self, MergedChanges};
use super::trace::Traces;
use crate::history::segments;

/// Sends the log of `paths` with what was merged.
pub(super) fn run(entries: &mut Entries<'_, '_>, paths: &[FsPath], span: Span) -> Result<()> {
    let own = own_history(entries, paths, span)?;
    let mut nested = Nested {
        entries,
        own,
        shown: HashSet::new(),
    };
    nested.natural(paths, span)
}

struct Nested<'e, 'a, 's> {
    entries: &'e mut Entries<'a, 's>,
    /// Where the paths of the log were: (path, oldest, youngest).
    own: Vec<(FsPath, Revnum, Revnum)>,
    /// Revisions sent as merged ones.
    shown: HashSet<Revnum>,
}

impl Nested<'_, '_, '_> {
    fn natural(&mut self, paths: &[FsPath], span: Span) -> Result<()> {
        let repo = self.entries.repo;
        let options = self.entries.options;
        let (readable, cancel) = (self.entries.readable, self.entries.cancel);
        let mut traces = Traces::open(repo.fs(), paths, span.young, span.old, options.strict, readable)?;
        let mut left = match options.limit {
            0 => u64::MAX,
            limit => limit,
        };
        let mut collected = Vec::new();
        let mut followed = Vec::new();
        while left > 0
            && let Some(rev) = traces.next_with(cancel, &mut |paths| followed = paths)?
        {
            let merged = merged::changes(repo.fs(), rev, &followed)?;
            if span.descending {
                self.natural_entry(rev, &merged)?;
                left -= 1;
            } else {
                collected.push((rev, merged));
            }
        }
        for (rev, merged) in collected.into_iter().rev() {
            if left == 0 {
                break;
            }
            self.natural_entry(rev, &merged)?;
            left -= 1;
        }
        Ok(())
    }

    fn natural_entry(&mut self, rev: Revnum, merged: &MergedChanges) -> Result<()> {
        let has_children = !merged.is_empty();
        self.entries.send_marked(rev, has_children, false)?;
        if has_children {
            self.children(merged)?;
            self.entries.end_children()?;
        }
        Ok(())
    }

    /// Sends what was merged, then what was taken back.
    fn children(&mut self, merged: &MergedChanges) -> Result<()> {
        for (info, subtractive) in [(&merged.added, false), (&merged.deleted, true)] {
            for (old, young, paths) in path_ranges(info) {
                self.merged(&paths, old, young, subtractive)?;
            }
        }
        Ok(())
    }

    fn merged(&mut self, paths: &[FsPath], old: Revnum, young: Revnum, subtractive: bool) -> Result<()> {
        let fs = self.entries.repo.fs();
        let (readable, cancel) = (self.entries.readable, self.entries.cancel);
        let strict = self.entries.options.strict;
        let mut traces = Traces::open_existing(fs, paths, young, old, strict, readable)?;
        let mut followed = Vec::new();
        while let Some(rev) = traces.next_with(cancel, &mut |paths| followed = paths)? {
            if !self.shown.insert(rev) {
                continue;
            }
            let merged = merged::changes(fs, rev, &followed)?;
            let has_children = !merged.is_empty();
            let show = !self.is_own(rev)?;
            if show {
                self.entries.send_marked(rev, has_children, subtractive)?;
            }
            if has_children {
                self.children(&merged)?;
                if show {
                    self.entries.end_children()?;
                }
            }
        }
        Ok(())
    }

    /// True if a revision changed only what is the target itself.
    fn is_own(&self, rev: Revnum) -> Result<bool> {
        let changes = self.entries.repo.fs().root(rev)?.changed_paths()?;
        Ok(changes.iter().all(|change| {
            self.own
                .iter()
                .any(|(path, old, young)| (*old..=*young).contains(&rev) && path.contains(&change.path))
        }))
    }
}

fn own_history(
    entries: &Entries<'_, '_>,
    paths: &[FsPath],
    span: Span,
) -> Result<Vec<(FsPath, Revnum, Revnum)>> {
    let mut own = Vec::new();
    for path in paths {
        if entries.repo.fs().root(span.young)?.try_node(path)?.is_none() {
            continue;
        }
        segments(entries.repo.fs(), path, span.young, &mut |segment| {
            if segment.end < span.old {
                return Ok(false);
            }
            if let Some(path) = segment.path {
                own.push((path, segment.start.max(span.old), segment.end));
            }
            Ok(true)
        })?;
    }
    Ok(own)
}

/// Cuts mergeinfo into stretches with the same set of sources, youngest first: (oldest, youngest, sources).
fn path_ranges(info: &Mergeinfo) -> Vec<(Revnum, Revnum, Vec<FsPath>)> {
    let mut edges: Vec<Revnum> = info
        .iter()
        .flat_map(|(_, ranges)| ranges.ranges())
        .flat_map(|range| [range.start, range.end])
        .collect();
    edges.sort_unstable();
    edges.dedup();
    let mut cut = Vec::new();
    for pair in edges.windows(2).rev() {
        let old = pair[0].next();
        let paths: Vec<FsPath> = info
            .iter()
            .filter(|(_, ranges)| ranges.at(old).is_some())
            .filter_map(|(source, _)| source.to_path())
            .collect();
        if !paths.is_empty() {
            cut.push((old, pair[1], paths));
        }
    }
    cut
}
