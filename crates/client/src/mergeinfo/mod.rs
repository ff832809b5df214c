//! What was merged from one branch to another, and what was not.
//!
//! [`revisions`] passes the revisions of a source branch that changed it and that were merged to a target branch, or that can be.
//! [`mod@summary`] finds where the branches parted, and their last full merge. Both compare the log of the source with the mergeinfo of the
//! target and of the nodes below it, and with the [`History`] of both.

mod history;
mod summary;

use base::mergeinfo::Source;
use base::{Code, Depth, Error, Mergeinfo, RelPath, Result, Revnum};
use ra::{ChangeAction, LogEntry, LogRequest, LogRevprops, MergeinfoOf, MergeinfoRequest, Session};

pub use history::History;
pub use summary::{Summary, summary};

/// Which revisions are asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Which {
    /// Those that were merged.
    Merged,
    /// Those that were not.
    Eligible,
}

/// A question for revisions.
#[derive(Clone, Debug)]
pub struct RevisionsRequest {
    /// Which ones.
    pub which: Which,
    /// The first and the last revision of the output; the first may be the younger one.
    pub range: (Revnum, Revnum),
    /// The revision properties of the entries.
    pub revprops: LogRevprops,
}

/// A branch: a session at its URL, and the revision of its tip.
pub struct Branch<'a> {
    /// The session.
    pub session: &'a mut dyn Session,
    /// The revision.
    pub rev: Revnum,
}

/// Passes the entries of the log of `source` that `request` asks for, and whether each applies to a part of the target only.
///
/// # Errors
/// `FS_NOT_FOUND` for a branch that does not exist; those of the session and of `receive`.
pub fn revisions(
    source: &mut Branch<'_>,
    target: &MergedState,
    request: &RevisionsRequest,
    receive: &mut dyn FnMut(&LogEntry, bool) -> Result<()>,
) -> Result<()> {
    let source_history = History::read(&mut *source.session, source.rev)?;
    compare(source, &source_history, target, request, receive)
}

/// Compares the log of a source with the state of a target.
fn compare(
    source: &mut Branch<'_>,
    history: &History,
    target: &MergedState,
    request: &RevisionsRequest,
    receive: &mut dyn FnMut(&LogEntry, bool) -> Result<()>,
) -> Result<()> {
    let (first, last) = request.range;
    let (oldest, youngest) = (first.min(last), first.max(last));
    if youngest > source.rev {
        // The incumbent makes the request, and the server refuses it with its own text.
        let (path, peg) = (RelPath::empty(), Some(source.rev));
        let session = &mut *source.session;
        session.location_segments(&path, peg, Some(youngest), None, &mut |_| Ok(()))?;
        let message = format!("No such revision {youngest}");
        return Err(Error::new(Code::FS_NO_SUCH_REVISION, message));
    }
    // The log begins where the branch was at the youngest revision.
    let Some((youngest, path)) = history.at_or_before(youngest).filter(|(rev, _)| *rev >= oldest) else {
        return Ok(());
    };
    let tip = source.session.url().clone();
    let url = source.session.root_url().join(&path.to_rel());
    source.session.reparent(&url)?;
    let oldest = oldest.max(history.oldest());
    let (start, end) = if first <= last {
        (oldest, youngest)
    } else {
        (youngest, oldest)
    };
    let log = LogRequest {
        paths: vec![RelPath::empty()],
        start: Some(start),
        end: Some(end),
        changed_paths: true,
        revprops: request.revprops.clone(),
        ..LogRequest::default()
    };
    source.session.log(&log, &mut |entry| {
        let Some(paths) = entry.rev.and_then(|rev| changed_paths(entry, rev, history)) else {
            return Ok(());
        };
        match target.answer(&paths, request.which) {
            Answer::No => Ok(()),
            Answer::Whole => receive(entry, false),
            Answer::Part => receive(entry, true),
        }
    })?;
    source.session.reparent(&tip)
}

/// What a revision changed in a branch.
struct ChangedPaths {
    rev: Revnum,
    /// The path of the branch in that revision.
    branch: Source,
    /// Changed paths below it.
    paths: Vec<RelPath>,
}

/// Returns what a revision changed in a branch; `None` if it only made the branch, or did nothing to it. As for the incumbent, a change below
/// a path that the branch had in another revision counts: that of its source in the revision that made a copy of it, for example.
fn changed_paths(entry: &LogEntry, rev: Revnum, history: &History) -> Option<ChangedPaths> {
    let branch = history.path_at(rev)?;
    let below = |change: &ra::LogChange| {
        // That a path of the branch appears or disappears is no change of the branch: a copy, or a rename.
        let is_change = change.action == ChangeAction::Modify;
        let mut branches = std::iter::once(branch).chain(history.paths());
        branches.find_map(|branch| {
            let path = change.path.relative_to(branch)?;
            (is_change || !path.is_empty()).then_some(path)
        })
    };
    let paths: Vec<RelPath> = entry.changes.iter().filter_map(below).collect();
    (!paths.is_empty()).then(|| ChangedPaths {
        rev,
        branch: Source::new(branch.as_str()),
        paths,
    })
}

