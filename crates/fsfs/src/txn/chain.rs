//! How a path is looked up in a transaction.
//!
//! The steps of an edit are close to each other: most are in the directory of the step before, or directly below it. So a
//! transaction holds the IDs of the directories that led to the last path, its *chain*, and a look-up begins where the new
//! path leaves it. That makes an edit of a tree of any depth linear in the number of its steps.
//!
//! The chain is valid because every change of a directory goes through [`State::way`], which cuts the chain above the path that
//! is changed, and [`State::own_parents`], which replaces the IDs of the directories that it makes the transaction's own. What changes
//! a tree in other ways (a merge) empties the chain first; what reads a tree from files has a new [`State`].

use std::sync::Arc;

use base::{FsPath, NodeKind, Result};

use super::state::{NodeKey, ROOT, State, TxnNode, prefix};
use crate::format::id::NodeRevId;
use crate::format::noderev::NodeRev;
use crate::fs::Fs;
use crate::root::Found;

/// Directories in each other. The first one is in the root, which is not listed.
#[derive(Debug, Default)]
pub(super) struct Chain {
    /// The path of the last directory, empty for the root.
    path: String,
    dirs: Vec<Link>,
    /// The number of directories at the beginning that are known to be the transaction's own.
    owned: usize,
}

/// A directory of a chain.
#[derive(Clone, Copy, Debug)]
struct Link {
    id: NodeRevId,
    /// The length of its path, in bytes.
    end: usize,
}

impl Chain {
    /// The number of directories that lead to `path`, itself included.
    fn towards(&self, path: &str) -> usize {
        let same = shared_length(&self.path, path);
        let leads =
            |link: &Link| link.end <= same && matches!(path.as_bytes().get(link.end), None | Some(b'/'));
        match self.dirs.last() {
            Some(last) if leads(last) => self.dirs.len(),
            _ => {
                let near = self.dirs.partition_point(|link| link.end <= same);
                // The next one may only begin like a component of the path.
                near - usize::from(near > 0 && !leads(&self.dirs[near - 1]))
            }
        }
    }

    fn truncate(&mut self, length: usize) {
        self.dirs.truncate(length);
        self.path.truncate(self.end());
        self.owned = self.owned.min(length);
    }

    /// The length of the path of the last directory.
    fn end(&self) -> usize {
        self.dirs.last().map_or(0, |link| link.end)
    }

    fn push(&mut self, name: &str, id: NodeRevId, is_own: bool) {
        self.path.push('/');
        self.path.push_str(name);
        self.owned += usize::from(is_own && self.owned == self.dirs.len());
        let end = self.path.len();
        self.dirs.push(Link { id, end });
    }
}

impl State {
    /// Looks a path up, for a reader.
    ///
    /// # Errors
    /// Those of reading.
    pub(crate) fn look_up(&self, fs: &Fs, path: &FsPath) -> Result<Found> {
        // Another reader meanwhile begins at the root.
        let mut chain = std::mem::take(&mut *self.chain.lock());
        let found = self.follow(fs, path, &mut chain);
        *self.chain.lock() = chain;
        found
    }

    /// Walks to a path that is about to be changed, and returns what is there. Its parent must exist. The chain ends at the
    /// parent then.
    ///
    /// # Errors
    /// `FS_NOT_FOUND`, `FS_NOT_DIRECTORY`; those of reading.
    pub(super) fn way(&mut self, fs: &Fs, path: &FsPath) -> Result<Option<Arc<NodeRev>>> {
        let mut chain = std::mem::take(self.chain.get_mut());
        let towards = chain.towards(path.as_str());
        let is_in_chain = towards > 0 && chain.dirs[towards - 1].end == path.len();
        chain.truncate(towards - usize::from(is_in_chain));
        let known = chain.dirs.len();
        let found = self.follow(fs, path, &mut chain);
        // Steps in these directories come again: they stay in memory.
        let entered: Vec<_> = chain.dirs[known..].iter().map(|link| link.id).collect();
        let parent_length = path.len() - path.basename().len() - 1;
        let has_parent = chain.end() == parent_length || path.is_root();
        *self.chain.get_mut() = chain;
        let found = found?;
        for id in entered {
            if let Some(key) = self.key_of(&id) {
                self.node_mut(key)?;
            }
        }
        match found {
            Found::Node(node) => Ok(Some(node)),
            Found::Nothing if has_parent => Ok(None),
            Found::Nothing => Err(self.as_root(fs).not_found(path)),
            Found::BelowFile(file) => Err(self.as_root(fs).not_directory(&file)),
        }
    }

