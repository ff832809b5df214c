//! The editor that turns a replayed revision into node records.
//!
//! It takes the changed paths from the replay and looks the nodes up itself: a record depends on stored
//! representations, not on contents. Deletions wait until their directory is closed, unless an addition makes them
//! replacements.

use std::collections::BTreeSet;

use base::{Code, Error, FsPath, RelPath, Result, Revnum};
use delta::editor::{CopyFrom, DirToken, Editor, FileToken};
use fsfs::{Node, Root};

use crate::dump::record::{NodeRecord, Records};
use crate::dumpfile::NodeAction;

/// Prints the node records of one revision.
pub(crate) struct NodePrinter<'p> {
    records: &'p mut dyn Records,
    root: Root,
    /// The open directories, outermost first; a token is a position in it.
    open: Vec<OpenDir>,
}

/// An open directory. It holds no path: the paths of all open directories of a deep tree would take memory that grows with the
/// square of its depth.
struct OpenDir {
    /// Its name in the outer directory.
    name: Box<str>,
    printed: bool,
    node: LazyNode,
    compared: LazyNode,
    deleted: BTreeSet<FsPath>,
}

/// A node that is looked up when it is needed.
enum LazyNode {
    /// There is no node.
    Nowhere,
    /// At this path of this tree.
    At(Root, FsPath),
    /// The entry of the same name in the node of the outer directory.
    InParent,
    Found(Node),
    /// An entry of the outer directory, with a long path: it is dropped when a directory further in is looked up.
    Passing(Node),
}

/// Paths of at most this many bytes are held for each open directory.
const SHORT: usize = 1 << 10;

/// Of the directories with longer paths, the node is held at every level that is a multiple of this.
const STRIDE: usize = 256;

/// One of the two nodes of a directory.
#[derive(Clone, Copy)]
enum NodeSide {
    New,
    Compared,
}

impl<'p> NodePrinter<'p> {
    pub fn new(records: &'p mut dyn Records, root: Root) -> Self {
        NodePrinter {
            records,
            root,
            open: Vec::new(),
        }
    }

    fn dir(&mut self, token: DirToken) -> Result<&mut OpenDir> {
        self.open.get_mut(token.0 as usize).ok_or_else(misdriven)
    }

    fn push(&mut self, dir: OpenDir) -> Result<DirToken> {
        let token = u32::try_from(self.open.len()).map_err(|_| misdriven())?;
        self.open.push(dir);
        Ok(DirToken(token))
    }

    /// Returns the node of an open directory in the new tree, or the one it is compared with.
    fn looked_up(&mut self, depth: usize, which: NodeSide) -> Result<Option<Node>> {
        let mut from = depth;
        let mut node = loop {
            let dir = self.open.get(from).ok_or_else(misdriven)?;
            match dir.looked(which) {
                LazyNode::Nowhere => return Ok(None),
                LazyNode::Found(node) | LazyNode::Passing(node) => break node.clone(),
                LazyNode::At(root, path) => break root.node(path)?,
                LazyNode::InParent => from = from.checked_sub(1).ok_or_else(misdriven)?,
            }
        };
        let start = self.open[from].looked_mut(which);
        match start {
            LazyNode::Passing(_) if from < depth => *start = LazyNode::InParent,
            LazyNode::Passing(_) => {}
            _ => *start = LazyNode::Found(node.clone()),
        }
        for (at, dir) in self.open.iter_mut().enumerate().take(depth + 1).skip(from + 1) {
            let name = &*dir.name;
            node = match node.child(name)? {
                Some(child) => child,
                None => node.root().node(&node.path().join_str(name))?,
            };
            if node.path().len() <= SHORT || at % STRIDE == 0 {
                *dir.looked_mut(which) = LazyNode::Found(node.clone());
            } else if at == depth {
                *dir.looked_mut(which) = LazyNode::Passing(node.clone());
            }
        }
        Ok(Some(node))
    }

    /// Returns the entry of an open directory that `path` names.
    fn entry(&mut self, parent: DirToken, path: &RelPath, which: NodeSide) -> Result<Option<Node>> {
        let Some(dir) = self.looked_up(parent.0 as usize, which)? else {
            return Ok(None);
        };
        match dir.child(path.basename())? {
            Some(node) => Ok(Some(node)),
            // Looking up the whole path gives the right error.
            None => dir.root().node(&dir.path().join_str(path.basename())).map(Some),
        }
    }

