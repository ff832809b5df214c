//! Mergeinfo: which revisions of which paths were merged.
//!
//! The value of `svn:mergeinfo` is one line per source, `/branches/x:3,7-9,12*`: a path and its revisions that were
//! merged. A star means that the merge does not count for the nodes below. [`Rangelist`] is the right side,
//! [`Mergeinfo`] the whole value. Both are canonical by construction: sources in tree order, ranges ascending,
//! disjoint, adjacent ones of equal inheritability joined. So equal values have equal meaning, and printing gives
//! exactly what Subversion stores.
//!
//! A range list is a function from revisions to *not merged*, *merged*, *merged without inheritance*; every operation
//! here applies a function point by point ([`Rangelist::zip`]).

use std::cmp::Ordering;
use std::fmt;

use crate::error::Result;
use crate::path::{FsPath, RelPath, cmp_tree};

mod hash_order;
mod parse;
mod rangelist;

pub use rangelist::{Inheritance, Range, Rangelist};

/// A set of merge sources with the merged revisions of each.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Mergeinfo(Vec<(Source, Rangelist)>);

/// A merge source: absolute, without doubled or trailing slashes. Unlike an [`FsPath`] it may have `..` as a
/// component, because Subversion stores that.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Source(Box<str>);

impl Source {
    /// Makes a source of text: a leading slash is added, doubled and trailing slashes and `.` go.
    pub fn new(text: &str) -> Self {
        let mut path = String::with_capacity(text.len() + 1);
        for part in text.split('/').filter(|part| !part.is_empty() && *part != ".") {
            path.push('/');
            path.push_str(part);
        }
        if path.is_empty() {
            path.push('/');
        }
        Source(path.into())
    }

    /// The source as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the source as a path; `None` if no node can have it.
    pub fn to_path(&self) -> Option<FsPath> {
        FsPath::parse(&self.0).ok()
    }

    /// True for `ancestor` and for what is below it.
    pub fn is_at_or_below(&self, ancestor: &Source) -> bool {
        let rest = self.0.strip_prefix(ancestor.0.trim_end_matches('/'));
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }

    /// Appends a relative path.
    pub fn join(&self, rel: &RelPath) -> Source {
        if rel.is_empty() {
            return self.clone();
        }
        Source(format!("{}/{rel}", self.0.trim_end_matches('/')).into())
    }
}

impl From<&FsPath> for Source {
    fn from(path: &FsPath) -> Self {
        Source(path.as_str().into())
    }
}

impl PartialOrd for Source {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Source {
    /// Children directly after their parent, see [`FsPath::cmp_tree`].
    fn cmp(&self, other: &Self) -> Ordering {
        match (&*self.0, &*other.0) {
            ("/", "/") => Ordering::Equal,
            ("/", _) => Ordering::Less,
            (_, "/") => Ordering::Greater,
            (a, b) => cmp_tree(a, b),
        }
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&*self.0, f)
    }
}

impl Mergeinfo {
    /// Nothing merged.
    pub fn new() -> Self {
        Self::default()
    }

    /// Reads a property value. Overlaps of equal inheritability and repeated sources are merged.
    ///
    /// # Errors
    /// `MERGEINFO_PARSE_ERROR`, with Subversion's texts.
    pub fn parse(text: &[u8]) -> Result<Self> {
        parse::mergeinfo(text)
    }

    /// Reads a property value. The sources with their ranges are in the order in which the incumbent walks the table that
    /// its parser makes; as [`Mergeinfo::iter_hash_order`] if the sources are inserted in the order of their lines.
    ///
    /// # Errors
    /// As [`Mergeinfo::parse`].
    pub fn parse_hash_order(text: &[u8]) -> Result<Vec<(Source, Rangelist)>> {
        let (mergeinfo, order) = parse::with_order(text)?;
        let mut sources: Vec<(Source, Rangelist)> = order
            .into_iter()
            .filter_map(|source| {
                let ranges = mergeinfo.get(&source)?.clone();
                Some((source, ranges))
            })
            .collect();
        hash_order::sort(&mut sources, |(source, _)| source.as_str().as_bytes());
        Ok(sources)
    }

