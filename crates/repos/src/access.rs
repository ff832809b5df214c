//! Who may read which path: the question that every walk over a tree asks.
//!
//! Two things answer it: the compiled authz rules of one user, and the include/exclude filters of a dump. A walk
//! asks [`Readable::subtree`] once where it enters a directory; a wholly readable subtree then costs nothing per
//! node.

use base::FsPath;

/// What is known about a whole subtree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subtree {
    /// The path and everything below it may be read.
    All,
    /// Nothing at or below the path may be read.
    None,
    /// Ask for each path.
    Mixed,
}

/// Decides which paths may be read.
pub trait Readable: Send + Sync {
    /// True if this very path may be read.
    fn read(&self, path: &FsPath) -> bool;

    /// What is known about the path and everything below it, by rules alone (not by existing nodes).
    fn subtree(&self, path: &FsPath) -> Subtree;
}

/// Everything may be read: no authz file, or an administrator.
#[derive(Clone, Copy, Debug, Default)]
pub struct Everything;

impl Readable for Everything {
    fn read(&self, _path: &FsPath) -> bool {
        true
    }

    fn subtree(&self, _path: &FsPath) -> Subtree {
        Subtree::All
    }
}