    /// Prints an addition. Returns the source of its copy.
    fn added(
        &mut self,
        path: &RelPath,
        parent: DirToken,
        copyfrom: Option<CopyFrom<'_>>,
    ) -> Result<Option<(Root, FsPath)>> {
        let node = self.entry(parent, path, NodeSide::New)?.ok_or_else(misdriven)?;
        let full = FsPath::root().join(path);
        let replaces = self.dir(parent)?.deleted.remove(&*full);
        let Some(from) = copyfrom else {
            self.records.node(&NodeRecord {
                path: &full,
                action: if replaces {
                    NodeAction::Replace
                } else {
                    NodeAction::Add
                },
                node: &node,
                compared: None,
                copyfrom: None,
            })?;
            return Ok(None);
        };
        if replaces {
            self.records.delete(&full, true)?;
        }
        let source_path = FsPath::parse(from.path)?;
        let source_root = self.root.fs().root(from.rev)?;
        let source = source_root.node(&source_path)?;
        self.records.node(&NodeRecord {
            path: &full,
            action: NodeAction::Add,
            node: &node,
            compared: Some(&source),
            copyfrom: Some((from.rev, &source_path)),
        })?;
        Ok(Some((source_root, source_path)))
    }
}

impl OpenDir {
    fn looked(&self, which: NodeSide) -> &LazyNode {
        match which {
            NodeSide::New => &self.node,
            NodeSide::Compared => &self.compared,
        }
    }

    fn looked_mut(&mut self, which: NodeSide) -> &mut LazyNode {
        match which {
            NodeSide::New => &mut self.node,
            NodeSide::Compared => &mut self.compared,
        }
    }
}

impl Editor for NodePrinter<'_> {
    fn set_target_revision(&mut self, _rev: Revnum) -> Result<()> {
        Ok(())
    }

    fn open_root(&mut self, _base: Option<Revnum>) -> Result<DirToken> {
        let rev = self.root.revision().and_then(Revnum::prev);
        let before = self.root.fs().root(rev.ok_or_else(misdriven)?)?;
        self.push(OpenDir {
            name: "".into(),
            printed: false,
            node: LazyNode::At(self.root.clone(), FsPath::root()),
            compared: LazyNode::At(before, FsPath::root()),
            deleted: BTreeSet::new(),
        })
    }

    fn delete_entry(&mut self, path: &RelPath, _rev: Option<Revnum>, parent: DirToken) -> Result<()> {
        self.dir(parent)?.deleted.insert(FsPath::root().join(path));
        Ok(())
    }

    fn add_directory(
        &mut self,
        path: &RelPath,
        parent: DirToken,
        copyfrom: Option<CopyFrom<'_>>,
    ) -> Result<DirToken> {
        let source = self.added(path, parent, copyfrom)?;
        self.push(OpenDir {
            name: path.basename().into(),
            printed: true,
            node: LazyNode::InParent,
            compared: match source {
                Some((root, path)) => LazyNode::At(root, path),
                None => LazyNode::Nowhere,
            },
            deleted: BTreeSet::new(),
        })
    }

    fn open_directory(
        &mut self,
        path: &RelPath,
        parent: DirToken,
        _base: Option<Revnum>,
    ) -> Result<DirToken> {
        self.dir(parent)?;
        self.push(OpenDir {
            name: path.basename().into(),
            printed: false,
            node: LazyNode::InParent,
            compared: LazyNode::InParent,
            deleted: BTreeSet::new(),
        })
    }

    fn change_dir_prop(&mut self, dir: DirToken, _name: &str, _value: Option<&[u8]>) -> Result<()> {
        if std::mem::replace(&mut self.dir(dir)?.printed, true) {
            return Ok(());
        }
        let depth = dir.0 as usize;
        let node = self.looked_up(depth, NodeSide::New)?.ok_or_else(misdriven)?;
        let compared = self.looked_up(depth, NodeSide::Compared)?;
        self.records.node(&NodeRecord {
            path: node.path(),
            action: NodeAction::Change,
            node: &node,
            compared: compared.as_ref(),
            copyfrom: None,
        })
    }

    fn close_directory(&mut self, dir: DirToken) -> Result<()> {
        let closed = self.open.pop().filter(|_| self.open.len() == dir.0 as usize);
        for path in closed.ok_or_else(misdriven)?.deleted {
            self.records.delete(&path, false)?;
        }
        Ok(())
    }

    fn add_file(
        &mut self,
        path: &RelPath,
        parent: DirToken,
        copyfrom: Option<CopyFrom<'_>>,
    ) -> Result<FileToken> {
        self.added(path, parent, copyfrom)?;
        Ok(FileToken(0))
    }

    fn open_file(&mut self, path: &RelPath, parent: DirToken, _base: Option<Revnum>) -> Result<FileToken> {
        let node = self.entry(parent, path, NodeSide::New)?.ok_or_else(misdriven)?;
        let compared = self.entry(parent, path, NodeSide::Compared)?;
        self.records.node(&NodeRecord {
            path: &FsPath::root().join(path),
            action: NodeAction::Change,
            node: &node,
            compared: compared.as_ref(),
            copyfrom: None,
        })?;
        Ok(FileToken(0))
    }

    fn close_edit(&mut self) -> Result<()> {
        Ok(())
    }
}

/// The replay calls in order; a violation is an error, not a panic.
fn misdriven() -> Error {
    Error::new(Code::INCORRECT_PARAMS, "Editor was driven out of order")
}
