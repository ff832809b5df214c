//! A file that is read at offsets, with its end (or all of it) in memory and with read-ahead for walks.
//!
//! A single look-up reads what it needs and no more. A walk through a pack file reads many items that are close
//! together: at the second read within an aligned block, the whole block is read into the cache, and the next reads are
//! served from it. So callers need not declare which kind of access theirs is.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};

use base::{Code, Error, Result, Revnum};

use crate::store::cache::values::FileBlock;
use crate::store::cache::{Cache, Instance, Key};
use crate::store::disk::{Disk, DiskFile};

/// An open file with its path and its last bytes in memory.
pub struct OpenFile {
    path: PathBuf,
    /// `None` if all of the file is in memory.
    file: Option<Arc<dyn DiskFile>>,
    len: u64,
    tail: Box<[u8]>,
    /// Offset of `tail` in the file, bytes.
    tail_start: u64,
    /// `None` if its blocks are not cached.
    blocks: Option<FileBlocks>,
}

/// The cached blocks of a file that does not change.
pub(crate) struct FileBlocks {
    /// Weak, because the cache holds the open file.
    cache: Weak<Cache>,
    instance: Instance,
    first_rev: Revnum,
    is_packed: bool,
    /// The numbers of blocks with one recent read, each + 1; see [`FileBlocks::is_walk`].
    touched: [AtomicU64; TRACKED_BLOCKS],
}

/// The size up to which a file is read whole, bytes.
pub(crate) const WHOLE_FILE: u64 = 16 << 10;

/// The size of a block, bytes.
const BLOCK: u64 = 16 << 10;

/// Longer reads do not go through a block, bytes.
const MAX_BUFFERED_READ: usize = BLOCK as usize;

/// The number of blocks of which a first read is remembered: a walk reads node-revisions, directories and texts in
/// different parts of the file.
const TRACKED_BLOCKS: usize = 64;

impl OpenFile {
    /// Opens a file and reads it whole if it is small, else its last `tail` bytes.
    pub fn open(disk: &dyn Disk, path: PathBuf, tail: u64) -> Result<Self> {
        let file = disk
            .open(&path)
            .map_err(|e| Error::io("Can't open file", &path, &e))?;
        Self::of(file, path, tail)
    }

    /// As [`OpenFile::open`], of a file that is open already.
    pub(crate) fn of(file: Arc<dyn DiskFile>, path: PathBuf, tail: u64) -> Result<Self> {
        let len = file
            .len()
            .map_err(|e| Error::io("Can't get attribute information from open file", &path, &e))?;
        let tail = if len <= WHOLE_FILE { len } else { tail };
        let mut opened = OpenFile {
            path,
            file: Some(file),
            len,
            tail: Box::default(),
            tail_start: len,
            blocks: None,
        };
        let mut bytes = Vec::with_capacity(tail as usize);
        opened.append(&mut bytes, tail as usize, len - tail)?;
        if bytes.len() as u64 != tail {
            return Err(opened.ends_early());
        }
        opened.tail = bytes.into();
        opened.tail_start = len - tail;
        // A file that is in memory whole needs no descriptor.
        opened.file = opened.file.filter(|_| tail < len);
        Ok(opened)
    }

    /// The same file with its blocks in the cache.
    pub(crate) fn with_blocks(self, blocks: FileBlocks) -> Self {
        OpenFile {
            blocks: Some(blocks),
            ..self
        }
    }

    /// True if all of it is in memory.
    pub(crate) fn is_whole(&self) -> bool {
        self.file.is_none()
    }

    /// Bytes of the file when it was opened.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Reads up to `buf.len()` bytes; fewer only at the end of the file.
    pub(crate) fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<usize> {
        if let Some(in_memory) = self.in_memory(offset) {
            let length = in_memory.len().min(buf.len());
            buf[..length].copy_from_slice(&in_memory[..length]);
            return Ok(length);
        }
        if let Some(length) = self.read_through_block(offset, buf)? {
            return Ok(length);
        }
        self.read_file(offset, buf)
    }

