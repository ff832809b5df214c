//! Parts of objects on the disk of the node.
//!
//! An object is read in aligned blocks of [`BLOCK`] bytes. Each block that was read from the object store becomes a file of the cache. Any file
//! may disappear at any time, also while it is open, and so may the whole directory: the block is read from the store again. Several
//! processes may use one directory.
//!
//! | bytes of a file | content |
//! |---|---|
//! | 8 | `SVENBLK1` |
//! | 8, 8, 8 | little-endian: length of the object's name, number of the block, length of the block |
//! | … | the object's name |
//! | 4 each | CRC-32 of each [`CHUNK`] bytes of the block |
//! | 4 | CRC-32 of all of the above |
//! | … | the block |
//!
//! The reader knows what all but the checksums must be. What it reads of a block is checked chunk by chunk, each time. A file that is damaged or too short is
//! removed, and the block is read from the store again. Files are not synced: after a loss of power the checksums tell which are whole.
//!
//! A block that cannot be written to the disk is served from memory, which holds a few of them.
//!
//! **Budget.** When a process has written a sixteenth of the budget (at first less), it sums up the files on a thread of its own, and removes those that were opened
//! least recently (their time of modification is set then) until seven eighths of the budget are left. So one process stays within the budget.
//!
//! **Reserve.** A sixteenth of the disk, at most 1 GiB, stays free for commits and configuration: no block is written if less would be left. A node that serves
//! looks from time to time, and removes blocks while less than twice the reserve is free.
//!
//! **Checksums of the database.** The database knows a checksum of each block, unless an earlier program wrote the object and nothing has
//! read all of it since. What the object store returns must have it; otherwise it is an error, and nothing is kept.
//!
//! **Single flight.** Readers of a block that is being fetched wait for the first of them.
//!
//! What is absent: the object store, and what objects mean.

mod sweep;

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::time::{Duration, SystemTime};

use base::{Error, Result};
use bytes::Bytes;
use flate2::Crc;
use fsfs::disk::open_file_budget;
use quick_cache::sync::{Cache, GuardResult};
use quick_cache::{DefaultHashBuilder, OptionsBuilder, Weighter};
use sha2::{Digest as _, Sha256};

use crate::metrics::{ClusterMetrics, add};

/// The size of a block, bytes.
pub(crate) const BLOCK: u64 = 1 << 20;

/// The part of a block that has a checksum of its own, bytes. It is what the engine reads at once.
const CHUNK: usize = 16 << 10;

/// The name of a block: its object, its number, and what its bytes must be. So what was taken without a checksum, or with another one, is
/// another block.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct BlockKey {
    pub(crate) object: Arc<str>,
    pub(crate) number: u64,
    /// The CRC-32 of the block; `None` if the database does not know it yet.
    pub(crate) checksum: Option<u32>,
}

impl BlockKey {
    /// True if these are the bytes of the block, as far as that is known.
    pub(crate) fn accepts(&self, bytes: &[u8]) -> bool {
        self.checksum.is_none_or(|known| known == checksum(bytes))
    }
}

/// The cache of a process.
pub(crate) struct BlockCache {
    shared: Arc<Shared>,
    open: Cache<BlockKey, Arc<Block>, BlockWeight>,
    metrics: Arc<ClusterMetrics>,
}

/// The room on a disk, bytes.
#[derive(Clone, Copy)]
struct DiskSpace {
    free: u64,
    size: u64,
}

/// Asks for the room on the disk of a directory; `None` if the system does not say.
type AskSpace = dyn Fn(&Path) -> Option<DiskSpace> + Send + Sync;

/// What the thread that removes files needs.
struct Shared {
    dir: PathBuf,
    budget: u64,
    /// Asks for the room on the disk of a directory.
    space: Box<AskSpace>,
    /// Bytes written since the files were summed up.
    written: AtomicU64,
    is_sweeping: AtomicBool,
}

/// A block that can be read.
enum Block {
    OnDisk {
        file: File,
        /// Where the block begins in the file, bytes.
        start: u64,
        length: usize,
        checksums: Box<[u32]>,
    },
    /// A block that could not be written.
    InMemory(Bytes),
}

