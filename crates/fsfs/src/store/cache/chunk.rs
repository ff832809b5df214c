//! [`Chunk`]: a part of a content, and whether its digest was checked.

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
    /// Of a content of several chunks: the digest that it was found to have, and whether it ends with these bytes.
    part_of: OnceLock<(Md5, bool)>,
}

impl Chunk {
    /// Bytes that nobody has checked against a digest yet.
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

    /// True if the bytes are a whole content that had the right digest.
    pub(crate) fn is_checked(&self) -> bool {
        self.0.is_checked.load(Ordering::Relaxed)
    }

    /// Notes that the digest was right.
    pub(crate) fn set_checked(&self) {
        self.0.is_checked.store(true, Ordering::Relaxed);
    }

    /// If the bytes are known to be a part of a content with this digest: whether it ends with them.
    pub(crate) fn part_of(&self, md5: &Md5) -> Option<bool> {
        let (whole, is_last) = self.0.part_of.get()?;
        (whole == md5).then_some(*is_last)
    }

    /// To be told later whether the digest was right, if it is still there then.
    pub(crate) fn watch(&self) -> WatchedChunk {
        WatchedChunk(Arc::downgrade(&self.0))
    }
}

/// A chunk that may leave the cache meanwhile.
#[derive(Debug)]
pub(crate) struct WatchedChunk(Weak<ChunkBytes>);

impl WatchedChunk {
    /// Notes the digest that the whole content was found to have, and whether it ends with these bytes.
    pub(crate) fn set_part_of(&self, md5: Md5, is_last: bool) {
        if let Some(chunk) = self.0.upgrade() {
            // Whoever was first has found the same.
            _ = chunk.part_of.set((md5, is_last));
        }
    }
}
