//! Commits to a mirror what it lacks.

use std::sync::Arc;

use base::{Props, Result, Revnum, Url, props};
use ra::{Capability, CommitRequest, ReplayOptions, Session};

use super::bookkeeping::{self, CURRENTLY_COPYING, LAST_MERGED, MirrorState};
use super::editor::MirrorEditor;
use super::normalize::RevisionProps;
use super::revprops::{self, WriteMode};
use super::writer::CommittedRevision;
use super::{NormalizedCounts, Observer, SyncContext, SyncEvent, invalid, open_mirror, with_lock};
use crate::replay_ahead::ReplayAhead;
use crate::session_thread::SessionThread;

/// Copies the revisions of the source that the mirror lacks. `source` replaces the URL that the mirror has.
///
/// # Errors
/// `errno` 22 for a repository that is not a mirror, or that was changed by other means; `RA_UUID_MISMATCH` for another source;
/// those of the sessions. The next run continues after any of them.
pub fn synchronize(
    mirror: &Url,
    source: Option<&Url>,
    context: &SyncContext<'_>,
    observer: Observer<'_>,
) -> Result<()> {
    with_lock(mirror, context, observer, |mut session, observer| {
        let prepared = prepare(&mut *session, source, context, observer);
        match prepared {
            Err(error) => (Some(session), Err(error)),
            Ok(None) => (Some(session), Ok(())),
            Ok(Some(copy)) => copy.run(mirror, session, context, observer),
        }
    })
}

/// What is to be copied.
struct PendingCopy {
    from: Box<dyn Session>,
    start: Revnum,
    end: Revnum,
    counts: NormalizedCounts,
}

/// Checks that the mirror is where the last run left it, and completes its last revision. `None` if nothing is to be copied.
fn prepare(
    mirror: &mut dyn Session,
    source: Option<&Url>,
    context: &SyncContext<'_>,
    observer: Observer<'_>,
) -> Result<Option<PendingCopy>> {
    let state = MirrorState::read(mirror)?;
    let mut from = state.open_source(source, context.connect)?;
    let mut counts = NormalizedCounts::default();
    let mut last = state.last_merged;
    let latest = mirror.latest_revision()?;
    match state.copying {
        Some(copying) => {
            if copying < last || copying > last.next() || (latest != last && latest != copying) {
                return Err(invalid(format!(
                    "Revision being currently copied ({copying}), last merged revision ({last}), and destination HEAD \
                     ({latest}) are inconsistent; have you committed to the destination without using svnsync?"
                )));
            }
            if latest == copying {
                if copying > last {
                    counts.rev_props += copy_all_props(mirror, &mut *from, copying, context, observer)?;
                    last = copying;
                }
                bookkeeping::set(mirror, LAST_MERGED, &last.to_string())?;
                bookkeeping::delete(mirror, CURRENTLY_COPYING)?;
            }
        }
        None if latest != last => {
            return Err(invalid(format!(
                "Destination HEAD ({latest}) is not the last merged revision ({last}); have you committed to the \
                 destination without using svnsync?"
            )));
        }
        None => {}
    }
    let end = from.latest_revision()?;
    if end <= last {
        counts.report(observer)?;
        return Ok(None);
    }
    Ok(Some(PendingCopy {
        from,
        start: last.next(),
        end,
        counts,
    }))
}

/// Copies the properties of the revision that the last run committed. Returns how many values got other line ends.
fn copy_all_props(
    mirror: &mut dyn Session,
    from: &mut dyn Session,
    rev: Revnum,
    context: &SyncContext<'_>,
    observer: Observer<'_>,
) -> Result<u64> {
    let wanted = context.encoding.normalize_revprops(&from.revprops(rev)?)?;
    let existing = mirror.revprops(rev)?;
    revprops::write(mirror, rev, &wanted, &existing, WriteMode::All)?;
    observer(SyncEvent::PropsCopied {
        rev,
        has_sync_props: wanted.has_sync_props,
    })?;
    Ok(wanted.normalized)
}

impl PendingCopy {
    /// Copies the revisions. Returns the bookkeeping session too.
    fn run(
        self,
        mirror: &Url,
        bookkeeping: Box<dyn Session>,
        context: &SyncContext<'_>,
        observer: Observer<'_>,
    ) -> (Option<Box<dyn Session>>, Result<()>) {
        let mut commits = match open_mirror(|url| context.connect.mirror(url), mirror) {
            Ok(session) => session,
            Err(error) => return (Some(bookkeeping), Err(error)),
        };
        let mut writer = match SessionThread::start(bookkeeping) {
            Ok(writer) => writer,
            Err(error) => return (None, Err(error)),
        };
        let mut progress = Progress {
            writer: &mut writer,
            observer,
            texts: 0,
            printed: 0,
        };
        let outcome = self.copy(&mut *commits, &mut progress, context);
        // The bookkeeping of a revision that was committed is done in any case.
        let waited = progress.catch_up();
        let outcome = match (outcome, waited) {
            (Ok(counts), Ok(())) => counts.report(observer),
            // What failed first.
            (_, Err(error)) | (Err(error), _) => Err(error),
        };
        (writer.finish(), outcome)
    }

