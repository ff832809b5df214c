//! A content as a stream of bytes, checked against its MD5 at the end.

use std::io::{self, Read};
use std::sync::Arc;

use base::checksum::{Md5, Md5Stream};
use base::{Code, Error, Result};
use delta::window::WINDOW_SIZE;

use super::chain::{DeltaChain, RepAddress, cached_chunk, chunk_key};
use crate::format::id::TxnId;
use crate::format::rep_line::{Rep, RepPlace, RepSize};
use crate::store::cache::{Chunk, WatchedChunk};
use crate::store::read_mode::check_may_wait;
use crate::tree::Fs;

/// Reads a text.
pub struct TextReader {
    /// None for a node that never got a text.
    content: Option<ChunkReader>,
    chunk: Arc<Vec<u8>>,
    position: usize,
    failed: Option<Error>,
}

/// The rest of a chunk: a part of a text that is passed on without being copied.
pub struct TextPiece {
    chunk: Arc<Vec<u8>>,
    start: usize,
}

impl TextPiece {
    /// Its bytes; empty at the end of a text.
    pub fn bytes(&self) -> &[u8] {
        &self.chunk[self.start..]
    }
}

impl AsRef<[u8]> for TextPiece {
    fn as_ref(&self) -> &[u8] {
        self.bytes()
    }
}

/// A stored content that is being read, chunk by chunk.
pub(super) struct ChunkReader {
    fs: Fs,
    address: RepAddress,
    chain: DeltaChain,
    md5: Md5,
    body_len: u64,
    /// Bytes that the rep line promises, if it does.
    expected: Option<u64>,
    next: u64,
    check: DigestCheck,
    keep: bool,
    done: bool,
    /// Bytes have passed that nobody here has compared with the digest.
    has_unchecked: bool,
}

/// What is known of the digest of a content that is being read.
enum DigestCheck {
    /// Nothing is to be checked (any more).
    Off,
    /// Off, unless the first chunk was read before.
    SecondRead,
    /// All chunks so far are those of an earlier reading, which was right.
    FromCache,
    /// It is taken on the way; the chunks hear of it if it is right.
    Running(Md5Stream, Vec<WatchedChunk>),
}

impl TextReader {
    /// The content that `rep` names; `txn` is the transaction if its node belongs to one.
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

    /// Leaves the check to the receiver, who has the digest, if nobody has read the text before. Whoever is the second to
    /// read it takes the digest once for all that come later.
    pub fn left_to_receiver(mut self) -> Self {
        if let Some(content) = &mut self.content {
            content.check = DigestCheck::SecondRead;
        }
        self
    }

    /// True if what was read so far was compared with the digest, or will be before the end is told.
    pub fn is_checked(&self) -> bool {
        self.content.as_ref().is_none_or(|content| !content.has_unchecked)
    }

    /// Like [`Read::read`], with the house's errors. 0 = end.
    ///
    /// # Errors
    /// `FS_CORRUPT` and whatever reading a file may say. Once failed, it keeps failing.
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

    /// The bytes at hand: not empty unless the text has ended. [`TextReader::consume`] moves on.
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

    /// What is left of the chunk at hand, or the next one whole; empty at the end. Chunks follow the windows of what is
    /// stored, so every one but the last has the length of a window.
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

    /// Marks `length` of the bytes that [`TextReader::fill`] returned as used.
    pub fn consume(&mut self, length: usize) {
        self.position = self.position.saturating_add(length).min(self.chunk.len());
    }

    /// The whole rest.
    ///
    /// # Errors
    /// As [`TextReader::read_some`].
    pub fn read_all(mut self) -> Result<Vec<u8>> {
        let expected = self
            .content
            .as_ref()
            .and_then(|content| content.expected)
            .unwrap_or(0);
        // The promise may be wrong: it bounds nothing but this first allocation.
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

    /// Like [`TextReader::read_all`] for contents that must fit in memory; one that fits into one window comes without a
    /// copy.
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
                    "ChunkReader is too long to be held in memory",
                ));
            }
            all.extend_from_slice(rest);
            self.position = self.chunk.len();
        }
    }
}

/// Longer directories, property lists and texts to be held whole are taken for damage.
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
            RepSize::AskHeader => None,
        };
        let keep = expected.is_some_and(|size| fs.cache().has_room_for(size));
        Ok(ChunkReader {
            fs: fs.clone(),
            address,
            chain: DeltaChain::new(fs, address, rep.length),
            md5: rep.md5,
            body_len: rep.length,
            expected,
            next: 0,
            check: DigestCheck::FromCache,
            keep,
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
        let key = chunk_key(&self.fs, self.address, at).filter(|_| self.keep);
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
                fs.cache().get_or_load(key, || self.load(at))?
            }
            (None, None) => self.load(at)?,
        };
        self.next += 1;
        if self.is_short() {
            // The only chunk: whoever checked it, did so for all.
            self.done = true;
            let is_wanted = !matches!(
                std::mem::replace(&mut self.check, DigestCheck::Off),
                DigestCheck::Off
            );
            if is_wanted && !chunk.is_checked() {
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

    /// Takes chunk `at` of several into the digest, unless all so far are known to be right.
    fn digest_chunk(&mut self, chunk: &Chunk, at: u64) -> Result<()> {
        if matches!(self.check, DigestCheck::FromCache) {
            match chunk.part_of(&self.md5) {
                // Where it ends is known as well.
                Some(is_last) => self.done = is_last,
                None => self.check = self.check_from_start(at)?,
            }
        }
        if let DigestCheck::Running(digest, chunks) = &mut self.check {
            digest.update(chunk.bytes());
            if self.keep {
                chunks.push(chunk.watch());
            }
        }
        Ok(())
    }

    /// The digest of the chunks before `end`, which were thought not to need one.
    fn check_from_start(&self, end: u64) -> Result<DigestCheck> {
        let (mut digest, mut chunks) = (Md5Stream::new(), Vec::new());
        let mut again = ChunkReader {
            fs: self.fs.clone(),
            chain: DeltaChain::new(&self.fs, self.address, self.body_len),
            check: DigestCheck::Off,
            ..*self
        };
        again.next = 0;
        for at in 0..end {
            check_may_wait()?;
            let key = chunk_key(&self.fs, self.address, at);
            let cached = key.and_then(|key| self.fs.cache().get::<Chunk>(&key));
            let chunk = match cached {
                Some(chunk) => chunk,
                None => again.load(at)?,
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

    /// True if the rep line promises at most one chunk.
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
    /// Where the content of `rep` is; `txn` is the transaction if its node belongs to one.
    pub(crate) fn of(rep: &Rep, txn: Option<TxnId>) -> Result<Self> {
        match (rep.place, txn) {
            (RepPlace::Rev(rev, item), _) => Ok(RepAddress::Rev(rev, item)),
            (RepPlace::Txn(item), Some(txn)) => Ok(RepAddress::Txn(txn, item)),
            (RepPlace::Txn(_), None) | (RepPlace::Mutable, _) => Err(Error::new(
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
