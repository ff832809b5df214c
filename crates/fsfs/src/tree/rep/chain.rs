//! The chunks of a content, out of its delta chain.
//!
//! Chunk k of a content is made by window k of its delta, applied to chunk k of the delta base. All writers of FSFS
//! align windows in this way, so a content is read in constant memory; the source offsets in the windows are ignored.
//! For each chunk, the chain is followed down to the first window that needs no source, to a cached chunk, or to a
//! PLAIN representation. Then the windows are applied on the way back up.
//!
//! Chains have any length, so nothing here is recursive. A cycle in a chain is detected.

use std::cell::RefCell;
use std::sync::Arc;

use base::{Code, Error, Result};
use delta::editor::WindowForm;
use delta::svndiff::OwnedWindow;
use delta::window::WINDOW_SIZE;

use super::encoded::window_key;
use super::open_rep::OpenRep;
pub(crate) use super::open_rep::RepAddress;
use super::with_codec;
use crate::format::rep_header::RepHeader;
use crate::store::cache::{Chunk, Key};
use crate::tree::Fs;

/// A delta chain that is being read. Its representations are opened when first needed.
pub(super) struct DeltaChain {
    fs: Fs,
    address: RepAddress,
    body_len: u64,
    /// The open representations, the content's own first.
    levels: Vec<OpenRep>,
    /// Brent's cycle detection: an address on the way down, and the depth at which to replace it.
    checkpoint: (Option<RepAddress>, usize),
}

/// Representations at greater depths release their buffers between the way down and the way up.
const BUFFERED_LEVELS: usize = 64;

thread_local! {
    /// Two buffers for the chunks on the way up, used in turn.
    static BUFFERS: RefCell<[Vec<u8>; 2]> = const { RefCell::new([Vec::new(), Vec::new()]) };
}

/// The source of a window.
enum BaseChunk {
    /// No source: the base has no such chunk, or the window needs none.
    Empty,
    /// The chunk of the base, from the cache.
    Chunk(Chunk),
    /// The PLAIN representation at this depth.
    Plain(usize),
}

impl DeltaChain {
    /// The chain of the representation at `address`, whose body has `body_len` bytes.
    pub(super) fn new(fs: &Fs, address: RepAddress, body_len: u64) -> Self {
        DeltaChain {
            fs: fs.clone(),
            address,
            body_len,
            levels: Vec::new(),
            checkpoint: (None, 1),
        }
    }

    /// The representation of the content itself.
    pub(super) fn top(&mut self) -> Result<&mut OpenRep> {
        if self.levels.is_empty() {
            self.levels
                .push(OpenRep::open(&self.fs, self.address, self.body_len)?);
        }
        Ok(&mut self.levels[0])
    }

    /// True if the content ends before chunk `at`.
    pub(super) fn ends_before(&mut self, at: u64) -> Result<bool> {
        let top = self.top()?;
        if top.header == RepHeader::Plain {
            return Ok(at.saturating_mul(WINDOW_SIZE as u64) >= top.body_len);
        }
        top.ends_before(at)
    }

    /// Makes chunk `at`, which must exist. Chunks must be read in ascending order.
    pub(super) fn chunk(&mut self, at: u64) -> Result<Vec<u8>> {
        self.top()?;
        let (depth, source) = self.descend(at)?;
        self.ascend(at, depth, source)
    }

    /// Returns the number of windows to apply, and the source of the deepest one.
    fn descend(&mut self, at: u64) -> Result<(usize, BaseChunk)> {
        let mut depth = 0;
        loop {
            if depth == self.levels.len() {
                let (address, body_len) = self.base_of(depth - 1)?;
                if let Some(chunk) = self.cached(address, at) {
                    return Ok((depth, BaseChunk::Chunk(chunk)));
                }
                self.check_cycle(depth, address)?;
                self.levels.push(OpenRep::open(&self.fs, address, body_len)?);
            } else if depth > 0
                && let Some(chunk) = self.cached(self.levels[depth].address, at)
            {
                return Ok((depth, BaseChunk::Chunk(chunk)));
            }
            let level = &mut self.levels[depth];
            if level.header == RepHeader::Plain {
                return Ok((depth, BaseChunk::Plain(depth)));
            }
            if depth > 0 && level.ends_before(at)? {
                return Ok((depth, BaseChunk::Empty));
            }
            match level.header {
                RepHeader::Plain => {}
                RepHeader::SelfDelta => return Ok((depth + 1, BaseChunk::Empty)),
                RepHeader::Delta { .. } => {
                    let window = level.window(at)?;
                    if !with_codec(|codec| window.has_source_ops(codec))? {
                        return Ok((depth + 1, BaseChunk::Empty));
                    }
                }
            }
            if depth >= BUFFERED_LEVELS {
                level.release();
            }
            depth += 1;
        }
    }

