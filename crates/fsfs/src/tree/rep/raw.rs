//! A content's chunks without a word about their digest.
//!
//! Whoever checks many contents hashes them side by side, which is many times faster than one after the other, so the
//! digest comes after the bytes here. Chunks go into the cache unchecked: only for a cache of one's own.

use std::sync::Arc;

use base::Result;

use super::chain::{DeltaChain, RepAddress, chunk_key};
use crate::store::cache::Chunk;
use crate::tree::Fs;

/// A content that is being read.
pub(crate) struct RawContent {
    fs: Fs,
    address: RepAddress,
    chain: DeltaChain,
    next: u64,
    keep: bool,
}

impl RawContent {
    /// The content of the representation at `address` with `body_len` bytes on disk. Its chunks go
    /// into the cache if `keep`.
    pub(crate) fn new(fs: &Fs, address: RepAddress, body_len: u64, keep: bool) -> Self {
        RawContent {
            fs: fs.clone(),
            address,
            chain: DeltaChain::new(fs, address, body_len),
            next: 0,
            keep,
        }
    }

    /// Reads the header.
    ///
    /// # Errors
    /// `FS_CORRUPT`, and what reading a file may say.
    pub(crate) fn open(&mut self) -> Result<()> {
        self.chain.top().map(drop)
    }

    /// The next chunk; `None` at the end.
    ///
    /// # Errors
    /// `FS_CORRUPT`, svndiff's, and what reading a file may say.
    pub(crate) fn next_chunk(&mut self) -> Result<Option<Arc<Vec<u8>>>> {
        // The chain is asked even where the cache has the chunk: the representation itself must be good.
        if self.chain.ends_before(self.next)? {
            return Ok(None);
        }
        let chunk = Arc::new(self.chain.chunk(self.next)?);
        if self.keep
            && let Some(key) = chunk_key(&self.fs, self.address, self.next)
        {
            self.fs.cache().insert(key, Chunk::new(chunk.clone()));
        }
        self.next += 1;
        Ok(Some(chunk))
    }
}
