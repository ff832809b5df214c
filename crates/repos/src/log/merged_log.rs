//! The log with merged revisions: below each entry that changed mergeinfo, the entries that it merged.
//!
//! Some rules of the incumbent look accidental, but clients show their effects, so they are kept:
//! * A merged revision is shown once in the whole log, however often it was merged.
//! * A revision that changed nothing but the target's own history is not shown, because the log has it already.
//! * The revisions that a hidden entry merged are shown, and their end is marked, where the hidden entry would be.
//! * An end mark without an entry that it ends is left out.
//!
//! [`SearchedRevisions`] records which revisions of which sources were searched. Without it, histories that merged
//! each other would never end.

use std::collections::{HashSet, VecDeque};

use base::mergeinfo::{Mergeinfo, Source};
use base::{Code, Error, FsPath, Result, Revnum};

use super::RevisionSpan;
use super::entry::EntrySender;
use super::merged::{self, MergedChanges};
use super::path_history::{MissingPaths, PathHistories};
use super::searched::SearchedRevisions;
use crate::history::{check_readable, segments};

/// Sends the log of `paths` with merged revisions. `lapses` reproduces the incumbent's errors, for tests that
/// compare.
pub(super) fn run(
    entries: &mut EntrySender<'_, '_>,
    paths: &[FsPath],
    span: RevisionSpan,
    lapses: bool,
) -> Result<()> {
    let own = own_history(entries, paths, span)?;
    let mut merged_log = MergedLog {
        entries,
        lapses,
        own,
        shown: HashSet::new(),
        searched: SearchedRevisions::default(),
        ascending: !span.descending,
        open: 0,
    };
    merged_log.natural(paths, span)
}

struct MergedLog<'e, 'a, 's> {
    entries: &'e mut EntrySender<'a, 's>,
    lapses: bool,
    /// Where the paths of the log were: (path, oldest, youngest).
    own: Vec<(FsPath, Revnum, Revnum)>,
    /// Revisions sent as merged ones.
    shown: HashSet<Revnum>,
    searched: SearchedRevisions,
    /// The log is sent oldest first.
    ascending: bool,
    /// Number of entries whose end mark was not sent.
    open: usize,
}

/// The merged revisions of one entry that were not sent yet.
struct MergedLevel<'a> {
    /// In reverse order: the next one is the last.
    left: Vec<MergedSpan>,
    /// The span that is being sent, and whether its merge was undone.
    current: Option<(PathHistories<'a>, bool)>,
    /// Each span is searched whatever was searched before, and what it leads to is recorded for it alone.
    is_separate: bool,
}

impl<'a> MergedLog<'_, 'a, '_> {
    fn natural(&mut self, paths: &[FsPath], span: RevisionSpan) -> Result<()> {
        let repo = self.entries.repo;
        let options = self.entries.options;
        let (readable, cancel) = (self.entries.readable, self.entries.cancel);
        let mut traces = PathHistories::open(
            repo.fs(),
            paths,
            MissingPaths::Refused,
            span,
            options.strict,
            readable,
        )?;
        let mut left = match options.limit {
            0 => u64::MAX,
            limit => limit,
        };
        let mut collected = Vec::new();
        while left > 0
            && let Some(rev) = traces.next(cancel)?
        {
            let merged = merged::changes(repo.fs(), rev, &traces.positions())?;
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
        self.send(rev, has_children, false)?;
        if has_children {
            self.children(merged)?;
        }
        Ok(())
    }

    fn send(&mut self, rev: Revnum, has_children: bool, subtractive: bool) -> Result<()> {
        self.open += usize::from(has_children);
        self.entries.send_marked(rev, has_children, subtractive)
    }

    /// Sends the revisions that were merged and those whose merge was undone, youngest first, each with the revisions
    /// that it merged in turn, and the end mark. Merges nest as deep as histories do, so the walk has its own stack.
    fn children(&mut self, merged: &MergedChanges) -> Result<()> {
        let mut open = vec![self.level(merged, self.ascending)];
        while let Some(level) = open.last_mut() {
            if let Some(merged) = self.advance(level)? {
                open.push(self.level(&merged, false));
                continue;
            }
            open.pop();
            if self.open > 0 {
                self.open -= 1;
                self.entries.end_children()?;
            }
        }
        Ok(())
    }

    fn level(&self, merged: &MergedChanges, is_separate: bool) -> MergedLevel<'a> {
        let cut = if self.lapses {
            merged_spans_with_lapse
        } else {
            merged_spans
        };
        let mut left = cut(&merged.added, false);
        left.extend(cut(&merged.deleted, true));
        // Of two spans with the same revisions, the undone one comes first.
        left.sort_by_key(|stretch| (stretch.old, stretch.young));
        MergedLevel {
            left,
            current: None,
            is_separate,
        }
    }

