//! Replays one revision: drives an editor with its changes, from its list of changed paths alone.
//!
//! `svnsync` and `svnrdump` read revisions so, and a dump is written so. Paths are visited children directly after
//! their parent; directories on the way are opened and closed. A copy is sent as a copy if the receiver may know its
//! source ([`ReplayOptions`], [`Readable`]); otherwise [`flatten`] sends it as plain additions of the whole subtree,
//! together with the changes listed below it.

mod flatten;

use std::collections::HashSet;

use base::{FsPath, NodeKind, RelPath, Result, Revnum};
use delta::editor::{CopyFrom, DirToken, Editor, FileToken};
use fsfs::{ChangeKind, ChangedPath, Node, Root};

use crate::access::{Readable, Subtree};
use crate::repo::Repository;

pub(crate) use base::hash_order::hash_order;

/// What the receiver may get.
#[derive(Clone, Debug)]
pub struct ReplayOptions {
    /// Send only changes at this path, below it and above it. Copies from elsewhere are sent as additions.
    pub base_path: FsPath,
    /// The oldest revision that the receiver has: copies from older ones are sent as additions.
    pub low_water_mark: Option<Revnum>,
    /// False sends only the fact of a change: a property without name and value, a text without windows. Additions
    /// below a copy that is sent as additions have their contents nevertheless.
    pub send_deltas: bool,
}

impl Default for ReplayOptions {
    fn default() -> Self {
        ReplayOptions {
            base_path: FsPath::root(),
            low_water_mark: None,
            send_deltas: true,
        }
    }
}

/// Replays a revision of a repository; see [`replay_root`].
///
/// # Errors
/// `FS_NO_SUCH_REVISION`, and as of `replay_root`.
pub fn replay(
    repo: &Repository,
    rev: Revnum,
    options: &ReplayOptions,
    readable: &dyn Readable,
    editor: &mut dyn Editor,
) -> Result<()> {
    replay_root(&repo.fs().root(rev)?, options, readable, editor)
}

/// Drives `editor` through the changes of a revision or of a transaction. Paths are relative to the root of the
/// repository, whatever the base path is. The root is closed at the end; the caller closes the edit. If no change may
/// be seen, only the target revision is sent.
///
/// # Errors
/// Those of the storage and of the editor; the edit is left open then.
pub fn replay_root(
    root: &Root,
    options: &ReplayOptions,
    readable: &dyn Readable,
    editor: &mut dyn Editor,
) -> Result<()> {
    let detail = match options.send_deltas {
        true => Detail::Deltas,
        false => Detail::Marks,
    };
    drive(root, options, detail, readable, editor)
}

/// How much of properties and texts is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Detail {
    /// Everything.
    Deltas,
    /// The fact of a change; contents only below a copy that is sent as additions.
    Marks,
    /// The fact of a change, never contents or digests: for a consumer that looks nodes up itself.
    MarksAlone,
}

/// [`replay_root`] with a choice of detail.
pub(crate) fn drive(
    root: &Root,
    options: &ReplayOptions,
    detail: Detail,
    readable: &dyn Readable,
    editor: &mut dyn Editor,
) -> Result<()> {
    editor.set_target_revision(root.base_revision())?;
    let changes = root.changed_paths()?;
    let everything = readable.subtree(&FsPath::root()) == Subtree::All;
    let base = &options.base_path;
    let mut visible: Vec<usize> = (0..changes.len())
        .filter(|at| {
            let path = &changes[*at].path;
            (base.contains(path) || path.contains(base)) && (everything || readable.read(path))
        })
        .collect();
    if visible.is_empty() {
        return Ok(());
    }
    visible.sort_by(|a, b| changes[*a].path.cmp_tree(&changes[*b].path));
    let token = editor.open_root(None)?;
    let mut replay = Replay {
        root,
        previous: None,
        options,
        detail,
        readable,
        everything,
        editor,
        changes: &changes,
        consumed: HashSet::new(),
        open: vec![OpenDir { depth: 0, token }],
        innermost: FsPath::root(),
        copies: Vec::new(),
    };
    for at in visible {
        replay.visit(at)?;
    }
    replay.close_all()
}

struct Replay<'a> {
    root: &'a Root,
    /// The tree before; `None` until it is needed.
    previous: Option<Root>,
    options: &'a ReplayOptions,
    detail: Detail,
    readable: &'a dyn Readable,
    /// True if everything may be read, so that `readable` is not asked.
    everything: bool,
    editor: &'a mut dyn Editor,
    /// Sorted by path bytes.
    changes: &'a [ChangedPath],
    /// Changes that were sent as part of an expanded copy.
    consumed: HashSet<usize>,
    /// Never empty before the end: the root is the first.
    open: Vec<OpenDir>,
    /// The path of the last of `open`.
    innermost: FsPath,
    copies: Vec<AddedDir>,
}

/// An open directory. It holds no path: the paths of all open directories of a deep tree would take memory that grows with the
/// square of its depth.
struct OpenDir {
    /// The length of its path without the leading slash, in bytes.
    depth: usize,
    token: DirToken,
}

