//! Bringing into a transaction what was committed since it began.
//!
//! Three trees meet: the *ancestor* that the transaction began on, the *source*, which is the youngest revision, and the
//! *target*, the transaction. Directories are merged entry by entry; texts and property lists never are. What does not fit is
//! `FS_CONFLICT`, and then nothing has been changed: the plan is made first, and carried out when it is complete.

use std::sync::Arc;

use base::{Code, Error, NodeKind, Props, Result, Revnum};

use super::state::{NodeKey, ROOT, State};
use crate::format::dir::{self, DirEntry};
use crate::format::id::NodeRevId;
use crate::format::noderev::NodeRev;
use crate::format::rep_line::RepPlace;
use crate::store::path_chain::PathChain;
use crate::tree::Fs;
use crate::tree::node::Node;

/// What a merge does to the transaction's directories.
#[derive(Default)]
struct Plan {
    /// Entries to take from the source, `None` to delete.
    entries: Vec<(NodeKey, Box<str>, Entry)>,
    /// Directories that now follow those of the source.
    dirs: Vec<(NodeKey, Followed)>,
}

/// What a name stands for.
type Entry = Option<(NodeKind, NodeRevId)>;

/// What of two states of a directory its merged state needs. (Of directories in each other no node-revisions are held: each has a path.)
#[derive(Clone, Copy)]
struct Followed {
    ancestor: NodeRevId,
    source: NodeRevId,
    count: u64,
    /// Nodes with mergeinfo in the ancestor and in the source.
    mergeinfo: [u64; 2],
}

/// Three states of one directory, and how far they are compared.
struct Trio {
    followed: Followed,
    target: NodeKey,
    /// The length of its path, in bytes.
    end: usize,
    old: Arc<[DirEntry]>,
    theirs: Arc<[DirEntry]>,
    /// The entry of `old` that comes next.
    next: usize,
}

impl State {
    /// Merges revision `to` into the transaction, whose base it becomes.
    ///
    /// # Errors
    /// `FS_CONFLICT` with the path, of several the one that the incumbent meets first; those of reading the revisions.
    pub(super) fn merge(&mut self, fs: &Fs, to: Revnum) -> Result<()> {
        // Directories on it may be replaced.
        *self.chain.get_mut() = PathChain::default();
        let mut plan = Plan::default();
        let (ancestor, source) = (fs.root_noderev(self.base())?, fs.root_noderev(to)?);
        let mut path = String::new();
        let mut trios = vec![self.trio(fs, &ancestor, &source, ROOT, &path)?];
        while let Some(trio) = trios.last_mut() {
            path.truncate(trio.end);
            match self.plan_entries(fs, trio, &mut path, &mut plan)? {
                // Depth first, in the order of names.
                Some(below) => trios.push(below),
                None => {
                    self.plan_new_entries(fs, trio, &path, &mut plan)?;
                    trios.pop();
                }
            }
        }
        for (dir, name, entry) in plan.entries {
            self.set_entry(fs, dir, &name, entry)?;
        }
        for (key, followed) in plan.dirs {
            let Followed { ancestor, source, .. } = followed;
            let node = self.node_mut(key)?.change();
            node.predecessor = Some(source);
            node.count = followed.count + 1;
            let [before, now] = followed.mergeinfo;
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

    /// Begins to compare a directory.
    fn trio(
        &self,
        fs: &Fs,
        ancestor: &Arc<NodeRev>,
        source: &Arc<NodeRev>,
        target: NodeKey,
        path: &str,
    ) -> Result<Trio> {
        let (old, theirs) = (fs.dir_entries(ancestor)?, fs.dir_entries(source)?);
        if !same_props(fs, ancestor, source)?
            || (self.changed_props(fs, ancestor, target)? && !same_lines(&old, &theirs))
        {
            return Err(conflict(path));
        }
        Ok(Trio {
            followed: Followed {
                ancestor: ancestor.id,
                source: source.id,
                count: source.count,
                mergeinfo: [ancestor.mergeinfo_count, source.mergeinfo_count],
            },
            target,
            end: path.len(),
            old,
            theirs,
            next: 0,
        })
    }

    /// Plans what becomes of the entries that the ancestor has, up to the next that is to be compared inside, whose name is added to
    /// `path`.
    fn plan_entries(
        &mut self,
        fs: &Fs,
        trio: &mut Trio,
        path: &mut String,
        plan: &mut Plan,
    ) -> Result<Option<Trio>> {
        let target = self.node(trio.target)?.noderev.clone();
        while let Some(before) = trio.old.get(trio.next) {
            trio.next += 1;
            let name = &*before.name;
            let now = dir::find(&trio.theirs, name).map(|entry| (entry.kind, entry.id));
            if now.is_some_and(|(_, id)| id == before.id) {
                continue;
            }
            let ours = self.find(fs, &target, name)?;
            if ours.is_some_and(|(_, id)| id == before.id) {
                plan.entries.push((trio.target, name.into(), now));
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
            let line = |id: &NodeRevId| (id.node, id.copy);
            let one_line = line(&before.id) == line(&now.1) && line(&before.id) == line(&ours.1);
            let Some(key) = self.key_of(&ours.1).filter(|_| all_dirs && one_line) else {
                return Err(conflict(path));
            };
            let (ancestor, source) = (fs.noderev(&before.id)?, fs.noderev(&now.1)?);
            return self.trio(fs, &ancestor, &source, key, path).map(Some);
        }
        Ok(None)
    }

    /// Plans what becomes of the entries that the ancestor does not have.
    fn plan_new_entries(&mut self, fs: &Fs, trio: &Trio, path: &str, plan: &mut Plan) -> Result<()> {
        let target = self.node(trio.target)?.noderev.clone();
        for new in trio.theirs.iter() {
            if dir::find(&trio.old, &new.name).is_some() {
                continue;
            }
            if self.find(fs, &target, &new.name)?.is_some() {
                return Err(conflict(&format!("{path}/{}", new.name)));
            }
            let entry = Some((new.kind, new.id));
            plan.entries.push((trio.target, new.name.clone(), entry));
        }
        plan.dirs.push((trio.target, trio.followed));
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
    let root = crate::tree::root::Root::of_revision(fs, node.id.rev().unwrap_or_default());
    Node::new(root, node.created_path.clone(), node.clone()).props()
}

/// True if both directories have the same names for the same lines of history.
fn same_lines(a: &[DirEntry], b: &[DirEntry]) -> bool {
    let line = |entry: &DirEntry| (entry.name.clone(), entry.id.node, entry.id.copy);
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| line(a) == line(b))
}

/// `path` is empty for the root.
fn conflict(path: &str) -> Error {
    let shown = if path.is_empty() { "/" } else { path };
    Error::new(Code::FS_CONFLICT, format!("Conflict at '{shown}'"))
}
