//! The rep-cache database against the revisions that it names.

use base::{Code, Error, Result, Revnum};

use crate::format::rep_header::{MAX_HEADER, RepHeader};
use crate::fs::Fs;
use crate::rep_cache::{RepCache, RepCacheRow};

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
    cache.for_each(first, last, &mut |row| check_row(fs, &row))
}

fn check_row(fs: &Fs, row: &RepCacheRow) -> Result<()> {
    fs.with_rev_file(row.rev, |file| {
        let offset = file.item_offset(fs.cache(), row.rev, row.item)?;
        if file.footer().is_some() {
            let entry = file.p2l_at(fs.cache(), offset)?;
            return match entry.filter(|entry| entry.offset == offset && entry.kind.is_rep()) {
                Some(_) => Ok(()),
                None => Err(Error::new(
                    Code::FS_CORRUPT,
                    format!(
                        "No representation found at offset {offset} for item {} in revision {}",
                        row.item, row.rev
                    ),
                )),
            };
        }
        let end = file.items_end(row.rev)?;
        let parse = |bytes: &[u8]| Ok(RepHeader::parse(bytes)?);
        file.bytes()
            .parse_at(offset, end, MAX_HEADER, MAX_HEADER, parse)
            .map(drop)
    })
}
