//! Merging into a transaction what was committed since it began.
//!
//! Three trees are compared: the *ancestor* is the revision that the transaction is based on, the *source* is the youngest
//! revision, the *target* is the transaction. Directories are merged entry by entry; texts and property lists are never merged.
//! What does not fit is `FS_CONFLICT`, and then nothing has changed: a complete [`MergePlan`] is made before the first change.

use std::sync::Arc;

use base::{Code, Error, NodeKind, Props, Result, Revnum};

use super::state::{NodeKey, TxnState};
use crate::format::dir::{DirEntries, EntryChange};
use crate::format::id::{IdPart, NodeRevId};
use crate::format::noderev::NodeRev;
use crate::format::rep_line::RepLocation;
use crate::store::path_chain::PathChain;
use crate::tree::Fs;
use crate::tree::node::Node;

/// The changes that a merge makes to the directories of the transaction.
#[derive(Default)]
struct MergePlan {
    /// Entries to set, with the value of the source; `None` deletes the entry.
    entries: Vec<(NodeKey, Box<str>, EntryChange)>,
    /// Directories that become successors of the source's directories.
    dirs: Vec<(NodeKey, MergedDir)>,
}

/// The facts about two versions of a directory that its merged version needs. (Whole node-revisions of nested directories would
/// take more memory: each has a path.)
#[derive(Clone, Copy)]
struct MergedDir {
    ancestor: NodeRevId,
    source: NodeRevId,
    count: u64,
    /// Nodes with mergeinfo in the ancestor and in the source.
    mergeinfo: [u64; 2],
}

/// The comparison of three versions of one directory, and its progress.
struct DirComparison {
    merged: MergedDir,
    target: NodeKey,
    /// Length of its path, bytes.
    path_len: usize,
    ancestor_entries: DirEntries,
    source_entries: DirEntries,
    /// Index of the next entry of `ancestor_entries`.
    next: usize,
}

impl TxnState {
    /// Merges revision `to` into the transaction. `to` becomes its base.
    ///
    /// # Errors
    /// `FS_CONFLICT` with the path that the incumbent names; those of reading the revisions.
    pub(super) fn merge(&mut self, fs: &Fs, to: Revnum) -> Result<()> {
        // A merge may replace directories on this path.
        *self.path_chain.get_mut() = PathChain::default();
        let mut plan = MergePlan::default();
        let (ancestor, source) = (fs.root_noderev(self.base())?, fs.root_noderev(to)?);
        let mut path = String::new();
        let mut comparisons = vec![self.compare_dir(fs, &ancestor, &source, self.root(), &path)?];
        while let Some(comparison) = comparisons.last_mut() {
            path.truncate(comparison.path_len);
            match self.plan_entries(fs, comparison, &mut path, &mut plan)? {
                // Depth first, names ascending.
                Some(below) => comparisons.push(below),
                None => {
                    self.plan_new_entries(fs, comparison, &path, &mut plan)?;
                    comparisons.pop();
                }
            }
        }
        for (dir, name, entry) in plan.entries {
            self.set_entry(fs, dir, &name, entry)?;
        }
        for (key, merged) in plan.dirs {
            let MergedDir { ancestor, source, .. } = merged;
            let node = self.node_mut(key)?.change();
            node.predecessor = Some(source);
            node.count = merged.count + 1;
            let [before, now] = merged.mergeinfo;
            let count = node.mergeinfo_count.checked_add(now);
            let count = count.and_then(|count| count.checked_sub(before));
            node.mergeinfo_count = count.ok_or_else(|| {
                Error::new(
                    Code::FS_CORRUPT,
                    format!("Mergeinfo counts of '{ancestor}' and '{source}' don't fit"),
                )
            })?;
        }
        Ok(())
    }

    /// Begins the comparison of a directory.
    fn compare_dir(
        &self,
        fs: &Fs,
        ancestor: &Arc<NodeRev>,
        source: &Arc<NodeRev>,
        target: NodeKey,
        path: &str,
    ) -> Result<DirComparison> {
        let (ancestor_entries, source_entries) = (fs.dir_entries(ancestor)?, fs.dir_entries(source)?);
        if !same_props(fs, ancestor, source)?
            || (self.changed_props(fs, ancestor, target)?
                && !have_same_lineages(&ancestor_entries, &source_entries)?)
        {
            return Err(conflict(path));
        }
        Ok(DirComparison {
            merged: MergedDir {
                ancestor: ancestor.id,
                source: source.id,
                count: source.count,
                mergeinfo: [ancestor.mergeinfo_count, source.mergeinfo_count],
            },
            target,
            path_len: path.len(),
            ancestor_entries,
            source_entries,
            next: 0,
        })
    }

