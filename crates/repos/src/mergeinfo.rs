//! Mergeinfo of nodes: their own, what they inherit, and what is below them.

use base::mergeinfo::Mergeinfo;
use base::{Code, Error, FsPath, Result, Revnum};

use crate::access::Readable;
use crate::repo::Repository;

/// Whose mergeinfo counts for a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Inheritance {
    /// Only its own.
    Explicit,
    /// Its own, else what the nearest ancestor that has any passes on.
    Inherited,
    /// What the nearest ancestor that has any passes on, never its own.
    NearestAncestor,
}

/// The mergeinfo of `paths` in `rev`, sorted by path; paths without any, or unreadable, are left out. With
/// `descendants` also that of all nodes below which have their own.
///
/// # Errors
/// `FS_NO_SUCH_REVISION`, `FS_NOT_FOUND`.
pub fn get(
    repo: &Repository,
    paths: &[FsPath],
    rev: Revnum,
    inherit: Inheritance,
    descendants: bool,
    readable: &dyn Readable,
) -> Result<Vec<(FsPath, Mergeinfo)>> {
    let _ = (repo, paths, rev, inherit, descendants, readable);
    Err(Error::bare(Code::UNSUPPORTED_FEATURE))
}
