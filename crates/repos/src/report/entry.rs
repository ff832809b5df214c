//! Compares one entry of a directory: unchanged, changed, deleted, new, or not readable.

use base::{Depth, FsPath, NodeKind, RelPath, Result, Revnum};
use delta::editor::{CopyFrom, DirToken, NodeFacts};
use fsfs::{Node, Relation};

use crate::access::Subtree;
use crate::get::created_rev;
use crate::history;
use crate::report::content::OpenNode;
use crate::report::drive::ReportWalk;
use crate::report::frame::{Frame, SourceNode};
use crate::report::prefetch::PrefetchedEntry;
use crate::report::reported_paths::Reported;

/// An entry to compare.
pub(super) struct Candidate<'c> {
    pub parent: DirToken,
    pub path: RelPath,
    pub old: Option<SourceNode>,
    pub new: Option<Node>,
    /// The directory of the target that has, or would have, the entry.
    pub new_dir: &'c FsPath,
    pub name: &'c str,
    pub reported: Option<&'c Reported>,
    pub held: Depth,
    pub requested: Depth,
    pub seen: Subtree,
    /// The revision of the copy that brought `new` to its path, if there is one and it is known.
    pub copied_in_rev: Option<Revnum>,
    /// The prefetched content of `new`.
    pub prefetched: Option<PrefetchedEntry>,
}

