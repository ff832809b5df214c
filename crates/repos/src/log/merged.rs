//! The revisions that one revision merged: its changes of mergeinfo on some paths.

use base::mergeinfo::{Inheritance as Match, Mergeinfo};
use base::{Code, FsPath, NodeKind, Result, Revnum, props};
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
        if let Some((old, new)) = inherited_change(&node, before)? {
            merged.take(&old, &new);
        }
    }
    Ok(merged)
}

/// Returns the mergeinfo that `rev` changed on the file `path`. Differs from [`changes`] in two ways. The mergeinfo of
/// the file, own or inherited, is compared with that of the node at the same path before, and nothing counts if there
/// was none. A revision counts only if it changed properties of the file or of a directory above it, and that node has
/// or had explicit mergeinfo, changed or not.
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
        if change.path.contains(path) {
            let own = change.path == *path;
            let (node, old_node) = changed_nodes(&root, before, &change)?;
            let has = has_own(&node)? || old_node.as_ref().map_or(Ok(false), has_own)?;
            is_any |= has;
            is_own |= has && own;
        }
    }
    let Some(node) = root.try_node(path)?.filter(|_| is_any) else {
        return Ok(merged);
    };
    if !is_own || (is_valid(&old)? && is_valid(&node)?) {
        merged.take(&effective(&old)?, &effective(&node)?);
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
    let (node, old_node) = changed_nodes(root, before, change)?;
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
    // A value that is added hides inherited mergeinfo, one that is deleted uncovers it.
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

/// Returns a changed node and its predecessor: what it was copied from, else the node before.
fn changed_nodes(root: &Root, before: Revnum, change: &ChangedPath) -> Result<(Node, Option<Node>)> {
    let node = root.node(&change.path)?;
    let old_node = match change.change {
        ChangeKind::Modify => earlier(&node, before)?,
        _ => match &change.copyfrom {
            Some((rev, source)) => Some(root.fs().root(*rev)?.node(source)?),
            None => None,
        },
    };
    Ok((node, old_node))
}

/// True if a node has the property, valid or not.
fn has_own(node: &Node) -> Result<bool> {
    Ok(node.prop(props::MERGEINFO)?.is_some())
}

/// True if a node has no mergeinfo of its own, or its value can be parsed.
fn is_valid(node: &Node) -> Result<bool> {
    let value = node.prop(props::MERGEINFO)?;
    Ok(value.is_none_or(|value| Mergeinfo::parse(&value).is_ok()))
}

/// Returns the mergeinfo that applies to a node before and after; `None` if nothing applied before, or if both are
/// passed down from equal values.
fn inherited_change(node: &Node, before: Revnum) -> Result<Option<(Mergeinfo, Mergeinfo)>> {
    let Some(old_node) = earlier(node, before)? else {
        return Ok(None);
    };
    let Some((old, old_below)) = mergeinfo::bearer(&old_node)? else {
        return Ok(None);
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
