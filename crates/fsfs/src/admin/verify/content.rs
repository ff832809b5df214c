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

use base::checksum::{Md5, Sha1, TextDigests, md5_many};
use base::{Cancel, Code, Error, Result};
use crossbeam_channel::{Receiver, Sender, select};
use parking_lot::Mutex;

use crate::admin::pipeline::Counter;

use crate::format::rep_line::{Rep, RepPlace, RepSize};
use crate::tree::Fs;
use crate::tree::rep::{RawContent, RepAddress};

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
    fn contains(&self, key: u128) -> bool {
        self.shard(key).lock().contains(&key)
    }

    fn insert(&self, key: u128) {
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
    verified: VerifiedContents,
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

/// Contents that were read and are queued for hashing.
struct ContentHasher<'s, 'a> {
    shared: &'s VerifyShared<'a>,
    texts: Vec<LoadedContent>,
    bytes: usize,
    queued: HashMap<u128, usize>,
    failures: Vec<(CheckOrigin, Error)>,
}

/// A content in the queue.
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

    /// True if this content need not be read: it was found good, or it is queued and is checked for this origin too.
    fn is_covered(&mut self, rep: &Rep, origin: CheckOrigin) -> bool {
        let Some(key) = content_key(rep) else { return false };
        if let Some(at) = self.queued.get(&key) {
            self.texts[*at].origins.push(origin);
            return true;
        }
        self.shared.verified.contains(key)
    }

    /// Reads a content that must fit in memory, and queues it.
    ///
    /// # Errors
    /// Those of reading; [`ContentHasher::failures`] returns wrong digests.
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

    /// Checks a content of any length: a short one is queued, a long one is hashed while it is read.
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

    /// Hashes the queue if it is long.
    fn flush_if_full(&mut self) {
        if self.bytes >= self.shared.batch_bytes {
            self.flush();
        }
    }

    /// Hashes the queue, and returns all failures since the last call.
    fn failures(&mut self) -> Vec<(CheckOrigin, Error)> {
        self.flush();
        std::mem::take(&mut self.failures)
    }

    fn flush(&mut self) {
        let mut texts = std::mem::take(&mut self.texts);
        self.queued.clear();
        self.bytes = 0;
        // Hashing many contents together is fastest if their lengths are similar.
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
        // Keeps a delta base in the cache, which is likely to be used again, unless it would fill the cache alone.
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

/// Returns the key of a content: a digest of all that its rep line says. `None` in transactions.
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

/// Adds the representation to an error about its beginning.
pub(super) fn corrupt_rep(fs: &Fs, rep: &Rep, error: Error) -> Error {
    if error.code() != Code::FS_CORRUPT {
        return error;
    }
    let mut line = String::new();
    rep.encode(&mut line, fs.format().has_placeholders());
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

/// Longer contents are hashed by themselves while they are read, bytes.
const MAX_QUEUED_CONTENT: u64 = 512 << 10;

/// Default of [`super::VerifyOptions::batch_bytes`].
pub(super) const BATCH_BYTES: usize = 1 << 20;

/// Longer directories and property lists count as damage, bytes.
const MAX_SMALL_CONTENT: usize = 1 << 30;
