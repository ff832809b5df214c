//! The revisions that one revision merged: its changes of mergeinfo on some paths.

use base::mergeinfo::{Inheritance as Match, Mergeinfo};
use base::{Code, Error, FsPath, NodeKind, RelPath, Result, Revnum, props};
use fsfs::{Change, ChangeKind, ChangedPath, Fs, Node, Root};

use crate::history::previous_location;
use crate::mergeinfo;

/// Mergeinfo that a revision added and removed.
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

/// Returns the mergeinfo that `rev` changed on `paths` and below them.
///
/// Explicit changes at or below the paths count. Inherited mergeinfo counts only in a revision that changed the
/// mergeinfo of some node, anywhere, and only if different mergeinfo was inherited before: copying a file below a
/// directory with mergeinfo merges nothing.
pub(crate) fn changes(fs: &Fs, rev: Revnum, paths: &[FsPath]) -> Result<MergedChanges> {
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
        if let Some((old, new)) = inherited_change(&node, before, false)? {
            merged.take(&old, &new);
        }
    }
    Ok(merged)
}

/// Returns the mergeinfo that `rev` changed on the file `path`. Differs from [`changes`] in three ways. The file is
/// compared with the node at the same path before, and nothing counts if there was none. Inherited mergeinfo does not
/// count in the revision that copied the file, or a directory above it, to its path. Elsewhere it counts even if
/// nothing was inherited before.
pub(crate) fn changes_of_file(fs: &Fs, rev: Revnum, path: &FsPath) -> Result<MergedChanges> {
    let mut merged = MergedChanges::default();
    let Some(before) = rev.prev() else {
        return Ok(merged);
    };
    let Some(old) = there(fs, before, path)? else {
        return Ok(merged);
    };
    let root = fs.root(rev)?;
    let (mut is_own, mut is_any) = (false, false);
    for change in fs.changed_paths(rev)?.iter().filter(may_change) {
        let change = change.to_owned();
        if explicit_change(&root, before, &change)?.is_some() {
            is_any = true;
            is_own |= change.path == *path;
        }
    }
    let Some(node) = root.try_node(path)?.filter(|_| is_any) else {
        return Ok(merged);
    };
    let is_copied = || Ok::<_, Error>(previous_location(&node)?.is_some_and(|copy| copy.appeared == rev));
    let change = match is_own {
        true => own_change(&node, Some(&old))?,
        false if is_copied()? => None,
        false => inherited_change(&node, before, true)?,
    };
    if let Some((old, new)) = change {
        merged.take(&old, &new);
    }
    Ok(merged)
}

/// Returns the node at a path, if it exists; a path below a file does not.
fn there(fs: &Fs, rev: Revnum, path: &FsPath) -> Result<Option<Node>> {
    match fs.root(rev)?.try_node(path) {
        Err(error) if error.code() == Code::FS_NOT_DIRECTORY => Ok(None),
        found => found,
    }
}

/// Returns the mergeinfo that applies to a node: its own, or what it inherits.
fn effective(node: &Node) -> Result<Mergeinfo> {
    let found = mergeinfo::bearer(node)?;
    Ok(found.map_or_else(Mergeinfo::new, |(info, below)| mergeinfo::passed(info, &below)))
}

/// True if a change may have changed the explicit mergeinfo of its node.
fn may_change(change: &Change<'_>) -> bool {
    change.change != ChangeKind::Delete && change.prop_mod && change.mergeinfo_mod != Some(false)
}

/// Returns the mergeinfo of a changed node before and after; `None` if it did not change.
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
    own_change(&node, old_node.as_ref())
}

/// Returns the mergeinfo of a node and of its predecessor; `None` if both are equal.
fn own_change(node: &Node, old_node: Option<&Node>) -> Result<Option<(Mergeinfo, Mergeinfo)>> {
    let new_value = node.prop(props::MERGEINFO)?;
    let old_value = match old_node {
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
    // A value that is added hides inherited mergeinfo, one that is deleted uncovers it.
    let new = match new {
        Some(new) => new,
        None => effective(node)?,
    };
    let old = match (old, old_node) {
        (Some(old), _) => old,
        (None, Some(node)) => effective(node)?,
        (None, None) => Mergeinfo::new(),
    };
    Ok(Some((old, new)))
}

/// Returns the mergeinfo that applies to a node before and after. `first` says whether the first mergeinfo that it
/// ever inherits counts.
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

/// Returns the node before the revision of its root: at the source of its copy if it was copied then, else at the
/// same path.
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
