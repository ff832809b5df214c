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

use super::hasher::{ContentHasher, content_key};
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

/// Contents that were read and wait to be hashed.
struct ContentHasher<'s, 'a> {
    shared: &'s VerifyShared<'a>,
    texts: Vec<LoadedContent>,
    bytes: usize,
    queued: HashMap<u128, usize>,
    failures: Vec<(CheckOrigin, Error)>,
}

/// A content that waits.
struct LoadedContent {
    bytes: Arc<Vec<u8>>,
    key: u128,
    md5: Md5,
    sha1: Option<Sha1>,
    origins: Vec<CheckOrigin>,
}

impl<'s, 'a> ContentHasher<'s, 'a> {
    fn new(shared: &'s VerifyShared<'a>) -> Self {
        ContentHasher {
            shared,
            texts: Vec::new(),
            bytes: 0,
            queued: HashMap::new(),
            failures: Vec::new(),
        }
    }

    /// True if this content need not be read: it was found good, or it waits and will be found out for this asker too.
    fn is_covered(&mut self, rep: &Rep, origin: CheckOrigin) -> bool {
        let Some(key) = content_key(rep) else { return false };
        if let Some(at) = self.queued.get(&key) {
            self.texts[*at].origins.push(origin);
            return true;
        }
        self.shared.verified.contains(key)
    }

    /// Reads a content that must fit in memory and lets it wait.
    ///
    /// # Errors
    /// Whatever reading says; a wrong digest is told by [`ContentHasher::failures`].
    fn read(&mut self, rep: &Rep, origin: CheckOrigin) -> Result<Arc<Vec<u8>>> {
        let mut content = self.open(rep)?;
        let bytes = match content.next_chunk()? {
            Some(first) => match content.next_chunk()? {
                None => first,
                Some(second) => {
                    let mut all = [first.as_slice(), &second].concat();
                    while let Some(chunk) = content.next_chunk()? {
                        if all.len() > MAX_SMALL_CONTENT {
                            return Err(Error::new(
                                Code::FS_CORRUPT,
                                "Directory or property list is too long",
                            ));
                        }
                        all.extend_from_slice(&chunk);
                    }
                    Arc::new(all)
                }
            },
            None => Arc::default(),
        };
        self.queue(rep, origin, bytes.clone())?;
        Ok(bytes)
    }

    /// Checks a content of any length: a short one waits, a long one is hashed as it comes.
    ///
    /// # Errors
    /// As [`ContentHasher::read`]; for a long content also the wrong digest.
    fn check(&mut self, rep: &Rep, origin: CheckOrigin) -> Result<()> {
        if matches!(rep.size(), RepSize::Known(size) if size <= MAX_QUEUED_CONTENT) {
            return self.read(rep, origin).map(drop);
        }
        let mut content = self.open(rep)?;
        let mut digests = TextDigests::new(rep.sha1.is_some());
        let mut length = 0u64;
        while let Some(chunk) = content.next_chunk()? {
            digests.update(&chunk);
            length += chunk.len() as u64;
            self.shared.cancel.check()?;
        }
        check_length(rep, length)?;
        let (md5, sha1) = digests.finish();
        check_md5(&rep.md5, &md5)?;
        check_sha1(rep.sha1, sha1)?;
        if let Some(key) = content_key(rep) {
            self.shared.verified.insert(key);
        }
        Ok(())
    }

    /// Hashes what waits if that is much.
    fn flush_if_full(&mut self) {
        if self.bytes >= self.shared.batch_bytes {
            self.flush();
        }
    }

    /// Hashes what waits, and returns all failures since the last call.
    fn failures(&mut self) -> Vec<(CheckOrigin, Error)> {
        self.flush();
        std::mem::take(&mut self.failures)
    }

    fn flush(&mut self) {
        let mut texts = std::mem::take(&mut self.texts);
        self.queued.clear();
        self.bytes = 0;
        // Texts of like length make the best use of the lanes.
        texts.sort_by_key(|text| text.bytes.len());
        let slices: Vec<&[u8]> = texts.iter().map(|text| text.bytes.as_slice()).collect();
        let digests = md5_many(&slices);
        for (text, md5) in texts.iter().zip(digests) {
            let sha1 = text.sha1.map(|_| Sha1::of(&text.bytes));
            match check_md5(&text.md5, &md5).and_then(|()| check_sha1(text.sha1, sha1)) {
                Ok(()) => self.shared.verified.insert(text.key),
                Err(e) => self
                    .failures
                    .extend(text.origins.iter().map(|origin| (*origin, e.clone()))),
            }
        }
    }

