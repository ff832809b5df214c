//! The history index, as far as trees are concerned: the nodes that a revision made, the fingerprint of a revision, and
//! look-ups of paths.
//!
//! The index is never trusted over the repository. A segment is used only if its fingerprint is that of its last
//! revision, and an entry only if it has the predecessor and the count that the node-revision or the entry before it
//! requires.

use std::sync::Arc;

use base::checksum::TextDigests;
use base::{Code, Error, FsPath, NodeKind, Result, Revnum};

use crate::format::history_index::record::RecordEncoder;
use crate::format::history_index::{HistoryEntry, MAX_PATH};
use crate::format::id::IdTail;
use crate::format::noderev::NodeRev;
use crate::store::history_index::{HistoryIndex, Segment};
use crate::tree::Fs;

/// Walks over the node-revisions that a revision made, as paths are ordered. Other nodes and what is below them are
/// passed over.
pub(crate) struct OwnNodes<'a> {
    fs: &'a Fs,
    rev: Revnum,
    /// The nodes that come next, the last one first, with the length of the path of their parent.
    stack: Vec<(Arc<NodeRev>, usize, String)>,
    /// The path of the node that was returned last, without a leading slash.
    path: String,
}

impl<'a> OwnNodes<'a> {
    /// Starts at the root.
    ///
    /// # Errors
    /// `FS_NO_SUCH_REVISION`, `FS_CORRUPT`; the system's.
    pub(crate) fn new(fs: &'a Fs, rev: Revnum) -> Result<Self> {
        fs.check_rev(rev)?;
        let root = fs.root_noderev(rev)?;
        Ok(OwnNodes {
            fs,
            rev,
            stack: vec![(root, 0, String::new())],
            path: String::new(),
        })
    }

    /// The next node and its path, without a leading slash.
    ///
    /// # Errors
    /// `FS_CORRUPT`; the system's.
    pub(crate) fn next_node(&mut self) -> Result<Option<(&str, Arc<NodeRev>)>> {
        let Some((node, above, name)) = self.stack.pop() else {
            return Ok(None);
        };
        self.path.truncate(above);
        if !self.path.is_empty() {
            self.path.push('/');
        }
        self.path.push_str(&name);
        // A directory that is inside itself would make a path of any length.
        if self.path.len() > MAX_PATH {
            let message = format!("Node '{}' is too deep in the tree", node.id);
            return Err(Error::new(Code::FS_CORRUPT, message));
        }
        if node.kind == NodeKind::Dir {
            let entries = self.fs.dir_entries(&node)?;
            let own = entries.iter().rev().filter(|entry| entry.rev() == Some(self.rev));
            for entry in own {
                let child = self.fs.noderev(&entry.id()?)?;
                self.stack.push((child, self.path.len(), entry.name.to_string()));
            }
        }
        Ok(Some((&self.path, node)))
    }
}

impl Fs {
    /// Appends a record for each node-revision that a revision made.
    pub(crate) fn encode_own_nodes(&self, rev: Revnum, records: &mut RecordEncoder) -> Result<()> {
        let mut nodes = OwnNodes::new(self, rev)?;
        while let Some((path, node)) = nodes.next_node()? {
            if is_at(&node, path)
                && let Some(entry) = entry_of(&node)
            {
                records.push_entry(path.as_bytes(), &entry);
            }
        }
        Ok(())
    }

    /// Computes the fingerprint of a revision: a digest of the first nodes that it made, with their paths, predecessors
    /// and contents' digests. It does not change when the revision is packed or the repository is upgraded.
    pub(crate) fn fingerprint(&self, rev: Revnum) -> Result<[u8; 16]> {
        let mut digest = TextDigests::new(false);
        let mut nodes = OwnNodes::new(self, rev)?;
        let mut bytes = Vec::new();
        for _ in 0..FINGERPRINT_NODES {
            let Some((path, node)) = nodes.next_node()? else {
                break;
            };
            bytes.clear();
            bytes.extend_from_slice(path.as_bytes());
            bytes.push(0);
            node.encode(&mut bytes, true, true);
            digest.update(&bytes);
        }
        Ok(digest.finish().0.0)
    }

    /// True if a segment describes revisions that the repository has.
    ///
    /// # Errors
    /// That of a handle that may not wait for the disk.
    pub(crate) fn is_of_repository(&self, segment: &Segment) -> Result<bool> {
        if let Some(known) = segment.is_of_repository.get() {
            return Ok(*known);
        }
        self.check_may_wait()?;
        let check = || {
            self.fingerprint(segment.last())
                .is_ok_and(|now| now == *segment.fingerprint())
        };
        Ok(*segment.is_of_repository.get_or_init(check))
    }

