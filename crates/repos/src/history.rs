//! Where a node was in other revisions.

use base::{Code, Error, FsPath, Result, Revnum};

use crate::access::Readable;
use crate::repo::Repository;

/// A stretch of revisions in which a node stayed at one path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Oldest revision of the stretch.
    pub start: Revnum,
    /// Youngest revision of the stretch.
    pub end: Revnum,
    /// Where it was; `None` in the gap between a copy's source and the copy.
    pub path: Option<FsPath>,
}

/// Where the node `path`@`peg` was in each of `revs`; revisions in which it was nowhere are left out.
///
/// # Errors
/// `FS_NOT_FOUND` if `path` is not in `peg`, or not in one of `revs` younger than it; `AUTHZ_UNREADABLE`;
/// `FS_NO_SUCH_REVISION`.
pub fn locations(
    repo: &Repository,
    path: &FsPath,
    peg: Revnum,
    revs: &[Revnum],
    readable: &dyn Readable,
) -> Result<Vec<(Revnum, FsPath)>> {
    let _ = (repo, path, peg, revs, readable);
    Err(Error::bare(Code::UNSUPPORTED_FEATURE))
}

/// Sends where `path`@`peg` was between `start` and `end` (`None`: the youngest, the youngest, 0), youngest first.
///
/// # Errors
/// `FS_NO_SUCH_REVISION` unless `end` <= `start` <= `peg`; as [`locations`] for the peg.
pub fn location_segments(
    repo: &Repository,
    path: &FsPath,
    peg: Option<Revnum>,
    start: Option<Revnum>,
    end: Option<Revnum>,
    readable: &dyn Readable,
    sink: &mut dyn FnMut(Segment) -> Result<()>,
) -> Result<()> {
    let _ = (repo, path, peg, start, end, readable, sink);
    Err(Error::bare(Code::UNSUPPORTED_FEATURE))
}

/// The revision after `start` and up to `end` in which the node that `path` is in `start` was deleted or replaced.
///
/// # Errors
/// `FS_NO_SUCH_REVISION`.
pub fn deleted_rev(repo: &Repository, path: &FsPath, start: Revnum, end: Revnum) -> Result<Option<Revnum>> {
    let _ = (repo, path, start, end);
    Err(Error::bare(Code::UNSUPPORTED_FEATURE))
}
