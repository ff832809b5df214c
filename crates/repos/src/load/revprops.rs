//! Loads revision properties onto revisions that exist.

use std::io::BufRead;

use base::{Cancel, Props, Result, Revnum};

use crate::dumpfile::{DumpReader, DumpRecord};
use crate::load::{LoadEvent, LoadObserver, LoadOptions, is_wanted, prop};
use crate::repo::Repository;

/// Replaces the properties of the stream's revisions by the stream's. Other records are skipped.
///
/// # Errors
/// As [`run`](super::run); `FS_NO_SUCH_REVISION` for a revision that is not there.
pub fn revprops(
    repository: &Repository,
    input: impl BufRead,
    options: &LoadOptions,
    observer: &mut dyn LoadObserver,
    cancel: &Cancel,
) -> Result<()> {
    let mut reader = DumpReader::open(input)?;
    // The last revision that the stream has begun; its properties are set when its last record has been read.
    let mut open: Option<(Revnum, Props)> = None;
    while let Some(record) = reader.next_record()? {
        cancel.check()?;
        // The UUID stays, also with --force-uuid.
        let DumpRecord::Revision(headers) = record else {
            continue;
        };
        set(repository, open.take(), options, observer)?;
        let original = headers.rev()?;
        if !is_wanted(options.range, original) {
            observer.event(LoadEvent::Skipped { original })?;
            continue;
        }
        let mut props = Props::new();
        while let Some((name, value)) = reader.next_prop()? {
            props.insert(name, value.unwrap_or_default());
        }
        open = Some((original, props));
    }
    set(repository, open, options, observer)
}

fn set(
    repository: &Repository,
    revision: Option<(Revnum, Props)>,
    options: &LoadOptions,
    observer: &mut dyn LoadObserver,
) -> Result<()> {
    let Some((rev, props)) = revision else {
        return Ok(());
    };
    replace(repository, rev, props, options)?;
    observer.event(LoadEvent::PropsSet(rev))
}

/// Replaces the properties of a revision. Values that it has already stay as they are, whatever the rules for values say; without
/// any other nothing is written.
///
/// # Errors
/// `FS_NO_SUCH_REVISION`; those of [`prop::as_stored`]; `errno`.
pub(super) fn replace(
    repository: &Repository,
    rev: Revnum,
    mut props: Props,
    options: &LoadOptions,
) -> Result<()> {
    let old = repository.fs().revprops(rev)?;
    for (name, value) in &mut props {
        if old.get(name) == Some(value) {
            continue;
        }
        *value = prop::as_stored(name, std::mem::take(value), options)?;
    }
    match props == old.to_props() {
        true => Ok(()),
        false => repository.fs().set_revprops(rev, &props),
    }
}
