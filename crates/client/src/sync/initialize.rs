//! Makes a repository a mirror.

use base::{Result, Revnum, Url};
use ra::Session;

use super::bookkeeping::{self, FROM_URL, FROM_UUID, LAST_MERGED};
use super::revprops::{self, WriteMode};
use super::{NormalizedCounts, Observer, SyncContext, SyncEvent, invalid, with_lock};

/// Makes the repository `mirror` a mirror of `source`. Unless `allow_non_empty`, it must not have revisions.
///
/// # Errors
/// `errno` 22 if the repository has revisions, or is a mirror already, or is locked; those of the sessions.
pub fn initialize(
    mirror: &Url,
    source: &Url,
    allow_non_empty: bool,
    context: &SyncContext<'_>,
    observer: Observer<'_>,
) -> Result<()> {
    with_lock(mirror, context, observer, |mut session, observer| {
        let outcome = initialize_locked(&mut *session, source, allow_non_empty, context, observer);
        (Some(session), outcome)
    })
}

fn initialize_locked(
    mirror: &mut dyn Session,
    source: &Url,
    allow_non_empty: bool,
    context: &SyncContext<'_>,
    observer: Observer<'_>,
) -> Result<()> {
    let latest = mirror.latest_revision()?;
    if latest > Revnum::ZERO && !allow_non_empty {
        return Err(invalid(
            "Destination repository already contains revision history; consider using --allow-non-empty if the repository's \
             revisions are known to mirror their respective revisions in the source repository",
        ));
    }
    let props = mirror.revprops(Revnum::ZERO)?;
    if let Some(url) = bookkeeping::source_url(&props).filter(|_| !allow_non_empty) {
        return Err(invalid(format!(
            "Destination repository is already synchronizing from '{url}'"
        )));
    }
    let mut from = context.connect.source(source)?;
    if latest > Revnum::ZERO && from.latest_revision()? < latest {
        return Err(invalid(
            "Destination repository has more revisions than source repository",
        ));
    }
    bookkeeping::set(mirror, FROM_URL, source.as_str())?;
    bookkeeping::set(mirror, FROM_UUID, from.uuid())?;
    bookkeeping::set(mirror, LAST_MERGED, &latest.to_string())?;
    let wanted = context.encoding.normalize_revprops(&from.revprops(latest)?)?;
    let existing = mirror.revprops(latest)?;
    revprops::write(mirror, latest, &wanted, &existing, WriteMode::All)?;
    observer(SyncEvent::PropsCopied {
        rev: latest,
        has_sync_props: wanted.has_sync_props,
    })?;
    let counts = NormalizedCounts {
        rev_props: wanted.normalized,
        node_props: 0,
    };
    counts.report(observer)
}