    /// Plans the entries that the ancestor has, up to the next directory that all three have and that must be compared itself.
    /// Returns its comparison and appends its name to `path`.
    fn plan_entries(
        &mut self,
        fs: &Fs,
        comparison: &mut DirComparison,
        path: &mut String,
        plan: &mut MergePlan,
    ) -> Result<Option<DirComparison>> {
        let target = self.node(comparison.target)?.noderev.clone();
        while let Some(before) = comparison.ancestor_entries.get(comparison.next) {
            comparison.next += 1;
            let name = before.name;
            let now = comparison.source_entries.find(name);
            if now == Some(before) {
                continue;
            }
            let now = now
                .map(|now| Ok((now.kind, now.id()?)) as Result<_>)
                .transpose()?;
            let before_id = before.id()?;
            if now.is_some_and(|(_, id)| id == before_id) {
                continue;
            }
            let ours = self.find(fs, &target, name)?;
            if ours.is_some_and(|(_, id)| id == before_id) {
                plan.entries.push((comparison.target, name.into(), now));
                continue;
            }
            path.push('/');
            path.push_str(name);
            let (Some(now), Some(ours)) = (now, ours) else {
                return Err(conflict(path));
            };
            let all_dirs = [before.kind, now.0, ours.0]
                .iter()
                .all(|kind| *kind == NodeKind::Dir);
            let Some(key) = self.key_of(&ours.1).filter(|_| all_dirs) else {
                return Err(conflict(path));
            };
            let (ancestor, source) = (fs.noderev(&before_id)?, fs.noderev(&now.1)?);
            let own = lineage(&self.node(key)?.noderev);
            if lineage(&ancestor) != lineage(&source) || lineage(&ancestor) != own {
                return Err(conflict(path));
            }
            return self.compare_dir(fs, &ancestor, &source, key, path).map(Some);
        }
        Ok(None)
    }

    /// Plans the entries that the ancestor does not have.
    fn plan_new_entries(
        &mut self,
        fs: &Fs,
        comparison: &DirComparison,
        path: &str,
        plan: &mut MergePlan,
    ) -> Result<()> {
        let target = self.node(comparison.target)?.noderev.clone();
        for new in comparison.source_entries.iter() {
            if comparison.ancestor_entries.find(new.name).is_some() {
                continue;
            }
            if self.find(fs, &target, new.name)?.is_some() {
                return Err(conflict(&format!("{path}/{}", new.name)));
            }
            let entry = Some((new.kind, new.id()?));
            plan.entries.push((comparison.target, new.name.into(), entry));
        }
        plan.dirs.push((comparison.target, comparison.merged));
        Ok(())
    }

    /// True if the transaction has changed the properties of a directory.
    fn changed_props(&self, fs: &Fs, ancestor: &Arc<NodeRev>, target: NodeKey) -> Result<bool> {
        match &self.node(target)?.props {
            None => Ok(false),
            Some(list) => Ok(**list != *props_of(fs, ancestor)?),
        }
    }
}

fn same_props(fs: &Fs, a: &Arc<NodeRev>, b: &Arc<NodeRev>) -> Result<bool> {
    let location = |node: &NodeRev| node.props.as_ref().map(|rep| rep.location);
    if location(a) == location(b) && location(a) != Some(RepLocation::Mutable) {
        return Ok(true);
    }
    Ok(props_of(fs, a)? == props_of(fs, b)?)
}

fn props_of(fs: &Fs, node: &Arc<NodeRev>) -> Result<Arc<Props>> {
    // The root is for messages only: a committed node-revision is read by its own ID.
    let root = crate::tree::root::Root::of_revision(fs, node.id.rev().unwrap_or_default());
    Node::new(root, node.created_path.clone(), node.clone()).props()
}

/// The node ID and the copy ID.
fn lineage(node: &NodeRev) -> (IdPart, IdPart) {
    (node.node_id(), node.copy_id())
}

/// True if both directories have the same names, in FSFS also with the same node IDs and copy IDs: by this the incumbent decides
/// whether changed properties of a directory fit to its changed entries. In FSX it compares the names alone.
fn have_same_lineages(a: &DirEntries, b: &DirEntries) -> Result<bool> {
    if a.len() != b.len() {
        return Ok(false);
    }
    for pair in b.differences(a) {
        let (Some(a), Some(b)) = pair else {
            return Ok(false);
        };
        let (a, b) = (a.id()?, b.id()?);
        // Entries of FSX have the numbers of their items only.
        if !a.is_item() && (a.node, a.copy) != (b.node, b.copy) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// `path` is empty for the root.
fn conflict(path: &str) -> Error {
    let shown = if path.is_empty() { "/" } else { path };
    Error::new(Code::FS_CONFLICT, format!("Conflict at '{shown}'"))
}
