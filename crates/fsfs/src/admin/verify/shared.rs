//! The rep-cache database against the revisions that it names.

use base::{Result, Revnum};

use crate::fs::Fs;
use crate::rep_cache::RepCache;

/// Checks that no row is younger than the filesystem (if the run begins at revision 0) and that each row of the revisions `first`
/// to `last` names a stored content.
///
/// # Errors
/// `FS_NO_SUCH_REVISION`, `FS_CORRUPT`, SQLite's, and whatever reading says.
pub(super) fn check(fs: &Fs, cache: &RepCache, first: Revnum, last: Revnum) -> Result<()> {
    if first == Revnum::ZERO
        && let Some(max) = cache.max_revision()?
    {
        fs.check_rev(max)?;
    }
    cache.for_each(first, last, &mut |row| fs.check_rep(row.rev, row.item))
}
