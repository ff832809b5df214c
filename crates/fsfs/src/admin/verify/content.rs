//! Checking stored contents against their recorded digests, many at a time.
//!
//! A single MD5 stream is the slowest part of a verification, sixteen streams together are not. So contents are read first and
//! are queued in a [`ContentHasher`] until there are enough. A mismatch is therefore found late: it is reported with the
//! [`CheckOrigin`] at which the walk has reached the content, and the caller sorts the errors.
//!
//! File texts, which are most of the bytes, are not even read by the walk that comes across them. They are noted, and a full
//! list becomes a task of the pool: so one large revision, an import say, keeps all threads busy. ([`ContentBatch`] is the walk's
//! side, [`ContentHasher`] what is done to a list.)
//!
//! A content that was found good is not read again. [`VerifiedContents`] has its key: address, lengths and digests. So two nodes
//! that share a content and disagree about it are both checked.

use std::collections::{HashMap, HashSet};
use std::panic::resume_unwind;
use std::sync::Arc;

use base::ordered::{Limits, OrderedQueue, ThreadPool};
use base::{Cancel, Error, Result};
use parking_lot::Mutex;

use super::hasher::{ContentHasher, content_key, list_cost};
use crate::format::rep_line::Rep;
use crate::tree::Fs;

/// The point in the walk at which a content was reached: the index of the revision in its group, and a sequence number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct CheckOrigin {
    pub(super) revision: usize,
    pub(super) sequence: u32,
}

/// Keys of the contents that were found good, for the whole run.
#[derive(Debug, Default)]
pub(super) struct VerifiedContents([Mutex<HashSet<u128>>; SHARDS]);

const SHARDS: usize = 16;

/// Most keys in each shard; then the shard is emptied. All shards take about 60 MB.
const MAX_REMEMBERED: usize = 100_000;

impl VerifiedContents {
    pub(super) fn contains(&self, key: u128) -> bool {
        self.shard(key).lock().contains(&key)
    }

    pub(super) fn insert(&self, key: u128) {
        let mut shard = self.shard(key).lock();
        if shard.len() >= MAX_REMEMBERED {
            shard.clear();
        }
        shard.insert(key);
    }

    fn shard(&self, key: u128) -> &Mutex<HashSet<u128>> {
        &self.0[key as usize % SHARDS]
    }
}

/// The data that all workers of a run share.
pub(super) struct VerifyShared<'a> {
    pub(super) fs: &'a Fs,
    pub(super) cancel: &'a Cancel,
    /// Bytes of contents that are queued before they are hashed or dispatched.
    pub(super) batch_bytes: usize,
    pub(super) verified: VerifiedContents,
}

impl<'a> VerifyShared<'a> {
    /// For a run on `fs`.
    pub(super) fn new(fs: &'a Fs, cancel: &'a Cancel, batch_bytes: usize) -> Self {
        VerifyShared {
            fs,
            cancel,
            batch_bytes,
            verified: VerifiedContents::default(),
        }
    }

    /// Checks the contents of a list; returns the failures. A cancelled run returns none.
    fn check(&self, list: Vec<PendingContent>) -> Vec<(CheckOrigin, Error)> {
        let mut texts = ContentHasher::new(self);
        for PendingContent { rep, origins } in list {
            for origin in origins {
                if self.cancel.is_cancelled() {
                    return Vec::new();
                }
                if !texts.is_covered(&rep, origin)
                    && let Err(e) = texts.check(&rep, origin)
                {
                    texts.failures.push((origin, e));
                }
            }
            texts.flush_if_full();
        }
        texts.failures()
    }
}

/// A content that a walk came across and that any thread may check.
struct PendingContent {
    rep: Rep,
    origins: Vec<CheckOrigin>,
}