    fn copy(
        self,
        commits: &mut dyn Session,
        progress: &mut Progress<'_>,
        context: &SyncContext<'_>,
    ) -> Result<NormalizedCounts> {
        let PendingCopy {
            from,
            start,
            end,
            mut counts,
        } = self;
        let options = ReplayOptions {
            low_water_mark: Revnum::ZERO,
            send_deltas: true,
        };
        let is_set = match commits.has(Capability::CommitRevprops)? {
            true => is_set_by_commit,
            false => is_log,
        };
        let mut revisions = ReplayAhead::start(from, (start, end), options, &context.cancel)?;
        while let Some((rev, props)) = revisions.next_revision()? {
            context.cancel.check()?;
            if rev == start {
                // Not before the source has begun to send it: an error of the source leaves the mirror as it was.
                let note = move |session: &mut dyn Session| {
                    bookkeeping::set(session, CURRENTLY_COPYING, &rev.to_string())
                };
                progress.writer.begin(Box::new(note))?;
            }
            let wanted = context.encoding.normalize_revprops(&props)?;
            counts.rev_props += wanted.normalized;
            let has_sync_props = wanted.has_sync_props;
            progress.begin_revision();
            counts.node_props += commit(commits, rev, &wanted, is_set, &mut revisions, progress, context)?;
            (progress.observer)(SyncEvent::Committed(rev))?;
            let committed = CommittedRevision {
                rev,
                wanted: Arc::new(wanted),
                is_set,
                next: (rev < end).then(|| rev.next()),
            };
            committed.copy_props(commits, progress.writer)?;
            (progress.observer)(SyncEvent::PropsCopied { rev, has_sync_props })?;
            progress
                .writer
                .begin(Box::new(move |session| committed.finish(session)))?;
        }
        progress.catch_up()?;
        Ok(counts)
    }
}

/// Commits a revision, after the one before it is complete. Returns how many values of properties got other line ends.
fn commit(
    session: &mut dyn Session,
    rev: Revnum,
    wanted: &RevisionProps,
    is_set: fn(&str) -> bool,
    revisions: &mut ReplayAhead,
    progress: &mut Progress<'_>,
    context: &SyncContext<'_>,
) -> Result<u64> {
    let props = wanted.props.iter().filter(|(name, _)| is_set(name));
    let mut revprops: Props = props.map(|(name, value)| (name.clone(), value.clone())).collect();
    revprops.entry(props::LOG.to_owned()).or_default();
    let request = CommitRequest {
        revprops,
        ..CommitRequest::default()
    };
    let root = session.root_url().clone();
    let mut normalized = 0;
    let info = session.commit(&request, &mut |commit| {
        let mut text_begins = || progress.text_begins();
        let mut editor = MirrorEditor::new(commit, &root, context.encoding, &mut text_begins);
        revisions.drive(&mut editor)?;
        editor.finish(rev)?;
        normalized = editor.normalized;
        let has_other_mergeinfo = editor.has_other_mergeinfo;
        progress.catch_up()?;
        progress.end_texts()?;
        match has_other_mergeinfo {
            true => (progress.observer)(SyncEvent::MergeinfoRepaired),
            false => Ok(()),
        }
    })?;
    match info.rev == rev {
        true => Ok(normalized),
        false => Err(invalid(format!(
            "Commit created r{} but should have created r{rev}",
            info.rev
        ))),
    }
}

/// The properties that a commit sets: all but those that the server sets itself.
fn is_set_by_commit(name: &str) -> bool {
    name != props::AUTHOR && name != props::DATE
}

/// The only property that old servers set.
fn is_log(name: &str) -> bool {
    name == props::LOG
}

/// The progress, in the order in which it is reported: texts of a revision follow the bookkeeping of the one before.
struct Progress<'a> {
    writer: &'a mut SessionThread<()>,
    observer: Observer<'a>,
    /// The texts of the current revision.
    texts: u64,
    /// Those that were reported.
    printed: u64,
}

impl Progress<'_> {
    fn begin_revision(&mut self) {
        (self.texts, self.printed) = (0, 0);
    }

    fn text_begins(&mut self) -> Result<()> {
        self.texts += 1;
        let polled = self.writer.poll().map(drop);
        self.after_bookkeeping(polled)
    }

    /// Waits for the bookkeeping of the revision before, and reports what was held back.
    fn catch_up(&mut self) -> Result<()> {
        let waited = self.writer.wait().map(drop);
        self.after_bookkeeping(waited)
    }

    /// Reports what was held back, unless the bookkeeping failed: then nothing more is reported.
    fn after_bookkeeping(&mut self, outcome: Result<()>) -> Result<()> {
        outcome.inspect_err(|_| self.texts = self.printed)?;
        self.report_texts()
    }

    fn end_texts(&mut self) -> Result<()> {
        match self.texts {
            0 => Ok(()),
            _ => (self.observer)(SyncEvent::TextsEnd),
        }
    }

    fn report_texts(&mut self) -> Result<()> {
        while !self.writer.is_busy() && self.printed < self.texts {
            let is_first = self.printed == 0;
            (self.observer)(SyncEvent::Text { is_first })?;
            self.printed += 1;
        }
        Ok(())
    }
}
