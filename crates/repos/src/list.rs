//! Listing a tree, as deep as wanted, with name patterns.

use base::{Code, Depth, Error, FsPath, Result, Revnum};

use crate::access::Readable;
use crate::get::{Dirent, DirentFields};
use crate::repo::Repository;

/// Sends the node at `path` and what is below it within `depth`, parents before children, in byte order of names.
/// With `patterns` only nodes whose (folded) name matches one of them are sent.
///
/// # Errors
/// `FS_NO_SUCH_REVISION`, `FS_NOT_FOUND`; `REPOS_BAD_ARGS` for a depth below `empty`.
#[expect(clippy::too_many_arguments, reason = "the request has this many parts")]
pub fn run(
    repo: &Repository,
    path: &FsPath,
    rev: Revnum,
    depth: Depth,
    fields: DirentFields,
    patterns: Option<&[String]>,
    readable: &dyn Readable,
    sink: &mut dyn FnMut(&FsPath, &Dirent) -> Result<()>,
) -> Result<()> {
    let _ = (repo, path, rev, depth, fields, patterns, readable, sink);
    Err(Error::bare(Code::UNSUPPORTED_FEATURE))
}