    /// Sends entries of a level up to the next one that merged something, which is returned.
    fn advance(&mut self, level: &mut MergedLevel<'a>) -> Result<Option<MergedChanges>> {
        let cancel = self.entries.cancel;
        loop {
            if let Some((traces, subtractive)) = &mut level.current {
                while let Some(rev) = traces.next(cancel)? {
                    let merged = merged::changes(self.entries.repo.fs(), rev, &traces.positions())?;
                    let has_children = !merged.is_empty();
                    if !self.is_own(rev)? && self.shown.insert(rev) {
                        self.send(rev, has_children, *subtractive)?;
                    }
                    if has_children {
                        return Ok(Some(merged));
                    }
                }
                level.current = None;
            }
            let Some(stretch) = level.left.pop() else {
                return Ok(None);
            };
            let stretch = if level.is_separate {
                self.searched = SearchedRevisions::default();
                stretch
            } else {
                let Some(stretch) = self.searched.reduce(stretch) else {
                    continue;
                };
                self.searched.add(&stretch);
                stretch
            };
            level.current = Some((self.traces(&stretch)?, stretch.subtractive));
        }
    }

    /// Opens the histories of a span's sources.
    fn traces(&self, stretch: &MergedSpan) -> Result<PathHistories<'a>> {
        let fs = self.entries.repo.fs();
        let readable = self.entries.readable;
        let strict = self.entries.options.strict;
        let paths: Vec<FsPath> = stretch.sources.iter().filter_map(Source::to_path).collect();
        // Mergeinfo may name revisions that do not exist yet.
        if self.lapses && stretch.young > self.entries.youngest {
            let text = format!("No such revision {}", stretch.young);
            return Err(Error::new(Code::FS_NO_SUCH_REVISION, text));
        }
        let span = RevisionSpan {
            old: stretch.old,
            young: stretch.young.min(self.entries.youngest),
            descending: true,
        };
        PathHistories::open(fs, &paths, MissingPaths::LeftOut, span, strict, readable)
    }

    /// True if a revision changed only the target of the log itself.
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
    entries: &EntrySender<'_, '_>,
    paths: &[FsPath],
    span: RevisionSpan,
) -> Result<Vec<(FsPath, Revnum, Revnum)>> {
    let mut own = Vec::new();
    let readable = entries.readable;
    for path in paths {
        check_readable(path, readable)?;
        segments(entries.repo.fs(), path, span.young, &mut |segment| {
            if segment.end < span.old {
                return Ok(false);
            }
            if let Some(path) = segment.path {
                if !readable.read(&path) {
                    return Ok(false);
                }
                own.push((path, segment.start.max(span.old), segment.end));
            }
            Ok(true)
        })?;
    }
    Ok(own)
}

/// The revisions `old` to `young`, in which the same sources were merged.
#[derive(Clone, Debug)]
pub(super) struct MergedSpan {
    pub(super) old: Revnum,
    pub(super) young: Revnum,
    pub(super) sources: Vec<Source>,
    pub(super) subtractive: bool,
}

