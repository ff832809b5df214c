//! Revisions that were replaced under an open filesystem: an administrator has put a backup in their place.
//!
//! Revisions never change, so nothing that is cached of them is looked at again. A backup breaks that rule, and it shows: `current`
//! goes back, or the file of the revision that was the youngest is another one.

use std::sync::atomic::{AtomicBool, Ordering};

use base::Revnum;
use parking_lot::Mutex;

use crate::disk::FileMeta;
use crate::fs::Fs;

/// What is remembered to notice it.
#[derive(Default)]
pub(crate) struct Witness {
    /// A revision, and its file as it was when this was the youngest one.
    file: Mutex<Option<(Revnum, FileMeta)>>,
    /// The revisions were replaced, and nothing was committed since.
    is_replaced: AtomicBool,
}

impl Fs {
    /// Forgets what is cached if the revisions are not those that were there when `seen` was the youngest; `now` is the youngest.
    pub(crate) fn compare_revisions(&self, seen: Revnum, now: Revnum) {
        let mut file = self.0.witness.file.lock();
        let meta = |rev| self.disk().metadata(&self.layout().rev(rev)).ok();
        let is_other = match *file {
            // One that is not there is packed.
            Some((rev, before)) if rev <= now => meta(rev).is_some_and(|there| there != before),
            _ => false,
        };
        if now < seen || is_other {
            self.renew_instance();
            self.0.witness.is_replaced.store(true, Ordering::Release);
            *file = None;
            // What cannot be read now is read when a file is missed.
            _ = self.refresh_min_unpacked_rev();
        }
        if file.is_none_or(|(rev, _)| rev < now) {
            *file = meta(now).map(|meta| (now, meta));
        }
    }

    /// True once after the revisions were replaced.
    pub(crate) fn take_replaced(&self) -> bool {
        self.0.witness.is_replaced.swap(false, Ordering::AcqRel)
    }
}
