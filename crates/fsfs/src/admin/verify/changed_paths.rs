//! Checking the changed-path list of a revision against the trees before and after it.
//!
//! An added path must not exist before; a changed or deleted path must; the source of a copy must exist in an older revision.
//! "Before" is not always the previous revision: below a directory that the revision has copied it is the source of the copy, and
//! below one that it has added there was nothing.

use std::cell::RefCell;

use base::{Code, Error, FsPath, NodeKind, Result, ResultExt as _, Revnum};

use crate::format::changes::{ChangeKind, ChangedPath};
use crate::tree::Fs;
use crate::tree::root::Root;

/// The check of one changed-path list.
pub(super) struct ChangedPathsCheck<'a> {
    fs: &'a Fs,
    root: &'a Root,
    before: Root,
    changes: &'a [ChangedPath],
    /// For each change, the nearest change above it that adds or replaces: below that, "before" is another tree.
    added_above: Vec<Option<usize>>,
    /// The change whose copy source was used last, and the root of that source.
    source: RefCell<Option<(usize, Root)>>,
}

impl<'a> ChangedPathsCheck<'a> {
    /// Checks the changes of a tree whose predecessor is revision `before`.
    ///
    /// # Errors
    /// `FS_CORRUPT`, `FS_NOT_FOUND`, `FS_ALREADY_EXISTS`; those of reading.
    pub(super) fn check(
        fs: &'a Fs,
        root: &'a Root,
        before: Revnum,
        changes: &'a [ChangedPath],
    ) -> Result<()> {
        let changed_paths = ChangedPathsCheck {
            fs,
            root,
            before: fs.root(before)?,
            changes,
            added_above: added_above(changes),
            source: RefCell::default(),
        };
        (0..changes.len()).try_for_each(|at| changed_paths.change(at))
    }

    fn change(&self, at: usize) -> Result<()> {
        let change = &self.changes[at];
        let path = &change.path;
        if path.as_str().contains('\n') {
            return Err(Error::new(
                Code::FS_PATH_SYNTAX,
                format!("Invalid control character in '{path}'"),
            ));
        }
        // The error names the step in the words of the incumbent, which scripts read.
        let step = match change.change {
            ChangeKind::Add => return self.added(at),
            ChangeKind::Delete => "Deleting invalid path",
            ChangeKind::Modify => "Change invalid path",
            ChangeKind::Replace => "Replacing non-existent path",
        };
        let before = self.before.base_revision();
        let was = self.kind_before(at).and_then(|was| match was {
            NodeKind::None => Err(Error::new(
                Code::FS_NOT_FOUND,
                format!("Path '{}' not found in r{before}.", path.rel_str()),
            )),
            _ => Ok(()),
        });
        was.context(|| format!("{step} '{}' in r{}", path.rel_str(), before.next()))?;
        match change.change {
            ChangeKind::Delete => self.deleted(path),
            _ => self.after(change),
        }
    }

    fn added(&self, at: usize) -> Result<()> {
        let change = &self.changes[at];
        let path = &change.path;
        match self.kind_before(at)? {
            NodeKind::None => self.after(change),
            _ => {
                let (path, before) = (path.rel_str(), self.before.base_revision());
                let found = format!("Path '{path}' exists in r{before}.");
                let step = format!("Adding already existing path '{path}' in r{}", before.next());
                Err(Error::new(Code::FS_ALREADY_EXISTS, found).context(step))
            }
        }
    }

    /// Checks that the node does not exist any more and that its parent does: the deletion of the parent would have replaced this
    /// entry.
    fn deleted(&self, path: &FsPath) -> Result<()> {
        if self.root.kind(path)? != NodeKind::None {
            let message = format!("Path '{path}' is deleted but still exists");
            return Err(Error::new(Code::FS_CORRUPT, message));
        }
        match path.parent() {
            Some(parent) => self.root.node(&parent).map(drop),
            None => Err(Error::new(Code::FS_CORRUPT, "The root directory is deleted")),
        }
    }