/// Whether a revision belongs to the output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Answer {
    No,
    /// A part of its changes belongs to the output.
    Part,
    Whole,
}

/// What was merged to a target.
pub struct MergedState {
    /// The target and the nodes below it that have mergeinfo of their own, the target first.
    nodes: Vec<MergedNode>,
    depth: Depth,
}

struct MergedNode {
    path: RelPath,
    mergeinfo: Mergeinfo,
    history: History,
}

impl MergedState {
    /// Reads the state. Depth `infinity` looks at the mergeinfo of nodes below the target, `empty` does not. With `only_merged` the state
    /// is for questions about merged revisions: without mergeinfo there are none, and [`MergedState::is_empty`] is true.
    ///
    /// # Errors
    /// `FS_NOT_FOUND` for a target that does not exist; `UNSUPPORTED_FEATURE` for other depths; those of the session.
    pub fn read(target: &mut Branch<'_>, depth: Depth, only_merged: bool) -> Result<MergedState> {
        if !matches!(depth, Depth::Empty | Depth::Infinity) {
            let message = "Only depths 'infinity' and 'empty' are currently supported";
            return Err(Error::new(Code::UNSUPPORTED_FEATURE, message));
        }
        let tip = target.session.url().clone();
        let request = MergeinfoRequest {
            paths: &[RelPath::empty()],
            rev: Some(target.rev),
            of: MergeinfoOf::Inherited,
            descendants: depth == Depth::Infinity,
        };
        let mut found = target.session.mergeinfo(&request)?;
        let mut state = MergedState {
            nodes: Vec::new(),
            depth,
        };
        if only_merged && found.is_empty() {
            return Ok(state);
        }
        if found.first().is_none_or(|(path, _)| !path.is_empty()) {
            found.insert(0, (RelPath::empty(), Mergeinfo::new()));
        }
        for (path, mergeinfo) in found {
            let url = tip.join(&path);
            if *target.session.url() != url {
                target.session.reparent(&url)?;
            }
            let history = History::read(&mut *target.session, target.rev)?;
            state.nodes.push(MergedNode {
                path,
                mergeinfo,
                history,
            });
        }
        if *target.session.url() != tip {
            target.session.reparent(&tip)?;
        }
        Ok(state)
    }

    /// True if nothing was merged.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    fn answer(&self, changed: &ChangedPaths, which: Which) -> Answer {
        let states: Vec<NodeState> = self.nodes.iter().map(|node| node.state(changed)).collect();
        if self.depth == Depth::Empty {
            return match (states[0], which) {
                (NodeState::Merged, Which::Merged) | (NodeState::Unmerged, Which::Eligible) => Answer::Whole,
                (NodeState::NotBelow, _) => Answer::Part,
                _ => Answer::No,
            };
        }
        let is_merged_somewhere = states
            .iter()
            .any(|state| matches!(state, NodeState::Merged | NodeState::NotBelow));
        let is_whole = changed.paths.iter().all(|path| {
            let state = states[self.nearest(path)];
            matches!(state, NodeState::Merged | NodeState::OwnHistory)
        });
        match (which, is_merged_somewhere, is_whole) {
            (Which::Merged, false, _) | (Which::Eligible, _, true) => Answer::No,
            (Which::Merged, true, true) | (Which::Eligible, false, false) => Answer::Whole,
            (_, true, false) => Answer::Part,
        }
    }

    /// Returns the index of the node whose mergeinfo counts for a path.
    fn nearest(&self, path: &RelPath) -> usize {
        let contains = |node: &MergedNode| path.relative_to(&node.path).is_some();
        let found = self.nodes.iter().enumerate().filter(|(_, node)| contains(node));
        found
            .max_by_key(|(_, node)| node.path.len())
            .map_or(0, |(index, _)| index)
    }
}

/// What a node of a target has of a revision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum NodeState {
    Unmerged,
    /// It was merged to the node itself, but not to those below it.
    NotBelow,
    Merged,
    /// It is in the node's own history.
    OwnHistory,
}

impl MergedNode {
    fn state(&self, changed: &ChangedPaths) -> NodeState {
        let source = changed.branch.join(&self.path);
        let merged = self
            .mergeinfo
            .get(&source)
            .and_then(|ranges| ranges.at(changed.rev));
        match merged {
            Some(true) => NodeState::Merged,
            Some(false) => NodeState::NotBelow,
            None => match self.history.path_at(changed.rev) {
                Some(path) if path.as_str() == source.as_str() => NodeState::OwnHistory,
                _ => NodeState::Unmerged,
            },
        }
    }
}
