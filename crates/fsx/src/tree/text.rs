//! [`FsxTextReader`]: a content as a stream of bytes, checked against its length and MD5 at the end.
//!
//! A content is made in chunks of a window. Chunk k of a content in delta form is made by window k of its delta, applied
//! to chunk k of the delta base; the source offsets in the windows are ignored. For each chunk, the chain is followed down
//! to a window that needs no source, to the end of a base, or to a text of a container. Then the windows are applied on
//! the way back up.
//!
//! Chains have any length, so nothing here is recursive. A cycle in a chain is an error.

use std::collections::HashSet;
use std::io::{self, Read};

use base::checksum::{Md5, Md5Stream};
use base::{Code, Error, Result, Revnum};
use delta::svndiff::Codec;

use super::FsxFs;
use super::rep::{DeltaRep, StoredRep};
use crate::format::id::{ChangeSet, FsxId};
use crate::format::rep_line::Rep;

/// A content that is being read.
pub struct FsxTextReader {
    /// `None` for a node without a text, and after the end.
    chain: Option<DeltaChain>,
    /// What the content must be.
    expected: Option<Rep>,
    next: u64,
    length: u64,
    md5: Md5Stream,
    chunk: Vec<u8>,
    position: usize,
    failed: Option<Error>,
}

/// The representations of a delta chain, the content's own first. They are opened when first needed.
struct DeltaChain {
    fs: FsxFs,
    levels: Vec<StoredRep>,
    /// The addresses of the levels.
    seen: HashSet<(Revnum, u64)>,
    codec: Codec,
}

/// Representations at greater depths release their buffers between the way down and the way up.
const BUFFERED_LEVELS: usize = 64;

/// Longer directories and property lists are treated as damaged, bytes.
const MAX_IN_MEMORY: usize = 1 << 30;

impl FsxTextReader {
    /// The content of a rep line.
    pub(super) fn new(fs: &FsxFs, rep: Option<&Rep>) -> Result<Self> {
        let chain = match rep {
            None => None,
            Some(rep) => {
                let in_a_file = || Error::new(Code::FS_CORRUPT, "Text is not among those of its transaction");
                Some(DeltaChain::open(fs, rep.id.ok_or_else(in_a_file)?)?)
            }
        };
        Ok(FsxTextReader {
            chain,
            expected: rep.copied(),
            next: 0,
            length: 0,
            md5: Md5Stream::new(),
            chunk: Vec::new(),
            position: 0,
            failed: None,
        })
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
        self.consume(length);
        Ok(length)
    }

