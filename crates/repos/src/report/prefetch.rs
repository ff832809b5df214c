//! Running ahead of the walk where everything is new: nodes, properties and texts are made ready by other threads.
//!
//! In a subtree of which the client has nothing and may see all, the walk comes to every entry, in order. So another walk
//! can run before it: directories are opened here and now, because what follows depends on them, and each entry becomes a
//! piece of a [`PrefetchQueue`], texts encoded as they go over the wire. Where making ready fails nothing is ready: the walk
//! then does it itself, and fails where it would have failed.

use std::collections::HashSet;
use std::sync::Arc;

use base::{FsPath, NodeKind, PropList, Props, Result, Revnum};
use delta::editor::WindowForm;
use delta::svndiff::KeptWindow;
use fsfs::{DirEntry, Node, NodeRevId, Root};

use crate::prefetch::PrefetchQueue;

/// An entry that was made ready.
pub(super) struct PrefetchedEntry {
    pub node: Node,
    /// The node's own properties.
    pub props: Arc<Props>,
    /// The properties of the revision that made it, unless an earlier entry brought them.
    pub revprops: Option<PropList>,
    /// All windows of a file's text, against the empty text; `None` if it is too long to be held, or not wanted.
    pub text: Option<Vec<Arc<KeptWindow>>>,
}

/// The walk before the walk.
pub(super) struct EntryPrefetch {
    queue: PrefetchQueue<(NodeRevId, Option<PrefetchedEntry>)>,
    /// That of texts, if they are wanted.
    form: Option<WindowForm>,
    root: Root,
    /// The path of the innermost open directory.
    dir: FsPath,
    open: Vec<OpenDir>,
    /// Revisions whose properties were asked for.
    asked: HashSet<Revnum>,
}

struct OpenDir {
    entries: Arc<[DirEntry]>,
    at: usize,
}

/// Longer texts are not made ready, bytes.
const LONGEST: u64 = 1 << 20;

/// Revisions remembered before they are forgotten.
const REMEMBERED: usize = 4096;

impl EntryPrefetch {
    /// Starts before entry `at` of `dir`, to the end of what is below it. `None` where nothing is gained by it.
    pub fn start(dir: &Node, entries: &Arc<[DirEntry]>, at: usize) -> Option<Self> {
        Some(EntryPrefetch {
            queue: PrefetchQueue::new()?,
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

    /// What is ready of the next entry. The outer `None` is the end: no entry follows that belongs here. Texts that are begun
    /// from now on are made in this form.
    ///
    /// # Errors
    /// `ASSERTION_FAIL` if making it ready panicked.
    pub fn next(
        &mut self,
        entry: &DirEntry,
        form: Option<WindowForm>,
    ) -> Result<Option<Option<PrefetchedEntry>>> {
        self.form = form;
        while self.queue.has_room() && self.advance() {}
        let Some((id, ready)) = self.queue.take().transpose()? else {
            return Ok(None);
        };
        debug_assert!(id == entry.id, "both walks take the same way");
        Ok((id == entry.id).then_some(ready))
    }

    /// Puts one more entry in the line; false at the end.
    fn advance(&mut self) -> bool {
        let entry = loop {
            let Some(open) = self.open.last_mut() else {
                return false;
            };
            match open.entries.get(open.at) {
                Some(entry) => {
                    open.at += 1;
                    break entry.clone();
                }
                None => {
                    self.open.pop();
                    if let Some(parent) = self.dir.parent() {
                        self.dir = parent;
                    }
                }
            }
        };
        let path = self.dir.join_str(&entry.name);
        if entry.kind == NodeKind::Dir {
            let opened = self.root.entry_node(&entry, path.clone());
            match opened.and_then(|dir| dir.entries()) {
                Ok(entries) => {
                    self.open.push(OpenDir { entries, at: 0 });
                    self.dir = path.clone();
                }
                // The walk will fail there, so nothing behind it counts.
                Err(_) => self.open.clear(),
            }
        }
        if self.asked.len() >= REMEMBERED {
            self.asked.clear();
        }
        let rev = entry.id.rev().filter(|rev| self.asked.insert(*rev));
        let form = self.form;
        let root = self.root.clone();
        self.queue.push(move || {
            let fixed = FIXED + path.len();
            let ready = make(&root, path, &entry, rev, form);
            let text = ready.as_ref().ok().and_then(|ready| ready.text.as_ref());
            let size = text.map_or(0, |text| text.iter().map(|window| window.len()).sum());
            ((entry.id, ready.ok()), fixed + size)
        });
        true
    }
}

/// What an entry takes beside its path and its text, bytes, roughly.
const FIXED: usize = 1 << 10;

fn make(
    root: &Root,
    path: FsPath,
    entry: &DirEntry,
    rev: Option<Revnum>,
    form: Option<WindowForm>,
) -> Result<PrefetchedEntry> {
    let node = root.entry_node(entry, path)?;
    let props = match node.has_props() {
        true => node.props()?,
        false => Arc::default(),
    };
    let revprops = rev.map(|rev| node.fs().revprops(rev)).transpose()?;
    let text = match form {
        Some(form) if node.kind() == NodeKind::File && node.size()? <= LONGEST => {
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
