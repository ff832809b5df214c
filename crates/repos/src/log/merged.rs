//! What one revision merged: the change of mergeinfo on some paths.

use base::mergeinfo::{Inheritance as Match, Mergeinfo};
use base::{FsPath, NodeKind, RelPath, Result, Revnum, props};
use fsfs::{Change, ChangeKind, ChangedPath, Fs, Node, Root};

use crate::history::previous_location;
use crate::mergeinfo;

/// Mergeinfo added and taken away.
#[derive(Clone, Debug, Default)]
pub(crate) struct MergedChanges {
    pub(crate) added: Mergeinfo,
    pub(crate) deleted: Mergeinfo,
}

impl MergedChanges {
    pub(crate) fn is_empty(&self) -> bool {
        self.added.is_empty() && self.deleted.is_empty()
    }

    fn take(&mut self, before: &Mergeinfo, after: &Mergeinfo) {
        let (deleted, added) = before.diff(after, Match::Ignore);
        self.added = self.added.merge(&added);
        self.deleted = self.deleted.merge(&deleted);
    }
}

/// What `rev` merged into `paths` and what is below them.
///
/// Explicit changes at or below the paths count. What a path inherits counts only in a revision that changed
/// some node's mergeinfo, wherever that is, and only where something else was inherited before: copying a file below
/// a directory with mergeinfo merges nothing.
pub(crate) fn changes(fs: &Fs, rev: Revnum, paths: &[FsPath]) -> Result<MergedChanges> {
    changes_where(fs, rev, paths, &|node, before| {
        inherited_change(node, before, false)
    })
}

/// What `rev` merged into the file `path`: as [`changes`], but what a file inherits does not count in the revision that
/// copied it, or a folder above it, to where it is; elsewhere it counts even if nothing was inherited before.
pub(crate) fn changes_of_file(fs: &Fs, rev: Revnum, path: &FsPath) -> Result<MergedChanges> {
    let inherited = |node: &Node, before| match previous_location(node)? {
        Some(copy) if copy.appeared == rev => Ok(None),
        _ => inherited_change(node, before, true),
    };
    changes_where(fs, rev, std::slice::from_ref(path), &inherited)
}

/// How the mergeinfo that a node inherits changed since a revision; `None` if that does not count.
type Inherited<'a> = dyn Fn(&Node, Revnum) -> Result<Option<(Mergeinfo, Mergeinfo)>> + 'a;

fn changes_where(fs: &Fs, rev: Revnum, paths: &[FsPath], inherited: &Inherited<'_>) -> Result<MergedChanges> {
    let mut merged = MergedChanges::default();
    let Some(before) = rev.prev() else {
        return Ok(merged);
    };
    let root = fs.root(rev)?;
    let mut explicit: Vec<FsPath> = Vec::new();
    for change in fs.changed_paths(rev)?.iter().filter(may_change) {
        let change = change.to_owned();
        let Some((old, new)) = explicit_change(&root, before, &change)? else {
            continue;
        };
        if paths.iter().any(|path| path.contains(&change.path)) {
            merged.take(&old, &new);
        }
        explicit.push(change.path);
    }
    if explicit.is_empty() {
        return Ok(merged);
    }
    for path in paths.iter().filter(|path| !explicit.contains(path)) {
        let Some(node) = root.try_node(path)? else {
            continue;
        };
        if let Some((old, new)) = inherited(&node, before)? {
            merged.take(&old, &new);
        }
    }
    Ok(merged)
}

/// The mergeinfo that counts for a node, its own or what it inherits.
fn effective(node: &Node) -> Result<Mergeinfo> {
    let found = mergeinfo::bearer(node)?;
    Ok(found.map_or_else(Mergeinfo::new, |(info, below)| mergeinfo::passed(info, &below)))
}

/// True if a change can have changed its node's own mergeinfo.
fn may_change(change: &Change<'_>) -> bool {
    change.change != ChangeKind::Delete && change.prop_mod && change.mergeinfo_mod != Some(false)
}

/// The mergeinfo of a changed node before and after; `None` if it did not change.
fn explicit_change(
    root: &Root,
    before: Revnum,
    change: &ChangedPath,
) -> Result<Option<(Mergeinfo, Mergeinfo)>> {
    let node = root.node(&change.path)?;
    let old_node = match change.change {
        ChangeKind::Modify => earlier(&node, before)?,
        _ => match &change.copyfrom {
            Some((rev, source)) => Some(root.fs().root(*rev)?.node(source)?),
            None => None,
        },
    };
    let new_value = node.prop(props::MERGEINFO)?;
    let old_value = match &old_node {
        Some(old) => old.prop(props::MERGEINFO)?,
        None => None,
    };
    if old_value == new_value {
        return Ok(None);
    }
    let parse = |value: Option<Vec<u8>>| value.map(|value| Mergeinfo::parse(&value)).transpose();
    let (Ok(old), Ok(new)) = (parse(old_value), parse(new_value)) else {
        return Ok(None);
    };
    // A value that appears or goes hides or uncovers what is inherited.
    let new = match new {
        Some(new) => new,
        None => effective(&node)?,
    };
    let old = match (old, &old_node) {
        (Some(old), _) => old,
        (None, Some(node)) => effective(node)?,
        (None, None) => Mergeinfo::new(),
    };
    Ok(Some((old, new)))
}

/// The mergeinfo that counts for a node before and after; the `first` that it ever inherits counts or does not.
fn inherited_change(node: &Node, before: Revnum, first: bool) -> Result<Option<(Mergeinfo, Mergeinfo)>> {
    let Some(old_node) = earlier(node, before)? else {
        return Ok(None);
    };
    let (old, old_below) = match mergeinfo::bearer(&old_node)? {
        Some(borne) => borne,
        None if first => (Mergeinfo::new(), RelPath::empty()),
        None => return Ok(None),
    };
    let new = mergeinfo::bearer(node)?;
    if new.as_ref().is_some_and(|(new, _)| *new == old) {
        return Ok(None);
    }
    let new = new.map_or_else(Mergeinfo::new, |(new, below)| mergeinfo::passed(new, &below));
    Ok(Some((mergeinfo::passed(old, &old_below), new)))
}

/// The node as it was before its root's revision: at its copy's source if it was copied there, else at the same
/// path.
fn earlier(node: &Node, before: Revnum) -> Result<Option<Node>> {
    let fs = node.fs();
    match previous_location(node)? {
        Some(copy) if copy.appeared > before => fs.root(copy.rev)?.node(&copy.path).map(Some),
        _ => {
            let old = fs.root(before)?.try_node(node.path())?;
            Ok(old.filter(|old| old.kind() != NodeKind::None))
        }
    }
}