    /// True if there is no source. (That is a value too: it stops inheritance.)
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The sources with their ranges, in tree order of the sources.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&Source, &Rangelist)> {
        self.0.iter().map(|(source, ranges)| (source, ranges))
    }

    /// The sources with their ranges, in the order of the incumbent's hash tables. Some of its answers show that order.
    /// It is exact for up to 15 sources.
    pub fn iter_hash_order(&self) -> impl ExactSizeIterator<Item = (&Source, &Rangelist)> {
        let mut sources: Vec<_> = self.iter().collect();
        hash_order::sort(&mut sources, |(source, _)| source.as_str().as_bytes());
        sources.into_iter()
    }

    /// The revisions merged from `source`.
    pub fn get(&self, source: &Source) -> Option<&Rangelist> {
        let at = self.0.binary_search_by(|(have, _)| have.cmp(source)).ok()?;
        Some(&self.0[at].1)
    }

    /// Adds ranges of one source (see [`Rangelist::merge`]); adding none changes nothing.
    pub fn add(&mut self, source: Source, ranges: &Rangelist) {
        if ranges.is_empty() {
            return;
        }
        match self.0.binary_search_by(|(have, _)| have.cmp(&source)) {
            Ok(at) => self.0[at].1 = self.0[at].1.merge(ranges),
            Err(at) => self.0.insert(at, (source, ranges.clone())),
        }
    }

    /// The union in the order in which the incumbent walks it; as [`Mergeinfo::iter_hash_order`] if the sources of
    /// `other` are inserted behind those of `self`.
    pub fn merge_hash_order(&self, other: &Mergeinfo) -> Vec<(Source, Rangelist)> {
        let more = other.iter().filter(|(source, _)| self.get(source).is_none());
        let mut merged: Vec<(Source, Rangelist)> = self
            .iter()
            .map(|(source, ranges)| {
                let ranges = other
                    .get(source)
                    .map_or_else(|| ranges.clone(), |more| ranges.merge(more));
                (source.clone(), ranges)
            })
            .chain(more.map(|(source, ranges)| (source.clone(), ranges.clone())))
            .collect();
        hash_order::sort(&mut merged, |(source, _)| source.as_str().as_bytes());
        merged
    }

    /// The union; see [`Rangelist::merge`].
    pub fn merge(&self, other: &Mergeinfo) -> Mergeinfo {
        self.zip(other, |mine, theirs| match (mine, theirs) {
            (Some(mine), Some(theirs)) => mine.merge(theirs),
            (Some(one), None) | (None, Some(one)) => one.clone(),
            (None, None) => Rangelist::new(),
        })
    }

    /// The revisions that are not in `eraser`; see [`Rangelist::remove`].
    pub fn remove(&self, eraser: &Mergeinfo, inheritance: Inheritance) -> Mergeinfo {
        self.zip(eraser, |mine, theirs| match (mine, theirs) {
            (Some(mine), Some(theirs)) => mine.remove(theirs, inheritance),
            (Some(mine), None) => mine.clone(),
            (None, _) => Rangelist::new(),
        })
    }

    /// The intersection; see [`Rangelist::intersect`].
    pub fn intersect(&self, other: &Mergeinfo, inheritance: Inheritance) -> Mergeinfo {
        self.zip(other, |mine, theirs| match (mine, theirs) {
            (Some(mine), Some(theirs)) => mine.intersect(theirs, inheritance),
            _ => Rangelist::new(),
        })
    }

    /// The difference between `self` and `to`: (deleted, added).
    pub fn diff(&self, to: &Mergeinfo, inheritance: Inheritance) -> (Mergeinfo, Mergeinfo) {
        (self.remove(to, inheritance), to.remove(self, inheritance))
    }

    /// The mergeinfo that a node at `rel` below the one with this mergeinfo inherits: inheritable ranges only, each
    /// source extended by the same relative path.
    pub fn inherited_by(&self, rel: &RelPath) -> Mergeinfo {
        let mut passed: Vec<(Source, Rangelist)> = self
            .0
            .iter()
            .map(|(source, ranges)| (source.join(rel), ranges.inheritable()))
            .filter(|(_, ranges)| !ranges.is_empty())
            .collect();
        // The order changes where one source contains another: /a, /a/b become /a/b/x, /a/x.
        passed.sort_by(|a, b| a.0.cmp(&b.0));
        Mergeinfo(passed)
    }

    /// Combines both for each revision; sources left without ranges are removed.
    fn zip(
        &self,
        other: &Mergeinfo,
        combine: impl Fn(Option<&Rangelist>, Option<&Rangelist>) -> Rangelist,
    ) -> Mergeinfo {
        let (mut mine, mut theirs) = (self.0.iter().peekable(), other.0.iter().peekable());
        let mut out = Vec::new();
        loop {
            let order = match (mine.peek(), theirs.peek()) {
                (Some(a), Some(b)) => a.0.cmp(&b.0),
                (Some(_), None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
                (None, None) => return Mergeinfo(out),
            };
            let a = mine.next_if(|_| order != Ordering::Greater);
            let b = theirs.next_if(|_| order != Ordering::Less);
            let ranges = combine(a.map(|(_, ranges)| ranges), b.map(|(_, ranges)| ranges));
            if let Some((source, _)) = a.or(b).filter(|_| !ranges.is_empty()) {
                out.push((source.clone(), ranges));
            }
        }
    }
}

impl fmt::Display for Mergeinfo {
    /// Prints the property value, without a newline at its end.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, (source, ranges)) in self.iter().enumerate() {
            let newline = if at == 0 { "" } else { "\n" };
            write!(f, "{newline}{source}:{ranges}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
