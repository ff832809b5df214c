//! Sends a copy as plain additions, where its source must not or cannot be named.
//!
//! The subtree is enumerated as it was in the copy's source, in Subversion's order; contents are those of the new
//! tree. Changes that the revision made below the copy are thereby sent too, and marked as consumed: a deleted entry
//! is left out, a replaced one is enumerated at the source of its replacement. Additions are not in the source; the
//! walk over the changed paths visits them later.

use base::{FsPath, NodeKind, Result};
use delta::editor::DirToken;
use fsfs::{ChangeKind, ChangedPath, DirEntries, DirEntry, Node, Root};

use crate::replay::{Detail, OpenNode, Replay, hash_order, rel};

/// A directory being enumerated.
struct OpenDir {
    token: DirToken,
    /// The tree that has the directory of the source.
    source: Root,
    entries: DirEntries,
    order: std::vec::IntoIter<u32>,
}

impl Replay<'_> {
    /// Sends the copy of `change`, and everything below it.
    pub(super) fn flatten(&mut self, change: &ChangedPath, parent: DirToken) -> Result<()> {
        let path = &change.path;
        let node = self.root.node(path)?;
        if node.kind() != NodeKind::Dir {
            let token = self.editor.add_file(&rel(path), parent, None)?;
            match self.detail {
                Detail::Deltas => self.prop_changes(OpenNode::File(token), None, &node)?,
                Detail::Marks => self.editor.change_file_prop(token, "", None)?,
                Detail::MarksAlone => return self.editor.close_file(token, None),
            }
            self.text(token, None, &node, self.detail == Detail::Deltas)?;
            return self.editor.close_file(token, Some(&node.md5()?));
        }
        let token = self.editor.add_directory(&rel(path), parent, None)?;
        self.enter(change, token)?;
        let source = match &change.copyfrom {
            Some((rev, source)) => self.root.fs().root(*rev)?.node(source)?,
            None => node.clone(),
        };
        self.subtree(token, path, source, &node)?;
        match self.detail {
            Detail::Deltas => self.prop_changes(OpenNode::Dir(token), None, &node),
            Detail::Marks => self.editor.change_dir_prop(token, "", None),
            Detail::MarksAlone => Ok(()),
        }
    }

    fn subtree(&mut self, token: DirToken, path: &FsPath, source: Node, node: &Node) -> Result<()> {
        let mut open = vec![self.level(token, &source, node)?];
        // The path of the innermost open directory. The paths of all of them would take memory that grows with the square of
        // the depth.
        let mut dir = path.clone();
        while let Some(mut level) = open.pop() {
            let mut deeper = None;
            while deeper.is_none()
                && let Some(entry) = level.order.next().and_then(|at| level.entries.get(at as usize))
            {
                let path = dir.join_str(entry.name);
                deeper = self.entry(&level, entry, &path)?.map(|deeper| (deeper, path));
            }
            match deeper {
                Some((deeper, path)) => {
                    open.extend([level, deeper]);
                    dir = path;
                }
                // The copy itself stays open: its additions follow.
                None if open.is_empty() => {}
                None => {
                    self.editor.close_directory(level.token)?;
                    dir = dir.parent().unwrap_or(dir);
                }
            }
        }
        Ok(())
    }

    /// Sends the properties of an added directory and prepares to enumerate it.
    fn level(&mut self, token: DirToken, source: &Node, node: &Node) -> Result<OpenDir> {
        if self.detail != Detail::MarksAlone && node.has_props() {
            self.prop_changes(OpenNode::Dir(token), None, node)?;
        }
        let entries = match source.kind() {
            NodeKind::Dir => source.entries()?,
            _ => DirEntries::default(),
        };
        let order = hash_order(entries.iter().map(|entry| entry.name.as_bytes()));
        Ok(OpenDir {
            token,
            source: source.root().clone(),
            entries,
            order: order.into_iter(),
        })
    }

    fn entry(&mut self, level: &OpenDir, entry: DirEntry<'_>, path: &FsPath) -> Result<Option<OpenDir>> {
        if !self.everything && !self.readable.read(path) {
            return Ok(None);
        }
        let change = self.changes.binary_search_by(|change| change.path.cmp(path)).ok();
        if let Some(at) = change {
            self.consumed.insert(at);
        }
        let change = change.map(|at| &self.changes[at]);
        // A change that the base path filtered out may have deleted it, too.
        let Some(node) = self.root.try_node(path)? else {
            return Ok(None);
        };
        if node.kind() != NodeKind::Dir {
            self.whole_file(path, level.token, &node)?;
            return Ok(None);
        }
        let source = match change {
            Some(ChangedPath {
                change: ChangeKind::Replace | ChangeKind::Add,
                copyfrom,
                ..
            }) => match copyfrom {
                Some((rev, path)) => self.root.fs().root(*rev)?.node(path)?,
                None => node.clone(),
            },
            // Only its entries are needed, not its path.
            Some(_) | None => level.source.entry_node(entry, FsPath::root())?,
        };
        let token = self.editor.add_directory(&rel(path), level.token, None)?;
        self.level(token, &source, &node).map(Some)
    }

    fn whole_file(&mut self, path: &FsPath, parent: DirToken, node: &Node) -> Result<()> {
        let token = self.editor.add_file(&rel(path), parent, None)?;
        if self.detail == Detail::MarksAlone {
            return self.editor.close_file(token, None);
        }
        if node.has_props() {
            self.prop_changes(OpenNode::File(token), None, node)?;
        }
        self.text(token, None, node, true)?;
        self.editor.close_file(token, Some(&node.md5()?))
    }
}