    fn open(&self, rep: &Rep) -> Result<RawContent> {
        let address = RepAddress::of(rep, None)?;
        // A base that will be asked for again, but never one that fills the cache alone.
        let keep = matches!(rep.size(), RepSize::Known(size) if self.shared.fs.cache().has_room_for(size));
        let mut content = RawContent::new(self.shared.fs, address, rep.length, keep);
        content.open().map_err(|e| corrupt_rep(self.shared.fs, rep, e))?;
        Ok(content)
    }

    fn queue(&mut self, rep: &Rep, origin: CheckOrigin, bytes: Arc<Vec<u8>>) -> Result<()> {
        check_length(rep, bytes.len() as u64)?;
        let Some(key) = content_key(rep) else {
            return Ok(());
        };
        self.bytes += bytes.len() + size_of::<LoadedContent>();
        self.queued.insert(key, self.texts.len());
        self.texts.push(LoadedContent {
            bytes,
            key,
            md5: rep.md5,
            sha1: rep.sha1,
            origins: vec![origin],
        });
        Ok(())
    }
}

/// What a content is called: all that its rep line says of it. None in transactions.
fn content_key(rep: &Rep) -> Option<u128> {
    let RepPlace::Rev(rev, item) = rep.place else {
        return None;
    };
    let mut bytes = [0; 16 + 20 + 32];
    bytes[..16].copy_from_slice(&rep.md5.0);
    if let Some(sha1) = rep.sha1 {
        bytes[16..36].copy_from_slice(&sha1.0);
    }
    let numbers = [rev.0, item, rep.length, rep.expanded];
    for (field, number) in bytes[36..].chunks_exact_mut(8).zip(numbers) {
        field.copy_from_slice(&number.to_le_bytes());
    }
    Some(u128::from_le_bytes(Md5::of(&bytes).0))
}

/// Names the representation whose beginning is damaged.
pub(super) fn corrupt_rep(fs: &Fs, rep: &Rep, error: Error) -> Error {
    if error.code() != Code::FS_CORRUPT {
        return error;
    }
    let mut line = String::new();
    rep.encode(&mut line, fs.format().number >= 8);
    error.context(format!("Corrupt representation '{line}'"))
}

fn check_length(rep: &Rep, length: u64) -> Result<()> {
    match rep.size() {
        RepSize::Known(expected) if expected != length => {
            let message = format!("Representation has {length} bytes instead of {expected}");
            Err(Error::new(Code::FS_CORRUPT, message))
        }
        _ => Ok(()),
    }
}

pub(super) fn check_md5(expected: &Md5, actual: &Md5) -> Result<()> {
    if expected.matches(actual) {
        return Ok(());
    }
    Err(mismatch(expected, actual))
}

fn check_sha1(expected: Option<Sha1>, actual: Option<Sha1>) -> Result<()> {
    match (expected, actual) {
        // All zeros mean "unknown" here too.
        (Some(expected), Some(actual)) if expected != actual && expected.0 != [0; 20] => {
            Err(mismatch(&expected, &actual))
        }
        _ => Ok(()),
    }
}

fn mismatch(expected: &dyn std::fmt::Display, actual: &dyn std::fmt::Display) -> Error {
    let message = format!(
        "Checksum mismatch while reading representation:\n   expected:  {expected}\n     actual:  {actual}\n"
    );
    Error::new(Code::CHECKSUM_MISMATCH, message).wrap_bare(Code::FS_CORRUPT)
}

/// Longer contents are hashed as they come, alone.
const MAX_QUEUED_CONTENT: u64 = 512 << 10;

/// Lists of one walk that may wait.
const LISTS: Limits = Limits {
    tasks: 8,
    bytes: usize::MAX,
};

/// Bytes that may wait with each worker.
pub(super) const BATCH_BYTES: usize = 1 << 20;
