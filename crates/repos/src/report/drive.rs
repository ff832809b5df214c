//! Walks the client's state and the target revision side by side.
//!
//! There is one [`Frame`] per open directory, on an explicit stack. A directory is sent in three passes: the entries
//! that the client reported, in its order; then deletions, before any addition, for clients with a case-insensitive
//! disk; then the rest of the target's entries. Both entry lists are sorted, so that the passes merge them without
//! look-ups.

use std::collections::HashMap;

use base::{Code, Depth, Error, FsPath, NodeKind, RelPath, Result, Revnum};
use delta::editor::Editor;
use fsfs::{DirEntry, Fs, Node, Root};

use crate::access::{Readable, Subtree};
use crate::repo::Repository;
use crate::report::content::{NodeSender, OpenNode};
use crate::report::depth::{EntryAction, below, entry_action};
use crate::report::entry::Candidate;
use crate::report::frame::{Frame, Pass, SourceNode};
use crate::report::prefetch::{EntryPrefetch, PrefetchedEntry};
use crate::report::reported_paths::{Cursor, Reported};
use crate::report::{ReportOptions, SentRevisions};

/// Drives the whole edit. With `collect`, returns the revisions whose properties were sent, unless there were too
/// many.
pub(super) fn drive(
    repo: &Repository,
    options: &ReportOptions,
    readable: &dyn Readable,
    cursor: Cursor,
    editor: &mut dyn Editor,
    collect: bool,
) -> Result<Option<SentRevisions>> {
    let fs = repo.fs();
    let walk = ReportWalk {
        repo,
        fs,
        options,
        readable,
        cursor,
        editor,
        target: fs.root(options.target_rev)?,
        sources: HashMap::new(),
        content: NodeSender::new(fs, collect),
        prefetch: None,
        sent_entries: 0,
    };
    walk.run()
}

pub(super) struct ReportWalk<'a> {
    pub(super) repo: &'a Repository,
    pub(super) fs: &'a Fs,
    pub(super) options: &'a ReportOptions,
    pub(super) readable: &'a dyn Readable,
    pub(super) cursor: Cursor,
    pub(super) editor: &'a mut dyn Editor,
    pub(super) target: Root,
    pub(super) sources: HashMap<Revnum, Root>,
    pub(super) content: NodeSender<'a>,
    prefetch: Option<EntryPrefetch>,
    /// Number of entries sent.
    sent_entries: u32,
}

