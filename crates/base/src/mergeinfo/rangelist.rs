//! Ordered lists of disjoint revision ranges.

use std::fmt;

use crate::revnum::Revnum;

/// Revisions after `start` up to and including `end`: `4-5` is start 3, end 5.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Range {
    /// The revision before the first one.
    pub start: Revnum,
    /// The last revision.
    pub end: Revnum,
    /// False if the merge does not apply to the nodes below.
    pub inheritable: bool,
}

impl fmt::Display for Range {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let first = self.start.next();
        if first == self.end {
            write!(f, "{first}")?;
        } else {
            write!(f, "{first}-{}", self.end)?;
        }
        f.write_str(if self.inheritable { "" } else { "*" })
    }
}

/// Whether ranges of different inheritability are taken for different.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Inheritance {
    /// Inheritability is ignored.
    Ignore,
    /// `3` and `3*` are different.
    Consider,
}

/// Ranges: ascending, disjoint, not empty, neighbours of equal inheritability joined.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Rangelist(Vec<Range>);

impl Rangelist {
    /// No ranges.
    pub fn new() -> Self {
        Self::default()
    }

    /// A single range; none if `start` is not before `end`.
    pub fn single(start: Revnum, end: Revnum, inheritable: bool) -> Self {
        let mut list = Self::new();
        list.push(Range {
            start,
            end,
            inheritable,
        });
        list
    }

    /// True if there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The ranges, ascending.
    pub fn ranges(&self) -> &[Range] {
        &self.0
    }

    /// Whether `rev` is in a range, and then if that is inheritable.
    pub fn at(&self, rev: Revnum) -> Option<bool> {
        let at = self.0.partition_point(|range| range.end < rev);
        let range = self.0.get(at)?;
        (range.start < rev).then_some(range.inheritable)
    }

    /// The union; a revision in both is inheritable if it is so in one of them.
    pub fn merge(&self, other: &Rangelist) -> Rangelist {
        self.zip(other, |mine, theirs| match (mine, theirs) {
            (Some(mine), Some(theirs)) => Some(mine || theirs),
            (one, None) | (None, one) => one,
        })
    }

    /// The revisions of this list that are not in `eraser`.
    pub fn remove(&self, eraser: &Rangelist, inheritance: Inheritance) -> Rangelist {
        self.zip(eraser, |mine, theirs| match inheritance {
            Inheritance::Ignore => mine.filter(|_| theirs.is_none()),
            Inheritance::Consider => mine.filter(|_| theirs != mine),
        })
    }

    /// The intersection; if inheritability is ignored, a revision is inheritable if it is so in one of them.
    pub fn intersect(&self, other: &Rangelist, inheritance: Inheritance) -> Rangelist {
        self.zip(other, |mine, theirs| match (mine, theirs, inheritance) {
            (Some(mine), Some(theirs), Inheritance::Ignore) => Some(mine || theirs),
            (Some(_), Some(_), Inheritance::Consider) => mine.filter(|_| mine == theirs),
            _ => None,
        })
    }

    /// The inheritable ranges.
    pub fn inheritable(&self) -> Rangelist {
        Rangelist(self.0.iter().copied().filter(|r| r.inheritable).collect())
    }

    /// Applies `f` to the state of each revision in this list and in the other; it returns the state in the result.
    /// `f(None, None)` must be `None`.
    pub fn zip(
        &self,
        other: &Rangelist,
        f: impl Fn(Option<bool>, Option<bool>) -> Option<bool>,
    ) -> Rangelist {
        let mut edges: Vec<Revnum> = Vec::with_capacity(2 * (self.0.len() + other.0.len()));
        for range in self.0.iter().chain(&other.0) {
            edges.extend([range.start, range.end]);
        }
        edges.sort_unstable();
        edges.dedup();
        let (mut mine, mut theirs) = (&self.0[..], &other.0[..]);
        let mut out = Rangelist::new();
        for pair in edges.windows(2) {
            let (start, end) = (pair[0], pair[1]);
            if let Some(inheritable) = f(covering(&mut mine, start), covering(&mut theirs, start)) {
                out.push(Range {
                    start,
                    end,
                    inheritable,
                });
            }
        }
        out
    }

    /// Appends a range that starts at or after the end of the last one, joining equals.
    pub(super) fn push(&mut self, range: Range) {
        if range.start >= range.end {
            return;
        }
        match self.0.last_mut() {
            Some(last) if last.end == range.start && last.inheritable == range.inheritable => {
                last.end = range.end;
            }
            _ => self.0.push(range),
        }
    }
}

/// The state of the revisions right after `start`: `None` if not merged, else whether it is inheritable. Drops ranges
/// that end before. No range begins or ends inside of the interval of the query.
fn covering(ranges: &mut &[Range], start: Revnum) -> Option<bool> {
    while let Some((first, rest)) = ranges.split_first() {
        if first.end > start {
            return (first.start <= start).then_some(first.inheritable);
        }
        *ranges = rest;
    }
    None
}

impl fmt::Display for Rangelist {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, range) in self.0.iter().enumerate() {
            let comma = if at == 0 { "" } else { "," };
            write!(f, "{comma}{range}")?;
        }
        Ok(())
    }
}
