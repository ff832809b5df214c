//! Revisions that were replaced under an open filesystem: an administrator has put a backup, or another repository, in their place.
//!
//! Revisions never change, so nothing that is cached of them is looked at again. A replacement breaks that rule, and it shows:
//! `current` goes back, or is another file that names the same revision; the file of the revision that was the youngest is another
//! one; or so is `format`.

use std::sync::atomic::{AtomicBool, Ordering};

use base::Revnum;
use parking_lot::Mutex;

use super::Store;
use crate::store::disk::FileMeta;

/// What is remembered to notice it.
#[derive(Default)]
pub(crate) struct ReplacementDetector {
    /// The files as they were when `current` was last looked at.
    files: Mutex<FileStates>,
    /// The revisions were replaced, and nothing was committed since.
    is_replaced: AtomicBool,
}

/// `None` is what is not known for certain.
#[derive(Clone, Copy, Default)]
struct FileStates {
    /// A revision, and its file as it was when this was the youngest one.
    revision: Option<(Revnum, FileMeta)>,
    /// `current`, and what it names.
    current: Option<(Revnum, FileMeta)>,
    format: Option<FileMeta>,
}

impl Store {
    /// True if `current` is another file than the one that was compared last.
    pub(crate) fn is_other_current(&self, now: Option<FileMeta>) -> bool {
        let known = self.replacement().files.lock().current;
        known.map(|(_, file)| file) != now
    }

    /// Forgets what is cached if the revisions are not those that were there when `seen` was the youngest; `now` is the youngest, and
    /// `before` was `current` before this was read in it.
    pub(crate) fn compare_revisions(&self, seen: Revnum, now: Revnum, before: Option<FileMeta>) {
        let mut files = self.replacement().files.lock();
        let meta = |rev| self.disk().metadata(&self.layout().rev(rev)).ok();
        let file = |name: &str| self.disk().metadata(&self.layout().file(name)).ok();
        // If it was replaced while it was read, it is not known which file has said so.
        let current = before.filter(|before| file("current").as_ref() == Some(before));
        let format = file("format");
        let is_other = match files.revision {
            // One that is not there is packed.
            Some((rev, before)) if rev <= now => meta(rev).is_some_and(|there| there != before),
            _ => false,
        };
        // A commit names another revision.
        let is_rewritten = matches!((files.current, current), (Some((rev, known)), Some(current)) if rev == now && known != current);
        // An upgrade keeps the revisions.
        let is_upgraded = || {
            self.read_format()
                .is_ok_and(|there| there.number > self.format().number)
        };
        let is_reformatted = files.format.is_some() && files.format != format && !is_upgraded();
        if now < seen || is_other || is_rewritten || is_reformatted {
            self.renew_instance();
            self.replacement().is_replaced.store(true, Ordering::Release);
            files.revision = None;
            // What cannot be read now is read when a file is missed.
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