#[derive(Clone)]
struct BlockWeight {
    /// The weight of an open file: [`MEMORY`] allows [`OPEN_FILES`], or fewer if this process may not have many.
    open_file: u64,
}

impl Weighter<BlockKey, Arc<Block>> for BlockWeight {
    fn weight(&self, _: &BlockKey, block: &Arc<Block>) -> u64 {
        match &**block {
            Block::OnDisk { .. } => self.open_file,
            Block::InMemory(bytes) => bytes.len() as u64 + 256,
        }
    }
}

/// Memory for blocks that could not be written, bytes.
const MEMORY: u64 = 64 << 20;

/// The most open files.
const OPEN_FILES: usize = 512;

impl BlockCache {
    /// Opens the cache in a directory, which is made if it is missing. With a budget of 0 nothing is written.
    ///
    /// # Errors
    /// The system's if the directory cannot be made.
    pub(crate) fn open(dir: &Path, budget: u64, metrics: Arc<ClusterMetrics>) -> Result<BlockCache> {
        fs::create_dir_all(dir).map_err(|e| Error::io("Can't create directory", dir, &e))?;
        let options = OptionsBuilder::new()
            .estimated_items_capacity(OPEN_FILES)
            .weight_capacity(MEMORY)
            .shards(8)
            .build()
            .expect("because all that is needed is set");
        Ok(BlockCache {
            shared: Arc::new(Shared {
                dir: dir.to_owned(),
                budget,
                space: Box::new(DiskSpace::of),
                // Earlier processes may have written, too: the first sum is made soon.
                written: AtomicU64::new(budget / 16 / 16 * 15),
                is_sweeping: AtomicBool::new(false),
            }),
            open: Cache::with_options(
                options,
                BlockWeight {
                    open_file: MEMORY / open_file_budget(OPEN_FILES) as u64,
                },
                DefaultHashBuilder::default(),
                Default::default(),
            ),
            metrics,
        })
    }

    /// Reads bytes of a block at `offset` within it, at least one if it has as many. `length` is that of the whole block. `fetch`
    /// returns the whole block from elsewhere.
    ///
    /// # Errors
    /// Those of `fetch`; `InvalidData` if it returns other bytes than the checksum says; `TimedOut` if another reader of the block has waited for it for too long.
    pub(crate) fn read(
        &self,
        key: &BlockKey,
        length: usize,
        offset: usize,
        buf: &mut [u8],
        fetch: &dyn Fn() -> io::Result<Bytes>,
    ) -> io::Result<usize> {
        if offset >= length || buf.is_empty() {
            return Ok(0);
        }
        for _ in 0..DISK_ATTEMPTS {
            let block = self.block(key, length, fetch)?;
            if let Some(count) = block.read(offset, buf) {
                return Ok(count);
            }
            add(&self.metrics.damaged_blocks, 1);
            self.remove(key, &block);
        }
        // The disk damages what is written to it.
        let bytes = self.fetch(key, fetch, length)?;
        Ok(copy_from(&bytes, offset, buf))
    }

    /// Fetches a block unless it is there.
    ///
    /// # Errors
    /// As [`BlockCache::read`].
    pub(crate) fn prefetch(
        &self,
        key: &BlockKey,
        length: usize,
        fetch: &dyn Fn() -> io::Result<Bytes>,
    ) -> io::Result<()> {
        self.block(key, length, fetch).map(drop)
    }

    /// Removes blocks if little room is left on the disk.
    pub(crate) fn keep_reserve(&self) {
        let space = || (self.shared.space)(&self.shared.dir);
        let missing = space().map_or(0, |space| space.missing());
        if missing == 0 {
            return;
        }
        self.shared.sweep(missing);
        // A file that is open keeps its room.
        self.open.clear();
        if let Some(space) = space() {
            tracing::debug!(
                free = space.free,
                "removed blocks of the cache: the disk was nearly full"
            );
        }
    }

    /// True if the block is open. Touches no disk.
    pub(crate) fn is_open(&self, key: &BlockKey) -> bool {
        self.open.peek(key).is_some()
    }

