//! A difference as a list of changed nodes.

use base::{NodeKind, RelPath, Result, Url};

use super::tree::{Action, DirectoryChange, FileChange, Needs, TreeSink};

/// A changed node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SummaryEntry<'a> {
    /// Its URL or local path: at or below what was compared, the old one of two.
    pub target: &'a str,
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

/// What was compared.
#[derive(Clone, Copy, Debug)]
pub(super) enum SummaryTarget<'a> {
    Url(&'a Url),
    Path(&'a str),
}

impl SummaryTarget<'_> {
    fn join(self, below: &RelPath) -> String {
        match self {
            SummaryTarget::Url(url) => url.join(below).to_string(),
            SummaryTarget::Path(path) if below.is_empty() => match path {
                "" => ".".to_owned(),
                path => path.to_owned(),
            },
            SummaryTarget::Path("") => below.to_string(),
            SummaryTarget::Path(path) => format!("{}/{below}", path.trim_end_matches('/')),
        }
    }
}

/// Passes changed nodes to a function.
pub(super) struct Summary<'a> {
    target: SummaryTarget<'a>,
    /// Whether paths begin with the node's name.
    names_node: bool,
    ignore_properties: bool,
    entry: &'a mut dyn FnMut(&SummaryEntry<'_>) -> Result<()>,
}

impl<'a> Summary<'a> {
    pub(super) fn new(
        target: SummaryTarget<'a>,
        names_node: bool,
        ignore_properties: bool,
        entry: &'a mut dyn FnMut(&SummaryEntry<'_>) -> Result<()>,
    ) -> Summary<'a> {
        Summary {
            target,
            names_node,
            ignore_properties,
            entry,
        }
    }

    fn pass(&mut self, path: &RelPath, action: SummaryAction, props: bool, kind: NodeKind) -> Result<()> {
        let props = props && !self.ignore_properties;
        if action == SummaryAction::Normal && !props {
            return Ok(());
        }
        let below = path.as_str().split_once('/').map_or("", |(_, below)| below);
        let target = match self.names_node {
            true => self.target.join(&RelPath::parse(below)?),
            false => self.target.join(path),
        };
        let is_at_both = matches!(action, SummaryAction::Modified | SummaryAction::Normal);
        (self.entry)(&SummaryEntry {
            target: &target,
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
