//! [`TextReader`]: a content as a stream of bytes, checked against its MD5.
//!
//! A content of one chunk is checked once; the cached chunk records it. For a longer content, each cached chunk
//! records the MD5 of the whole content after the first complete read. Later reads then skip the hashing while all
//! chunks have that record. If one is missing, hashing starts again from the first chunk.

use std::io::{self, Read};
use std::sync::Arc;

use base::checksum::{Md5, Md5Stream};
use base::{Code, Error, Result};
use delta::window::WINDOW_SIZE;

use super::chain::{DeltaChain, RepAddress, cached_chunk, chunk_key};
use crate::format::id::TxnId;
use crate::format::rep_line::{Rep, RepLocation, RepSize};
use crate::store::cache::{Chunk, WatchedChunk};
use crate::tree::Fs;

/// A content that is being read.
pub struct TextReader {
    /// `None` for a node without a text.
    content: Option<ChunkReader>,
    chunk: Arc<Vec<u8>>,
    position: usize,
    failed: Option<Error>,
}

/// The rest of a chunk, which is passed on without a copy.
pub struct TextPiece {
    chunk: Arc<Vec<u8>>,
    start: usize,
}

impl TextPiece {
    /// The bytes; empty at the end of a text.
    pub fn bytes(&self) -> &[u8] {
        &self.chunk[self.start..]
    }
}

impl AsRef<[u8]> for TextPiece {
    fn as_ref(&self) -> &[u8] {
        self.bytes()
    }
}

/// The chunks of a stored content, with the state of its check.
pub(super) struct ChunkReader {
    fs: Fs,
    address: RepAddress,
    chain: DeltaChain,
    md5: Md5,
    body_len: u64,
    /// The length of the content in bytes, if the rep line has it.
    expected: Option<u64>,
    next: u64,
    check: DigestCheck,
    /// True if the chunks go into the cache.
    is_cached: bool,
    done: bool,
    /// True if bytes were returned that are not compared with the digest here.
    has_unchecked: bool,
}

/// The state of the check against the MD5.
enum DigestCheck {
    /// No check, or no longer.
    Off,
    /// `Off`, unless the first chunk is in the cache already: then `FromCache`.
    SecondRead,
    /// All chunks so far have the record of an earlier, successful check.
    FromCache,
    /// The digest of all chunks so far. If it matches, the chunks get a record of it.
    Running(Md5Stream, Vec<WatchedChunk>),
}

impl TextReader {
    /// The content of a rep line; `txn` is the transaction if its node belongs to one.
    pub(crate) fn new(fs: &Fs, rep: Option<&Rep>, txn: Option<TxnId>) -> Result<Self> {
        let content = rep.map(|rep| ChunkReader::new(fs, rep, txn)).transpose()?;
        Ok(TextReader {
            content,
            chunk: Arc::default(),
            position: 0,
            failed: None,
        })
    }

    /// Leaves the check against the MD5 to the caller.
    pub fn unchecked(mut self) -> Self {
        if let Some(content) = &mut self.content {
            content.check = DigestCheck::Off;
        }
        self
    }

    /// Leaves the check to the receiver, who has the digest, if the text is not in the cache yet. The second read of
    /// a text checks it, for all later ones.
    pub fn left_to_receiver(mut self) -> Self {
        if let Some(content) = &mut self.content {
            content.check = DigestCheck::SecondRead;
        }
        self
    }

    /// True if all bytes returned so far were compared with the digest, or will be before the end of the text is
    /// returned.
    pub fn is_checked(&self) -> bool {
        self.content.as_ref().is_none_or(|content| !content.has_unchecked)
    }

    /// As [`Read::read`], with the errors of the engine. Returns 0 at the end.
    ///
    /// # Errors
    /// `FS_CORRUPT`; the system's. Once failed, it keeps failing.
    pub fn read_some(&mut self, buf: &mut [u8]) -> Result<usize> {
        if buf.is_empty() {
            return Ok(0);
        }
        let rest = self.fill()?;
        let length = rest.len().min(buf.len());
        buf[..length].copy_from_slice(&rest[..length]);
        self.position += length;
        Ok(length)
    }

    /// The unread bytes of the current chunk; empty only at the end of the text. [`TextReader::consume`] marks them
    /// as read.
    ///
    /// # Errors
    /// As [`TextReader::read_some`].
    pub fn fill(&mut self) -> Result<&[u8]> {
        while self.position == self.chunk.len() {
            if let Some(e) = &self.failed {
                return Err(e.clone());
            }
            let Some(content) = &mut self.content else {
                return Ok(&[]);
            };
            match content.next_chunk() {
                Ok(Some(chunk)) => (self.chunk, self.position) = (chunk, 0),
                Ok(None) => return Ok(&[]),
                Err(e) => {
                    self.failed = Some(e.clone());
                    return Err(e);
                }
            }
        }
        Ok(&self.chunk[self.position..])
    }