    fn block(
        &self,
        key: &BlockKey,
        length: usize,
        fetch: &dyn Fn() -> io::Result<Bytes>,
    ) -> io::Result<Arc<Block>> {
        match self.open.get_value_or_guard(key, Some(WAIT_FOR_OTHER)) {
            GuardResult::Value(block) => {
                add(&self.metrics.block_hits, 1);
                Ok(block)
            }
            GuardResult::Timeout => Err(io::ErrorKind::TimedOut.into()),
            GuardResult::Guard(guard) => {
                let block = Arc::new(self.load(key, length, fetch)?);
                // An error means that the entry was removed meanwhile, which harms nothing.
                _ = guard.insert(block.clone());
                Ok(block)
            }
        }
    }

    /// Opens the file of a block, or fetches the block and makes the file.
    fn load(
        &self,
        key: &BlockKey,
        length: usize,
        fetch: &dyn Fn() -> io::Result<Bytes>,
    ) -> io::Result<Block> {
        let path = self.shared.path(key);
        match open_block(&path, key, length) {
            Ok(block) => {
                add(&self.metrics.block_hits, 1);
                return Ok(block);
            }
            Err(e) if e.kind() == io::ErrorKind::InvalidData => {
                add(&self.metrics.damaged_blocks, 1);
                _ = fs::remove_file(&path);
            }
            Err(_) => {}
        }
        let bytes = self.fetch(key, fetch, length)?;
        match self.shared.write(&path, key, &bytes) {
            Ok(block) => Ok(block),
            Err(e) => {
                tracing::debug!("can't write a block to the cache '{}': {e}", path.display());
                Ok(Block::InMemory(bytes))
            }
        }
    }

    fn fetch(
        &self,
        key: &BlockKey,
        fetch: &dyn Fn() -> io::Result<Bytes>,
        length: usize,
    ) -> io::Result<Bytes> {
        let bytes = fetch()?;
        if bytes.len() != length {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        if !key.accepts(&bytes) {
            let text = format!("The object '{}' is damaged in the object store", key.object);
            return Err(io::Error::new(io::ErrorKind::InvalidData, text));
        }
        add(&self.metrics.block_misses, 1);
        Ok(bytes)
    }

    /// Removes a damaged block, unless another reader has replaced it.
    fn remove(&self, key: &BlockKey, damaged: &Arc<Block>) {
        if self
            .open
            .remove_if(key, |block| Arc::ptr_eq(block, damaged))
            .is_some()
        {
            _ = fs::remove_file(self.shared.path(key));
        }
    }
}

impl Block {
    /// Reads what one call can read. `None` if the file is damaged.
    fn read(&self, offset: usize, buf: &mut [u8]) -> Option<usize> {
        let (file, start, length, checksums) = match self {
            Block::InMemory(bytes) => return Some(copy_from(bytes, offset, buf)),
            Block::OnDisk {
                file,
                start,
                length,
                checksums,
            } => (file, *start, *length, checksums),
        };
        let first = offset / CHUNK;
        let checked = |chunk: usize, bytes: &[u8]| checksums.get(chunk) == Some(&checksum(bytes));
        if offset.is_multiple_of(CHUNK) {
            // Whole chunks go to the caller directly. The last one of a block may be shorter.
            let rest = length - offset;
            let whole = match buf.len() >= rest {
                true => rest,
                false => buf.len() / CHUNK * CHUNK,
            };
            if whole > 0 {
                let buf = &mut buf[..whole];
                file.read_exact_at(buf, start + offset as u64).ok()?;
                let mut chunks = buf.chunks(CHUNK).enumerate();
                return chunks
                    .all(|(at, bytes)| checked(first + at, bytes))
                    .then_some(whole);
            }
        }
        let mut chunk = [0; CHUNK];
        let chunk_start = first * CHUNK;
        let chunk = &mut chunk[..CHUNK.min(length - chunk_start)];
        file.read_exact_at(chunk, start + chunk_start as u64).ok()?;
        checked(first, chunk).then(|| copy_from(chunk, offset - chunk_start, buf))
    }
}

impl Shared {
    /// The file of a block.
    fn path(&self, key: &BlockKey) -> PathBuf {
        let mut digest = Sha256::new();
        digest.update(key.object.as_bytes());
        digest.update(key.number.to_le_bytes());
        if let Some(checksum) = key.checksum {
            digest.update(checksum.to_le_bytes());
        }
        let digits: String = digest.finalize()[..20]
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect();
        self.dir.join(&digits[..2]).join(&digits[2..])
    }

