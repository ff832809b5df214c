//! One log entry: the parts of a revision that the user may see.

use base::{Cancel, FsPath, NodeKind, PropList, Result, Revnum};
use fsfs::{ChangeKind, ChangeList, ChangedPath, Root};

use super::{LogOptions, LogSink, Revprops};
use crate::access::{Readable, Subtree};
use crate::repo::{Repository, RevisionAccess, changes_access, seen_of_partial};

/// One entry of the log.
#[derive(Clone, Debug)]
pub struct LogEntry<'a> {
    /// The revision; `None` marks the end of the entries below the last one with `has_children`.
    pub rev: Option<Revnum>,
    /// The paths that it changed, sorted; empty if they were not asked for.
    pub changes: &'a ChangeList,
    /// The entries of the revisions that it merged follow, up to one without a revision.
    pub has_children: bool,
    /// The entry is here because a merge of the revision was undone.
    pub subtractive_merge: bool,
    revprops: Option<PropList>,
    access: RevisionAccess,
    wanted: &'a Revprops,
}

impl LogEntry<'_> {
    /// Returns one revision property; `None` if it is not set, was not asked for or may not be seen.
    pub fn prop(&self, name: &str) -> Option<&[u8]> {
        let props = self.revprops.as_ref().filter(|_| self.shows(name))?;
        props.get(name)
    }

    /// Returns all revision properties that were asked for and may be seen, sorted by name.
    pub fn props(&self) -> impl Iterator<Item = (&str, &[u8])> {
        let set = self.revprops.iter().flat_map(|props| props.iter());
        set.filter(|(name, _)| self.shows(name))
    }

    fn shows(&self, name: &str) -> bool {
        let visible = match self.access {
            RevisionAccess::Full => true,
            RevisionAccess::Partial => seen_of_partial(name),
            RevisionAccess::None => false,
        };
        visible
            && match self.wanted {
                Revprops::All => true,
                Revprops::Names(names) => names.iter().any(|wanted| wanted == name),
            }
    }
}

/// The parts of a revision that were read before its turn. A failure counts only if the part is needed.
#[derive(Default)]
pub(super) struct PrefetchedRevision {
    pub(super) changes: Option<Result<ChangeList>>,
    pub(super) revprops: Option<Result<PropList>>,
}

/// Makes log entries and sends them.
pub(super) struct EntrySender<'a, 's> {
    pub(super) repo: &'a Repository,
    pub(super) options: &'a LogOptions,
    pub(super) youngest: Revnum,
    pub(super) readable: &'a dyn Readable,
    pub(super) cancel: &'a Cancel,
    sink: &'a mut LogSink<'s>,
    /// Everything may be read.
    all: bool,
}

impl<'a, 's> EntrySender<'a, 's> {
    pub(super) fn new(
        repo: &'a Repository,
        options: &'a LogOptions,
        youngest: Revnum,
        readable: &'a dyn Readable,
        sink: &'a mut LogSink<'s>,
        cancel: &'a Cancel,
    ) -> Self {
        EntrySender {
            repo,
            options,
            youngest,
            readable,
            cancel,
            sink,
            all: readable.subtree(&FsPath::root()) == Subtree::All,
        }
    }

    /// Sends an entry without marks.
    pub(super) fn send(&mut self, rev: Revnum) -> Result<()> {
        self.send_marked(rev, false, false)
    }

    /// Sends an entry with its marks.
    pub(super) fn send_marked(
        &mut self,
        rev: Revnum,
        has_children: bool,
        subtractive_merge: bool,
    ) -> Result<()> {
        self.send_read(
            rev,
            has_children,
            subtractive_merge,
            PrefetchedRevision::default(),
        )
    }

    /// Sends an entry; parts that were read already are taken from `read`.
    pub(super) fn send_read(
        &mut self,
        rev: Revnum,
        has_children: bool,
        subtractive_merge: bool,
        read: PrefetchedRevision,
    ) -> Result<()> {
        self.cancel.check()?;
        let fs = self.repo.fs();
        let mut access = RevisionAccess::Full;
        let mut visible = ChangeList::default();
        if self.needs_changes() {
            let list = match read.changes {
                Some(list) => list?,
                None => fs.changed_paths(rev)?,
            };
            if self.all && list.has_all_kinds() {
                visible = list;
            } else {
                let changes = list.to_vec();
                if !self.all {
                    access = changes_access(&changes, self.readable);
                }
                if self.options.changed_paths {
                    visible = match access == RevisionAccess::Full && list.has_all_kinds() {
                        true => list,
                        false => self.visible(rev, &changes)?,
                    };
                }
            }
        }
        let revprops = match (access, read.revprops) {
            (RevisionAccess::None, _) => None,
            _ if !self.needs_revprops() => None,
            (_, Some(revprops)) => Some(revprops?),
            (_, None) => Some(fs.revprops(rev)?),
        };
        (self.sink)(&LogEntry {
            rev: Some(rev),
            changes: &visible,
            has_children,
            subtractive_merge,
            revprops,
            access,
            wanted: &self.options.revprops,
        })
    }

    /// True if entries cannot be made without the changed paths.
    pub(super) fn needs_changes(&self) -> bool {
        self.options.changed_paths || !self.all
    }

    /// True if any revision property was asked for.
    pub(super) fn needs_revprops(&self) -> bool {
        !matches!(&self.options.revprops, Revprops::Names(names) if names.is_empty())
    }

    /// Ends the entries below the last one that has children.
    pub(super) fn end_children(&mut self) -> Result<()> {
        (self.sink)(&LogEntry {
            rev: None,
            changes: &ChangeList::default(),
            has_children: false,
            subtractive_merge: false,
            revprops: None,
            access: RevisionAccess::None,
            wanted: &self.options.revprops,
        })
    }

    /// Returns the changes that the user may see, with their node kinds.
    fn visible(&self, rev: Revnum, changes: &[ChangedPath]) -> Result<ChangeList> {
        let root = self.repo.fs().root(rev)?;
        let mut seen = Vec::with_capacity(changes.len());
        for change in changes.iter().filter(|c| self.all || self.readable.read(&c.path)) {
            let mut change = change.clone();
            change
                .copyfrom
                .take_if(|(_, source)| !self.all && !self.readable.read(source));
            if change.node_kind == NodeKind::Unknown {
                change.node_kind = kind_of(&root, &change, changes)?;
            }
            seen.push(change);
        }
        Ok(seen.iter().collect())
    }
}

/// Looks up the kind of a changed node, which old formats do not record.
fn kind_of(root: &Root, change: &ChangedPath, all: &[ChangedPath]) -> Result<NodeKind> {
    if change.change != ChangeKind::Delete {
        return root.kind(&change.path);
    }
    // A path deleted below a copy of the same revision existed only in the source of the copy.
    let copies = all.iter().filter_map(|copy| {
        let (rev, source) = copy.copyfrom.as_ref()?;
        let below = change
            .path
            .relative_to(&copy.path)
            .filter(|below| !below.is_empty())?;
        Some((copy.path.len(), *rev, source.join(&below)))
    });
    let place = copies.max_by_key(|(depth, _, _)| *depth);
    let place = place.map(|(_, rev, path)| (rev, path));
    match place.or_else(|| Some((root.base_revision().prev()?, change.path.clone()))) {
        Some((rev, path)) => root.fs().root(rev)?.kind(&path),
        None => Ok(NodeKind::Unknown),
    }
}
