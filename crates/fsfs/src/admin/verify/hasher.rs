//! Hashing contents side by side: short ones when they have been read, long ones while they are read.

use std::collections::HashMap;
use std::sync::Arc;

use base::checksum::{Md5, Md5Stream, Sha1, Sha1Stream, md5_many};
use base::{Code, Error, Result};

use super::content::{CheckOrigin, VerifyShared};
use crate::format::rep_line::{Rep, RepLocation, RepSize};
use crate::tree::Fs;
use crate::tree::rep::{RawContent, RepAddress};

/// Contents that were read and are queued for hashing.
pub(super) struct ContentHasher<'s, 'a> {
    shared: &'s VerifyShared<'a>,
    texts: Vec<LoadedContent>,
    bytes: usize,
    /// Contents that do not fit in memory, not read yet.
    long: Vec<(Rep, CheckOrigin)>,
    queued: HashMap<u128, usize>,
    pub(super) failures: Vec<(CheckOrigin, Error)>,
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
    pub(super) fn new(shared: &'s VerifyShared<'a>) -> Self {
        ContentHasher {
            shared,
            texts: Vec::new(),
            bytes: 0,
            long: Vec::new(),
            queued: HashMap::new(),
            failures: Vec::new(),
        }
    }

    /// True if this content need not be read: it was found good, or it is queued and is checked for this origin too.
    pub(super) fn is_covered(&mut self, rep: &Rep, origin: CheckOrigin) -> bool {
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
    pub(super) fn read(&mut self, rep: &Rep, origin: CheckOrigin) -> Result<Arc<Vec<u8>>> {
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

    /// Queues a content of any length. A short one is read.
    ///
    /// # Errors
    /// As [`ContentHasher::read`].
    pub(super) fn check(&mut self, rep: &Rep, origin: CheckOrigin) -> Result<()> {
        if is_short(rep) {
            return self.read(rep, origin).map(drop);
        }
        self.long.push((*rep, origin));
        if self.long.len() == LONG_AT_ONCE {
            self.flush_long();
        }
        Ok(())
    }

    /// Hashes the queued long contents side by side, a chunk of each at a time.
    fn flush_long(&mut self) {
        let mut contents = Vec::with_capacity(self.long.len());
        for (rep, origin) in std::mem::take(&mut self.long) {
            // The same content may have been queued twice.
            let is_verified = content_key(&rep).is_some_and(|key| self.shared.verified.contains(key));
            if is_verified {
                continue;
            }
            match self.open(&rep) {
                Ok(content) => contents.push(LongContent::new(rep, origin, content)),
                Err(e) => self.failures.push((origin, e)),
            }
        }
        while !contents.is_empty() {
            let mut chunks = Vec::with_capacity(contents.len());
            let mut next = Vec::with_capacity(contents.len());
            for mut content in contents {
                match self.shared.cancel.check().and_then(|()| content.next_chunk()) {
                    Ok(Some(chunk)) => {
                        chunks.push(chunk);
                        next.push(content);
                    }
                    Ok(None) => match content.finish() {
                        Ok(Some(key)) => self.shared.verified.insert(key),
                        Ok(None) => {}
                        Err((origin, e)) => self.failures.push((origin, e)),
                    },
                    Err(e) => self.failures.push((content.origin, e)),
                }
            }
            let mut streams: Vec<(&mut Md5Stream, &[u8])> = Vec::with_capacity(next.len());
            for (content, chunk) in next.iter_mut().zip(&chunks) {
                streams.push((&mut content.md5, chunk));
            }
            Md5Stream::update_many(&mut streams);
            contents = next;
        }
    }

    /// Hashes the queue if it is long.
    pub(super) fn flush_if_full(&mut self) {
        if self.bytes >= self.shared.batch_bytes {
            self.flush();
        }
    }

    /// Hashes the queue, and returns all failures since the last call.
    pub(super) fn failures(&mut self) -> Vec<(CheckOrigin, Error)> {
        self.flush_long();
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

/// A content that is hashed while it is read.
struct LongContent {
    rep: Rep,
    origin: CheckOrigin,
    content: RawContent,
    md5: Md5Stream,
    sha1: Option<Sha1Stream>,
    length: u64,
}

impl LongContent {
    fn new(rep: Rep, origin: CheckOrigin, content: RawContent) -> Self {
        LongContent {
            rep,
            origin,
            content,
            md5: Md5Stream::new(),
            sha1: rep.sha1.map(|_| Sha1Stream::new()),
            length: 0,
        }
    }

    /// Returns the next chunk, for the MD5; `None` at the end.
    fn next_chunk(&mut self) -> Result<Option<Arc<Vec<u8>>>> {
        let chunk = self.content.next_chunk()?;
        if let Some(chunk) = &chunk {
            self.length += chunk.len() as u64;
            if let Some(sha1) = &mut self.sha1 {
                sha1.update(chunk);
            }
        }
        Ok(chunk)
    }

    /// Compares length and digests. Returns the content's key.
    fn finish(self) -> Result<Option<u128>, (CheckOrigin, Error)> {
        let LongContent {
            rep,
            origin,
            md5,
            sha1,
            length,
            ..
        } = self;
        check_length(&rep, length)
            .and_then(|()| check_md5(&rep.md5, &md5.finish()))
            .and_then(|()| check_sha1(rep.sha1, sha1.map(Sha1Stream::finish)))
            .map(|()| content_key(&rep))
            .map_err(|e| (origin, e))
    }
}

/// Returns whether a content is hashed as a whole, in memory.
fn is_short(rep: &Rep) -> bool {
    matches!(rep.size(), RepSize::Known(size) if size <= MAX_QUEUED_CONTENT)
}

/// Returns the bytes that a content counts in a list of contents that one thread checks.
pub(super) fn list_cost(rep: &Rep, batch_bytes: usize) -> u64 {
    match rep.size() {
        RepSize::Known(size) if is_short(rep) => size,
        // As many as are hashed at once make a list.
        _ => (batch_bytes / LONG_AT_ONCE) as u64,
    }
}

/// Returns the key of a content: a digest of all that its rep line says. `None` in transactions.
pub(super) fn content_key(rep: &Rep) -> Option<u128> {
    let RepLocation::Rev(rev, item) = rep.location else {
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

fn check_md5(expected: &Md5, actual: &Md5) -> Result<()> {
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

/// Longer contents are hashed while they are read, bytes.
const MAX_QUEUED_CONTENT: u64 = 512 << 10;

/// Long contents that one thread hashes side by side. More would keep one thread busy with what several could share.
const LONG_AT_ONCE: usize = 4;

/// Longer directories and property lists count as damage, bytes.
const MAX_SMALL_CONTENT: usize = 1 << 30;