    /// The unread rest of the current chunk, or the whole next one; empty at the end. Every chunk but the last has
    /// the length of a window.
    ///
    /// # Errors
    /// As [`TextReader::read_some`].
    pub fn next_piece(&mut self) -> Result<TextPiece> {
        self.fill()?;
        let piece = TextPiece {
            chunk: self.chunk.clone(),
            start: self.position,
        };
        self.position = self.chunk.len();
        Ok(piece)
    }

    /// Marks `length` of the bytes that [`TextReader::fill`] returned as read.
    pub fn consume(&mut self, length: usize) {
        self.position = self.position.saturating_add(length).min(self.chunk.len());
    }

    /// Reads the rest of the text.
    ///
    /// # Errors
    /// As [`TextReader::read_some`].
    pub fn read_all(mut self) -> Result<Vec<u8>> {
        let expected = self
            .content
            .as_ref()
            .and_then(|content| content.expected)
            .unwrap_or(0);
        // The length in the rep line may be wrong: it bounds only this first allocation.
        let mut all = Vec::with_capacity(expected.min(16 << 20) as usize);
        loop {
            let rest = self.fill()?;
            if rest.is_empty() {
                return Ok(all);
            }
            all.extend_from_slice(rest);
            let length = rest.len();
            self.consume(length);
        }
    }

    /// As [`TextReader::read_all`], for contents that must fit in memory. A content of one chunk is returned without
    /// a copy.
    ///
    /// # Errors
    /// As [`TextReader::read_some`]; `FS_CORRUPT` beyond 1 GiB.
    pub fn read_shared(mut self) -> Result<Arc<Vec<u8>>> {
        self.fill()?;
        let first = (self.chunk.clone(), self.position);
        self.position = self.chunk.len();
        if self.fill()?.is_empty() {
            return Ok(first.0);
        }
        let mut all = first.0[first.1..].to_vec();
        loop {
            let rest = self.fill()?;
            if rest.is_empty() {
                return Ok(Arc::new(all));
            }
            if all.len() + rest.len() > MAX_IN_MEMORY {
                return Err(Error::new(
                    Code::FS_CORRUPT,
                    "Content is too long to be held in memory",
                ));
            }
            all.extend_from_slice(rest);
            self.position = self.chunk.len();
        }
    }
}

/// Longer directories, property lists and texts that must fit in memory are treated as damaged, bytes.
const MAX_IN_MEMORY: usize = 1 << 30;

impl Read for TextReader {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        self.read_some(buf).map_err(io::Error::other)
    }
}

impl ChunkReader {
    pub(super) fn new(fs: &Fs, rep: &Rep, txn: Option<TxnId>) -> Result<Self> {
        let address = RepAddress::of(rep, txn)?;
        let expected = match rep.size() {
            RepSize::Known(size) => Some(size),
            RepSize::DependsOnHeader => None,
        };
        let is_cached = expected.is_some_and(|size| fs.cache().has_room_for(size));
        Ok(ChunkReader {
            fs: fs.clone(),
            address,
            chain: DeltaChain::new(fs, address, rep.length),
            md5: rep.md5,
            body_len: rep.length,
            expected,
            next: 0,
            check: DigestCheck::FromCache,
            is_cached,
            done: false,
            has_unchecked: false,
        })
    }

    /// The next chunk; `None` at the end.
    pub(super) fn next_chunk(&mut self) -> Result<Option<Arc<Vec<u8>>>> {
        if self.done {
            return Ok(None);
        }
        let at = self.next;
        let key = chunk_key(&self.fs, self.address, at).filter(|_| self.is_cached);
        let cached = key.as_ref().and_then(|key| self.fs.cache().get::<Chunk>(key));
        if matches!(self.check, DigestCheck::SecondRead) {
            self.has_unchecked = cached.is_none();
            self.check = if self.has_unchecked {
                DigestCheck::Off
            } else {
                DigestCheck::FromCache
            };
        }
        let chunk = match (cached, key) {
            (Some(chunk), _) => chunk,
            (None, _) if self.chain.ends_before(at)? => {
                self.done = true;
                self.check()?;
                return Ok(None);
            }
            (None, Some(key)) => {
                let fs = self.fs.clone();
                fs.cache().get_or_load(fs.read_mode(), key, || self.load(at))?
            }
            (None, None) => self.load(at)?,
        };
        self.next += 1;
        if self.is_short() {
            // This is the only chunk, so its record is that of the whole content.
            self.done = true;
            let needs_check = !matches!(
                std::mem::replace(&mut self.check, DigestCheck::Off),
                DigestCheck::Off
            );
            if needs_check && !chunk.is_checked() {
                if !self.md5.is_unknown() {
                    check_md5(&self.md5, &Md5::of(chunk.bytes()))?;
                }
                chunk.set_checked();
            }
        } else {
            self.digest_chunk(&chunk, at)?;
        }
        Ok(Some(chunk.bytes().clone()))
    }