    /// Looks for the entry of a node-revision in the history index. `None` if there is no index, if it does not cover the
    /// revision, or if it does not agree with the node-revision.
    ///
    /// # Errors
    /// That of a handle that may not wait for the disk.
    pub(crate) fn find_in_index(
        &self,
        lookup: &mut IndexLookup,
        path: &FsPath,
        node: &NodeRev,
    ) -> Result<Option<IndexCursor>> {
        let (Some(entry), true) = (entry_of(node), node.created_path == *path) else {
            return Ok(None);
        };
        let Some(index) = lookup.index(self)? else {
            return Ok(None);
        };
        if index.segment(entry.rev).is_none() {
            return Ok(None);
        }
        let mut cursor = IndexCursor {
            index,
            path: path.rel_str().into(),
            entries: Vec::new(),
            at: 0,
        };
        if cursor.move_to(self, entry.rev)? == Some(entry) {
            return Ok(Some(cursor));
        }
        self.cache().counters.index_misses.add();
        lookup.misses += 1;
        // Its files may have changed meanwhile.
        lookup.index = None;
        Ok(None)
    }
}

/// The index that a history uses.
#[derive(Default)]
pub(crate) struct IndexLookup {
    /// The index; `None` before the first look-up.
    index: Option<Option<Arc<HistoryIndex>>>,
    /// Look-ups in vain. After some of them the history goes on without the index.
    misses: u32,
}

impl IndexLookup {
    /// The index, if there is one.
    fn index(&mut self, fs: &Fs) -> Result<Option<Arc<HistoryIndex>>> {
        if let Some(index) = &self.index {
            return Ok(index.clone());
        }
        let index = match self.misses < MOST_MISSES {
            true => fs.history_index()?,
            false => None,
        };
        self.index = Some(index.clone());
        Ok(index)
    }
}

impl Fs {
    /// Stops using the index after it was found to differ from the repository, and returns the error for that.
    pub(crate) fn refuse_history_index(&self, path: &str, rev: Revnum) -> Error {
        if let Ok(Some(index)) = self.history_index() {
            index.disable();
        }
        let db = self.path().display();
        Error::new(
            Code::FS_CORRUPT,
            format!(
                "History index of '{db}' differs from the repository at path '/{path}' in revision {rev}; run 'sven index --rebuild'"
            ),
        )
    }
}

/// The entry of a node-revision; `None` for one of a transaction.
fn entry_of(node: &NodeRev) -> Option<HistoryEntry> {
    let IdTail::Rev(rev, item) = node.id.tail else {
        return None;
    };
    Some(HistoryEntry {
        rev,
        item,
        count: node.count,
        predecessor: match &node.predecessor {
            Some(id) => Some(id.rev()?),
            None => None,
        },
    })
}

fn is_at(node: &NodeRev, path: &str) -> bool {
    node.created_path.rel_str() == path
}

/// A position in the list of a path.
pub(crate) struct IndexCursor {
    index: Arc<HistoryIndex>,
    path: Box<str>,
    /// The entries of the record at the position.
    entries: Vec<HistoryEntry>,
    at: usize,
}

impl IndexCursor {
    /// The entry at the position.
    pub(crate) fn entry(&self) -> HistoryEntry {
        self.entries[self.at]
    }

    /// Moves to the predecessor of the entry. False if that is not in the index, or not with the right count; then the
    /// position does not change.
    ///
    /// # Errors
    /// That of a handle that may not wait for the disk.
    pub(crate) fn step(&mut self, fs: &Fs) -> Result<bool> {
        let entry = self.entry();
        let Some(before) = entry.predecessor else {
            return Ok(false);
        };
        if let Some(older) = self.at.checked_sub(1).map(|at| self.entries[at])
            && entry.follows(&older)
        {
            self.at -= 1;
            fs.cache().counters.index_steps.add();
            return Ok(true);
        }
        let mut moved = IndexCursor {
            index: self.index.clone(),
            path: self.path.clone(),
            entries: Vec::new(),
            at: 0,
        };
        match moved.move_to(fs, before)? {
            Some(found) if entry.follows(&found) => {
                *self = moved;
                fs.cache().counters.index_steps.add();
                Ok(true)
            }
            _ => Ok(false),
        }
    }

    /// As [`Fs::refuse_history_index`], for the entry at the position.
    pub(crate) fn refuse(&self, fs: &Fs) -> Error {
        self.index.disable();
        fs.refuse_history_index(&self.path, self.entry().rev)
    }

    /// Moves to the entry of a revision. `None` if there is none that can be read.
    fn move_to(&mut self, fs: &Fs, rev: Revnum) -> Result<Option<HistoryEntry>> {
        let Some(segment) = self.index.segment(rev) else {
            return Ok(None);
        };
        if !fs.is_of_repository(segment)? {
            return Ok(None);
        }
        let record = segment.record(fs, self.path.as_bytes(), rev);
        if record.is_err() {
            fs.check_may_wait()?;
            // Damaged, or removed by a merge: the walk through the repository goes on without it.
            return Ok(None);
        }
        self.entries = record.unwrap_or_default();
        match self.entries.binary_search_by_key(&rev, |entry| entry.rev) {
            Ok(at) => {
                self.at = at;
                Ok(Some(self.entries[at]))
            }
            Err(_) => Ok(None),
        }
    }
}

/// Look-ups in vain after which a history does without the index.
const MOST_MISSES: u32 = 8;

/// The number of nodes in a fingerprint.
const FINGERPRINT_NODES: usize = 16;
