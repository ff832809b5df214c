//! Walks ahead where everything is new: other threads read nodes, properties and texts.
//!
//! In a subtree of which the client has nothing and may see everything, the walk visits every entry, in order. So a
//! second walk can precede it. It opens directories at once, because what follows depends on them; each entry becomes
//! a task of a [`PrefetchQueue`], with its text encoded as it is sent. If a task fails, its entry is not prefetched:
//! the main walk reads it itself, and fails where it would have failed.

use std::collections::HashSet;
use std::sync::Arc;

use base::{FsPath, NodeKind, PropList, Props, Result, Revnum};
use delta::editor::WindowForm;
use delta::svndiff::OwnedWindow;
use fsfs::{DirEntries, DirEntry, Node, NodeRevId, Root};

use crate::Repository;
use crate::prefetch::PrefetchQueue;

/// The content of an entry that was read ahead.
pub(super) struct PrefetchedEntry {
    pub node: Node,
    /// The node's own properties.
    pub props: Arc<Props>,
    /// The properties of the node's revision, unless an earlier entry had them.
    pub revprops: Option<PropList>,
    /// All windows of a file's text, against the empty text; `None` if it is too long to be held, or not wanted.
    pub text: Option<Vec<Arc<OwnedWindow>>>,
}

/// The walk that precedes the main walk.
pub(super) struct EntryPrefetch {
    queue: PrefetchQueue<(NodeRevId, Option<PrefetchedEntry>)>,
    /// The form of the encoded texts; `None` if they are not wanted.
    form: Option<WindowForm>,
    root: Root,
    /// The path of the innermost open directory.
    dir: FsPath,
    open: Vec<OpenDir>,
    /// Revisions whose properties were read.
    asked: HashSet<Revnum>,
}

struct OpenDir {
    entries: DirEntries,
    at: usize,
}

/// Texts longer than this many bytes are not prefetched.
const LONGEST_TEXT: u64 = 1 << 20;

/// Revisions that `asked` holds before it is emptied.
const MOST_ASKED: usize = 4096;

impl EntryPrefetch {
    /// Starts before entry `at` of `dir` and continues to the end of what is below it. `None` if no other thread can
    /// help.
    pub fn start(repo: &Repository, dir: &Node, entries: &DirEntries, at: usize) -> Option<Self> {
        Some(EntryPrefetch {
            queue: repo.prefetch_queue()?,
            form: None,
            root: dir.root().clone(),
            dir: dir.path().clone(),
            open: vec![OpenDir {
                entries: entries.clone(),
                at,
            }],
            asked: HashSet::new(),
        })
    }

    /// Returns the prefetched content of `entry`; `None` within if its task failed. The outer `None` is the end: no
    /// further entry belongs to this subtree. Tasks that begin from now on encode texts in `form`.
    ///
    /// # Errors
    /// `ASSERTION_FAIL` if the task panicked.
    pub fn next(
        &mut self,
        entry: DirEntry<'_>,
        form: Option<WindowForm>,
    ) -> Result<Option<Option<PrefetchedEntry>>> {
        self.form = form;
        while self.queue.has_room() && self.advance() {}
        let Some((id, ready)) = self.queue.take().transpose()? else {
            return Ok(None);
        };
        let is_same = id == entry.id()?;
        debug_assert!(is_same, "both walks take the same way");
        Ok(is_same.then_some(ready))
    }

    /// Queues one more entry; false at the end.
    fn advance(&mut self) -> bool {
        let (path, kind, id) = loop {
            let Some(open) = self.open.last_mut() else {
                return false;
            };
            match open.entries.get(open.at) {
                Some(entry) => {
                    open.at += 1;
                    let Ok(id) = entry.id() else {
                        return false;
                    };
                    break (self.dir.join_str(entry.name), entry.kind, id);
                }
                None => {
                    self.open.pop();
                    if let Some(parent) = self.dir.parent() {
                        self.dir = parent;
                    }
                }
            }
        };
        if kind == NodeKind::Dir {
            let opened = self.root.node_of(kind, &id, path.clone());
            match opened.and_then(|dir| dir.entries()) {
                Ok(entries) => {
                    self.open.push(OpenDir { entries, at: 0 });
                    self.dir = path.clone();
                }
                // The main walk will fail there, so nothing after it matters.
                Err(_) => self.open.clear(),
            }
        }
        if self.asked.len() >= MOST_ASKED {
            self.asked.clear();
        }
        let rev = id.rev().filter(|rev| self.asked.insert(*rev));
        let form = self.form;
        let root = self.root.clone();
        self.queue.push(move || {
            let fixed = FIXED + path.len();
            let ready = root
                .node_of(kind, &id, path)
                .and_then(|node| make(node, rev, form));
            let text = ready.as_ref().ok().and_then(|ready| ready.text.as_ref());
            let size = text.map_or(0, |text| text.iter().map(|window| window.len()).sum());
            ((id, ready.ok()), fixed + size)
        });
        true
    }
}

/// Approximate bytes of an entry beside its path and its text.
const FIXED: usize = 1 << 10;

fn make(node: Node, rev: Option<Revnum>, form: Option<WindowForm>) -> Result<PrefetchedEntry> {
    let props = match node.has_props() {
        true => node.props()?,
        false => Arc::default(),
    };
    let revprops = rev.map(|rev| node.fs().revprops(rev)).transpose()?;
    let text = match form {
        Some(form) if node.kind() == NodeKind::File && node.size()? <= LONGEST_TEXT => {
            let mut text = node.fs().encoded_text(&node, form)?;
            let mut windows = Vec::new();
            while let Some(window) = text.next_window()? {
                windows.push(window);
            }
            Some(windows)
        }
        Some(_) | None => None,
    };
    Ok(PrefetchedEntry {
        node,
        props,
        revprops,
        text,
    })
}