    /// The unread bytes of the current chunk; empty only at the end of the text. [`FsxTextReader::consume`] marks them
    /// as read.
    ///
    /// # Errors
    /// As [`FsxTextReader::read_some`].
    pub fn fill(&mut self) -> Result<&[u8]> {
        while self.position == self.chunk.len() {
            if let Some(e) = &self.failed {
                return Err(e.clone());
            }
            match self.next_chunk() {
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

    /// Marks `length` of the bytes that [`FsxTextReader::fill`] returned as read.
    pub fn consume(&mut self, length: usize) {
        self.position = self.position.saturating_add(length).min(self.chunk.len());
    }

    /// Reads the rest of the text.
    ///
    /// # Errors
    /// As [`FsxTextReader::read_some`].
    pub fn read_all(self) -> Result<Vec<u8>> {
        self.read_at_most(usize::MAX)
    }

    /// As [`FsxTextReader::read_all`], for contents that must fit in memory.
    pub(super) fn read_in_memory(self) -> Result<Vec<u8>> {
        self.read_at_most(MAX_IN_MEMORY)
    }

    fn read_at_most(mut self, most: usize) -> Result<Vec<u8>> {
        let mut all = Vec::new();
        loop {
            let rest = self.fill()?;
            if rest.is_empty() {
                return Ok(all);
            }
            if all.len() + rest.len() > most {
                let message = "Content is too long to be held in memory";
                return Err(Error::new(Code::FS_CORRUPT, message));
            }
            all.extend_from_slice(rest);
            let length = rest.len();
            self.consume(length);
        }
    }

    /// The next chunk; `None` at the end, after the content was compared with its rep line.
    fn next_chunk(&mut self) -> Result<Option<Vec<u8>>> {
        let (Some(chain), Some(expected)) = (&mut self.chain, &self.expected) else {
            return Ok(None);
        };
        if let Some(chunk) = chain.chunk(self.next)? {
            self.next += 1;
            self.length += chunk.len() as u64;
            self.md5.update(&chunk);
            // A longer content is wrong. The chain may go on for ever.
            if self.length > expected.expanded {
                return Err(wrong_length(expected.expanded));
            }
            return Ok(Some(chunk));
        }
        if self.length != expected.expanded {
            return Err(wrong_length(expected.expanded));
        }
        let actual = std::mem::take(&mut self.md5).finish();
        check_md5(&expected.md5, &actual)?;
        self.chain = None;
        Ok(None)
    }
}

impl Read for FsxTextReader {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        self.read_some(buf).map_err(io::Error::other)
    }
}

impl DeltaChain {
    fn open(fs: &FsxFs, id: FsxId) -> Result<Self> {
        let (top, address) = match id.change_set {
            ChangeSet::Revision(rev) => (StoredRep::open(fs, rev, id.number)?, Some((rev, id.number))),
            // No representation has one of a transaction as base.
            ChangeSet::Txn(txn) => (StoredRep::open_txn(fs, txn, id.number)?, None),
        };
        Ok(DeltaChain {
            fs: fs.clone(),
            levels: vec![top],
            seen: address.into_iter().collect(),
            codec: Codec::new(),
        })
    }

    /// Makes chunk `at`; `None` behind the end. Chunks must be read in ascending order.
    fn chunk(&mut self, at: u64) -> Result<Option<Vec<u8>>> {
        match &mut self.levels[0] {
            StoredRep::Delta(rep) => {
                if rep.ends_before(at)? {
                    return Ok(None);
                }
            }
            contained @ StoredRep::Contained(..) => {
                return Ok(contained.contained_chunk(at)?.filter(|chunk| !chunk.is_empty()));
            }
        }
        let (depth, mut text) = self.descend(at)?;
        for level in self.levels[..depth].iter_mut().rev() {
            let StoredRep::Delta(rep) = level else { continue };
            let mut made = Vec::new();
            rep.window(at)?.apply(&text, &mut made, &mut self.codec)?;
            text = made;
        }
        Ok(Some(text))
    }

    /// Returns the number of windows to apply, and the source of the deepest one.
    fn descend(&mut self, at: u64) -> Result<(usize, Vec<u8>)> {
        let mut depth = 0;
        loop {
            let base = match &mut self.levels[depth] {
                contained @ StoredRep::Contained(..) => {
                    return Ok((depth, contained.contained_chunk(at)?.unwrap_or_default()));
                }
                StoredRep::Delta(rep) => {
                    if rep.ends_before(at)? {
                        return Ok((depth, Vec::new()));
                    }
                    base_of(rep, at, depth, &mut self.codec)?
                }
            };
            let Some((rev, item)) = base else {
                return Ok((depth + 1, Vec::new()));
            };
            depth += 1;
            if depth == self.levels.len() {
                if !self.seen.insert((rev, item)) {
                    let message = "Delta chain of a representation is a cycle";
                    return Err(Error::new(Code::FS_CORRUPT, message));
                }
                self.levels.push(StoredRep::open(&self.fs, rev, item)?);
            }
        }
    }
}

/// The base that window `at` of a representation needs; `None` if it needs none.
fn base_of(rep: &mut DeltaRep, at: u64, depth: usize, codec: &mut Codec) -> Result<Option<(Revnum, u64)>> {
    let needs_source = rep.window(at)?.has_source_ops(codec)?;
    if depth >= BUFFERED_LEVELS {
        rep.release();
    }
    Ok(rep.base.filter(|_| needs_source))
}

fn wrong_length(expected: u64) -> Error {
    let message = format!("Content does not have the {expected} bytes that its representation line says");
    Error::new(Code::FS_CORRUPT, message)
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
