//! Records which revisions of which merge sources were searched.
//!
//! The incumbent takes the first and last revision of a span for the two ends of a mergeinfo range, although such a
//! range does not contain its start. That decides which part of a span is searched again, and so the order of the
//! log. This module does the same.

use std::collections::HashMap;

use base::Revnum;
use base::mergeinfo::Source;

use super::merged_log::MergedSpan;

/// The revisions that were searched, by merge source.
#[derive(Debug, Default)]
pub(super) struct SearchedRevisions(HashMap<Source, SearchedSource>);

/// First and last revisions of disjoint spans, ascending, with a gap between neighbours.
#[derive(Debug, Default)]
struct SearchedSource(Vec<(Revnum, Revnum)>);

impl SearchedRevisions {
    /// Adds a span.
    pub(super) fn add(&mut self, stretch: &MergedSpan) {
        let (old, young) = ends(stretch);
        for source in &stretch.sources {
            self.0.entry(source.clone()).or_default().add(old, young);
        }
    }

    /// Removes from a span what was searched: first revisions, if there is a single source and what is left is one
    /// range; then the sources of which every revision was searched. Returns `None` if nothing is left.
    pub(super) fn reduce(&self, mut stretch: MergedSpan) -> Option<MergedSpan> {
        if let [source] = &stretch.sources[..]
            && stretch.old <= stretch.young
            && let Some(looked) = self.0.get(source)
            && let [(old, young)] = looked.missing(stretch.old, stretch.young)[..]
        {
            (stretch.old, stretch.young) = (old, young);
        }
        let (old, young) = ends(&stretch);
        let is_new = |source: &Source| self.0.get(source).is_none_or(|looked| !looked.covers(old, young));
        stretch.sources.retain(is_new);
        (!stretch.sources.is_empty()).then_some(stretch)
    }
}

/// The older and the younger end of a span. The incumbent's empty spans begin after their end, and it records both
/// ends as searched.
fn ends(stretch: &MergedSpan) -> (Revnum, Revnum) {
    let (old, young) = (stretch.old, stretch.young);
    (old.min(young), old.max(young))
}

impl SearchedSource {
    /// Adds a span; joins it with those that it overlaps or touches.
    fn add(&mut self, mut old: Revnum, mut young: Revnum) {
        self.0.retain(|&(first, last)| {
            let is_apart = last.next() < old || young.next() < first;
            if !is_apart {
                (old, young) = (old.min(first), young.max(last));
            }
            is_apart
        });
        let at = self.0.partition_point(|&(first, _)| first < old);
        self.0.insert(at, (old, young));
    }

    /// Returns the parts of the range (old, young] that are not in the spans, taken as ranges (first, last].
    fn missing(&self, old: Revnum, young: Revnum) -> Vec<(Revnum, Revnum)> {
        let mut parts = Vec::new();
        let mut at = old;
        for &(first, last) in &self.0 {
            if first >= young {
                break;
            }
            if last <= at && first <= at {
                continue;
            }
            if first > at {
                parts.push((at, first));
            }
            at = at.max(last);
        }
        if at < young {
            parts.push((at, young));
        }
        parts
    }

    /// True if every revision was searched, the first of a range included.
    fn covers(&self, old: Revnum, young: Revnum) -> bool {
        self.0.iter().any(|&(first, last)| first <= old && young <= last)
    }
}

#[cfg(test)]
mod tests {
    use base::mergeinfo::Mergeinfo;

    use super::*;

    fn stretch(old: u64, young: u64) -> MergedSpan {
        let info = Mergeinfo::parse(b"/a:1").expect("because it is valid");
        MergedSpan {
            old: Revnum(old),
            young: Revnum(young),
            sources: info.iter().map(|(source, _)| source.clone()).collect(),
            subtractive: false,
        }
    }

    fn left(searched: &[(u64, u64)], (old, young): (u64, u64)) -> Option<(u64, u64)> {
        let mut looked = SearchedRevisions::default();
        searched
            .iter()
            .for_each(|(old, young)| looked.add(&stretch(*old, *young)));
        looked
            .reduce(stretch(old, young))
            .map(|left| (left.old.0, left.young.0))
    }

    /// What svnserve was seen to look through again, each with what it had looked through before.
    #[test]
    fn what_is_looked_through_again() {
        assert_eq!(left(&[(17, 19)], (17, 21)), Some((19, 21)));
        assert_eq!(left(&[(9, 23)], (14, 18)), None);
        // Each revision was, although as ranges something is missing.
        assert_eq!(left(&[(17, 18), (14, 16), (12, 14), (17, 20)], (16, 17)), None);
        assert_eq!(left(&[(13, 13), (12, 12), (14, 15)], (12, 14)), None);
        assert_eq!(left(&[(12, 12)], (11, 12)), Some((11, 12)));
        // More than one piece is missing.
        assert_eq!(left(&[(8, 12), (14, 15)], (10, 20)), Some((10, 20)));
    }
}
