//! Maps revision numbers of the stream to those of the repository.
//!
//! Copies name revisions, and mergeinfo names ranges of them. Revisions that this stream brought are looked up. Older
//! ones are assumed to have been loaded earlier at the same distance, and are moved by it.
//!
//! Mergeinfo follows the incumbent exactly, because values are compared and dumped:
//! * A range older than the stream loses its `*`.
//! * If the stream does not begin with revision 1, adjacent ranges are joined, inheritable if one of them is.
//! * A number that is missing in the stream stands for the *stream's* number before it. Where that makes no valid
//!   range (the incumbent fails then), it stands for the repository's revision before it, and a range that ends after
//!   the revision that is being loaded ends as long after it here.

use std::collections::HashMap;

use crate::Revnum;
use crate::mergeinfo::{Range, Rangelist};

/// The numbers so far.
#[derive(Debug, Default)]
pub struct Renumbering {
    /// Stream to repository, as the incumbent maps it: numbers of the stream stand for missing ones.
    quirky: HashMap<Revnum, Revnum>,
    /// Stream to repository, without the incumbent's error.
    honest: HashMap<Revnum, Revnum>,
    /// The first revision of the stream that was loaded.
    oldest: Option<Revnum>,
    /// The last revision: its number in the stream and in the repository.
    last: Option<(Revnum, Revnum)>,
    /// The revision that is being loaded: its number in the stream, and its future number in the repository.
    current: (Revnum, Revnum),
}

impl Renumbering {
    /// Begins a revision of the stream; it will follow `youngest`.
    pub fn begin(&mut self, original: Revnum, youngest: Revnum) {
        self.oldest.get_or_insert(original);
        self.current = (original, youngest.next());
    }

    /// Returns the number in the stream of the revision that is being loaded.
    pub fn original(&self) -> Revnum {
        self.current.0
    }

    /// Records a committed revision.
    pub fn committed(&mut self, original: Revnum, rev: Revnum) {
        if let Some((before, before_here)) = self.last {
            // Bounded: a stream may claim to have a revision 2^60.
            let missing = (before.0 + 1..original.0).take(LARGEST_GAP);
            for number in missing {
                self.quirky.insert(Revnum(number), before);
                self.honest.insert(Revnum(number), before_here);
            }
        }
        self.quirky.insert(original, rev);
        self.honest.insert(original, rev);
        self.last = Some((original, rev));
    }

    /// Returns the revision in the repository that a copy of `rev` comes from.
    ///
    /// # Errors
    /// A number that no revision has.
    pub fn source(&self, rev: i64) -> Result<Revnum, i128> {
        let brought = u64::try_from(rev)
            .ok()
            .and_then(|rev| self.quirky.get(&Revnum(rev)));
        match brought {
            Some(here) => Ok(*here),
            None => {
                let moved = i128::from(rev) - self.offset();
                u64::try_from(moved).map(Revnum).map_err(|_| moved)
            }
        }
    }

    /// Returns by how much numbers of the stream are larger than those of the repository.
    fn offset(&self) -> i128 {
        i128::from(self.current.0.0) - i128::from(self.current.1.0)
    }

    /// Returns the ranges with the repository's numbers.
    pub fn ranges(&self, ranges: &Rangelist) -> Rangelist {
        let Some(oldest) = self.oldest else {
            return ranges.clone();
        };
        let border = Revnum(oldest.0.saturating_sub(1));
        // A stream that begins with the first revision has nothing older: its ranges are not split, so not joined
        // either.
        let joined = (border > Revnum::ZERO).then(|| joined(ranges));
        let mut older = Rangelist::new();
        let mut newer: Vec<Range> = Vec::new();
        for range in joined.as_deref().unwrap_or(ranges.ranges()) {
            if range.start < border {
                older = older.merge(&self.moved(range.start, range.end.min(border)));
            }
        }
        for range in ranges.ranges() {
            if range.end > border {
                let range = Range {
                    start: range.start.max(border),
                    ..*range
                };
                match joined {
                    Some(_) => join(&mut newer, range),
                    None => newer.push(range),
                }
            }
        }
        newer.iter().fold(older, |all, range| {
            let (start, end) = self.looked_up(range, border);
            all.merge(&Rangelist::single(start, end, range.inheritable))
        })
    }

    /// Maps a range older than the stream.
    fn moved(&self, start: Revnum, end: Revnum) -> Rangelist {
        match (self.moved_by_offset(start), self.moved_by_offset(end)) {
            (Some(start), Some(end)) if start > Revnum::ZERO => Rangelist::single(start, end, true),
            _ => Rangelist::new(),
        }
    }

    /// Maps a revision that the stream has not brought: it is as far from the one that is being loaded as in the
    /// stream.
    fn moved_by_offset(&self, rev: Revnum) -> Option<Revnum> {
        u64::try_from(i128::from(rev.0) - self.offset()).ok().map(Revnum)
    }

    /// Maps a range of the stream.
    fn looked_up(&self, range: &Range, border: Revnum) -> (Revnum, Revnum) {
        let by = |map: &HashMap<Revnum, Revnum>, current: Revnum| {
            let start = match range.start == border {
                true => map.get(&border.next()).map(|rev| Revnum(rev.0.saturating_sub(1))),
                false => map.get(&range.start).copied(),
            };
            let end = map.get(&range.end).copied();
            let end = end.or_else(|| (range.end == self.current.0).then_some(current));
            match start {
                None => (range.start, range.end),
                Some(start) => (start, end.unwrap_or(range.end)),
            }
        };
        let (start, end) = by(&self.quirky, self.current.0);
        match start < end {
            true => (start, end),
            false => {
                let (start, end) = by(&self.honest, self.current.1);
                let is_later = range.end > self.current.0;
                match is_later && start >= end {
                    true => (start, self.moved_by_offset(range.end).unwrap_or(end)),
                    false => (start, end),
                }
            }
        }
    }
}

