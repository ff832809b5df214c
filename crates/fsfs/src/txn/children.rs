//! The entries of a directory that a transaction has changed: the committed list with an overlay.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use base::{NodeKind, Result};

use crate::format::dir::{DirEntries, EntryChange};
use crate::format::id::NodeRevId;

/// The entries of a changed directory.
#[derive(Clone, Debug, Default)]
pub(crate) struct Children {
    /// The entries before the change.
    pub(crate) base: DirEntries,
    /// Entries that were set or (`None`) deleted since.
    pub(crate) overlay: BTreeMap<Box<str>, EntryChange>,
    /// Both together, made on demand and dropped at each change.
    merged: OnceLock<DirEntries>,
    /// Names that changed since the file was written; `None` if there is no file yet.
    pub(crate) unwritten: Option<Vec<Box<str>>>,
}

impl Children {
    pub(crate) fn new(base: DirEntries) -> Self {
        Children {
            base,
            ..Children::default()
        }
    }

    /// Returns the entry with this name.
    pub(crate) fn find(&self, name: &str) -> Result<EntryChange> {
        match self.overlay.get(name) {
            Some(change) => Ok(*change),
            None => self.base.find_owned(name),
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

    /// Returns all entries.
    pub(crate) fn entries(&self) -> Result<DirEntries> {
        if let Some(entries) = self.merged.get() {
            return Ok(entries.clone());
        }
        let changes = self.overlay.iter().map(|(name, change)| (&**name, *change));
        let entries = self.base.with_changes(changes)?;
        Ok(self.merged.get_or_init(|| entries).clone())
    }
}