    fn read_file(&self, offset: u64, buf: &mut [u8]) -> Result<usize> {
        let Some(file) = &self.file else {
            return Ok(0);
        };
        let mut done = 0;
        while done < buf.len() {
            match file.read_at(&mut buf[done..], offset.saturating_add(done as u64)) {
                Ok(0) => break,
                Ok(length) => done += length,
                Err(e) => return Err(Error::io("Can't read file", &self.path, &e)),
            }
        }
        Ok(done)
    }

    /// Fills `buf`.
    ///
    /// # Errors
    /// `FS_CORRUPT` if the file ends before.
    pub(crate) fn read_exact_at(&self, offset: u64, buf: &mut [u8]) -> Result<()> {
        match self.read_at(offset, buf)? {
            length if length == buf.len() => Ok(()),
            _ => Err(self.ends_early()),
        }
    }

    /// Reads exactly `length` bytes. The length of the file bounds what is allocated.
    pub fn read_vec(&self, offset: u64, length: u64) -> Result<Vec<u8>> {
        if offset.checked_add(length).is_none_or(|end| end > self.len) {
            return Err(self.ends_early());
        }
        let buf = self.read_up_to(offset, length as usize)?;
        match buf.len() as u64 == length {
            true => Ok(buf),
            false => Err(self.ends_early()),
        }
    }

    /// Reads up to `length` bytes, fewer only at the end of the file. The caller has checked that so much may be
    /// allocated.
    pub(crate) fn read_up_to(&self, offset: u64, length: usize) -> Result<Vec<u8>> {
        if let Some(in_memory) = self.in_memory(offset) {
            return Ok(in_memory[..in_memory.len().min(length)].to_vec());
        }
        if length <= MAX_BUFFERED_READ {
            let mut buf = vec![0; length];
            let read = self.read_at(offset, &mut buf)?;
            buf.truncate(read);
            return Ok(buf);
        }
        let mut buf = Vec::with_capacity(length);
        self.append(&mut buf, length, offset)?;
        Ok(buf)
    }

    /// Appends up to `length` bytes, read from the disk.
    fn append(&self, buf: &mut Vec<u8>, length: usize, offset: u64) -> Result<()> {
        let Some(file) = &self.file else {
            return Ok(());
        };
        let start = buf.len();
        loop {
            let done = buf.len() - start;
            if done == length {
                return Ok(());
            }
            match file.append_at(buf, length - done, offset.saturating_add(done as u64)) {
                Ok(0) => return Ok(()),
                Ok(_) => {}
                Err(e) => return Err(Error::io("Can't read file", &self.path, &e)),
            }
        }
    }

    /// Parses a value at `offset` of which only an upper bound of the length is known: `end`, and `most` bytes. Tries
    /// with the bytes in memory or with a first read of `first` bytes, then with more.
    pub(crate) fn parse_at<T>(
        &self,
        offset: u64,
        end: u64,
        first: usize,
        most: usize,
        mut parse: impl FnMut(&[u8]) -> Result<Option<T>>,
    ) -> Result<T> {
        let available = usize::try_from(end.min(self.len).saturating_sub(offset)).unwrap_or(usize::MAX);
        let available = available.min(most);
        if let Some(in_memory) = self.in_memory(offset) {
            let in_memory = &in_memory[..in_memory.len().min(available)];
            return parse(in_memory)?.ok_or_else(|| self.ends_early());
        }
        let first = first.min(available);
        if let Some((block, at)) = self.block_of(offset, first)?
            && let Some(bytes) = block.get(at..).filter(|bytes| bytes.len() >= first)
            && let Some(value) = parse(&bytes[..bytes.len().min(available)])?
        {
            return Ok(value);
        }
        let mut buf = vec![0; first];
        self.read_exact_at(offset, &mut buf)?;
        loop {
            match parse(&buf)? {
                Some(value) => return Ok(value),
                None if buf.len() < available => {
                    let in_memory = buf.len();
                    buf.resize(in_memory.saturating_mul(4).min(available), 0);
                    self.read_exact_at(offset + in_memory as u64, &mut buf[in_memory..])?;
                }
                None => return Err(self.ends_early()),
            }
        }
    }

