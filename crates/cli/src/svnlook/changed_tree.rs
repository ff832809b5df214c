//! The paths that a revision or a transaction touched, as a tree.
//!
//! `changed`, `dirs-changed` and `diff` walk it. It is made from the marks of a replay: directories that were only passed
//! through are in it, a replaced entry is there twice (deleted, then added). A mark on properties does not mean that any value
//! changed; a caller that needs to know compares.

use base::checksum::Md5;
use base::{FsPath, NodeKind, RelPath, Result, Revnum};
use delta::editor::{CopyFrom, DirToken, Editor, FileToken};
use fsfs::{Node, Root};
use repos::access::Everything;
use repos::replay::{self, ReplayOptions};

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
    /// The copy that it is in, which may be itself: an index into the tree.
    copy: Option<usize>,
    /// The length of its path, in bytes.
    end: usize,
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
}

/// A tree in which entries were before.
struct Source {
    root: Root,
    /// What became the directory at the first `end` bytes of the paths.
    path: FsPath,
    end: usize,
}

/// An entry that is visited.
pub struct Visited<'a> {
    /// Its index in the tree.
    pub at: usize,
    /// The entry.
    pub entry: &'a Touched,
    /// Its path without the leading slash.
    pub path: &'a str,
    source: &'a Source,
}

impl Visited<'_> {
    /// Its path.
    pub fn fs_path(&self) -> FsPath {
        FsPath::root().join_str(self.path)
    }

    /// Where it was before: in its copy's source if it is one or is in one.
    pub fn before(&self) -> Before {
        Before {
            root: self.source.root.clone(),
            path: self.source.path.join_str(below(self.path, self.source.end)),
        }
    }
}

/// What of a path is below the directory at its first `end` bytes.
fn below(path: &str, end: usize) -> &str {
    let rest = &path[end..];
    rest.strip_prefix('/').unwrap_or(rest)
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
            source: None,
        };
        let options = ReplayOptions {
            send_deltas: false,
            ..ReplayOptions::default()
        };
        replay::replay_root(root, &options, &Everything, &mut builder)?;
        let mut tree = ChangedTree {
            entries: builder.entries,
            base: builder.tree,
        };
        tree.settle_props(root)?;
        Ok(Some(tree))
    }

    /// The entry at an index.
    pub fn entry(&self, at: usize) -> &Touched {
        &self.entries[at]
    }

    /// Calls `visit` for each entry, parents and earlier siblings first. What is below a deleted entry is not visited.
    ///
    /// # Errors
    /// Those of `visit`; as the engine's.
    pub fn visit(&self, visit: &mut dyn FnMut(Visited<'_>) -> Result<()>) -> Result<()> {
        // The path of the entry that is visited, and the trees in which it and those around it were before. What waits holds no
        // path: the paths of N directories in each other have N * N bytes.
        let mut path = String::new();
        let mut sources = vec![Source {
            root: self.base.clone(),
            path: FsPath::root(),
            end: 0,
        }];
        let mut waiting = vec![(0, 0, 1)];
        while let Some((at, parent_end, sources_above)) = waiting.pop() {
            let entry = &self.entries[at];
            path.truncate(parent_end);
            sources.truncate(sources_above);
            if parent_end > 0 {
                path.push('/');
            }
            path.push_str(&entry.name);
            if let Some((rev, from)) = &entry.copyfrom {
                sources.push(Source {
                    root: self.base.fs().root(*rev)?,
                    path: from.clone(),
                    end: path.len(),
                });
            }
            visit(Visited {
                at,
                entry,
                path: &path,
                source: sources.last().expect("because the first one stays"),
            })?;
            if entry.action != Action::Deleted {
                let children = entry.children.iter().rev();
                waiting.extend(children.map(|child| (*child, path.len(), sources.len())));
            }
        }
        Ok(())
    }

    /// Turns marks on properties into facts.
    fn settle_props(&mut self, root: &Root) -> Result<()> {
        let mut unchanged = Vec::new();
        self.visit(&mut |visited| {
            let entry = visited.entry;
            if entry.prop_mod && entry.action != Action::Deleted {
                let fresh = entry.action == Action::Added && entry.copyfrom.is_none();
                let old = match fresh {
                    true => None,
                    false => visited.before().node()?,
                };
                let new = root.node(&visited.fs_path())?.props()?;
                let is_changed = match old {
                    Some(old) => old.props()? != new,
                    None => !new.is_empty(),
                };
                if !is_changed {
                    unchanged.push(visited.at);
                }
            }
            Ok(())
        })?;
        for at in unchanged {
            self.entries[at].prop_mod = false;
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
            copy: None,
            end: 0,
        }
    }
}

struct Builder {
    entries: Vec<Touched>,
    /// The tree before, to see what a deleted entry was.
    tree: Root,
    /// The source of the copy in which something was deleted last.
    source: Option<(usize, Root)>,
}

impl Builder {
    fn enter(&mut self, path: &RelPath, parent: DirToken, mut entry: Touched) -> u32 {
        let at = self.entries.len();
        let parent = &mut self.entries[parent.0 as usize];
        parent.children.push(at);
        entry.copy = match entry.copyfrom {
            Some(_) => Some(at),
            None => parent.copy,
        };
        entry.end = path.len();
        self.entries.push(entry);
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
        Ok(self.enter(path, parent, entry))
    }

    /// What was at `path` in the directory `parent`: in the copy's source if that is in one.
    fn kind_before(&mut self, path: &RelPath, parent: DirToken) -> Result<NodeKind> {
        let copy = self.entries[parent.0 as usize].copy;
        let from = copy.and_then(|at| Some((at, self.entries[at].copyfrom.as_ref()?)));
        let Some((at, (rev, from))) = from else {
            return self.tree.kind(&FsPath::root().join(path));
        };
        let before = from.join_str(below(path.as_str(), self.entries[at].end));
        match &self.source {
            Some((of, root)) if *of == at => root.kind(&before),
            _ => {
                let root = self.tree.fs().root(*rev)?;
                let kind = root.kind(&before);
                self.source = Some((at, root));
                kind
            }
        }
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
        let kind = self.kind_before(path, parent)?;
        self.enter(path, parent, Touched::new(path.basename(), kind, Action::Deleted));
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
        Ok(DirToken(self.enter(path, parent, entry)))
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
        Ok(FileToken(self.enter(path, parent, entry)))
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
