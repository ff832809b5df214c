//! A content out of its delta chain, one chunk at a time.
//!
//! Chunk k of a content is what window k of its delta makes. Window k is applied to chunk k of the base (that every
//! writer keeps to this alignment is what makes FSFS readable in constant memory; the offsets in the windows are
//! ignored). So for each chunk the chain is walked down to the first window that needs no source, to a chunk that is
//! cached, or to a PLAIN representation, and then the windows are applied on the way up.
//!
//! Chains have any length, so nothing here recurses; a chain that bites its own tail is noticed.

use std::cell::RefCell;
use std::sync::Arc;

use base::{Code, Error, Result};
use delta::editor::WindowForm;
use delta::svndiff::OwnedWindow;
use delta::window::WINDOW_SIZE;

use super::encoded::window_key;
use super::level::Level;
pub(crate) use super::level::RepAddress;
use super::with_codec;
use crate::cache::{Chunk, Key};
use crate::format::rep_header::RepHeader;
use crate::fs::Fs;

/// A delta chain that is being read. Levels are opened when first needed.
pub(super) struct Chain {
    fs: Fs,
    address: RepAddress,
    body_len: u64,
    levels: Vec<Level>,
    /// Brent's cycle check: an address seen on the way down, and at which depth to replace it.
    landmark: (Option<RepAddress>, usize),
}

/// Deeper levels do not keep their bytes between the way down and the way up.
const KEPT_LEVELS: usize = 64;

thread_local! {
    /// What windows of a chain make on the way up.
    static TURNS: RefCell<[Vec<u8>; 2]> = const { RefCell::new([Vec::new(), Vec::new()]) };
}

/// What a window is applied to.
enum Source {
    /// Nothing: the base has no such chunk, or the window needs none.
    Empty,
    /// The base's chunk.
    Chunk(Chunk),
    /// The PLAIN representation at this depth.
    Plain(usize),
}

impl Chain {
    /// The chain of the representation at `address` whose body has `body_len` bytes.
    pub(super) fn new(fs: &Fs, address: RepAddress, body_len: u64) -> Self {
        Chain {
            fs: fs.clone(),
            address,
            body_len,
            levels: Vec::new(),
            landmark: (None, 1),
        }
    }

    /// The representation itself, opened.
    pub(super) fn top(&mut self) -> Result<&mut Level> {
        if self.levels.is_empty() {
            self.levels
                .push(Level::open(&self.fs, self.address, self.body_len)?);
        }
        Ok(&mut self.levels[0])
    }

    /// True if there is no chunk `at`.
    pub(super) fn ends_before(&mut self, at: u64) -> Result<bool> {
        let top = self.top()?;
        if top.header == RepHeader::Plain {
            return Ok(at.saturating_mul(WINDOW_SIZE as u64) >= top.body_len);
        }
        top.ends_before(at)
    }

    /// Makes chunk `at`, which must exist. Chunks can only be asked for in ascending order.
    pub(super) fn chunk(&mut self, at: u64) -> Result<Vec<u8>> {
        self.top()?;
        let (depth, source) = self.descend(at)?;
        self.ascend(at, depth, source)
    }

    /// Finds the depth of the last window to apply (plus one: how many windows there are), and its source.
    fn descend(&mut self, at: u64) -> Result<(usize, Source)> {
        let mut depth = 0;
        loop {
            if depth == self.levels.len() {
                let (address, body_len) = self.base_of(depth - 1)?;
                if let Some(chunk) = self.cached(address, at) {
                    return Ok((depth, Source::Chunk(chunk)));
                }
                self.check_cycle(depth, address)?;
                self.levels.push(Level::open(&self.fs, address, body_len)?);
            } else if depth > 0
                && let Some(chunk) = self.cached(self.levels[depth].address, at)
            {
                return Ok((depth, Source::Chunk(chunk)));
            }
            let level = &mut self.levels[depth];
            if level.header == RepHeader::Plain {
                return Ok((depth, Source::Plain(depth)));
            }
            if depth > 0 && level.ends_before(at)? {
                return Ok((depth, Source::Empty));
            }
            match level.header {
                RepHeader::Plain => {}
                RepHeader::SelfDelta => return Ok((depth + 1, Source::Empty)),
                RepHeader::Delta { .. } => {
                    let window = level.window(at)?;
                    if !with_codec(|codec| window.has_source_ops(codec))? {
                        return Ok((depth + 1, Source::Empty));
                    }
                }
            }
            if depth >= KEPT_LEVELS {
                level.release();
            }
            depth += 1;
        }
    }

    /// Applies window `at` of the levels above `depth`, the deepest first.
    fn ascend(&mut self, at: u64, depth: usize, source: Source) -> Result<Vec<u8>> {
        let mut plain = Vec::new();
        let base: &[u8] = match &source {
            Source::Empty => &[],
            Source::Chunk(chunk) => chunk.bytes(),
            Source::Plain(depth) => {
                let offset = at.saturating_mul(WINDOW_SIZE as u64);
                plain.extend_from_slice(self.levels[*depth].plain(offset, WINDOW_SIZE as u64)?);
                &plain
            }
        };
        let Some((top, below)) = self.levels[..depth].split_first_mut() else {
            return Ok(plain);
        };
        // Two buffers of the thread take turns, however long the chain is. What the last window makes stays, and takes no more
        // room than it must.
        TURNS.with_borrow_mut(|[from, to]| {
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

    /// The base of the level at `depth`, which is a delta.
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
        if self.landmark.0 == Some(address) || address == self.address {
            return Err(Error::new(
                Code::FS_CORRUPT,
                "Delta chain of a representation is a cycle",
            ));
        }
        if depth >= self.landmark.1 {
            self.landmark = (Some(address), depth * 2);
        }
        Ok(())
    }
}

/// Chunk `at` out of the cache: as it is, or expanded from the window that somebody was sent.
pub(super) fn cached_chunk(fs: &Fs, address: RepAddress, at: u64) -> Option<Chunk> {
    if let Some(chunk) = fs.cache().get(&chunk_key(fs, address, at)?) {
        return Some(chunk);
    }
    let kept = [WindowForm::new(2, 0), WindowForm::new(2, 1)]
        .into_iter()
        .find_map(|form| {
            fs.cache()
                .get::<Arc<OwnedWindow>>(&window_key(fs, address, at, form)?)
        })?;
    let window = kept.window().ok()?;
    let mut text = Vec::with_capacity(window.target_len as usize);
    // A stored window may be damaged: then whoever reads the chain says so.
    with_codec(|codec| window.apply(&[], &mut text, codec)).ok()?;
    Some(Chunk::new(Arc::new(text)))
}

/// Key of chunk `at`; none in a transaction, where contents are not cached.
pub(super) fn chunk_key(fs: &Fs, address: RepAddress, at: u64) -> Option<Key> {
    match address {
        RepAddress::Rev(rev, item) => Some(Key::part::<Chunk>(fs.instance(), rev.0, item, at)),
        RepAddress::Txn(..) | RepAddress::Unfinished(..) => None,
    }
}