    /// `length` bytes at `offset`, if they are in memory.
    pub(crate) fn slice_in_memory(&self, offset: u64, length: u64) -> Option<&[u8]> {
        self.in_memory(offset)?.get(..usize::try_from(length).ok()?)
    }

    /// Replaces the content of `buf` by `length` bytes at `offset`.
    ///
    /// # Errors
    /// `FS_CORRUPT` if the file ends before.
    pub fn read_into(&self, offset: u64, length: usize, buf: &mut Vec<u8>) -> Result<()> {
        buf.clear();
        if length <= MAX_BUFFERED_READ {
            buf.resize(length, 0);
            return self.read_exact_at(offset, buf);
        }
        buf.reserve_exact(length);
        self.append(buf, length, offset)?;
        match buf.len() == length {
            true => Ok(()),
            false => Err(self.ends_early()),
        }
    }

    /// The file's bytes from `offset` to its end, if they are in memory.
    fn in_memory(&self, offset: u64) -> Option<&[u8]> {
        let at = offset.checked_sub(self.tail_start)?;
        self.tail.get(usize::try_from(at).ok()?..)
    }

    /// The path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The last bytes of the file: those that are in memory.
    pub fn tail(&self) -> &[u8] {
        &self.tail
    }

    /// The error for a file that ends inside of an item.
    pub fn ends_early(&self) -> Error {
        Error::new(
            Code::FS_CORRUPT,
            format!("Unexpected end of file '{}'", self.path.display()),
        )
    }

    /// Reads out of the block that contains the bytes, if a walk is in progress there.
    fn read_through_block(&self, offset: u64, buf: &mut [u8]) -> Result<Option<usize>> {
        let Some((block, at)) = self.block_of(offset, buf.len())? else {
            return Ok(None);
        };
        let rest = block.get(at..).unwrap_or_default();
        let length = rest.len().min(buf.len());
        buf[..length].copy_from_slice(&rest[..length]);
        Ok(Some(length))
    }

    /// Returns the block that contains `length` bytes at `offset`, and where they begin in it. `None` if the block is
    /// not cached and no walk is in progress there, or if the bytes are in more than one block.
    fn block_of(&self, offset: u64, length: usize) -> Result<Option<(Arc<Vec<u8>>, usize)>> {
        let (number, at) = (offset / BLOCK, (offset % BLOCK) as usize);
        if length == 0 || length > MAX_BUFFERED_READ || at + length > BLOCK as usize {
            return Ok(None);
        }
        let Some(blocks) = &self.blocks else {
            return Ok(None);
        };
        let Some(cache) = blocks
            .cache
            .upgrade()
            .filter(|cache| cache.has_room_for(2 * BLOCK))
        else {
            return Ok(None);
        };
        let key = blocks.key(number);
        if let Some(FileBlock(block)) = cache.get(&key) {
            return Ok(Some((block, at)));
        }
        if !blocks.is_walk(number) {
            return Ok(None);
        }
        let start = number * BLOCK;
        let length = BLOCK.min(self.len.saturating_sub(start)) as usize;
        let mut bytes = Vec::with_capacity(length);
        self.append(&mut bytes, length, start)?;
        let block = Arc::new(bytes);
        cache.insert(key, FileBlock(block.clone()));
        Ok(Some((block, at)))
    }
}

impl FileBlocks {
    /// The blocks of the revision file or pack file that begins with `first_rev`.
    pub(crate) fn new(cache: &Arc<Cache>, instance: Instance, first_rev: Revnum, is_packed: bool) -> Self {
        FileBlocks {
            cache: Arc::downgrade(cache),
            instance,
            first_rev,
            is_packed,
            touched: [const { AtomicU64::new(0) }; TRACKED_BLOCKS],
        }
    }

    fn key(&self, number: u64) -> Key {
        Key::part::<FileBlock>(self.instance, self.first_rev.0, number, u64::from(self.is_packed))
    }

    /// Remembers a read in a block. Returns true if there was another read in it recently.
    fn is_walk(&self, number: u64) -> bool {
        let slot = &self.touched[(number % TRACKED_BLOCKS as u64) as usize];
        slot.swap(number + 1, Ordering::Relaxed) == number + 1
    }
}
