//! The paths that a revision or a transaction changed, as a tree.
//!
//! `changed`, `dirs-changed` and `diff` walk it. It is made by a replay. It includes directories that the replay only
//! opened, and a replaced entry is in it twice: deleted, then added. A replay reports a property change even if the
//! values are equal, so values are compared afterwards.

use base::checksum::Md5;
use base::{FsPath, NodeKind, RelPath, Result, Revnum};
use delta::editor::{CopyFrom, DirToken, Editor, FileToken};
use fsfs::{Node, Root};
use repos::access::Everything;
use repos::replay::{self, ReplayOptions};

/// The change of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryChange {
    /// It exists before and after, and may have changed.
    Opened,
    /// It is new or a copy.
    Added,
    /// It was deleted.
    Deleted,
}

/// A changed entry.
#[derive(Clone, Debug)]
pub struct ChangedEntry {
    /// The name; empty for the root.
    pub name: String,
    /// The kind; of a deleted entry, the kind before.
    pub kind: NodeKind,
    /// What happened to it.
    pub action: EntryChange,
    /// True if the text was set.
    pub text_mod: bool,
    /// True if the value of a property changed.
    pub prop_mod: bool,
    /// The source of the copy.
    pub copyfrom: Option<(Revnum, FsPath)>,
    /// The changed entries in it, as indices into the tree.
    pub children: Vec<usize>,
    /// The innermost copy that contains it, or itself if it is one: an index into the tree.
    copy: Option<usize>,
    /// The length of the path in bytes.
    end: usize,
}

/// The tree; its root is entry 0.
pub struct ChangedTree {
    entries: Vec<ChangedEntry>,
    base: Root,
}

/// The location of an entry in the tree before the change.
#[derive(Clone)]
pub struct PreviousNode {
    /// The tree of the previous revision, or of the copy's source.
    pub root: Root,
    /// The path in that tree.
    pub path: FsPath,
}

impl PreviousNode {
    /// Returns the node, or `None` if there was none.
    ///
    /// # Errors
    /// Errors of reading it.
    pub fn node(&self) -> Result<Option<Node>> {
        self.root.try_node(&self.path)
    }
}

/// A tree before the change, for a part of the changed tree.
struct PreviousTree {
    root: Root,
    /// The path in `root` of the directory that is at the first `end` bytes of the changed paths.
    path: FsPath,
    end: usize,
}

/// An entry during [`ChangedTree::visit`].
pub struct VisitedEntry<'a> {
    /// The index in the tree.
    pub at: usize,
    /// The entry.
    pub entry: &'a ChangedEntry,
    /// The path without the leading slash.
    pub path: &'a str,
    source: &'a PreviousTree,
}

impl VisitedEntry<'_> {
    /// Returns the path.
    pub fn fs_path(&self) -> FsPath {
        FsPath::root().join_str(self.path)
    }

    /// Returns the location before the change. For a copy and its contents this is in the copy's source.
    pub fn before(&self) -> PreviousNode {
        PreviousNode {
            root: self.source.root.clone(),
            path: self.source.path.join_str(below(self.path, self.source.end)),
        }
    }
}

/// Returns the part of a path below the directory at its first `end` bytes.
fn below(path: &str, end: usize) -> &str {
    let rest = &path[end..];
    rest.strip_prefix('/').unwrap_or(rest)
}

impl ChangedTree {
    /// Returns the changes of `root`, or `None` for revision 0, which has no predecessor.
    ///
    /// # Errors
    /// Errors of the replay.
    pub fn of(root: &Root) -> Result<Option<ChangedTree>> {
        let base = match root.revision() {
            Some(rev) => match rev.prev() {
                Some(prev) => prev,
                None => return Ok(None),
            },
            None => root.base_revision(),
        };
        let mut builder = ChangedTreeBuilder {
            entries: vec![ChangedEntry::new("", NodeKind::Dir, EntryChange::Opened)],
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
        tree.compare_props(root)?;
        Ok(Some(tree))
    }

    /// Returns the entry at an index.
    pub fn entry(&self, at: usize) -> &ChangedEntry {
        &self.entries[at]
    }

    /// Calls `visit` for each entry, parents and earlier siblings first. Entries below a deleted entry are not
    /// visited.
    ///
    /// # Errors
    /// Errors of `visit`, and of opening a copy's source.
    pub fn visit(&self, visit: &mut dyn FnMut(VisitedEntry<'_>) -> Result<()>) -> Result<()> {
        // One path buffer and one stack of previous trees for the entry at hand and its parents. The entries in
        // `waiting` hold no paths, because the paths of N nested directories have N * N bytes.
        let mut path = String::new();
        let mut sources = vec![PreviousTree {
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
                sources.push(PreviousTree {
                    root: self.base.fs().root(*rev)?,
                    path: from.clone(),
                    end: path.len(),
                });
            }
            visit(VisitedEntry {
                at,
                entry,
                path: &path,
                source: sources.last().expect("because the first one stays"),
            })?;
            if entry.action != EntryChange::Deleted {
                let children = entry.children.iter().rev();
                waiting.extend(children.map(|child| (*child, path.len(), sources.len())));
            }
        }
        Ok(())
    }

    /// Compares the properties of entries, and clears `prop_mod` where they are equal.
    fn compare_props(&mut self, root: &Root) -> Result<()> {
        let mut unchanged = Vec::new();
        self.visit(&mut |visited| {
            let entry = visited.entry;
            if entry.prop_mod && entry.action != EntryChange::Deleted {
                let fresh = entry.action == EntryChange::Added && entry.copyfrom.is_none();
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

impl ChangedEntry {
    fn new(name: &str, kind: NodeKind, action: EntryChange) -> Self {
        ChangedEntry {
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

struct ChangedTreeBuilder {
    entries: Vec<ChangedEntry>,
    /// The tree before the change, for the kinds of deleted entries.
    tree: Root,
    /// The source of the copy in which the last deletion was, with the copy's index.
    source: Option<(usize, Root)>,
}

impl ChangedTreeBuilder {
    fn push(&mut self, path: &RelPath, parent: DirToken, mut entry: ChangedEntry) -> u32 {
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
        let mut entry = ChangedEntry::new(path.basename(), kind, EntryChange::Added);
        if let Some(from) = from {
            entry.copyfrom = Some((from.rev, FsPath::canonicalize(from.path)?));
        }
        Ok(self.push(path, parent, entry))
    }

    /// Returns the kind that `path` in the directory `parent` had before the change. In a copy this is the kind in
    /// its source.
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

impl Editor for ChangedTreeBuilder {
    fn set_target_revision(&mut self, _: Revnum) -> Result<()> {
        Ok(())
    }

    fn open_root(&mut self, _: Option<Revnum>) -> Result<DirToken> {
        Ok(DirToken(0))
    }

    fn delete_entry(&mut self, path: &RelPath, _: Option<Revnum>, parent: DirToken) -> Result<()> {
        let kind = self.kind_before(path, parent)?;
        self.push(
            path,
            parent,
            ChangedEntry::new(path.basename(), kind, EntryChange::Deleted),
        );
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
        let entry = ChangedEntry::new(path.basename(), NodeKind::Dir, EntryChange::Opened);
        Ok(DirToken(self.push(path, parent, entry)))
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
        let entry = ChangedEntry::new(path.basename(), NodeKind::File, EntryChange::Opened);
        Ok(FileToken(self.push(path, parent, entry)))
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
