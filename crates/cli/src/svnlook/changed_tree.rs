//! The paths that a revision or a transaction touched, as a tree.
//!
//! `changed`, `dirs-changed` and `diff` walk it. It is made from the marks of a replay: directories that were only passed
//! through are in it, a replaced entry is there twice (deleted, then added). A mark on properties does not mean that any value
//! changed; whoever cares compares.

use base::checksum::Md5;
use base::{FsPath, NodeKind, RelPath, Result, Revnum};
use delta::editor::{CopyFrom, DirToken, Editor, FileToken};
use fsfs::{Node, Root};
use repos::access::Everything;
use repos::replay::{self, Options};

/// What happened to an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// It stayed, perhaps changed inside.
    Opened,
    /// It is new, perhaps a copy.
    Added,
    /// It is gone.
    Deleted,
}

/// A touched entry.
#[derive(Clone, Debug)]
pub struct Touched {
    /// Its name; empty for the root.
    pub name: String,
    /// What it is, or was.
    pub kind: NodeKind,
    /// What happened to it.
    pub action: Action,
    /// Its text was set.
    pub text_mod: bool,
    /// A property has another value than before.
    pub prop_mod: bool,
    /// Where it was copied from.
    pub copyfrom: Option<(Revnum, FsPath)>,
    /// Touched entries in it, as indices into the tree.
    pub children: Vec<usize>,
}

/// The tree; its root is entry 0.
pub struct ChangedTree {
    entries: Vec<Touched>,
    base: Root,
}

/// Where an entry was before.
#[derive(Clone)]
pub struct Before {
    /// The tree before: of the previous revision, or of a copy's source.
    pub root: Root,
    /// The path in it.
    pub path: FsPath,
}

impl Before {
    /// The node, if there is one.
    ///
    /// # Errors
    /// As the engine's.
    pub fn node(&self) -> Result<Option<Node>> {
        self.root.try_node(&self.path)
    }

    /// Where an entry of this directory was before: in its copy's source if it is one.
    ///
    /// # Errors
    /// As the engine's.
    pub fn child(&self, entry: &Touched) -> Result<Before> {
        Ok(match &entry.copyfrom {
            Some((rev, path)) => Before {
                root: self.root.fs().root(*rev)?,
                path: path.clone(),
            },
            None => Before {
                root: self.root.clone(),
                path: self.path.join_str(&entry.name),
            },
        })
    }
}

impl ChangedTree {
    /// Finds what `root` touched. `None` for revision 0, which nothing comes before.
    ///
    /// # Errors
    /// As the engine's.
    pub fn of(root: &Root) -> Result<Option<ChangedTree>> {
        let base = match root.revision() {
            Some(rev) => match rev.prev() {
                Some(prev) => prev,
                None => return Ok(None),
            },
            None => root.base_revision(),
        };
        let mut builder = Builder {
            entries: vec![Touched::new("", NodeKind::Dir, Action::Opened)],
            tree: root.fs().root(base)?,
        };
        let options = Options {
            send_deltas: false,
            ..Options::default()
        };
        replay::replay_root(root, &options, &Everything, &mut builder)?;
        let mut tree = ChangedTree {
            entries: builder.entries,
            base: builder.tree,
        };
        tree.settle_props(root)?;
        Ok(Some(tree))
    }

    /// Where the root was before.
    pub fn base(&self) -> Before {
        Before {
            root: self.base.clone(),
            path: FsPath::root(),
        }
    }

    /// The entry at an index.
    pub fn entry(&self, at: usize) -> &Touched {
        &self.entries[at]
    }

    /// Turns marks on properties into facts.
    fn settle_props(&mut self, root: &Root) -> Result<()> {
        let mut open = vec![(0, FsPath::root(), self.base())];
        while let Some((at, path, before)) = open.pop() {
            let entry = &self.entries[at];
            for child in &entry.children {
                let child_entry = &self.entries[*child];
                if child_entry.action != Action::Deleted {
                    open.push((
                        *child,
                        path.join_str(&child_entry.name),
                        before.child(child_entry)?,
                    ));
                }
            }
            if entry.prop_mod {
                let fresh = entry.action == Action::Added && entry.copyfrom.is_none();
                let old = match fresh {
                    true => None,
                    false => before.node()?,
                };
                let new = root.node(&path)?.props()?;
                self.entries[at].prop_mod = match old {
                    Some(old) => old.props()? != new,
                    None => !new.is_empty(),
                };
            }
        }
        Ok(())
    }
}

