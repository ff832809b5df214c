//! Detection of replaced revisions: an administrator has put a backup, or another repository, in place of an open
//! filesystem.
//!
//! Revisions do not change, so cached values of them are not compared with the files. A replacement breaks this rule.
//! It is detected when `current` is read, by one of these signs:
//!
//! - `current` names an older revision than before;
//! - `current` is another file but names the same revision, while every commit names a new one;
//! - the file of the revision that was the youngest is another file;
//! - `format` is another file, and not because of an upgrade.
//!
//! Then the filesystem gets a new instance in the cache.

use std::sync::atomic::{AtomicBool, Ordering};

use base::Revnum;
use parking_lot::Mutex;

use super::Store;
use crate::store::disk::FileMeta;

/// The files that are compared, as last seen.
#[derive(Default)]
pub(crate) struct ReplacementDetector {
    /// The metadata of the files when `current` was last read.
    files: Mutex<FileStates>,
    /// True after the revisions were replaced, until [`Store::take_replaced`].
    is_replaced: AtomicBool,
}

/// Metadata of files. `None` where it could not be read reliably.
#[derive(Clone, Copy, Default)]
struct FileStates {
    /// The youngest revision at that time, and its file.
    revision: Option<(Revnum, FileMeta)>,
    /// The revision in `current`, and the file itself.
    current: Option<(Revnum, FileMeta)>,
    format: Option<FileMeta>,
}

impl Store {
    /// True if `current` is another file than the one that was last compared.
    pub(crate) fn is_other_current(&self, now: Option<FileMeta>) -> bool {
        let compared = self.replacement().files.lock().current;
        compared.map(|(_, file)| file) != now
    }

    /// Gives the filesystem a new instance in the cache if its revisions were replaced. `seen` is the youngest
    /// revision as read before, `now` as read now, and `before` is the metadata of `current` from before it was read.
    pub(crate) fn compare_revisions(&self, seen: Revnum, now: Revnum, before: Option<FileMeta>) {
        let mut files = self.replacement().files.lock();
        let meta = |rev| self.disk().metadata(&self.layout().rev(rev)).ok();
        let file = |name: &str| self.disk().metadata(&self.layout().file(name)).ok();
        // If the file was replaced while it was read, the number may come from either one.
        let current = before.filter(|before| file("current").as_ref() == Some(before));
        let format = file("format");
        let is_other = match files.revision {
            // A missing file means that the revision was packed.
            Some((rev, before)) if rev <= now => meta(rev).is_some_and(|there| there != before),
            _ => false,
        };
        // A commit would have changed the number. `recover` writes the same one again, and leaves the revision.
        let is_same =
            matches!(files.revision, Some((rev, before)) if rev == now && meta(rev) == Some(before));
        let is_rewritten = !is_same
            && matches!((files.current, current), (Some((rev, known)), Some(current)) if rev == now && known != current);
        // An upgrade rewrites `format` and keeps the revisions.
        let is_upgraded = || {
            self.read_format()
                .is_ok_and(|there| there.number > self.format().number)
        };
        let is_reformatted = files.format.is_some() && files.format != format && !is_upgraded();
        if now < seen || is_other || is_rewritten || is_reformatted {
            self.renew_instance();
            self.replacement().is_replaced.store(true, Ordering::Release);
            files.revision = None;
            // After an error here, a reader that misses a file reads it again.
            _ = self.refresh_min_unpacked_rev();
        }
        if files.revision.is_none_or(|(rev, _)| rev < now) {
            files.revision = meta(now).map(|meta| (now, meta));
        }
        files.current = current.map(|current| (now, current));
        files.format = format;
    }

    /// True once after the revisions were replaced.
    pub(crate) fn take_replaced(&self) -> bool {
        self.replacement().is_replaced.swap(false, Ordering::AcqRel)
    }
}