/// Joins adjacent ranges.
fn joined(ranges: &Rangelist) -> Vec<Range> {
    let mut all = Vec::with_capacity(ranges.ranges().len());
    ranges.ranges().iter().for_each(|range| join(&mut all, *range));
    all
}

/// Appends a range; adjacent ones become one, inheritable if they differ.
fn join(ranges: &mut Vec<Range>, range: Range) {
    match ranges.last_mut() {
        Some(last) if last.end == range.start => {
            last.end = range.end;
            last.inheritable |= range.inheritable;
        }
        _ => ranges.push(range),
    }
}

/// Maximum number of missing numbers that are filled at once.
const LARGEST_GAP: usize = 1 << 20;

#[cfg(test)]
mod tests {
    use crate::Mergeinfo;

    use super::*;

    /// What becomes of `/a:RANGES` in the last revision of a stream that is loaded on `before` revisions.
    fn loaded(before: u64, stream: &[u64], ranges: &str) -> String {
        let mut numbers = Renumbering::default();
        for (at, original) in stream.iter().enumerate() {
            let youngest = Revnum(before + at as u64);
            numbers.begin(Revnum(*original), youngest);
            if at + 1 < stream.len() {
                numbers.committed(Revnum(*original), youngest.next());
            }
        }
        let parsed = Mergeinfo::parse(format!("/a:{ranges}").as_bytes()).expect("mergeinfo");
        let (_, ranges) = parsed.iter().next().expect("a source");
        let mut made = Mergeinfo::new();
        made.add(crate::mergeinfo::Source::new("/a"), &numbers.ranges(ranges));
        made.to_string().trim_start_matches("/a:").to_owned()
    }

    /// Every line was asked of `svnadmin load` 1.14.2.
    #[test]
    fn mergeinfo_becomes_what_the_incumbent_makes_of_it() {
        let gap: &[u64] = &[5, 6, 8, 9];
        let four: &[u64] = &[5, 6, 7, 8];
        let seven: &[u64] = &[3, 4, 5, 6, 7, 8, 9];
        for (before, stream, ranges, result) in [
            (0, &[1, 2, 3, 4][..], "1-2", "1-2"),
            (0, &[1, 2, 3, 4], "1*,2", "1*,2"),
            (0, &[1, 2, 3, 4], "1,2*,3", "1,2*,3"),
            (2, &[1, 2, 3, 4, 5], "1*,2-3,4*", "3*,4-5,6*"),
            (2, &[3, 4, 5, 6, 7], "1*,2,6*", "6*"),
            (2, &[3, 4, 5, 6, 7], "3*,4,6*", "3-4,6*"),
            (2, gap, "5-6", "3-4"),
            (2, gap, "6-7", "4-6"),
            (2, gap, "7", "5-6"),
            (2, gap, "4-5", "3"),
            (2, gap, "3", ""),
            (2, gap, "1-9", "3-9"),
            (2, gap, "9", "6-9"),
            (2, gap, "10-12", "10-12"),
            (2, gap, "8-12", "7-12"),
            (2, gap, "2,5*,7-8", "3*,5"),
            (9, gap, "1-4", "5-8"),
            (9, gap, "3-5", "7-8,10"),
            (9, gap, "1-20", "5-8,10-20"),
            (0, gap, "3-6", "1-2"),
            (0, gap, "6-8", "2-3"),
            (0, gap, "7-8", "3"),
            (0, &[3, 9], "5-8", "5-8"),
            (0, &[3, 9], "2-8", "1-8"),
            (1, &[3, 9], "3-9", "2-9"),
            (1, &[3, 9, 12], "3-9,10,11-12", "2-12"),
            (3, four, "4", "3"),
            (3, four, "3-4", "2-3"),
            (3, four, "2-3", ""),
            (3, four, "1-5", "4"),
            (2, four, "4", "2"),
            (1, four, "4-5", "2"),
            (4, four, "1-5", "5"),
            (5, four, "1-5", "2-6"),
            (5, four, "1,3*,4-5,7", "2,4-6,8"),
            (5, four, "1-2,4*", "2-3,5"),
            (5, four, "4-5*", "5,6*"),
            (5, &[5], "1-4", "2-5"),
            (5, &[5], "5", "5"),
            (5, &[5], "4-6", "5-6"),
            (5, &[5, 6], "5-6", "6"),
            (5, &[3, 4], "2-3*", "5,6*"),
            (2, seven, "3-4*,5-6", "3-6"),
            (2, seven, "3-4*,6", "3-4*,6"),
            (2, seven, "3*,4,5*", "3-5"),
            (2, seven, "3,4*,6*,7", "3-4,6-7"),
        ] {
            assert_eq!(
                loaded(before, stream, ranges),
                result,
                "{before} {stream:?} {ranges}"
            );
        }
    }

    /// There the incumbent fails.
    #[test]
    fn ranges_that_would_be_reversed_are_told_honestly() {
        assert_eq!(loaded(2, &[5, 6, 8, 9], "8"), "5");
        assert_eq!(loaded(5, &[5, 6], "6"), "7");
        assert_eq!(loaded(10, &[1, 2, 3, 4], "2-6"), "12-16");
    }
}
