//! A difference as a list of changed nodes.

use base::{NodeKind, RelPath, Result, Url};

use super::ends::Ends;
use super::tree::{Action, DirectoryChange, FileChange, Needs, TreeSink};

/// A changed node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SummaryEntry<'a> {
    /// Its URL: the old one if its name differs.
    pub url: &'a Url,
    /// How it differs.
    pub action: SummaryAction,
    /// Whether the properties of a node that is at both ends differ.
    pub props: bool,
    /// The kind.
    pub kind: NodeKind,
}

/// How a node differs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SummaryAction {
    /// It was added.
    Added,
    /// It was deleted.
    Deleted,
    /// Its text differs.
    Modified,
    /// Its text does not differ.
    Normal,
}

/// Passes changed nodes to a function.
pub(super) struct Summary<'a> {
    /// The URL of the edit's root.
    root: Url,
    entry: &'a mut dyn FnMut(&SummaryEntry<'_>) -> Result<()>,
}

impl<'a> Summary<'a> {
    pub(super) fn new(ends: &Ends, entry: &'a mut dyn FnMut(&SummaryEntry<'_>) -> Result<()>) -> Summary<'a> {
        let url = &ends.old.url;
        let root = match url.parent() {
            Some(parent) if ends.has_target() => parent,
            _ => url.clone(),
        };
        Summary { root, entry }
    }

    fn pass(&mut self, path: &RelPath, action: SummaryAction, props: bool, kind: NodeKind) -> Result<()> {
        let url = self.root.join(path);
        let is_at_both = matches!(action, SummaryAction::Modified | SummaryAction::Normal);
        (self.entry)(&SummaryEntry {
            url: &url,
            action,
            props: props && is_at_both,
            kind,
        })
    }
}

impl TreeSink for Summary<'_> {
    fn needs(&self, _: Action) -> Needs {
        Needs {
            props: false,
            text: false,
        }
    }

    fn file(&mut self, change: &FileChange<'_>) -> Result<()> {
        let action = match change.action {
            Action::Added => SummaryAction::Added,
            Action::Deleted => SummaryAction::Deleted,
            Action::Modified if change.text => SummaryAction::Modified,
            Action::Modified => SummaryAction::Normal,
        };
        self.pass(change.path, action, change.props, NodeKind::File)
    }

    fn directory(&mut self, change: &DirectoryChange<'_>) -> Result<()> {
        let action = match change.action {
            Action::Added => SummaryAction::Added,
            Action::Deleted => SummaryAction::Deleted,
            Action::Modified => SummaryAction::Normal,
        };
        self.pass(change.path, action, change.props, NodeKind::Dir)
    }
}
