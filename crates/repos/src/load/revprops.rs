//! Loading revision properties alone, onto revisions that are there.

use std::io::BufRead;

use base::{Cancel, Props, Result};

use crate::dumpfile::{Reader, Record};
use crate::load::{Event, Observer, Options, UuidAction, is_wanted, prop};
use crate::props_rules;
use crate::repo::Repository;

/// Replaces the properties of the revisions that the stream has by the stream's. What else it holds is passed over.
///
/// # Errors
/// As [`run`](super::run); `FS_NO_SUCH_REVISION` for a revision that is not there.
pub fn revprops(
    repository: &Repository,
    input: impl BufRead,
    options: &Options,
    observer: &mut dyn Observer,
    cancel: &Cancel,
) -> Result<()> {
    let mut reader = Reader::open(input)?;
    while let Some(record) = reader.next_record()? {
        cancel.check()?;
        let original = match record {
            Record::Uuid(uuid) if options.uuid == UuidAction::Force => {
                repository.fs().set_uuid(Some(&uuid))?;
                continue;
            }
            Record::Uuid(_) | Record::Node(_) => continue,
            Record::Revision(headers) => headers.rev,
        };
        if !is_wanted(options.range, original) {
            observer.event(Event::Skipped { original })?;
            continue;
        }
        let mut props = Props::new();
        while let Some((name, value)) = reader.next_prop()? {
            let value = value.unwrap_or_default();
            let value = match options.normalize_props {
                true => props_rules::normalize(&name, &value).into_owned(),
                false => value,
            };
            if options.validate_props {
                prop::validate(&name, &value)?;
            }
            props.insert(name, value);
        }
        repository.fs().set_revprops(original, &props)?;
        observer.event(Event::PropsSet(original))?;
    }
    Ok(())
}