impl ReportWalk<'_> {
    fn run(mut self) -> Result<Option<SentRevisions>> {
        let options = self.options;
        let source_path = options.anchor.join_str(&options.operand);
        let target_path = options.switch_to.clone().unwrap_or_else(|| source_path.clone());
        let first = self.cursor.take_exact(&options.operand)?;
        let Some(first) = first.and_then(|entry| entry.reported) else {
            return Err(super::invalid_top());
        };
        // A second entry with the same path replaces the first: the operand itself is switched, missing or at another
        // revision.
        let second = self.cursor.take_exact(&options.operand)?;
        let second = second.map(|entry| entry.reported);
        let old = self.source_root(first.rev)?.try_node(&source_path)?;
        let old = old.map(|node| SourceNode { rev: first.rev, node });
        let new = self.target.try_node(&target_path)?;
        let new_dir = match target_path.parent() {
            Some(parent) if !options.operand.is_empty() => parent,
            Some(_) | None => target_path.clone(),
        };
        if !self.readable.read(&new_dir) {
            return Err(Error::new(
                Code::AUTHZ_ROOT_UNREADABLE,
                "Not authorized to open root of edit operation",
            ));
        }
        if options.operand.is_empty() {
            self.whole(&first, old, new, &target_path)?;
        } else {
            self.operand(&first, second.as_ref(), old, new, &new_dir)?;
        }
        self.editor.close_edit()?;
        Ok(self.content.into_sent_revisions())
    }

    /// Works on the anchor itself.
    fn whole(
        &mut self,
        top: &Reported,
        old: Option<SourceNode>,
        new: Option<Node>,
        target_path: &FsPath,
    ) -> Result<()> {
        let Some(new) = new else {
            let message = format!("Target path '{target_path}' does not exist");
            return Err(Error::new(Code::FS_PATH_SYNTAX, message));
        };
        let directories = [Some(&new), old.as_ref().map(|old| &old.node)]
            .iter()
            .all(|node| node.is_some_and(|node| node.kind() == NodeKind::Dir));
        if !directories {
            let message = "Cannot replace a directory from within";
            return Err(Error::new(Code::FS_PATH_SYNTAX, message));
        }
        self.editor.set_target_revision(self.options.target_rev)?;
        self.send_facts(&new, None)?;
        let token = self.editor.open_root(Some(top.rev))?;
        let compared = old.as_ref().filter(|_| !top.start_empty).map(|old| &old.node);
        self.content
            .props(self.editor, OpenNode::Dir(token), compared, &new, false, None)?;
        let limits = (top.depth, self.options.depth);
        let seen = self.readable.subtree(target_path);
        let frame = Frame::new(token, RelPath::empty(), old, new, top.start_empty, limits, seen)?;
        self.directories(frame)
    }

    /// Works on one entry of the anchor; the anchor is only opened. `old` is the entry in the revision of `first`.
    /// `second` is a second report about the operand; it holds `None` if the client does not have the entry. The
    /// depth of `first` applies in both cases.
    fn operand(
        &mut self,
        first: &Reported,
        second: Option<&Option<Reported>>,
        old: Option<SourceNode>,
        new: Option<Node>,
        new_dir: &FsPath,
    ) -> Result<()> {
        self.editor.set_target_revision(self.options.target_rev)?;
        let token = self.editor.open_root(Some(first.rev))?;
        let path = RelPath::parse(&self.options.operand)?;
        let top = second.map_or(Some(first), Option::as_ref);
        let old = match second {
            None => old,
            Some(None) => None,
            Some(Some(second)) => self.second_source(old.as_ref(), second, &path)?,
        };
        let name = match &self.options.switch_to {
            Some(path) => path.basename(),
            None => &self.options.operand,
        };
        let new = match top.and_then(|top| top.link.as_ref()) {
            Some(link) if self.options.switch_to.is_none() => self.target.try_node(link)?,
            Some(_) | None => new,
        };
        let candidate = Candidate {
            parent: token,
            path,
            old,
            new,
            new_dir,
            name,
            reported: top,
            held: top.unwrap_or(first).depth,
            requested: self.options.depth,
            seen: Subtree::Mixed,
            copied_in_rev: None,
            prefetched: None,
        };
        if let Some(frame) = self.entry(&candidate)? {
            self.directories(frame)?;
        }
        self.editor.close_directory(token)
    }

    /// Returns what the client has at the operand if two entries report it. `first` is the operand in the revision of
    /// the first one. If that revision does not have it, only a switched operand has a source.
    ///
    /// # Errors
    /// `FS_NOT_FOUND` if the second entry names a path that its revision does not have.
    fn second_source(
        &mut self,
        first: Option<&SourceNode>,
        second: &Reported,
        path: &RelPath,
    ) -> Result<Option<SourceNode>> {
        let Some(at) = second.link.as_ref().or(first.map(|first| first.node.path())) else {
            return Ok(None);
        };
        match self.source_root(second.rev)?.try_node(at)? {
            Some(node) => Ok(Some(SourceNode {
                rev: second.rev,
                node,
            })),
            None => Err(no_such_working_path(path)),
        }
    }

    /// Sends a directory and everything below it.
    fn directories(&mut self, top: Frame) -> Result<()> {
        let mut open = vec![top];
        while let Some(mut frame) = open.pop() {
            match self.advance(&mut frame)? {
                Some(child) => {
                    frame.suspend(&child);
                    open.extend([frame, child]);
                }
                None => {
                    self.editor.close_directory(frame.token)?;
                    if let Some(outer) = open.last_mut() {
                        outer.resume(&frame);
                    }
                }
            }
        }
        Ok(())
    }

    /// Continues with a directory up to its next subdirectory, whose frame is returned, or to its end.
    fn advance(&mut self, frame: &mut Frame) -> Result<Option<Frame>> {
        if frame.requested == Depth::Empty {
            return Ok(None);
        }
        loop {
            match frame.pass {
                Pass::Reported => match self.cursor.child_of(&frame.path)? {
                    Some((name, entry)) => {
                        let reported = entry.map(|entry| entry.reported);
                        if let Some(child) = self.reported_child(frame, &name, reported)? {
                            return Ok(Some(child));
                        }
                    }
                    None => frame.pass = Pass::Deletions,
                },
                Pass::Deletions => {
                    self.deletions(frame)?;
                    frame.old_at = 0;
                    frame.pass = Pass::Entries;
                }
                Pass::Entries => return self.entries(frame),
            }
        }
    }

    /// Handles a child that the report mentions; `reported` is `None` if the report mentions only something below it.
    fn reported_child(
        &mut self,
        frame: &mut Frame,
        name: &str,
        reported: Option<Option<Reported>>,
    ) -> Result<Option<Frame>> {
        let handled = frame.handled.get(name).copied().unwrap_or_default();
        let (olds, news) = (frame.old.clone(), frame.new.clone());
        let old = olds.find(name).filter(|_| !handled.old);
        let new = news.find(name).filter(|_| !handled.new);
        if !frame.mark_reported(name, reported.as_ref(), new.is_some()) {
            return Ok(None);
        }
        let path = frame.path.join_str(name);
        let is_dir = |entry: Option<DirEntry<'_>>| entry.is_some_and(|e| e.kind == NodeKind::Dir);
        if frame.requested == Depth::Files && (is_dir(old) || is_dir(new)) {
            return Ok(None);
        }
        let reported = reported.flatten();
        let held = reported
            .as_ref()
            .map_or(below(frame.held), |reported| reported.depth);
        let source = match &reported {
            Some(reported) => self.reported_source(frame.source.as_ref(), name, reported, &path)?,
            None => unreported_source(frame.source.as_ref(), old, &path)?,
        };
        let link = reported.as_ref().and_then(|reported| reported.link.as_ref());
        let link = link.filter(|_| self.options.switch_to.is_none());
        let target = match (link, new) {
            (Some(link), _) => self.target.try_node(link)?,
            (None, Some(new)) => Some(frame.target.child_of(new)?),
            (None, None) => None,
        };
        // A switched entry leads out of the subtree whose access rights are known.
        let seen = if link.is_some() {
            Subtree::Mixed
        } else {
            frame.seen
        };
        let copied_in_rev = match &target {
            Some(node) if link.is_none() => self.copied_in_rev(frame, node)?,
            Some(_) | None => None,
        };
        self.entry(&Candidate {
            parent: frame.token,
            path,
            old: source,
            new: target,
            new_dir: frame.target.path(),
            name,
            reported: reported.as_ref(),
            held,
            requested: below(frame.requested),
            seen,
            copied_in_rev,
            prefetched: None,
        })
    }

    /// Returns what the client has at a reported path.
    fn reported_source(
        &mut self,
        dir: Option<&SourceNode>,
        name: &str,
        reported: &Reported,
        path: &RelPath,
    ) -> Result<Option<SourceNode>> {
        // Below a directory that is new in the target everything is new, switched or not.
        let Some(dir) = dir else {
            return Ok(None);
        };
        let node = match &reported.link {
            Some(link) => self.source_root(reported.rev)?.try_node(link)?,
            None if dir.rev == reported.rev && dir.node.kind() == NodeKind::Dir => dir.node.child(name)?,
            None => {
                let path = dir.node.path().join_str(name);
                self.source_root(reported.rev)?.try_node(&path)?
            }
        };
        match node {
            Some(node) => Ok(Some(SourceNode {
                rev: reported.rev,
                node,
            })),
            None => Err(no_such_working_path(path)),
        }
    }

    /// Deletes the entries that the target does not have.
    fn deletions(&mut self, frame: &mut Frame) -> Result<()> {
        let Some(source) = &frame.source else {
            return Ok(());
        };
        let mut at = 0;
        for old in frame.old.iter() {
            while frame.new.get(at).is_some_and(|new| new.name < old.name) {
                at += 1;
            }
            let response_cache = frame.new.get(at).is_some_and(|new| new.name == old.name);
            if response_cache || frame.handled(old.name).old {
                continue;
            }
            let ignored = match old.kind {
                NodeKind::Dir => frame.held < Depth::Immediates || frame.requested == Depth::Files,
                _ => frame.held < Depth::Files,
            };
            if !ignored {
                let path = frame.path.join_str(old.name);
                let target = frame.target.path().join_str(old.name);
                self.delete(frame.token, &path, source.rev, &target, false)?;
            }
        }
        Ok(())
    }

    /// Continues with the entries of the target that the client did not report.
    fn entries(&mut self, frame: &mut Frame) -> Result<Option<Frame>> {
        let news = frame.new.clone();
        let olds = frame.old.clone();
        let requested = below(frame.requested);
        while let Some(new) = news.get(frame.new_at) {
            frame.new_at += 1;
            while olds.get(frame.old_at).is_some_and(|old| old.name < new.name) {
                frame.old_at += 1;
            }
            let handled = frame.handled(new.name);
            let how = entry_action(new.kind, frame.held, frame.requested);
            if handled.new || how == EntryAction::Ignore {
                continue;
            }
            let old = olds
                .get(frame.old_at)
                .filter(|old| old.name == new.name && !handled.old && how == EntryAction::Compare);
            let held = below(frame.held);
            if old.is_some_and(|old| old.has_id_of(&new)) && (requested <= held || new.kind == NodeKind::File)
            {
                continue;
            }
            let old = match (old, &frame.source) {
                (Some(old), Some(source)) => Some(source.child_of(old)?),
                (_, _) => None,
            };
            let prefetched = self.prefetched(frame, new)?;
            let node = match &prefetched {
                Some(prefetched) => prefetched.node.clone(),
                None => frame.target.child_of(new)?,
            };
            let copied_in_rev = self.copied_in_rev(frame, &node)?;
            let candidate = Candidate {
                parent: frame.token,
                path: frame.path.join_str(new.name),
                old,
                new: Some(node),
                new_dir: frame.target.path(),
                name: new.name,
                reported: None,
                held,
                requested,
                seen: frame.seen,
                copied_in_rev,
                prefetched,
            };
            if let Some(child) = self.entry(&candidate)? {
                return Ok(Some(child));
            }
        }
        Ok(None)
    }

    /// Returns the revision of the copy that brought `node`, an entry of this directory, to its path without a
    /// change; `None` if there is none or the editor does not want it. It is equal for all such entries of a
    /// directory: the youngest copy at or above it.
    fn copied_in_rev(&mut self, frame: &mut Frame, node: &Node) -> Result<Option<Revnum>> {
        if !self.editor.wants_facts() || node.created_path() == node.path() {
            return Ok(None);
        }
        if frame.copied_in_rev.is_none() {
            frame.copied_in_rev = node.closest_copy()?.map(|(rev, _)| rev);
        }
        Ok(frame.copied_in_rev)
    }

    /// Returns the prefetched entry, whose frame is passed too. Prefetch starts after [`PREFETCH_AFTER`] entries.
    fn prefetched(&mut self, frame: &Frame, entry: DirEntry<'_>) -> Result<Option<PrefetchedEntry>> {
        self.sent_entries += 1;
        if self.prefetch.is_none() {
            if self.sent_entries < PREFETCH_AFTER || !frame.is_all_new() || self.cursor.has_below(&frame.path)
            {
                return Ok(None);
            }
            self.prefetch = EntryPrefetch::start(self.repo, &frame.target, &frame.new, frame.new_at - 1);
        }
        let Some(prefetch) = &mut self.prefetch else {
            // No thread can help: the count starts again, so that the next attempt comes later.
            self.sent_entries = 0;
            return Ok(None);
        };
        let form = self.editor.window_form().filter(|_| self.options.text_deltas);
        match prefetch.next(entry, form)? {
            Some(prefetched) => Ok(prefetched),
            None => {
                self.prefetch = None;
                Ok(None)
            }
        }
    }

    fn source_root(&mut self, rev: Revnum) -> Result<&Root> {
        if self.sources.len() >= SOURCE_ROOTS && !self.sources.contains_key(&rev) {
            self.sources.clear();
        }
        match self.sources.entry(rev) {
            std::collections::hash_map::Entry::Occupied(known) => Ok(known.into_mut()),
            std::collections::hash_map::Entry::Vacant(new) => Ok(new.insert(self.fs.root(rev)?)),
        }
    }
}

/// Returns what the client has at a path that it does not report, though something below it. `entry` is the entry of `dir`.
///
/// # Errors
/// `FS_NOT_FOUND` if `dir` has no such entry.
fn unreported_source(
    dir: Option<&SourceNode>,
    entry: Option<DirEntry<'_>>,
    path: &RelPath,
) -> Result<Option<SourceNode>> {
    match (dir, entry) {
        (Some(dir), Some(entry)) => dir.child_of(entry).map(Some),
        (Some(_), None) => Err(no_such_working_path(path)),
        (None, _) => Ok(None),
    }
}

fn no_such_working_path(path: &RelPath) -> Error {
    Error::new(
        Code::FS_NOT_FOUND,
        format!("Working copy path '{path}' does not exist in repository"),
    )
}

/// Entries sent before prefetch begins: it does not pay for short responses.
const PREFETCH_AFTER: u32 = 16;

/// Roots of source revisions that are held: a working copy of mixed revisions alternates between a few.
const SOURCE_ROOTS: usize = 64;
