//! Changed nodes, and what receives them.

use base::{Props, RelPath, Result};

use super::text::Text;

/// How a node differs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Action {
    /// It is only at the new end.
    Added,
    /// It is only at the old end.
    Deleted,
    /// It is at both ends.
    Modified,
}

impl Action {
    /// Returns the action if the ends are exchanged.
    pub(super) fn reversed(self) -> Action {
        match self {
            Action::Added => Action::Deleted,
            Action::Deleted => Action::Added,
            Action::Modified => Action::Modified,
        }
    }
}

/// What a sink needs of the two sides of a file. What it does not need stays empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Needs {
    pub props: bool,
    pub text: bool,
}

/// One side of a file; empty for a file that is not there.
#[derive(Debug, Default)]
pub(super) struct FileSide {
    pub props: Props,
    pub text: Text,
}

/// A file that differs.
#[derive(Debug)]
pub(super) struct FileChange<'a> {
    /// Its path below the root of the edit.
    pub path: &'a RelPath,
    pub action: Action,
    pub old: &'a FileSide,
    pub new: &'a FileSide,
    /// The texts may differ.
    pub text: bool,
    /// The properties may differ.
    pub props: bool,
}

/// A directory that differs.
#[derive(Debug)]
pub(super) struct DirectoryChange<'a> {
    /// Its path below the root of the edit.
    pub path: &'a RelPath,
    pub action: Action,
    pub old: &'a Props,
    pub new: &'a Props,
    /// The properties may differ.
    pub props: bool,
}

/// Receives changed nodes, each directory after what is below it.
pub(super) trait TreeSink {
    /// Returns what the sink needs of a node that differs so.
    fn needs(&self, action: Action) -> Needs;

    /// Receives a file.
    fn file(&mut self, change: &FileChange<'_>) -> Result<()>;

    /// Receives a directory. One that is at both ends is passed only if its properties may differ.
    fn directory(&mut self, change: &DirectoryChange<'_>) -> Result<()>;
}

/// Passes changes with paths relative to the entry of the edit's root that the edit is about.
pub(super) struct BelowTarget<'a>(pub &'a mut dyn TreeSink);

impl BelowTarget<'_> {
    fn path(path: &RelPath) -> Result<RelPath> {
        let below = path.as_str().split_once('/').map_or("", |(_, below)| below);
        RelPath::parse(below)
    }
}

impl TreeSink for BelowTarget<'_> {
    fn needs(&self, action: Action) -> Needs {
        self.0.needs(action)
    }

    fn file(&mut self, change: &FileChange<'_>) -> Result<()> {
        let path = &Self::path(change.path)?;
        self.0.file(&FileChange { path, ..*change })
    }

    fn directory(&mut self, change: &DirectoryChange<'_>) -> Result<()> {
        let path = &Self::path(change.path)?;
        self.0.directory(&DirectoryChange { path, ..*change })
    }
}
