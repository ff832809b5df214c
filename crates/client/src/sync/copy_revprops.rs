//! Copies properties of revisions that the mirror has.
//!
//! The properties of both repositories are read ahead, each by a thread of its own, while they are compared and written.

use std::sync::mpsc::{Receiver, sync_channel};
use std::thread;

use base::{Error, Props, Result, Revnum, Url};
use ra::Session;

use super::bookkeeping::MirrorState;
use super::revprops::{self, WriteMode};
use super::{NormalizedCounts, Observer, SyncContext, SyncEvent, invalid, open_mirror, with_lock};

/// One end of a range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CopyRevision {
    /// A number.
    Number(Revnum),
    /// The last revision of the mirror that is complete.
    Head,
}

/// The revisions whose properties are copied, in this order; `end` may be before `start`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CopyRange {
    /// The first.
    pub start: CopyRevision,
    /// The last.
    pub end: CopyRevision,
}

/// Copies the properties of revisions to a mirror. `source` replaces the URL that the mirror has. With `skip_unchanged`, values
/// that the mirror has are not written again.
///
/// # Errors
/// `errno` 22 for a repository that is not a mirror, and for revisions that it lacks; `RA_UUID_MISMATCH` for another source; those of
/// the sessions.
pub fn copy_revprops(
    mirror: &Url,
    source: Option<&Url>,
    range: CopyRange,
    skip_unchanged: bool,
    context: &SyncContext<'_>,
    observer: Observer<'_>,
) -> Result<()> {
    let mode = match skip_unchanged {
        true => WriteMode::Changed,
        false => WriteMode::All,
    };
    with_lock(mirror, context, observer, |mut session, observer| {
        let outcome = MirrorState::read(&mut *session).and_then(|state| {
            let revs = state.revisions(range)?;
            let from = state.open_source(source, context.connect)?;
            let existing = open_mirror(|url| context.connect.mirror(url), mirror)?;
            copy(&mut *session, (from, existing), revs, mode, context, observer)
        });
        (Some(session), outcome)
    })
}

impl MirrorState {
    /// Returns the numbers of a range.
    ///
    /// # Errors
    /// `errno` 22 for a revision that the mirror lacks.
    fn revisions(&self, range: CopyRange) -> Result<Vec<Revnum>> {
        let number = |rev: CopyRevision| match rev {
            CopyRevision::Head => Ok(self.last_merged),
            CopyRevision::Number(rev) if rev <= self.last_merged => Ok(rev),
            CopyRevision::Number(rev) => Err(invalid(format!(
                "Cannot copy revprops for a revision ({rev}) that has not been synchronized yet"
            ))),
        };
        let (start, end) = (number(range.start)?, number(range.end)?);
        let mut revs: Vec<Revnum> = (start.min(end).0..=start.max(end).0).map(Revnum).collect();
        if start > end {
            revs.reverse();
        }
        Ok(revs)
    }
}

fn copy(
    mirror: &mut dyn Session,
    (from, existing): (Box<dyn Session>, Box<dyn Session>),
    revs: Vec<Revnum>,
    mode: WriteMode,
    context: &SyncContext<'_>,
    observer: Observer<'_>,
) -> Result<()> {
    let wanted = read_ahead(from, revs.clone())?;
    let existing = read_ahead(existing, revs.clone())?;
    let mut counts = NormalizedCounts::default();
    for rev in revs {
        context.cancel.check()?;
        let props = next(&wanted)?;
        let wanted = context.encoding.normalize_revprops(&props)?;
        revprops::write(mirror, rev, &wanted, &next(&existing)?, mode)?;
        counts.rev_props += wanted.normalized;
        observer(SyncEvent::PropsCopied {
            rev,
            has_sync_props: wanted.has_sync_props,
        })?;
    }
    counts.report(observer)
}

/// Reads the properties of revisions on a thread of its own. It ends when the receiver is dropped.
fn read_ahead(mut session: Box<dyn Session>, revs: Vec<Revnum>) -> Result<Receiver<Result<Props>>> {
    let (sender, receiver) = sync_channel(REVISIONS_AHEAD);
    thread::Builder::new()
        .name("revprops: read".into())
        .spawn(move || {
            for rev in revs {
                let props = session.revprops(rev);
                let is_failed = props.is_err();
                if sender.send(props).is_err() || is_failed {
                    return;
                }
            }
        })
        .map_err(|e| Error::os(&e, "Can't start a thread"))?;
    Ok(receiver)
}

fn next(props: &Receiver<Result<Props>>) -> Result<Props> {
    props
        .recv()
        .unwrap_or_else(|_| Err(invalid("The thread that reads properties ended")))
}

/// Revisions whose properties are read ahead.
const REVISIONS_AHEAD: usize = 64;
