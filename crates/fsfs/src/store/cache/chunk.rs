//! [`Chunk`]: a part of a content, with the result of its digest check.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock, Weak};

use base::checksum::Md5;

/// The bytes that one window of a representation makes: at most `delta::window::WINDOW_SIZE`.
#[derive(Clone, Debug)]
pub(crate) struct Chunk(Arc<ChunkBytes>);

#[derive(Debug)]
struct ChunkBytes {
    bytes: Arc<Vec<u8>>,
    is_checked: AtomicBool,
    /// For a chunk of a longer content: the MD5 that the whole content was found to have, and whether the chunk is
    /// its last one.
    part_of: OnceLock<(Md5, bool)>,
}

impl Chunk {
    /// A chunk whose digest is not checked yet.
    pub(crate) fn new(bytes: Arc<Vec<u8>>) -> Self {
        Chunk(Arc::new(ChunkBytes {
            bytes,
            is_checked: AtomicBool::new(false),
            part_of: OnceLock::new(),
        }))
    }

    /// The bytes.
    pub(crate) fn bytes(&self) -> &Arc<Vec<u8>> {
        &self.0.bytes
    }

    /// True if the chunk is a whole content and matched its digest.
    pub(crate) fn is_checked(&self) -> bool {
        self.0.is_checked.load(Ordering::Relaxed)
    }

    /// Records that the digest matched.
    pub(crate) fn set_checked(&self) {
        self.0.is_checked.store(true, Ordering::Relaxed);
    }

    /// Returns whether the chunk is the last one, if it is known to be a part of a content with this digest.
    pub(crate) fn part_of(&self, md5: &Md5) -> Option<bool> {
        let (whole, is_last) = self.0.part_of.get()?;
        (whole == md5).then_some(*is_last)
    }

    /// A weak reference, which records the result of a later digest check if the chunk is still alive then.
    pub(crate) fn watch(&self) -> WatchedChunk {
        WatchedChunk(Arc::downgrade(&self.0))
    }
}

/// A weak reference to a chunk that may leave the cache.
#[derive(Debug)]
pub(crate) struct WatchedChunk(Weak<ChunkBytes>);

impl WatchedChunk {
    /// Records the digest that the whole content was found to have, and whether the chunk is its last one.
    pub(crate) fn set_part_of(&self, md5: Md5, is_last: bool) {
        if let Some(chunk) = self.0.upgrade() {
            // Another reader may have set it first: to the same value.
            _ = chunk.part_of.set((md5, is_last));
        }
    }
}
