//! [`RawContent`]: the chunks of a content, without a check of its digest.
//!
//! A caller that checks many contents hashes them side by side, which is many times faster than one after the other.
//! So the digest is computed after the chunks have been returned. Chunks go into the cache unchecked: use only with a
//! cache that has no other readers.

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
    is_cached: bool,
}

impl RawContent {
    /// The content of the representation at `address`, whose body has `body_len` bytes. Its chunks go into the cache
    /// if `is_cached`.
    pub(crate) fn new(fs: &Fs, address: RepAddress, body_len: u64, is_cached: bool) -> Self {
        RawContent {
            fs: fs.clone(),
            address,
            chain: DeltaChain::new(fs, address, body_len),
            next: 0,
            is_cached,
        }
    }

    /// Reads the header.
    ///
    /// # Errors
    /// `FS_CORRUPT`; the system's.
    pub(crate) fn open(&mut self) -> Result<()> {
        self.chain.top().map(drop)
    }

    /// The next chunk; `None` at the end.
    ///
    /// # Errors
    /// `FS_CORRUPT`, svndiff's; the system's.
    pub(crate) fn next_chunk(&mut self) -> Result<Option<Arc<Vec<u8>>>> {
        // The chain is read even if the cache has the chunk, because the representation itself must be valid.
        if self.chain.ends_before(self.next)? {
            return Ok(None);
        }
        let chunk = Arc::new(self.chain.chunk(self.next)?);
        if self.is_cached
            && let Some(key) = chunk_key(&self.fs, self.address, self.next)
        {
            self.fs.cache().insert(key, Chunk::new(chunk.clone()));
        }
        self.next += 1;
        Ok(Some(chunk))
    }
}