    /// Applies window `at` of the first `depth` representations, the deepest first.
    fn ascend(&mut self, at: u64, depth: usize, source: BaseChunk) -> Result<Vec<u8>> {
        let mut plain = Vec::new();
        let base: &[u8] = match &source {
            BaseChunk::Empty => &[],
            BaseChunk::Chunk(chunk) => chunk.bytes(),
            BaseChunk::Plain(depth) => {
                let offset = at.saturating_mul(WINDOW_SIZE as u64);
                plain.extend_from_slice(self.levels[*depth].plain(offset, WINDOW_SIZE as u64)?);
                &plain
            }
        };
        let Some((top, below)) = self.levels[..depth].split_first_mut() else {
            return Ok(plain);
        };
        // Two buffers of the thread are used in turn, however long the chain is. Only the result gets memory of its
        // own, of its exact size.
        BUFFERS.with_borrow_mut(|[from, to]| {
            let mut is_first = true;
            for level in below.iter_mut().rev() {
                let window = level.window(at)?;
                to.clear();
                with_codec(|codec| window.apply(if is_first { base } else { from }, to, codec))?;
                std::mem::swap(from, to);
                is_first = false;
            }
            let window = top.window(at)?;
            let mut made = Vec::with_capacity(window.target_len as usize);
            with_codec(|codec| window.apply(if is_first { base } else { from }, &mut made, codec))?;
            Ok(made)
        })
    }

    /// The delta base of the representation at `depth`, which must be a delta.
    fn base_of(&self, depth: usize) -> Result<(RepAddress, u64)> {
        match self.levels[depth].header {
            RepHeader::Delta { rev, item, length } => Ok((RepAddress::Rev(rev, item), length)),
            RepHeader::Plain | RepHeader::SelfDelta => Err(Error::new(
                Code::FS_CORRUPT,
                "Representation needs a delta base but has none",
            )),
        }
    }

    fn cached(&self, address: RepAddress, at: u64) -> Option<Chunk> {
        cached_chunk(&self.fs, address, at)
    }

    fn check_cycle(&mut self, depth: usize, address: RepAddress) -> Result<()> {
        if self.checkpoint.0 == Some(address) || address == self.address {
            return Err(Error::new(
                Code::FS_CORRUPT,
                "Delta chain of a representation is a cycle",
            ));
        }
        if depth >= self.checkpoint.1 {
            self.checkpoint = (Some(address), depth * 2);
        }
        Ok(())
    }
}

/// Chunk `at` from the cache: the chunk itself, or made from a cached window of [`EncodedText`](super::EncodedText).
pub(super) fn cached_chunk(fs: &Fs, address: RepAddress, at: u64) -> Option<Chunk> {
    if let Some(chunk) = fs.cache().get(&chunk_key(fs, address, at)?) {
        return Some(chunk);
    }
    let cached = [WindowForm::new(2, 0), WindowForm::new(2, 1)]
        .into_iter()
        .find_map(|form| {
            fs.cache()
                .get::<Arc<OwnedWindow>>(&window_key(fs, address, at, form)?)
        })?;
    let window = cached.window().ok()?;
    let mut text = Vec::with_capacity(window.target_len as usize);
    // A stored window may be damaged. The reader of the chain then gives the error.
    with_codec(|codec| window.apply(&[], &mut text, codec)).ok()?;
    Some(Chunk::new(Arc::new(text)))
}

/// The key of chunk `at`; `None` in a transaction, where contents are not cached.
pub(super) fn chunk_key(fs: &Fs, address: RepAddress, at: u64) -> Option<Key> {
    match address {
        RepAddress::Rev(rev, item) => Some(Key::part::<Chunk>(fs.instance(), rev.0, item, at)),
        RepAddress::Txn(..) | RepAddress::Unfinished(..) => None,
    }
}