    /// Writes the file of a block and opens it.
    fn write(self: &Arc<Self>, path: &Path, key: &BlockKey, bytes: &Bytes) -> io::Result<Block> {
        let header = header(key, bytes.len(), bytes.chunks(CHUNK).map(checksum));
        let size = (header.len() + bytes.len()) as u64;
        let has_room = || (self.space)(&self.dir).is_none_or(|space| space.has_room(size));
        if size > self.budget || !has_room() {
            return Err(io::ErrorKind::StorageFull.into());
        }
        let dir = path.parent().ok_or(io::ErrorKind::InvalidInput)?;
        let mut temporary = match tempfile::Builder::new().prefix(TEMPORARY).tempfile_in(dir) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => {
                fs::create_dir_all(dir)?;
                tempfile::Builder::new().prefix(TEMPORARY).tempfile_in(dir)?
            }
            made => made?,
        };
        temporary.write_all(&header)?;
        temporary.write_all(bytes)?;
        temporary.persist(path).map_err(|e| e.error)?;
        self.sweep_if_due(size);
        open_block(path, key, bytes.len())
    }
}

/// Opens the file of a block and checks its header.
///
/// # Errors
/// `InvalidData` for a damaged file; the system's.
fn open_block(path: &Path, key: &BlockKey, length: usize) -> io::Result<Block> {
    let file = File::open(path)?;
    let chunks = length.div_ceil(CHUNK);
    let mut found = vec![0; FIXED + key.object.len() + 4 * chunks + 4];
    let size = found.len() as u64 + length as u64;
    if file.metadata()?.len() != size || file.read_exact_at(&mut found, 0).is_err() {
        return Err(io::ErrorKind::InvalidData.into());
    }
    let table = &found[FIXED + key.object.len()..];
    let numbers = table
        .as_chunks::<4>()
        .0
        .iter()
        .map(|bytes| u32::from_le_bytes(*bytes));
    let checksums: Box<[u32]> = numbers.take(chunks).collect();
    if found != header(key, length, checksums.iter().copied()) {
        return Err(io::ErrorKind::InvalidData.into());
    }
    // For the choice of files to remove. A file that is read-only for this process stays as it is.
    _ = file.set_modified(SystemTime::now());
    Ok(Block::OnDisk {
        file,
        start: found.len() as u64,
        length,
        checksums,
    })
}

/// Returns the bytes before the block.
fn header(key: &BlockKey, length: usize, checksums: impl Iterator<Item = u32>) -> Vec<u8> {
    let mut out = Vec::with_capacity(FIXED + key.object.len() + 4 * (length.div_ceil(CHUNK) + 1));
    out.extend_from_slice(MAGIC);
    for number in [key.object.len() as u64, key.number, length as u64] {
        out.extend_from_slice(&number.to_le_bytes());
    }
    out.extend_from_slice(key.object.as_bytes());
    for checksum in checksums {
        out.extend_from_slice(&checksum.to_le_bytes());
    }
    let own = checksum(&out);
    out.extend_from_slice(&own.to_le_bytes());
    out
}

fn checksum(bytes: &[u8]) -> u32 {
    let mut crc = Crc::new();
    crc.update(bytes);
    crc.sum()
}

fn copy_from(bytes: &[u8], offset: usize, buf: &mut [u8]) -> usize {
    let rest = bytes.get(offset..).unwrap_or_default();
    let count = rest.len().min(buf.len());
    buf[..count].copy_from_slice(&rest[..count]);
    count
}

const MAGIC: &[u8; 8] = b"SVENBLK1";

/// Bytes of a header before the object's name.
const FIXED: usize = 32;

/// The beginning of the names of files that are being written.
const TEMPORARY: &str = "new-";

/// How often a damaged block is written again for one read.
const DISK_ATTEMPTS: u32 = 2;

/// How long a reader waits for another one that fetches the same block.
const WAIT_FOR_OTHER: Duration = Duration::from_secs(60);

#[cfg(test)]
mod tests;
