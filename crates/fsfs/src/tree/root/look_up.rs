//! The look-up of a path in a tree.

use std::sync::Arc;

use base::{FsPath, NodeKind, Result, Revnum};
use parking_lot::Mutex;

use super::{Root, RootKind};
use crate::format::id::NodeRevId;
use crate::format::noderev::NodeRev;
use crate::store::cache::Key;
use crate::store::path_chain::{CopyRef, Link, PathChain, prefix, youngest};
use crate::tree::node::Node;

/// The result of a look-up.
pub(crate) enum PathLookup {
    /// The node-revision at the path.
    Node(Arc<NodeRev>),
    /// There is no node at the path. The number is the length of the path up to the first name that is missing.
    Nothing(usize),
    /// A component of the path is below this file.
    BelowFile(FsPath),
}

/// A walk from a directory down to a path.
pub(crate) struct PathWalk {
    pub(crate) found: PathLookup,
    /// The directories below the start and above the path.
    pub(crate) passed: Vec<Link>,
    /// The node-revision of the last directory: of the start if none was passed.
    last: Arc<NodeRev>,
}

impl PathWalk {
    /// Walks to `path` from `dir`, the directory at its first `at` bytes, which belongs to `copy`. `child` returns an entry of a
    /// directory.
    ///
    /// # Errors
    /// Those of `child`.
    pub(crate) fn down(
        path: &FsPath,
        mut at: usize,
        mut dir: Arc<NodeRev>,
        mut copy: Option<CopyRef>,
        mut child: impl FnMut(&Arc<NodeRev>, &str) -> Result<Option<(NodeRevId, Arc<NodeRev>)>>,
    ) -> Result<PathWalk> {
        let mut passed = Vec::new();
        let found = loop {
            let rest = &path.as_str()[at..];
            let rest = rest.strip_prefix('/').unwrap_or(rest);
            if rest.is_empty() {
                break PathLookup::Node(dir.clone());
            }
            if dir.kind != NodeKind::Dir {
                break PathLookup::BelowFile(prefix(path, at));
            }
            let name_end = memchr::memchr(b'/', rest.as_bytes()).unwrap_or(rest.len());
            let Some((id, node)) = child(&dir, &rest[..name_end])? else {
                break PathLookup::Nothing(path.len() - rest.len() + name_end);
            };
            if name_end == rest.len() {
                break PathLookup::Node(node);
            }
            dir = node;
            at = path.len() - rest.len() + name_end;
            if dir.kind == NodeKind::Dir {
                copy = youngest(copy, &dir);
                passed.push(Link { id, end: at, copy });
            }
        };
        Ok(PathWalk {
            found,
            passed,
            last: dir,
        })
    }
}

impl Root {
    /// The node at a path.
    ///
    /// # Errors
    /// `FS_NOT_FOUND` `File not found: revision N, path '/P'` (or `transaction 'T'`), `FS_NOT_DIRECTORY` (two links)
    /// below a file. FSX names the part of the path that is missing.
    pub fn node(&self, path: &FsPath) -> Result<Node> {
        self.find(path, |end| match self.fs().format().is_fsx() {
            true => prefix(path, end),
            false => path.clone(),
        })
    }

    /// The node at a path, for its history, locations or mergeinfo: as in the incumbent, errors of FSX name the whole path then.
    ///
    /// # Errors
    /// As [`Root::node`].
    pub fn open_path(&self, path: &FsPath) -> Result<Node> {
        self.find(path, |_| path.clone())
    }

    /// The node at a path. `named` gets the length of the path up to the first name that is missing, bytes, and returns the path
    /// that the error names.
    fn find(&self, path: &FsPath, named: impl Fn(usize) -> FsPath) -> Result<Node> {
        match self.look_up(path)? {
            PathLookup::Node(noderev) => Ok(Node::new(self.clone(), path.clone(), noderev)),
            PathLookup::Nothing(end) => Err(self.not_found(&named(end))),
            PathLookup::BelowFile(file) => Err(self.not_directory(&file)),
        }
    }

    /// Returns the node at a path; `None` where [`Root::node`] gives `FS_NOT_FOUND` or `FS_NOT_DIRECTORY`.
    ///
    /// # Errors
    /// `FS_CORRUPT`; the system's.
    pub fn try_node(&self, path: &FsPath) -> Result<Option<Node>> {
        Ok(match self.look_up(path)? {
            PathLookup::Node(noderev) => Some(Node::new(self.clone(), path.clone(), noderev)),
            PathLookup::Nothing(_) | PathLookup::BelowFile(_) => None,
        })
    }

