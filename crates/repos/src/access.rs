//! Which paths a user may read: every walk over a tree asks this.
//!
//! There are two implementations: the compiled authz rules of one user, and the filters of a dump. A walk calls
//! [`Readable::subtree`] once for each directory that it enters; below a wholly readable one it asks no more.

use base::FsPath;

/// The access to a whole subtree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subtree {
    /// The path and everything below it may be read.
    All,
    /// Nothing at or below the path may be read.
    None,
    /// Each path must be checked.
    Mixed,
}

/// Decides which paths may be read.
pub trait Readable: Send + Sync {
    /// True if this very path may be read.
    fn read(&self, path: &FsPath) -> bool;

    /// Returns the access to the path and everything below it, by the rules alone, whichever nodes exist.
    fn subtree(&self, path: &FsPath) -> Subtree;
}

/// Everything may be read: there is no authz file, or the caller is an administrator.
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
