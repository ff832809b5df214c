//! What was merged from one branch to another, and what was not.
//!
//! [`revisions`] passes the revisions of a source branch that changed it and that were merged to a target branch, or that can be.
//! [`mod@summary`] finds where the branches parted, and their last full merge. Both compare the log of the source with the mergeinfo of the
//! target and of the nodes below it, and with the [`History`] of both.
//!
//! The rules are those that experiments with the incumbent show.
//! * The nodes that count are the target and the nodes below it that have mergeinfo; the target only if it has or inherits some. A node
//!   has a revision if its mergeinfo names the corresponding node of the source, at its path in that revision. For questions about
//!   eligible revisions, those of the target's own history are merged to all nodes.
//! * A revision that all nodes have, with inheritance, is merged as a whole. One that some nodes have, or that is not inheritable,
//!   depends on its changed paths: if the change of each is merged, the revision is merged as a whole, else in part. One that no node
//!   has is eligible, unless the change of each path is merged.
//! * A changed path is merged if the nearest node at or above its counterpart has mergeinfo for the revision from any path at or below
//!   the source, inheritable unless it is the node itself. An addition, replacement or deletion of the node is also merged if the node
//!   has mergeinfo of a later revision from that same path.
//! * That a path of the source appears or disappears is no change of the source: a copy, or a rename. If one of the paths in its history
//!   is below another one, it can be a change below that; the incumbent answers one or the other, by the order of a hash table.
//! * Below a target that is the root of the repository, the incumbent takes the paths of nodes without their first byte.

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

/// The nodes of a target whose mergeinfo counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// The target.
    Node,
    /// The target and all nodes below it.
    Tree,
}

