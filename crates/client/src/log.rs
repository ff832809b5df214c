//! The log of a node: the entries of several ranges of revisions, one range after the other.
//!
//! The node is named by the session's URL and a peg revision. In each range the node is looked up where it was in the range's
//! youngest revision. A single lookup in the youngest of all revisions is enough for one range, because the server follows the
//! history from there; several ranges need the paths of the node in between ([`Session::location_segments`]).

use base::{RelPath, Result, Revnum};
use ra::{LocationSegment, LogEntry, LogRequest, LogRevprops, Session};

use crate::locate::{self, Revision};

/// What to read.
#[derive(Clone, Debug)]
pub struct LogOptions {
    /// The largest number of entries of a range, merged ones not counted; 0 is no limit. See [`log`] for several ranges.
    pub limit: u64,
    /// Whether to read the changed paths.
    pub changed_paths: bool,
    /// Whether to end the history of a node at the copy that made it.
    pub stop_on_copy: bool,
    /// Whether to read the entries of merged revisions.
    pub include_merged: bool,
    /// The revision properties to read.
    pub revprops: LogRevprops,
}

/// A range of revisions, both ends included. The entry of `start` comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogRange {
    /// The first revision.
    pub start: Revision,
    /// The last revision.
    pub end: Revision,
}

/// Passes the entries of `ranges` to `entry`. The session is at the URL of the node in `peg`; `paths` are below it, none means
/// the node itself. Without ranges, the log goes back from `peg` to the beginning.
///
/// The limit of each range is what the ranges before have left of it. As for Subversion's client, merged entries and the ends of
/// their lists count for that, and if they exceed the limit, the other ranges have none (of the root, they have no entries).
///
/// # Errors
/// As of [`locate::move_to_node`] and [`Session::log`]; whatever `entry` returns.
pub fn log(
    session: &mut dyn Session,
    peg: Revision,
    paths: &[RelPath],
    ranges: &[LogRange],
    options: &LogOptions,
    entry: &mut dyn FnMut(&LogEntry) -> Result<()>,
) -> Result<()> {
    let peg_rev = peg.number(session)?;
    let mut numbers = Vec::with_capacity(ranges.len().max(1));
    for range in ranges {
        numbers.push((range.start.number(session)?, range.end.number(session)?));
    }
    if ranges.is_empty() {
        numbers.push((peg_rev, Revnum::ZERO));
    }
    let youngest = numbers.iter().map(|(a, b)| *a.max(b)).max();
    let youngest = youngest.expect("because there is at least one range");
    locate::move_from_peg(session, peg, peg_rev, youngest)?;
    let mut node = NodePaths::find(session, &numbers, youngest)?;
    let mut left = Some(options.limit).filter(|limit| *limit > 0);
    for (start, end) in numbers {
        if !node.enter(session, start.max(end))? {
            continue;
        }
        let request = LogRequest {
            paths: paths.to_vec(),
            start: Some(start),
            end: Some(end),
            limit: left.unwrap_or(0),
            changed_paths: options.changed_paths,
            strict: options.stop_on_copy,
            include_merged: options.include_merged,
            revprops: options.revprops.clone(),
        };
        let mut count = 0u64;
        session.log(&request, &mut |found| {
            count += 1;
            entry(found)
        })?;
        let is_root = paths.is_empty() && session.url() == session.root_url();
        left = match left {
            Some(limit) if count == limit || count > limit && is_root => break,
            Some(limit) => limit.checked_sub(count),
            None => None,
        };
    }
    Ok(())
}

/// The paths at which the node was, for several ranges.
struct NodePaths {
    /// Youngest first; empty for a single range.
    segments: Vec<LocationSegment>,
}

impl NodePaths {
    /// The session is at the node in `youngest`, the youngest of all ends.
    fn find(session: &mut dyn Session, ranges: &[(Revnum, Revnum)], youngest: Revnum) -> Result<NodePaths> {
        let mut segments = Vec::new();
        let oldest = ranges.iter().map(|(a, b)| *a.min(b)).min();
        if ranges.len() > 1 && session.url() != session.root_url() {
            session.location_segments(
                &RelPath::empty(),
                Some(youngest),
                Some(youngest),
                oldest,
                &mut |segment| {
                    segments.push(segment.clone());
                    Ok(())
                },
            )?;
        }
        Ok(NodePaths { segments })
    }

    /// Moves the session to the node in `rev`; false if the node did not exist before that. Where the node was deleted for a
    /// while, the session stays where it is: the log then fails, and says so.
    fn enter(&mut self, session: &mut dyn Session, rev: Revnum) -> Result<bool> {
        let Some(oldest) = self.segments.last() else {
            return Ok(true);
        };
        if rev < oldest.start {
            return Ok(false);
        }
        let found = self.segments.iter().find(|s| s.start <= rev && rev <= s.end);
        if let Some(path) = found.and_then(|segment| segment.path.as_ref()) {
            let url = session.root_url().join(&path.to_rel());
            if url != *session.url() {
                session.reparent(&url)?;
            }
        }
        Ok(true)
    }
}