/// Cuts mergeinfo into spans with the same set of sources, oldest first.
fn merged_spans(info: &Mergeinfo, subtractive: bool) -> Vec<MergedSpan> {
    let mut edges: Vec<Revnum> = info
        .iter()
        .flat_map(|(_, ranges)| ranges.ranges())
        .flat_map(|range| [range.start, range.end])
        .collect();
    edges.sort_unstable();
    edges.dedup();
    let mut cut = Vec::new();
    for pair in edges.windows(2) {
        let old = pair[0].next();
        let sources: Vec<Source> = info
            .iter()
            .filter(|(_, ranges)| ranges.at(old).is_some())
            .map(|(source, _)| source.clone())
            .collect();
        if !sources.is_empty() {
            cut.push(MergedSpan {
                old,
                young: pair[1],
                sources,
                subtractive,
            });
        }
    }
    cut
}

/// A source in the queue of [`merged_spans_with_lapse`].
struct QueuedSource<'a> {
    source: &'a Source,
    start: Revnum,
    end: Revnum,
    /// The ranges after the current one.
    later: VecDeque<(Revnum, Revnum)>,
}

/// Like [`merged_spans`], with an error of the incumbent's: where the last range of a source ends, it drops not that
/// source but the first in its queue, with all of its later ranges. The queue is sorted by the start and end of the
/// current ranges, then as a hash table is. A source that ended but stays in the queue gets an empty span, which begins
/// after its end.
fn merged_spans_with_lapse(info: &Mergeinfo, subtractive: bool) -> Vec<MergedSpan> {
    let mut queue: VecDeque<QueuedSource<'_>> = VecDeque::new();
    for (source, ranges) in info.iter_hash_order() {
        let mut later: VecDeque<_> = ranges.ranges().iter().map(|r| (r.start, r.end)).collect();
        if let Some((start, end)) = later.pop_front() {
            queue.push_back(QueuedSource {
                source,
                start,
                end,
                later,
            });
        }
    }
    let mut cut = Vec::new();
    loop {
        queue
            .make_contiguous()
            .sort_by_key(|queued| (queued.start, queued.end));
        let Some((start, end)) = queue.front().map(|first| (first.start, first.end)) else {
            return cut;
        };
        let together = queue.iter().take_while(|queued| queued.start == start).count();
        let next = queue.get(together).map(|queued| queued.start);
        let end = next.map_or(end, |next| next.min(end));
        cut.push(MergedSpan {
            old: start.next(),
            young: end,
            sources: queue.iter().take(together).map(|q| q.source.clone()).collect(),
            subtractive,
        });
        let mut ended = 0;
        for queued in queue.iter_mut().take(together) {
            queued.start = end;
            if queued.end == end {
                match queued.later.pop_front() {
                    Some(later) => (queued.start, queued.end) = later,
                    None => ended += 1,
                }
            }
        }
        queue.drain(..ended);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(info: &str, cut: fn(&Mergeinfo, bool) -> Vec<MergedSpan>) -> Vec<(u64, u64, usize)> {
        let info = Mergeinfo::parse(info.as_bytes()).expect("because it is valid");
        let cut = cut(&info, false);
        cut.iter()
            .map(|s| (s.old.0, s.young.0, s.sources.len()))
            .collect()
    }

    #[test]
    fn sources_that_end_together_keep_what_comes_later() {
        let info = "/a:5-8,20-24\n/b:7-8";
        assert_eq!(cut(info, merged_spans), [(5, 6, 1), (7, 8, 2), (20, 24, 1)]);
        // As seen of svnserve: /b ends for good, and /a, the first in the queue, is dropped in its place.
        assert_eq!(
            cut(info, merged_spans_with_lapse),
            [(5, 6, 1), (7, 8, 2), (9, 8, 1)]
        );
    }

    #[test]
    fn the_incumbent_drops_no_ranges_where_the_first_ends_for_good() {
        let info = "/a:5-8\n/b:7-8,20-24";
        assert_eq!(cut(info, merged_spans), [(5, 6, 1), (7, 8, 2), (20, 24, 1)]);
        assert_eq!(cut(info, merged_spans_with_lapse), cut(info, merged_spans));
    }
}