impl Scope {
    /// Returns the scope of a depth.
    ///
    /// # Errors
    /// `UNSUPPORTED_FEATURE` for depths other than `empty` and `infinity`.
    pub fn of_depth(depth: Depth) -> Result<Scope> {
        match depth {
            Depth::Empty => Ok(Scope::Node),
            Depth::Infinity => Ok(Scope::Tree),
            _ => {
                let message = "Only depths 'infinity' and 'empty' are currently supported";
                Err(Error::new(Code::UNSUPPORTED_FEATURE, message))
            }
        }
    }
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
    let (first, last) = request.range;
    let range = (first.min(last), first.max(last));
    let history = History::read_range(&mut *source.session, source.rev, range)?;
    // Revision 0 is never merged.
    let (oldest, youngest) = (first.min(last).max(Revnum(1)), first.max(last));
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
        let Some(paths) = entry.rev.and_then(|rev| changed_paths(entry, rev, &history)) else {
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
    /// False for a revision without changed paths.
    is_known: bool,
    /// The changes below it.
    changes: Vec<Change>,
}

/// A change in a branch.
struct Change {
    /// The path of the branch with which the changed path begins.
    branch: Source,
    /// The rest of the changed path.
    path: RelPath,
    action: ChangeAction,
}

/// Returns what a revision changed in a branch. As for the incumbent, a change below a path that the branch had in another revision counts:
/// that of its source in the revision that made a copy of it, for example.
fn changed_paths(entry: &LogEntry, rev: Revnum, history: &History) -> Option<ChangedPaths> {
    let branch = history.path_at(rev)?;
    let below = |change: &ra::LogChange| {
        // That a path of the branch appears or disappears is no change of the branch: a copy, or a rename.
        let is_change = change.action == ChangeAction::Modify;
        let mut branches = std::iter::once(branch).chain(history.paths());
        branches.find_map(|branch| {
            let path = change.path.relative_to(branch)?;
            (is_change || !path.is_empty()).then(|| Change {
                branch: Source::from(branch),
                path,
                action: change.action,
            })
        })
    };
    Some(ChangedPaths {
        rev,
        branch: Source::from(branch),
        is_known: !entry.changes.is_empty(),
        changes: entry.changes.iter().filter_map(below).collect(),
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
    /// The history of the target, if revisions that were not merged are asked for.
    history: Option<History>,
}

struct MergedNode {
    path: RelPath,
    /// The path of the node that corresponds to it, below the source; `None` if there is none.
    source_suffix: Option<RelPath>,
    mergeinfo: Mergeinfo,
}

impl MergedState {
    /// Reads the state. With `only_merged` it is for questions about merged revisions: without mergeinfo there are none, and
    /// [`MergedState::is_empty`] is true.
    ///
    /// # Errors
    /// `FS_NOT_FOUND` for a target that does not exist; those of the session.
    pub fn read(target: &mut Branch<'_>, scope: Scope, only_merged: bool) -> Result<MergedState> {
        let request = MergeinfoRequest {
            paths: &[RelPath::empty()],
            rev: Some(target.rev),
            of: MergeinfoOf::Inherited,
            descendants: scope == Scope::Tree,
        };
        let found = target.session.mergeinfo(&request)?;
        let is_root = target.session.url() == target.session.root_url();
        let nodes = found.into_iter().map(|(path, mergeinfo)| MergedNode {
            source_suffix: if is_root {
                below_root(&path)
            } else {
                Some(path.clone())
            },
            path,
            mergeinfo,
        });
        let mut state = MergedState {
            nodes: nodes.collect(),
            history: None,
        };
        if !only_merged {
            state.set_history(History::read(&mut *target.session, target.rev)?);
        }
        Ok(state)
    }

    /// Adds the history of the target, which questions for revisions that were not merged need.
    fn set_history(&mut self, history: History) {
        self.history = Some(history);
        if self.nodes.is_empty() {
            self.nodes.push(MergedNode {
                path: RelPath::empty(),
                source_suffix: Some(RelPath::empty()),
                mergeinfo: Mergeinfo::new(),
            });
        }
    }

    /// True if nothing was merged.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    fn answer(&self, changed: &ChangedPaths, which: Which) -> Answer {
        let states: Vec<NodeState> = self.nodes.iter().map(|node| node.state(changed)).collect();
        let is_in_history = which == Which::Eligible && self.is_in_history(changed);
        let is_in_all = is_in_history || states.iter().all(|state| *state == NodeState::Merged);
        let is_merged = |state: &NodeState| matches!(state, NodeState::Merged | NodeState::NotBelow);
        let is_in_some = states.iter().any(is_merged);
        let is_whole = || {
            let mut changes = changed.changes.iter();
            changed.is_known && changes.all(|change| self.is_merged(change, changed.rev))
        };
        match which {
            Which::Merged if !is_in_some => Answer::No,
            Which::Merged if is_in_all || is_whole() => Answer::Whole,
            Which::Merged => Answer::Part,
            Which::Eligible if is_in_all || is_whole() => Answer::No,
            Which::Eligible if is_in_some => Answer::Part,
            Which::Eligible => Answer::Whole,
        }
    }

    /// True if the revision is one of the target itself.
    fn is_in_history(&self, changed: &ChangedPaths) -> bool {
        let history = self.history.as_ref();
        let path = history.and_then(|history| history.path_at(changed.rev));
        path.is_some_and(|path| path.as_str() == changed.branch.as_str())
    }

    /// True if the mergeinfo that counts for a changed path has the change.
    fn is_merged(&self, change: &Change, rev: Revnum) -> bool {
        let contains = |node: &&MergedNode| change.path.relative_to(&node.path).is_some();
        let nodes = self.nodes.iter().filter(contains);
        let Some(node) = nodes.max_by_key(|node| node.path.len()) else {
            return false;
        };
        let is_of_node = node.path == change.path;
        let is_merged = node.mergeinfo.iter().any(|(source, ranges)| {
            let is_below = source.is_at_or_below(&change.branch);
            is_below
                && ranges
                    .at(rev)
                    .is_some_and(|inheritable| inheritable || is_of_node)
        });
        // The addition of a node from which a later revision was merged.
        let has_later = || {
            let ranges = node.mergeinfo.get(&change.branch.join(&change.path));
            let last = ranges.and_then(|ranges| ranges.ranges().last());
            last.is_some_and(|last| rev <= last.end)
        };
        is_merged || (is_of_node && change.action != ChangeAction::Modify && has_later())
    }
}

/// Returns the path below the source for a node below a target that is the root of the repository. As in the incumbent, it lacks the first
/// byte.
fn below_root(path: &RelPath) -> Option<RelPath> {
    if path.is_empty() {
        return Some(RelPath::empty());
    }
    let rest = path.as_str().get(1..)?;
    (!rest.starts_with('/'))
        .then(|| RelPath::parse(rest).ok())
        .flatten()
}

/// What a node of a target has of a revision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum NodeState {
    Unmerged,
    /// It was merged to the node itself, but not to those below it.
    NotBelow,
    Merged,
}

impl MergedNode {
    fn state(&self, changed: &ChangedPaths) -> NodeState {
        let source = self.source_suffix.as_ref().map(|path| changed.branch.join(path));
        let ranges = source.and_then(|source| self.mergeinfo.get(&source));
        match ranges.and_then(|ranges| ranges.at(changed.rev)) {
            Some(true) => NodeState::Merged,
            Some(false) => NodeState::NotBelow,
            None => NodeState::Unmerged,
        }
    }
}