/// The contents of the revisions that one worker walks.
pub(super) struct ContentBatch<'s, 'a> {
    shared: &'s VerifyShared<'a>,
    /// Directories and property lists: the walk needs their bytes.
    texts: ContentHasher<'s, 'a>,
    pending: Vec<PendingContent>,
    pending_keys: HashMap<u128, usize>,
    pending_bytes: u64,
    /// The failures of the lists that were handed on.
    lists: OrderedQueue<'s, Vec<(CheckOrigin, Error)>>,
    failures: Vec<(CheckOrigin, Error)>,
}

impl<'s, 'a> ContentBatch<'s, 'a> {
    pub(super) fn new(shared: &'s VerifyShared<'a>, pool: &ThreadPool<'s>) -> Self {
        ContentBatch {
            shared,
            texts: ContentHasher::new(shared),
            pending: Vec::new(),
            pending_keys: HashMap::new(),
            pending_bytes: 0,
            lists: OrderedQueue::urgent(pool, LISTS),
            failures: Vec::new(),
        }
    }

    /// True if this content need not be read: it was found good, or it is queued and is checked for this origin too.
    pub(super) fn is_covered(&mut self, rep: &Rep, origin: CheckOrigin) -> bool {
        if let Some(at) = content_key(rep).and_then(|key| self.pending_keys.get(&key)) {
            self.pending[*at].origins.push(origin);
            return true;
        }
        self.texts.is_covered(rep, origin)
    }

    /// Reads a content that must fit in memory; its digest is checked later.
    ///
    /// # Errors
    /// Those of reading; [`ContentBatch::failures`] returns wrong digests.
    pub(super) fn read(&mut self, rep: &Rep, origin: CheckOrigin) -> Result<Arc<Vec<u8>>> {
        self.texts.read(rep, origin)
    }

    /// Schedules a check of a content of any length; [`ContentBatch::failures`] returns what is wrong.
    pub(super) fn check(&mut self, rep: &Rep, origin: CheckOrigin) {
        if let Some(key) = content_key(rep) {
            self.pending_keys.insert(key, self.pending.len());
        }
        let bytes = list_cost(rep, self.shared.batch_bytes);
        let cost = bytes.saturating_add(size_of::<PendingContent>() as u64);
        self.pending_bytes = self.pending_bytes.saturating_add(cost);
        self.pending.push(PendingContent {
            rep: *rep,
            origins: vec![origin],
        });
    }

    /// Hashes or dispatches the queued contents if they are many.
    ///
    /// # Errors
    /// `CANCELLED`.
    pub(super) fn flush_if_full(&mut self) -> Result<()> {
        self.texts.flush_if_full();
        if self.pending_bytes >= self.shared.batch_bytes as u64 {
            self.shared.cancel.check()?;
            self.dispatch();
        }
        Ok(())
    }

    /// Finishes all queued checks, and returns all failures since the last call.
    pub(super) fn failures(&mut self) -> Vec<(CheckOrigin, Error)> {
        self.dispatch();
        while self.take_failures() {}
        let mut failures = self.texts.failures();
        failures.append(&mut self.failures);
        failures
    }

    fn dispatch(&mut self) {
        self.pending_keys.clear();
        self.pending_bytes = 0;
        let pending = std::mem::take(&mut self.pending);
        if pending.is_empty() {
            return;
        }
        if !self.lists.has_room() {
            self.take_failures();
        }
        let shared = self.shared;
        self.lists.push(move || (shared.check(pending), 0));
    }

    /// Waits for the first list that was handed on, or checks it; false if there is none.
    fn take_failures(&mut self) -> bool {
        let Some(checked) = self.lists.take() else {
            return false;
        };
        let failures = checked.unwrap_or_else(|panic| resume_unwind(panic));
        self.failures.extend(failures);
        true
    }
}

/// Lists of one walk that may wait.
const LISTS: Limits = Limits {
    tasks: 8,
    bytes: usize::MAX,
};

/// Default of [`super::VerifyOptions::batch_bytes`].
pub(super) const BATCH_BYTES: usize = 1 << 20;