    /// Walks to a path that must exist and is about to be changed.
    ///
    /// # Errors
    /// As [`State::way`].
    pub(super) fn way_to_node(&mut self, fs: &Fs, path: &FsPath) -> Result<Arc<NodeRev>> {
        let node = self.way(fs, path)?;
        node.ok_or_else(|| self.as_root(fs).not_found(path))
    }

    /// Follows a path from the last directory of the chain that leads to it. The directories on the way join the chain.
    fn follow(&self, fs: &Fs, path: &FsPath, chain: &mut Chain) -> Result<Found> {
        let mut known = chain.towards(path.as_str());
        let (mut at, mut dir) = match known {
            0 => (0, self.node(ROOT)?.noderev.clone()),
            _ => {
                let link = chain.dirs[known - 1];
                (link.end, self.noderev(fs, &link.id)?)
            }
        };
        loop {
            let rest = &path.as_str()[at..];
            let rest = rest.strip_prefix('/').unwrap_or(rest);
            if rest.is_empty() {
                return Ok(Found::Node(dir));
            }
            if dir.kind != NodeKind::Dir {
                return Ok(Found::BelowFile(prefix(path, at)));
            }
            let name_end = memchr::memchr(b'/', rest.as_bytes()).unwrap_or(rest.len());
            let name = &rest[..name_end];
            let Some((_, id)) = self.find(fs, &dir, name)? else {
                return Ok(Found::Nothing);
            };
            dir = self.noderev(fs, &id)?;
            if name_end < rest.len() && dir.kind == NodeKind::Dir {
                chain.truncate(known);
                chain.push(name, id, self.key_of(&id).is_some());
                known += 1;
            }
            at = path.len() - rest.len() + name_end;
        }
    }

    /// Makes the directories above a path, to which [`State::way`] has just walked, the transaction's own. Returns the key of the last.
    ///
    /// # Errors
    /// Those of reading.
    pub(super) fn own_parents(&mut self, fs: &Fs, path: &FsPath) -> Result<NodeKey> {
        let mut chain = std::mem::take(self.chain.get_mut());
        let mut parent = ROOT;
        for at in chain.owned.saturating_sub(1)..chain.dirs.len() {
            let Link { id, end } = chain.dirs[at];
            parent = match self.key_of(&id) {
                Some(key) => key,
                None => {
                    let dir = self.noderev(fs, &id)?;
                    self.own(fs, &dir, parent, prefix(path, end))?
                }
            };
            chain.dirs[at].id = self.node_id(parent);
        }
        chain.owned = chain.dirs.len();
        *self.chain.get_mut() = chain;
        Ok(parent)
    }

    /// Makes a node, to whose path [`State::way_to_node`] has just walked, the transaction's own, and all above it. Returns its key.
    ///
    /// # Errors
    /// Those of reading.
    pub(super) fn own_node(&mut self, fs: &Fs, path: &FsPath, node: &NodeRev) -> Result<NodeKey> {
        let parent = self.own_parents(fs, path)?;
        match self.key_of(&node.id) {
            Some(key) => Ok(key),
            None => self.own(fs, node, parent, path.clone()),
        }
    }

    /// Puts a copy of a committed node, which is the transaction's own, in its place.
    fn own(&mut self, fs: &Fs, old: &NodeRev, parent: NodeKey, path: FsPath) -> Result<NodeKey> {
        let name = path.basename().to_owned();
        let clone = self.clone_of(fs, old, parent, path)?;
        let (key, kind) = ((clone.id.node, clone.id.copy), clone.kind);
        self.insert(key, TxnNode::new(clone));
        self.set_entry(fs, parent, &name, Some((kind, self.node_id(key))))?;
        self.put_some_away(fs);
        Ok(key)
    }

    /// Calls `change` for the directories above the path to which [`State::way`] has just walked, the root first. They are the
    /// transaction's own.
    ///
    /// # Errors
    /// Those of `change`.
    pub(super) fn each_parent(
        &mut self,
        mut change: impl FnMut(&mut State, NodeKey) -> Result<()>,
    ) -> Result<()> {
        let chain = std::mem::take(self.chain.get_mut());
        change(self, ROOT)?;
        for link in &chain.dirs {
            if let Some(key) = self.key_of(&link.id) {
                change(self, key)?;
            }
        }
        *self.chain.get_mut() = chain;
        Ok(())
    }
}

/// The number of bytes at the beginning of both texts that are the same.
fn shared_length(a: &str, b: &str) -> usize {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    let same = a.chunks(64).zip(b.chunks(64)).take_while(|(a, b)| a == b).count() * 64;
    let same = same.min(a.len()).min(b.len());
    let rest = a[same..].iter().zip(&b[same..]);
    same + rest.take_while(|(a, b)| a == b).count()
}