impl ReportWalk<'_> {
    /// Sends one entry. Returns the frame of a directory that the walk continues with.
    pub(super) fn entry(&mut self, entry: &Candidate<'_>) -> Result<Option<Frame>> {
        let mut related = false;
        if let (Some(old), Some(new)) = (&entry.old, &entry.new)
            && old.node.kind() == new.kind()
        {
            let relation = old.node.relation(new);
            if self.is_unchanged(&old.node, new, relation)?
                && !self.cursor.has_below(&entry.path)
                && (entry.requested <= entry.held || new.kind() == NodeKind::File)
                && self.is_current(entry.reported, new)?
            {
                return Ok(None);
            }
            related = relation != Relation::Unrelated || self.options.ignore_ancestry;
        }
        if let Some(old) = &entry.old
            && !related
        {
            let link = entry.reported.and_then(|r| r.link.as_ref());
            let target = match (&entry.new, link) {
                (Some(new), _) => new.path().clone(),
                (None, Some(link)) if self.options.switch_to.is_none() => link.clone(),
                (None, _) => entry.new_dir.join_str(entry.name),
            };
            self.delete(entry.parent, &entry.path, old.rev, &target, entry.new.is_some())?;
        }
        let Some(new) = &entry.new else {
            self.cursor.skip_below(&entry.path)?;
            return Ok(None);
        };
        if entry.seen != Subtree::All && !self.readable.read(new.path()) {
            match new.kind() {
                NodeKind::Dir => self.editor.absent_directory(&entry.path, entry.parent)?,
                _ => self.editor.absent_file(&entry.path, entry.parent)?,
            }
            self.cursor.skip_below(&entry.path)?;
            return Ok(None);
        }
        let old = entry.old.as_ref().filter(|_| related);
        match new.kind() {
            NodeKind::Dir => self.open_directory(entry, old, new).map(Some),
            _ => self.file(entry, old, new).map(|()| None),
        }
    }

    fn open_directory(
        &mut self,
        entry: &Candidate<'_>,
        old: Option<&SourceNode>,
        new: &Node,
    ) -> Result<Frame> {
        let copied_in_rev = self.send_facts(new, entry.copied_in_rev)?;
        let token = match old {
            Some(old) => self
                .editor
                .open_directory(&entry.path, entry.parent, Some(old.rev))?,
            None => self.editor.add_directory(&entry.path, entry.parent, None)?,
        };
        let start_empty = entry.reported.is_some_and(|r| r.start_empty);
        let compared = old.filter(|_| !start_empty).map(|old| &old.node);
        // Directories have no locks: a reported token is ignored.
        self.content.props(
            self.editor,
            OpenNode::Dir(token),
            compared,
            new,
            false,
            entry.prefetched.as_ref(),
        )?;
        let seen = match entry.seen {
            Subtree::All => Subtree::All,
            Subtree::Mixed | Subtree::None => self.readable.subtree(new.path()),
        };
        let limits = (entry.held, entry.requested);
        let mut frame = Frame::new(
            token,
            entry.path.clone(),
            old.cloned(),
            new.clone(),
            start_empty,
            limits,
            seen,
        )?;
        frame.copied_in_rev = copied_in_rev;
        Ok(frame)
    }

    /// Sends the path of `node` and its oldest revision there to the editor, if it wants them. Returns the revision
    /// of the copy that brought it to its path unchanged, if there is one.
    pub(super) fn send_facts(
        &mut self,
        node: &Node,
        copied_in_rev: Option<Revnum>,
    ) -> Result<Option<Revnum>> {
        if !self.editor.wants_facts() {
            return Ok(None);
        }
        let copied_in_rev = match (node.created_path() == node.path(), copied_in_rev) {
            (true, _) => None,
            (false, None) => node.closest_copy()?.map(|(rev, _)| rev),
            (false, known) => known,
        };
        let rev = copied_in_rev.unwrap_or_else(|| created_rev(node));
        if !self.options.text_deltas && node.kind() == NodeKind::File {
            // The client will request the text under this name.
            node.cache_at(rev);
        }
        self.editor.facts(&NodeFacts {
            path: node.path(),
            rev,
            sha1: node.sha1(),
        });
        Ok(copied_in_rev)
    }

    fn file(&mut self, entry: &Candidate<'_>, old: Option<&SourceNode>, new: &Node) -> Result<()> {
        let mut copied = None;
        self.send_facts(new, entry.copied_in_rev)?;
        let token = match old {
            Some(old) => self.editor.open_file(&entry.path, entry.parent, Some(old.rev))?,
            None => {
                copied = self.copy_source(new)?;
                let from = copied.as_ref().map(|source| CopyFrom {
                    path: source.node.path().as_str(),
                    rev: source.rev,
                });
                self.editor.add_file(&entry.path, entry.parent, from)?
            }
        };
        let compared = old.or(copied.as_ref()).map(|source| &source.node);
        let gone = self.lock_is_gone(entry.reported, new)?;
        self.content.props(
            self.editor,
            OpenNode::File(token),
            compared,
            new,
            gone,
            entry.prefetched.as_ref(),
        )?;
        let deltas = self.options.text_deltas;
        self.content.text(
            self.editor,
            token,
            compared,
            new,
            deltas,
            entry.prefetched.as_ref(),
        )?;
        self.editor.close_file(token, Some(&new.md5()?))
    }

    /// Returns the source of an added file, if it may be sent: the nearest copy must have made this very path.
    fn copy_source(&mut self, new: &Node) -> Result<Option<SourceNode>> {
        if !self.options.send_copyfrom {
            return Ok(None);
        }
        let Some((rev, path)) = new.closest_copy()? else {
            return Ok(None);
        };
        if path != *new.path() {
            return Ok(None);
        }
        let Some((rev, path)) = self.fs.root(rev)?.node(&path)?.copyfrom() else {
            return Ok(None);
        };
        if !self.readable.read(&path) {
            return Ok(None);
        }
        let node = self.fs.root(rev)?.node(&path)?;
        Ok(Some(SourceNode { rev, node }))
    }

    /// Sends a deletion, with the revision in which it happened as far as that is known.
    pub(super) fn delete(
        &mut self,
        parent: DirToken,
        path: &RelPath,
        source_rev: Revnum,
        target: &FsPath,
        is_there: bool,
    ) -> Result<()> {
        let target_rev = self.options.target_rev;
        let (from, to) = (source_rev.min(target_rev), source_rev.max(target_rev));
        let deleted = match history::deleted_rev(self.repo, target, from, to)? {
            None if is_there => target_rev.prev(),
            known => known,
        };
        self.editor.delete_entry(path, deleted, parent)
    }

    fn is_unchanged(&self, old: &Node, new: &Node, relation: Relation) -> Result<bool> {
        Ok(match relation {
            Relation::Same => true,
            Relation::Related if new.kind() == NodeKind::File && !self.options.ignore_ancestry => {
                !old.props_differ(new, false)? && !old.text_differs(new, false)?
            }
            Relation::Related | Relation::Unrelated => false,
        })
    }

    /// True if an unchanged entry need not be sent: the client has all of it and its lock is valid.
    fn is_current(&self, reported: Option<&Reported>, new: &Node) -> Result<bool> {
        match reported {
            None => Ok(true),
            Some(reported) if reported.start_empty => Ok(false),
            Some(_) => Ok(!self.lock_is_gone(reported, new)?),
        }
    }

    fn lock_is_gone(&self, reported: Option<&Reported>, new: &Node) -> Result<bool> {
        let Some(token) = reported.and_then(|r| r.lock_token.as_deref()) else {
            return Ok(false);
        };
        let lock = self.fs.lock(new.path())?;
        Ok(lock.is_none_or(|lock| *lock.token != *token))
    }
}
