//! Bringing into a transaction what was committed since it began.
//!
//! Three trees meet: the *ancestor* that the transaction began on, the *source*, which is the youngest revision, and the
//! *target*, the transaction. Directories are merged entry by entry; texts and property lists never are. What does not fit is
//! `FS_CONFLICT`, and then nothing has been changed: the plan is made first, and carried out when it is complete.

use std::sync::Arc;

use base::{Code, Error, FsPath, NodeKind, Props, Result, Revnum};

use super::state::{NodeKey, ROOT, State};
use crate::format::dir::{self, DirEntry};
use crate::format::id::NodeRevId;
use crate::format::noderev::NodeRev;
use crate::format::rep_line::RepPlace;
use crate::fs::Fs;
use crate::node::Node;

/// What a merge does to the transaction's directories.
#[derive(Default)]
struct Plan {
    /// Entries to take from the source, `None` to delete.
    entries: Vec<(NodeKey, Box<str>, Entry)>,
    /// Directories that now follow those of the source: ancestor and source.
    dirs: Vec<(NodeKey, Arc<NodeRev>, Arc<NodeRev>)>,
}

/// What a name stands for.
type Entry = Option<(NodeKind, NodeRevId)>;

/// Three states of one directory.
struct Trio {
    ancestor: Arc<NodeRev>,
    source: Arc<NodeRev>,
    target: NodeKey,
    path: FsPath,
}

impl State {
    /// Merges revision `to` into the transaction, whose base it becomes.
    ///
    /// # Errors
    /// `FS_CONFLICT` with the path; those of reading the revisions.
    pub(super) fn merge(&mut self, fs: &Fs, to: Revnum) -> Result<()> {
        let mut plan = Plan::default();
        let mut trios = vec![Trio {
            ancestor: fs.root_noderev(self.base())?,
            source: fs.root_noderev(to)?,
            target: ROOT,
            path: FsPath::root(),
        }];
        while let Some(trio) = trios.pop() {
            self.plan(fs, &trio, &mut plan, &mut trios)?;
        }
        for (dir, name, entry) in plan.entries {
            self.set_entry(fs, dir, &name, entry)?;
        }
        for (key, ancestor, source) in plan.dirs {
            let node = self.node_mut(key)?.change();
            node.predecessor = Some(source.id);
            node.count = source.count + 1;
            let count = node.mergeinfo_count.checked_add(source.mergeinfo_count);
            let count = count.and_then(|count| count.checked_sub(ancestor.mergeinfo_count));
            node.mergeinfo_count = count.ok_or_else(|| {
                Error::new(
                    Code::FS_CORRUPT,
                    format!(
                        "Mergeinfo counts of '{}' and '{}' don't fit",
                        ancestor.id, source.id
                    ),
                )
            })?;
        }
        Ok(())
    }

    /// Plans the merge of one directory; those below that need one go to `trios`.
    fn plan(&mut self, fs: &Fs, trio: &Trio, plan: &mut Plan, trios: &mut Vec<Trio>) -> Result<()> {
        let old = fs.dir_entries(&trio.ancestor)?;
        let theirs = fs.dir_entries(&trio.source)?;
        if !same_props(fs, &trio.ancestor, &trio.source)? {
            return Err(conflict(&trio.path));
        }
        if self.changed_props(fs, &trio.ancestor, trio.target)? && !same_lines(&old, &theirs) {
            return Err(conflict(&trio.path));
        }
        let target = self.node(trio.target)?.noderev.clone();
        for before in old.iter() {
            let name = &*before.name;
            let now = dir::find(&theirs, name).map(|entry| (entry.kind, entry.id));
            if now.is_some_and(|(_, id)| id == before.id) {
                continue;
            }
            let ours = self.find(fs, &target, name)?;
            if ours.is_some_and(|(_, id)| id == before.id) {
                plan.entries.push((trio.target, name.into(), now));
                continue;
            }
            let path = trio.path.join_str(name);
            let (Some(now), Some(ours)) = (now, ours) else {
                return Err(conflict(&path));
            };
            let all_dirs = [before.kind, now.0, ours.0]
                .iter()
                .all(|kind| *kind == NodeKind::Dir);
            let line = |id: &NodeRevId| (id.node, id.copy);
            let one_line = line(&before.id) == line(&now.1) && line(&before.id) == line(&ours.1);
            match self.key_of(&ours.1) {
                Some(target) if all_dirs && one_line => trios.push(Trio {
                    ancestor: fs.noderev(&before.id)?,
                    source: fs.noderev(&now.1)?,
                    target,
                    path,
                }),
                _ => return Err(conflict(&path)),
            }
        }
        for new in theirs.iter() {
            if dir::find(&old, &new.name).is_some() {
                continue;
            }
            if self.find(fs, &target, &new.name)?.is_some() {
                return Err(conflict(&trio.path.join_str(&new.name)));
            }
            let entry = Some((new.kind, new.id));
            plan.entries.push((trio.target, new.name.clone(), entry));
        }
        plan.dirs
            .push((trio.target, trio.ancestor.clone(), trio.source.clone()));
        Ok(())
    }

    /// True if the transaction has another property list than its base.
    fn changed_props(&self, fs: &Fs, ancestor: &Arc<NodeRev>, target: NodeKey) -> Result<bool> {
        match &self.node(target)?.props {
            None => Ok(false),
            Some(list) => Ok(**list != *props_of(fs, ancestor)?),
        }
    }
}

fn same_props(fs: &Fs, a: &Arc<NodeRev>, b: &Arc<NodeRev>) -> Result<bool> {
    let place = |node: &NodeRev| node.props.as_ref().map(|rep| rep.place);
    if place(a) == place(b) && place(a) != Some(RepPlace::Mutable) {
        return Ok(true);
    }
    Ok(props_of(fs, a)? == props_of(fs, b)?)
}

fn props_of(fs: &Fs, node: &Arc<NodeRev>) -> Result<Arc<Props>> {
    // The root is only for messages: a committed node-revision is read from where it says.
    let root = crate::root::Root::of_revision(fs, node.id.rev().unwrap_or_default());
    Node::new(root, node.created_path.clone(), node.clone()).props()
}

/// True if both directories have the same names for the same lines of history.
fn same_lines(a: &[DirEntry], b: &[DirEntry]) -> bool {
    let line = |entry: &DirEntry| (entry.name.clone(), entry.id.node, entry.id.copy);
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| line(a) == line(b))
}

fn conflict(path: &FsPath) -> Error {
    Error::new(Code::FS_CONFLICT, format!("Conflict at '{path}'"))
}
