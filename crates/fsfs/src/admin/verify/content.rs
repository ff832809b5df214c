//! Checking stored contents against their recorded digests, many at a time.
//!
//! A single MD5 stream is the slowest part of a verification, sixteen streams together are not. So contents are read first and
//! are queued in a [`ContentHasher`] until there are enough. A mismatch is therefore found late: it is reported with the
//! [`CheckOrigin`] at which the walk has reached the content, and the caller sorts the errors.
//!
//! Texts of files, which are most of the bytes, are not read by the walk that reaches them. It collects them in a
//! [`ContentList`], and any free worker takes a full list: so one large revision, for example an import, keeps all workers busy.
//! ([`ContentBatch`] is the side of the walk, [`ContentHasher`] checks a list.)
//!
//! A content that was found good is not read again. [`VerifiedContents`] has its key: address, lengths and digests. So two nodes
//! that share a content and disagree about it are both checked.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use base::{Cancel, Error, Result};
use crossbeam_channel::{Receiver, Sender, select};
use parking_lot::Mutex;

use super::hasher::{ContentHasher, content_key};
use crate::admin::pipeline::Counter;
use crate::format::rep_line::{Rep, RepSize};
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
    lists: Counter<ContentList>,
}

impl<'a> VerifyShared<'a> {
    /// For a run with `workers` workers.
    pub(super) fn new(fs: &'a Fs, cancel: &'a Cancel, batch_bytes: usize, workers: usize) -> Self {
        VerifyShared {
            fs,
            cancel,
            batch_bytes,
            verified: VerifiedContents::default(),
            lists: Counter::new(workers),
        }
    }

    /// Returns the lists that wait for a worker.
    pub(super) fn lists(&self) -> &Receiver<ContentList> {
        self.lists.parts()
    }

    /// Checks the contents of a list and reports to the walk that has made it.
    pub(super) fn check(&self, mut list: ContentList) {
        let mut texts = ContentHasher::new(self);
        for PendingContent { rep, origins } in std::mem::take(&mut list.pending) {
            for origin in origins {
                if self.cancel.is_cancelled() {
                    return;
                }
                if !texts.is_covered(&rep, origin)
                    && let Err(e) = texts.check(&rep, origin)
                {
                    texts.failures.push((origin, e));
                }
            }
            texts.flush_if_full();
        }
        list.failures = texts.failures();
    }
}

/// Contents that a walk has reached and that any worker may check.
pub(super) struct ContentList {
    pending: Vec<PendingContent>,
    failures: Vec<(CheckOrigin, Error)>,
    report: Sender<Vec<(CheckOrigin, Error)>>,
}

struct PendingContent {
    rep: Rep,
    origins: Vec<CheckOrigin>,
}

/// Reports also if a worker panics: the walk waits for the report.
impl Drop for ContentList {
    fn drop(&mut self) {
        drop(self.report.send(std::mem::take(&mut self.failures)));
    }
}

/// The contents of the revisions that one worker walks.
pub(super) struct ContentBatch<'s, 'a> {
    shared: &'s VerifyShared<'a>,
    /// Directories and property lists: the walk needs their bytes.
    texts: ContentHasher<'s, 'a>,
    pending: Vec<PendingContent>,
    pending_keys: HashMap<u128, usize>,
    pending_bytes: u64,
    report: Sender<Vec<(CheckOrigin, Error)>>,
    reports: Receiver<Vec<(CheckOrigin, Error)>>,
    /// Number of lists without a report so far.
    unreported_lists: usize,
}

impl<'s, 'a> ContentBatch<'s, 'a> {
    pub(super) fn new(shared: &'s VerifyShared<'a>) -> Self {
        let (report, reports) = crossbeam_channel::unbounded();
        ContentBatch {
            shared,
            texts: ContentHasher::new(shared),
            pending: Vec::new(),
            pending_keys: HashMap::new(),
            pending_bytes: 0,
            report,
            reports,
            unreported_lists: 0,
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
        let bytes = match rep.size() {
            RepSize::Known(size) => size,
            RepSize::AskHeader => rep.length,
        };
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
        let mut failures = self.texts.failures();
        self.dispatch();
        while self.unreported_lists > 0 {
            // Lists that no worker has taken are checked here, those of other walks too.
            select! {
                recv(self.reports) -> report => {
                    self.unreported_lists -= 1;
                    failures.extend(report.into_iter().flatten());
                }
                recv(self.shared.lists()) -> list => list.into_iter().for_each(|list| self.shared.check(list)),
            }
        }
        failures
    }

    fn dispatch(&mut self) {
        self.pending_keys.clear();
        self.pending_bytes = 0;
        let pending = std::mem::take(&mut self.pending);
        if pending.is_empty() {
            return;
        }
        self.unreported_lists += 1;
        let list = ContentList {
            pending,
            failures: Vec::new(),
            report: self.report.clone(),
        };
        if let Some(list) = self.shared.lists.lay_out(list) {
            self.shared.check(list);
        }
    }
}

/// Default of [`super::VerifyOptions::batch_bytes`].
pub(super) const BATCH_BYTES: usize = 1 << 20;
