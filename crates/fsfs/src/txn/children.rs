//! The entries of a directory that a transaction has changed: the committed list with an overlay.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use base::NodeKind;

use crate::format::dir::{self, DirEntry};
use crate::format::id::NodeRevId;

/// The entries of a changed directory.
#[derive(Clone, Debug, Default)]
pub(crate) struct Children {
    /// The entries before the change.
    pub(crate) base: Arc<[DirEntry]>,
    /// Entries that were set or (`None`) deleted since.
    pub(crate) overlay: BTreeMap<Box<str>, Option<(NodeKind, NodeRevId)>>,
    /// Both together, made on demand and dropped at each change.
    merged: OnceLock<Arc<[DirEntry]>>,
    /// Names that changed since the file was written; `None` if there is no file yet.
    pub(crate) unwritten: Option<Vec<Box<str>>>,
}

impl Children {
    pub(crate) fn new(base: Arc<[DirEntry]>) -> Self {
        Children {
            base,
            ..Children::default()
        }
    }

    /// Returns the entry with this name.
    pub(crate) fn find(&self, name: &str) -> Option<(NodeKind, NodeRevId)> {
        match self.overlay.get(name) {
            Some(change) => *change,
            None => dir::find(&self.base, name).map(|entry| (entry.kind, entry.id)),
        }
    }

    /// Sets or deletes an entry.
    pub(super) fn set(&mut self, name: &str, value: Option<(NodeKind, NodeRevId)>) {
        self.merged = OnceLock::new();
        if let Some(names) = &mut self.unwritten {
            names.push(name.into());
        }
        self.overlay.insert(name.into(), value);
    }

    /// Iterates over all entries in the order of their names.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, NodeKind, NodeRevId)> {
        let mut base = self.base.iter().peekable();
        let mut overlay = self.overlay.iter().peekable();
        std::iter::from_fn(move || {
            loop {
                let from_base = match (base.peek(), overlay.peek()) {
                    (None, None) => return None,
                    (Some(_), None) => true,
                    (None, Some(_)) => false,
                    (Some(entry), Some((name, _))) => {
                        if entry.name == **name {
                            base.next();
                            continue;
                        }
                        entry.name < **name
                    }
                };
                if from_base {
                    let entry = base.next()?;
                    return Some((&*entry.name, entry.kind, entry.id));
                }
                if let (name, Some((kind, id))) = overlay.next()? {
                    return Some((&**name, *kind, *id));
                }
            }
        })
    }

    /// Appends all entries in the form of a complete directory.
    pub(super) fn encode(&self, out: &mut Vec<u8>) {
        for (name, kind, id) in self.iter() {
            let name = name.into();
            dir::encode_entry(out, &DirEntry { name, kind, id });
        }
        dir::encode(out, &[]);
    }

    /// Returns all entries.
    pub(crate) fn entries(&self) -> Arc<[DirEntry]> {
        let list = || {
            let entries = self.iter().map(|(name, kind, id)| DirEntry {
                name: name.into(),
                kind,
                id,
            });
            entries.collect()
        };
        self.merged.get_or_init(list).clone()
    }
}
