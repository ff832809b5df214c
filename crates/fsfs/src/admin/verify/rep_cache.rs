//! Checking the rep-cache database against the revisions that it names.

use std::time::Duration;

use base::checksum::Md5;
use base::{Cancel, Result, Revnum};

use super::hasher::corrupt_rep;
use crate::format::id::TxnId;
use crate::format::rep_line::{Rep, RepLocation, Uniquifier};
use crate::store::rep_cache::{RepCache, RepCacheRow};
use crate::store::shared::SharedHeads;
use crate::tree::Fs;

/// Checks that no row names a missing revision (if the run begins at revision 0), and that each row of the revisions `first` to
/// `last` names a stored content.
///
/// # Errors
/// `FS_NO_SUCH_REVISION`, `FS_CORRUPT`, SQLite's; those of reading.
pub(super) fn check(fs: &Fs, cache: &RepCache, first: Revnum, last: Revnum) -> Result<()> {
    if first == Revnum::ZERO
        && let Some(max) = cache.max_revision()?
    {
        fs.check_rev(max)?;
    }
    cache.for_each(first, last, &mut |row| check_row(fs, &row))
}

/// As [`check`], for the rows of a shared filesystem.
///
/// # Errors
/// `FS_NO_SUCH_REVISION`, `FS_CORRUPT`; those of the rows and of reading; `CANCELLED`.
pub(super) fn check_shared(
    fs: &Fs,
    heads: &dyn SharedHeads,
    first: Revnum,
    last: Revnum,
    cancel: &Cancel,
) -> Result<()> {
    if first == Revnum::ZERO {
        let youngest = heads.head(Duration::ZERO)?.youngest;
        if let Some(row) = heads.reps(youngest.next(), Revnum::MAX, None)?.first() {
            // Unless it was made since.
            fs.check_rev(row.rev)?;
        }
    }
    let mut after: Option<RepCacheRow> = None;
    loop {
        let rows = heads.reps(first, last, after.as_ref())?;
        for row in &rows {
            cancel.check()?;
            check_row(fs, row)?;
        }
        match rows.last() {
            Some(row) => after = Some(*row),
            None => return Ok(()),
        }
    }
}

fn check_row(fs: &Fs, row: &RepCacheRow) -> Result<()> {
    let checked = fs.check_rep(row.rev, row.item);
    checked.map_err(|e| match fs.format().logical {
        true => e,
        false => corrupt_rep(fs, &rep(row), e),
    })
}

/// Returns the representation of a row; fields that a row lacks are zero.
fn rep(row: &RepCacheRow) -> Rep {
    Rep {
        location: RepLocation::Rev(row.rev, row.item),
        length: row.length,
        expanded: row.expanded,
        md5: Md5([0; 16]),
        sha1: Some(row.sha1),
        uniquifier: Some(Uniquifier {
            txn: TxnId::of_fsfs(Revnum::ZERO, 0),
            number: 0,
        }),
    }
}
