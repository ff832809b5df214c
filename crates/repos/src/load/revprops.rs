//! Loads revision properties onto revisions that exist.

use std::io::BufRead;

use base::{Cancel, Props, Result, Revnum};

use crate::dumpfile::{DumpReader, DumpRecord};
use crate::load::{LoadEvent, LoadObserver, LoadOptions, is_wanted, prop};
use crate::props_rules;
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
            let value = value.unwrap_or_default();
            let value = match options.normalize_props {
                true => props_rules::normalize(&name, &value).into_owned(),
                false => value,
            };
            props.insert(name, value);
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
    // A revision that does not exist is refused first.
    repository.fs().revprops(rev)?;
    if options.validate_props {
        let mut all = props.iter();
        all.try_for_each(|(name, value)| prop::validate(name, value))?;
    }
    repository.fs().set_revprops(rev, &props)?;
    observer.event(LoadEvent::PropsSet(rev))
}