    fn after(&self, change: &ChangedPath) -> Result<()> {
        let path = &change.path;
        let recorded = change.node_kind;
        if recorded == NodeKind::Unknown && self.root.kind(path)? == NodeKind::None {
            let message = format!(
                "Filesystem path '{}' is neither a file nor a directory",
                path.rel_str()
            );
            return Err(Error::new(Code::FS_NOT_FOUND, message));
        }
        // The error for a missing node is the one of the tree.
        let node = self.root.node(path)?;
        if recorded == NodeKind::Dir && node.kind() == NodeKind::File {
            let message = "Can't get entries of non-directory";
            return Err(Error::new(Code::FS_NOT_DIRECTORY, message));
        }
        if recorded != NodeKind::Unknown && recorded != node.kind() {
            let message = format!("Path '{path}' is recorded as a {}", recorded.word());
            return Err(Error::new(Code::FS_CORRUPT, message));
        }
        if let Some((rev, source)) = &change.copyfrom {
            if *rev > self.before.base_revision() {
                let message = format!("Path '{path}' is a copy from r{rev}, which is not older");
                return Err(Error::new(Code::FS_CORRUPT, message));
            }
            self.source(*rev, source, node.kind()).context(|| {
                let rev = self.before.base_revision().next();
                format!("Copying from invalid path to '{}' in r{rev}", path.rel_str())
            })?;
        }
        Ok(())
    }

    /// Checks the source of a copy, which must have the kind of the copy.
    fn source(&self, rev: Revnum, path: &FsPath, expected: NodeKind) -> Result<()> {
        let kind = self.fs.root(rev)?.kind(path)?;
        let path = path.rel_str();
        if kind == NodeKind::None {
            let message = format!("Path '{path}' not found in r{rev}.");
            return Err(Error::new(Code::FS_NOT_FOUND, message));
        }
        if kind == expected {
            return Ok(());
        }
        let number = |kind| match kind {
            NodeKind::None => 0,
            NodeKind::File => 1,
            NodeKind::Dir => 2,
            _ => 3,
        };
        let (found, wanted) = (number(kind), number(expected));
        Err(Error::new(
            Code::NODE_UNEXPECTED_KIND,
            format!("Unexpected node kind {found} for '{path}' at r{rev}. Expected kind was {wanted}."),
        ))
    }

    /// Returns the kind of the node that was at the path of a change before it.
    fn kind_before(&self, at: usize) -> Result<NodeKind> {
        let path = &self.changes[at].path;
        let Some(above) = self.added_above[at] else {
            return self.before.kind(path);
        };
        let added = &self.changes[above];
        let Some((rev, source)) = &added.copyfrom else {
            return Ok(NodeKind::None);
        };
        let source = source.join_str(path.rel_str_below(&added.path).unwrap_or_default());
        let mut last = self.source.borrow_mut();
        match &*last {
            Some((of, root)) if *of == above => root.kind(&source),
            _ => {
                let (_, root) = last.insert((above, self.fs.root(*rev)?));
                root.kind(&source)
            }
        }
    }
}

fn added_above(changes: &[ChangedPath]) -> Vec<Option<usize>> {
    let is_addition = |change: &ChangedPath| matches!(change.change, ChangeKind::Add | ChangeKind::Replace);
    let mut above = vec![None; changes.len()];
    if !changes.iter().any(is_addition) {
        return above;
    }
    // Each path follows the paths above it.
    let mut order: Vec<usize> = (0..changes.len()).collect();
    order.sort_by(|a, b| changes[*a].path.cmp_tree(&changes[*b].path));
    let mut open: Vec<usize> = Vec::new();
    for at in order {
        let path = &changes[at].path;
        while open.pop_if(|top| !changes[*top].path.contains(path)).is_some() {}
        above[at] = open.last().copied();
        if is_addition(&changes[at]) {
            open.push(at);
        }
    }
    above
}