/// A directory that the revision added. Before, what is below it was at `source`, or nowhere.
struct AddedDir {
    path: FsPath,
    source: Option<(Root, FsPath)>,
}

/// An open node of the edit.
#[derive(Clone, Copy)]
enum OpenNode {
    Dir(DirToken),
    File(FileToken),
}

impl Replay<'_> {
    fn visit(&mut self, at: usize) -> Result<()> {
        let change = &self.changes[at];
        let path = &change.path;
        while self.copies.last().is_some_and(|copy| !copy.path.contains(path)) {
            self.copies.pop();
        }
        let Some(parent) = path.parent() else {
            let token = self.open[0].token;
            return self.dir_props(token, change, None);
        };
        let parent = self.open_to(&parent)?;
        if self.consumed.contains(&at) {
            return Ok(());
        }
        match change.change {
            ChangeKind::Delete => self.delete(path, parent),
            ChangeKind::Add => self.add(change, parent),
            ChangeKind::Replace => {
                self.delete(path, parent)?;
                self.add(change, parent)
            }
            ChangeKind::Modify => self.modify(change, parent),
        }
    }

    /// Closes and opens directories until `dir` is the innermost open one.
    fn open_to(&mut self, dir: &FsPath) -> Result<DirToken> {
        let shared = shared_depth(self.innermost.rel_str(), dir.rel_str());
        while let Some(last) = self.open.pop_if(|last| last.depth > shared) {
            self.editor.close_directory(last.token)?;
        }
        let at = dir.to_rel();
        let Some(&OpenDir { depth, mut token }) = self.open.last() else {
            unreachable!("because the root contains every path");
        };
        let ends = memchr::memchr_iter(b'/', at.as_bytes()).chain([at.len()]);
        for end in ends.filter(|end| *end > depth) {
            let path = RelPath::parse(&at[..end]).expect("because a path cut before a slash is canonical");
            token = self.editor.open_directory(&path, token, None)?;
            self.open.push(OpenDir { depth: end, token });
        }
        self.innermost = dir.clone();
        Ok(token)
    }

    fn close_all(&mut self) -> Result<()> {
        while let Some(open) = self.open.pop() {
            self.editor.close_directory(open.token)?;
        }
        Ok(())
    }

    fn delete(&mut self, path: &FsPath, parent: DirToken) -> Result<()> {
        if !self.everything {
            let was = self.path_before(path);
            if was.is_some_and(|was| !self.readable.read(&was)) {
                return Ok(());
            }
        }
        self.editor.delete_entry(&path.to_rel(), None, parent)
    }

    fn modify(&mut self, change: &ChangedPath, parent: DirToken) -> Result<()> {
        let rel = change.path.to_rel();
        match self.kind(change)? {
            NodeKind::Dir => {
                let token = self.editor.open_directory(&rel, parent, None)?;
                self.push(&change.path, token);
                let before = self.before(change)?;
                self.dir_props(token, change, before.as_ref())
            }
            _ => {
                let token = self.editor.open_file(&rel, parent, None)?;
                let before = self.before(change)?;
                self.file(token, change, before.as_ref())
            }
        }
    }

    fn add(&mut self, change: &ChangedPath, parent: DirToken) -> Result<()> {
        let rel = change.path.to_rel();
        let hidden = change.copyfrom.as_ref().is_some_and(|from| !self.may_know(from));
        if hidden {
            return self.flatten(change, parent);
        }
        let from = change.copyfrom.as_ref().map(|(rev, path)| CopyFrom {
            path: path.as_str(),
            rev: *rev,
        });
        match self.kind(change)? {
            NodeKind::Dir => {
                let token = self.editor.add_directory(&rel, parent, from)?;
                self.enter(change, token)?;
                let before = self.before(change)?;
                self.dir_props(token, change, before.as_ref())
            }
            _ => {
                let token = self.editor.add_file(&rel, parent, from)?;
                let before = match (&change.copyfrom, self.detail) {
                    (Some((rev, path)), Detail::Deltas) => Some(self.root.fs().root(*rev)?.node(path)?),
                    (_, _) => None,
                };
                self.file(token, change, before.as_ref())
            }
        }
    }

    /// Records that a directory in the innermost one is open.
    fn push(&mut self, path: &FsPath, token: DirToken) {
        let depth = path.rel_str().len();
        self.open.push(OpenDir { depth, token });
        self.innermost = path.clone();
    }

    /// Records that an added directory is open, and the source of its contents.
    fn enter(&mut self, change: &ChangedPath, token: DirToken) -> Result<()> {
        let path = &change.path;
        self.push(path, token);
        let source = match &change.copyfrom {
            Some((rev, source)) => Some((self.root.fs().root(*rev)?, source.clone())),
            None => None,
        };
        self.copies.push(AddedDir {
            path: path.clone(),
            source,
        });
        Ok(())
    }

    /// True if the receiver may get a copy's source.
    fn may_know(&self, (rev, path): &(Revnum, FsPath)) -> bool {
        self.options.base_path.contains(path)
            && self.options.low_water_mark.is_none_or(|low| *rev >= low)
            && (self.everything || self.readable.read(path))
    }

    /// Returns the node before the change; looked up only if its contents will be compared.
    fn before(&mut self, change: &ChangedPath) -> Result<Option<Node>> {
        if self.detail != Detail::Deltas {
            return Ok(None);
        }
        let Some(path) = self.path_before(&change.path) else {
            return Ok(None);
        };
        if let Some(source) = self.copies.last().and_then(|copy| copy.source.as_ref()) {
            return source.0.node(&path).map(Some);
        }
        let root = match &self.previous {
            Some(root) => root,
            None => {
                let rev = match self.root.revision() {
                    Some(rev) => rev.prev().unwrap_or(Revnum::ZERO),
                    None => self.root.base_revision(),
                };
                self.previous.insert(self.root.fs().root(rev)?)
            }
        };
        root.node(&path).map(Some)
    }

    /// Returns where `path` was before the revision: in the source of the copy around it, or in the same place;
    /// `None` below an addition.
    fn path_before(&self, path: &FsPath) -> Option<FsPath> {
        let Some(copy) = self.copies.last() else {
            return Some(path.clone());
        };
        let (_, source) = copy.source.as_ref()?;
        Some(source.join_str(path.rel_str_below(&copy.path)?))
    }

    fn kind(&self, change: &ChangedPath) -> Result<NodeKind> {
        match change.node_kind {
            NodeKind::File | NodeKind::Dir => Ok(change.node_kind),
            _ => Ok(self.root.node(&change.path)?.kind()),
        }
    }

    fn dir_props(&mut self, token: DirToken, change: &ChangedPath, before: Option<&Node>) -> Result<()> {
        if !change.prop_mod {
            return Ok(());
        }
        if self.detail != Detail::Deltas {
            return self.editor.change_dir_prop(token, "", None);
        }
        let looked_up = match before {
            None if change.path.is_root() => self.before(change)?,
            _ => None,
        };
        let node = self.root.node(&change.path)?;
        self.prop_changes(OpenNode::Dir(token), before.or(looked_up.as_ref()), &node)
    }

    fn file(&mut self, token: FileToken, change: &ChangedPath, before: Option<&Node>) -> Result<()> {
        if self.detail == Detail::MarksAlone {
            return self.editor.close_file(token, None);
        }
        let node = self.root.node(&change.path)?;
        if change.prop_mod {
            match self.detail {
                Detail::Deltas => self.prop_changes(OpenNode::File(token), before, &node)?,
                Detail::Marks | Detail::MarksAlone => self.editor.change_file_prop(token, "", None)?,
            }
        }
        if change.text_mod {
            self.text(token, before, &node, self.detail == Detail::Deltas)?;
        }
        self.editor.close_file(token, Some(&node.md5()?))
    }

    fn prop_changes(&mut self, handle: OpenNode, before: Option<&Node>, node: &Node) -> Result<()> {
        let old = match before {
            Some(before) => Some(before.props()?),
            None => None,
        };
        let new = node.props()?;
        let had = |name: &str| old.as_ref().and_then(|old| old.get(name));
        for (name, value) in new.iter().filter(|(name, value)| had(name) != Some(value)) {
            self.prop(handle, name, Some(value))?;
        }
        for name in old.iter().flat_map(|old| old.keys()) {
            if !new.contains_key(name) {
                self.prop(handle, name, None)?;
            }
        }
        Ok(())
    }

    fn prop(&mut self, handle: OpenNode, name: &str, value: Option<&[u8]>) -> Result<()> {
        match handle {
            OpenNode::Dir(dir) => self.editor.change_dir_prop(dir, name, value),
            OpenNode::File(file) => self.editor.change_file_prop(file, name, value),
        }
    }

    /// Sends a text; without `windows` only the fact that it changed.
    fn text(&mut self, token: FileToken, before: Option<&Node>, node: &Node, windows: bool) -> Result<()> {
        if !windows {
            self.editor.apply_textdelta(token, None)?;
            return self.editor.text_end(token);
        }
        let base = match before {
            Some(before) => Some(before.md5()?),
            None => None,
        };
        self.editor.apply_textdelta(token, base.as_ref())?;
        let accepts = self.editor.accepts_encoded();
        let stream = self.root.fs().text_delta(before, node, accepts)?;
        let editor = &mut *self.editor;
        stream.drive(&mut |chunk| editor.text_chunk(token, chunk))?;
        self.editor.text_end(token)
    }
}

/// Returns the length of the longest path that is at or above both of two paths.
fn shared_depth(a: &str, b: &str) -> usize {
    let same = a.bytes().zip(b.bytes()).take_while(|(a, b)| a == b).count();
    let ends_at = |path: &str| path.len() == same || path.as_bytes()[same] == b'/';
    if ends_at(a) && ends_at(b) {
        return same;
    }
    memchr::memrchr(b'/', &a.as_bytes()[..same]).unwrap_or(0)
}

/// Converts a path of the repository to a path of the edit.
fn rel(path: &FsPath) -> RelPath {
    path.to_rel()
}
