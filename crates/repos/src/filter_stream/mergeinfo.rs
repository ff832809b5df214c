//! Changes of `svn:mergeinfo`, so that it names only what is left.
//!
//! A source that is filtered is an error or, with `skip_missing_merge_sources`, left out. Then revisions that are not newer
//! than the first one that is written are left out too: the incumbent takes the range of the stream's revisions for one whose
//! start is exclusive. If revisions are renumbered, both ends of a range are looked up; the start is the revision *before*
//! the first merged one, and must be in the stream too.
//!
//! A range of which all revisions were left out becomes empty. The incumbent fails on it with an internal error; here it is
//! left out.

use base::mergeinfo::{Range, Rangelist};
use base::{Mergeinfo, Result, Revnum};

use super::path_matcher::PathMatcher;
use super::renumber::Renumbering;
use super::{FilterOptions, incomplete};

/// Changes the value of the property.
///
/// # Errors
/// `MERGEINFO_PARSE_ERROR`, `INCOMPLETE_DATA` for a source that is missing, `NODE_UNEXPECTED_KIND` for a revision that is.
pub(super) fn adjusted(
    value: &[u8],
    options: &FilterOptions,
    paths: &PathMatcher<'_>,
    renumbering: &Renumbering,
    oldest: i64,
) -> Result<String> {
    let skips_missing = options.skip_missing_merge_sources;
    // A stream that has only revision 0 so far has no range to compare with.
    let border = u64::try_from(oldest).ok().filter(|oldest| *oldest > 0);
    let border = border.filter(|_| skips_missing).map(Revnum);
    let mut out = Mergeinfo::new();
    // The order of the incumbent's hash table decides which error comes first.
    for (source, ranges) in Mergeinfo::parse_hash_order(value)? {
        if !paths.keeps(source.as_str().as_bytes()) {
            if skips_missing {
                continue;
            }
            return Err(incomplete(format!(
                "Missing merge source path '{source}'; try with --skip-missing-merge-sources"
            )));
        }
        let newer = border.map(|border| newer(&ranges, border));
        let mut list = Rangelist::new();
        for range in newer.as_deref().unwrap_or(ranges.ranges()) {
            let range = match options.renumbers() {
                true => renumbered(range, renumbering)?,
                false => *range,
            };
            list = list.merge(&Rangelist::single(range.start, range.end, range.inheritable));
        }
        out.add(source, &list);
    }
    Ok(out.to_string())
}

/// Returns the parts of the ranges after `border`. Adjacent ones become one, inheritable if one of them is.
fn newer(ranges: &Rangelist, border: Revnum) -> Vec<Range> {
    let mut out: Vec<Range> = Vec::with_capacity(ranges.ranges().len());
    for range in ranges.ranges().iter().filter(|range| range.end > border) {
        let start = range.start.max(border);
        match out.last_mut() {
            Some(last) if last.end == start => {
                last.end = range.end;
                last.inheritable |= range.inheritable;
            }
            _ => out.push(Range { start, ..*range }),
        }
    }
    out
}

fn renumbered(range: &Range, renumbering: &Renumbering) -> Result<Range> {
    let find = |rev: Revnum, end: &str| -> Result<Revnum> {
        let rev = i64::try_from(rev.0).unwrap_or(i64::MAX);
        let found = renumbering.find(rev, || {
            format!("No valid revision range '{end}' in filtered stream")
        })?;
        Ok(Revnum(found.unsigned_abs()))
    };
    Ok(Range {
        start: find(range.start, "start")?,
        end: find(range.end, "end")?,
        inheritable: range.inheritable,
    })
}
