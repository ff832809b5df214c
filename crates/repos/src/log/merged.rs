//! What one revision merged: the change of mergeinfo on some paths.

use base::mergeinfo::{Inheritance as Match, Mergeinfo};
use base::{FsPath, NodeKind, Result, Revnum, props};
use fsfs::{ChangeKind, ChangedPath, Fs, Node, Root};

use crate::history::previous_location;
use crate::mergeinfo::{self, Inheritance};

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
pub(crate) fn changes(fs: &Fs, rev: Revnum, paths: &[FsPath]) -> Result<MergedChanges> {
    let mut merged = MergedChanges::default();
    let Some(before) = rev.prev() else {
        return Ok(merged);
    };
    let root = fs.root(rev)?;
    let changed = root.changed_paths()?;
    let mut explicit: Vec<&FsPath> = Vec::new();
    for change in changed.iter().filter(|change| may_change(change)) {
        if !paths.iter().any(|path| path.contains(&change.path)) {
            continue;
        }
        if let Some((old, new)) = explicit_change(&root, before, change)? {
            merged.take(&old, &new);
            explicit.push(&change.path);
        }
    }
    for path in paths {
        if explicit.contains(&path) || !inherits_change(&changed, path) {
            continue;
        }
        if let Some((old, new)) = inherited_change(&root, before, path)? {
            merged.take(&old, &new);
        }
    }
    Ok(merged)
}

/// True if a change can have changed its node's own mergeinfo.
fn may_change(change: &ChangedPath) -> bool {
    change.change != ChangeKind::Delete && change.prop_mod && change.mergeinfo_mod != Some(false)
}

/// True if something happened at or above `path` that can change what it inherits.
fn inherits_change(changed: &[ChangedPath], path: &FsPath) -> bool {
    changed
        .iter()
        .filter(|change| change.path.contains(path))
        .any(|change| may_change(change) || matches!(change.change, ChangeKind::Add | ChangeKind::Replace))
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
        None => mergeinfo::of_path(root, node.path(), Inheritance::Inherited)?.unwrap_or_default(),
    };
    let old = match (old, &old_node) {
        (Some(old), _) => old,
        (None, Some(node)) => {
            mergeinfo::of_path(node.root(), node.path(), Inheritance::Inherited)?.unwrap_or_default()
        }
        (None, None) => Mergeinfo::new(),
    };
    Ok(Some((old, new)))
}

/// The mergeinfo that counts for `path` before and after.
fn inherited_change(root: &Root, before: Revnum, path: &FsPath) -> Result<Option<(Mergeinfo, Mergeinfo)>> {
    let Some(node) = root.try_node(path)? else {
        return Ok(None);
    };
    let Some(old_node) = earlier(&node, before)? else {
        return Ok(None);
    };
    let of = |node: &Node| mergeinfo::of_path(node.root(), node.path(), Inheritance::Inherited);
    let (old, new) = (of(&old_node)?, of(&node)?);
    Ok(Some((old.unwrap_or_default(), new.unwrap_or_default())))
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