    /// Adds chunk `at` of several to the digest, unless all chunks so far have the record of a check.
    fn digest_chunk(&mut self, chunk: &Chunk, at: u64) -> Result<()> {
        if matches!(self.check, DigestCheck::FromCache) {
            match chunk.part_of(&self.md5) {
                // The record says whether the chunk is the last one.
                Some(is_last) => self.done = is_last,
                None => self.check = self.check_from_start(at)?,
            }
        }
        if let DigestCheck::Running(digest, chunks) = &mut self.check {
            digest.update(chunk.bytes());
            if self.is_cached {
                chunks.push(chunk.watch());
            }
        }
        Ok(())
    }

    /// Starts the digest with the chunks before `end`, which had a record of a check.
    fn check_from_start(&self, end: u64) -> Result<DigestCheck> {
        let (mut digest, mut chunks) = (Md5Stream::new(), Vec::new());
        let mut reader = ChunkReader {
            fs: self.fs.clone(),
            chain: DeltaChain::new(&self.fs, self.address, self.body_len),
            check: DigestCheck::Off,
            ..*self
        };
        reader.next = 0;
        for at in 0..end {
            self.fs.check_may_wait()?;
            let key = chunk_key(&self.fs, self.address, at);
            let cached = key.and_then(|key| self.fs.cache().get::<Chunk>(&key));
            let chunk = match cached {
                Some(chunk) => chunk,
                None => reader.load(at)?,
            };
            digest.update(chunk.bytes());
            chunks.push(chunk.watch());
        }
        Ok(DigestCheck::Running(digest, chunks))
    }

    fn load(&mut self, at: u64) -> Result<Chunk> {
        let chunk = match cached_chunk(&self.fs, self.address, at) {
            Some(chunk) => chunk,
            None => Chunk::new(Arc::new(self.chain.chunk(at)?)),
        };
        if self.is_short() && !self.chain.ends_before(1)? {
            return Err(Error::new(
                Code::FS_CORRUPT,
                "Representation is longer than recorded",
            ));
        }
        Ok(chunk)
    }

    /// True if the rep line says that there is at most one chunk.
    fn is_short(&self) -> bool {
        self.expected.is_some_and(|size| size <= WINDOW_SIZE as u64)
    }

    fn check(&mut self) -> Result<()> {
        let DigestCheck::Running(digest, chunks) = std::mem::replace(&mut self.check, DigestCheck::Off)
        else {
            return Ok(());
        };
        check_md5(&self.md5, &digest.finish())?;
        for (at, chunk) in chunks.iter().enumerate() {
            chunk.set_part_of(self.md5, at + 1 == chunks.len());
        }
        Ok(())
    }
}

impl RepAddress {
    /// The address of the content of a rep line; `txn` is the transaction if its node belongs to one.
    pub(crate) fn of(rep: &Rep, txn: Option<TxnId>) -> Result<Self> {
        match (rep.location, txn) {
            (RepLocation::Rev(rev, item), _) => Ok(RepAddress::Rev(rev, item)),
            (RepLocation::Txn(item), Some(txn)) => Ok(RepAddress::Txn(txn, item)),
            (RepLocation::Txn(_), None) | (RepLocation::Mutable, _) => Err(Error::new(
                Code::FS_CORRUPT,
                "Representation of a transaction outside of one",
            )),
        }
    }
}

fn check_md5(expected: &Md5, actual: &Md5) -> Result<()> {
    if expected.matches(actual) {
        return Ok(());
    }
    let message = format!(
        "Checksum mismatch while reading representation:\n   expected:  {expected}\n     actual:  {actual}\n"
    );
    Err(Error::new(Code::CHECKSUM_MISMATCH, message).wrap_bare(Code::FS_CORRUPT))
}