    /// Looks a path up, starting at the deepest directory that it shares with the last look-up.
    ///
    /// # Errors
    /// `FS_CORRUPT`; the system's.
    pub(super) fn look_up(&self, path: &FsPath) -> Result<PathLookup> {
        if let RootKind::Transaction(txn, ..) = self.0.kind
            && let Some(tree) = self.fs().open_txns().tree(txn)
        {
            return tree.look_up(self.fs(), path);
        }
        let chain = self.chain_for(path);
        let start = chain.lock().start(path);
        let (at, dir, copy) = match start.link {
            None => {
                let root = self.root_noderev()?;
                let copy = youngest(None, &root);
                (0, root, copy)
            }
            Some(link) => match start.dir {
                Some(dir) => (link.end, dir, link.copy),
                None => (link.end, self.fs().noderev(&link.id)?, link.copy),
            },
        };
        let fs = self.fs();
        let walk = PathWalk::down(path, at, dir, copy, |dir, name| {
            match fs.dir_entry(dir, name)? {
                Some((_, id)) => Ok(Some((id, fs.noderev(&id)?))),
                None => Ok(None),
            }
        })?;
        let is_found = matches!(walk.found, PathLookup::Node(_));
        if is_found && self.revision().is_some() && !walk.passed.is_empty() {
            let count = walk.passed.len().min(LONGEST_CHAIN.saturating_sub(start.known));
            let last = Some(walk.last).filter(|_| count == walk.passed.len());
            chain
                .lock()
                .extend(path, start.known, &walk.passed[..count], last);
        }
        Ok(walk.found)
    }

    /// The chain for a look-up of a path. Chains of deep paths are in the cache: a walk through several revisions of
    /// a deep tree visits each revision many times, with a new root each time.
    fn chain_for(&self, path: &FsPath) -> &Mutex<PathChain> {
        match self.revision() {
            Some(rev) if path.len() >= DEEP => self.0.read.deep_chain.get_or_init(|| {
                let key = Key::new::<Arc<Mutex<PathChain>>>(self.fs().instance(), rev.0, 0);
                self.fs().cache().get(&key).unwrap_or_else(|| {
                    let chain = Arc::default();
                    self.fs().cache().insert(key, Arc::clone(&chain));
                    chain
                })
            }),
            _ => &self.0.read.chain,
        }
    }

    /// The youngest copy that a path or one of its ancestors belongs to: its revision (`None` for the transaction of
    /// this root) and its destination.
    pub(crate) fn youngest_copy(&self, path: &FsPath) -> Result<Option<(Option<Revnum>, FsPath)>> {
        if self.revision().is_some() && path.len() >= DEEP {
            let node = self.node(path)?;
            let start = self.chain_for(path).lock().start(path);
            // Another thread may have changed the chain.
            if let Some(link) = start.link
                && path.len() - link.end <= 1 + path.basename().len()
                && let Some((rev, id)) = youngest(link.copy, node.noderev())
            {
                let destination = self.fs().noderev(&id)?.copyroot().1.clone();
                return Ok(Some((Some(rev), destination)));
            }
        }
        let mut found: Option<(Option<Revnum>, FsPath)> = None;
        self.each_along(path, &mut |noderev| {
            let (rev, path) = noderev.copyroot();
            // Without a revision the copy is of this transaction, and so the youngest.
            let is_younger = match &found {
                // Most directories belong to the same copy as their parent.
                Some((best, of)) if *best == rev && of == path => false,
                None => true,
                Some((best, _)) => rev.is_none_or(|rev| best.is_some_and(|best| rev >= best)),
            };
            if is_younger {
                found = Some((rev, path.clone()));
            }
        })?;
        Ok(found)
    }

    /// Calls `each` with the node-revisions on the way to a path that exists, from the root to the path itself.
    pub(crate) fn each_along(&self, path: &FsPath, each: &mut dyn FnMut(&NodeRev)) -> Result<()> {
        let mut dir = self.root_noderev()?;
        each(&dir);
        let mut at = 0;
        for name in path.components() {
            if dir.kind != NodeKind::Dir {
                return Err(self.not_directory(&prefix(path, at)));
            }
            let Some((_, id)) = self.fs().dir_entry(&dir, name)? else {
                return Err(self.not_found(path));
            };
            dir = self.fs().noderev(&id)?;
            each(&dir);
            at += 1 + name.len();
        }
        Ok(())
    }
}

/// The length of the longest chain of a revision, which takes about 10 MB. A look-up below it starts at its end.
const LONGEST_CHAIN: usize = 1 << 16;

/// The length from which a path is a deep one, bytes.
const DEEP: usize = 1024;
