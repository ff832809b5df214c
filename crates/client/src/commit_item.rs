//! The nodes that a commit changes, as the user sees them before writing a log message.

use std::fmt;

use base::{Props, Result};

/// A node that a commit is going to change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommitItem {
    /// Its URL, or its path in a working copy.
    pub target: String,
    /// What happens to the node.
    pub change: ItemChange,
    /// Whether its properties change.
    pub has_prop_changes: bool,
    /// Whether it is a copy.
    pub is_copy: bool,
}

/// What happens to a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ItemChange {
    /// It is added.
    Add,
    /// It is deleted.
    Delete,
    /// It is deleted and another one added.
    Replace,
    /// Its text changes.
    Modify,
    /// Neither of these: only its properties may change.
    None,
}

impl CommitItem {
    /// An item without changes of properties, that is no copy.
    pub fn new(target: impl Into<String>, change: ItemChange) -> CommitItem {
        CommitItem {
            target: target.into(),
            change,
            has_prop_changes: false,
            is_copy: false,
        }
    }

    /// The same item as a copy.
    pub fn copied(mut self) -> CommitItem {
        self.is_copy = true;
        self
    }
}

impl fmt::Display for CommitItem {
    /// The line that describes the item: `A  + URL`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match self.change {
            ItemChange::Add => 'A',
            ItemChange::Delete => 'D',
            ItemChange::Replace => 'R',
            ItemChange::Modify => 'M',
            ItemChange::None => '_',
        };
        let props = if self.has_prop_changes { 'M' } else { ' ' };
        let copy = if self.is_copy { '+' } else { ' ' };
        write!(f, "{text}{props} {copy} {}", self.target)
    }
}

/// Returns the revision properties of a commit, with its log message, before it begins; `None` gives up without an error.
pub type DescribeCommit<'a> = dyn FnMut(&[CommitItem]) -> Result<Option<Props>> + 'a;

/// Returns the log message of a commit before it begins; `None` gives up without an error.
pub type WriteMessage<'a> = dyn FnMut(&[CommitItem]) -> Result<Option<Vec<u8>>> + 'a;