impl Touched {
    fn new(name: &str, kind: NodeKind, action: Action) -> Self {
        Touched {
            name: name.to_owned(),
            kind,
            action,
            text_mod: false,
            prop_mod: false,
            copyfrom: None,
            children: Vec::new(),
        }
    }
}

struct Builder {
    entries: Vec<Touched>,
    /// The tree before, to see what a deleted entry was.
    tree: Root,
}

impl Builder {
    fn enter(&mut self, parent: DirToken, entry: Touched) -> u32 {
        let at = self.entries.len();
        self.entries.push(entry);
        self.entries[parent.0 as usize].children.push(at);
        u32::try_from(at).unwrap_or(u32::MAX)
    }

    fn added(
        &mut self,
        path: &RelPath,
        parent: DirToken,
        kind: NodeKind,
        from: Option<CopyFrom<'_>>,
    ) -> Result<u32> {
        let mut entry = Touched::new(path.basename(), kind, Action::Added);
        if let Some(from) = from {
            entry.copyfrom = Some((from.rev, FsPath::canonicalize(from.path)?));
        }
        Ok(self.enter(parent, entry))
    }

    /// What was at `path` below the entry `parent`, looking through copies around it.
    fn kind_before(&self, path: &RelPath) -> Result<NodeKind> {
        let mut before = Before {
            root: self.tree.clone(),
            path: FsPath::root(),
        };
        let mut at = 0;
        let mut names = path.components().peekable();
        while let Some(name) = names.next() {
            if names.peek().is_none() {
                before.path = before.path.join_str(name);
                break;
            }
            let last = self.entries[at]
                .children
                .iter()
                .rfind(|child| self.entries[**child].name == name);
            let Some(child) = last else {
                return Ok(NodeKind::None);
            };
            before = before.child(&self.entries[*child])?;
            at = *child;
        }
        before.root.kind(&before.path)
    }
}

impl Editor for Builder {
    fn set_target_revision(&mut self, _: Revnum) -> Result<()> {
        Ok(())
    }

    fn open_root(&mut self, _: Option<Revnum>) -> Result<DirToken> {
        Ok(DirToken(0))
    }

    fn delete_entry(&mut self, path: &RelPath, _: Option<Revnum>, parent: DirToken) -> Result<()> {
        let kind = self.kind_before(path)?;
        self.enter(parent, Touched::new(path.basename(), kind, Action::Deleted));
        Ok(())
    }

    fn add_directory(
        &mut self,
        path: &RelPath,
        parent: DirToken,
        copyfrom: Option<CopyFrom<'_>>,
    ) -> Result<DirToken> {
        self.added(path, parent, NodeKind::Dir, copyfrom).map(DirToken)
    }

    fn open_directory(&mut self, path: &RelPath, parent: DirToken, _: Option<Revnum>) -> Result<DirToken> {
        let entry = Touched::new(path.basename(), NodeKind::Dir, Action::Opened);
        Ok(DirToken(self.enter(parent, entry)))
    }

    fn change_dir_prop(&mut self, dir: DirToken, _: &str, _: Option<&[u8]>) -> Result<()> {
        self.entries[dir.0 as usize].prop_mod = true;
        Ok(())
    }

    fn add_file(
        &mut self,
        path: &RelPath,
        parent: DirToken,
        copyfrom: Option<CopyFrom<'_>>,
    ) -> Result<FileToken> {
        self.added(path, parent, NodeKind::File, copyfrom).map(FileToken)
    }

    fn open_file(&mut self, path: &RelPath, parent: DirToken, _: Option<Revnum>) -> Result<FileToken> {
        let entry = Touched::new(path.basename(), NodeKind::File, Action::Opened);
        Ok(FileToken(self.enter(parent, entry)))
    }

    fn apply_textdelta(&mut self, file: FileToken, _: Option<&Md5>) -> Result<()> {
        self.entries[file.0 as usize].text_mod = true;
        Ok(())
    }

    fn change_file_prop(&mut self, file: FileToken, _: &str, _: Option<&[u8]>) -> Result<()> {
        self.entries[file.0 as usize].prop_mod = true;
        Ok(())
    }

    fn close_edit(&mut self) -> Result<()> {
        Ok(())
    }
}
