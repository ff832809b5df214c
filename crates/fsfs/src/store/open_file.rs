//! A file that is read at offsets, with its end (or all of it) in memory and with read-ahead for walks.
//!
//! A single look-up reads what it needs and no more. A walk through a pack file reads many items that are close
//! together: after a few reads within an aligned block, the whole block is read, and the next reads are served from
//! it. So callers need not declare which kind of access theirs is.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use base::{Code, Error, Result};
use parking_lot::Mutex;

use crate::store::disk::{Disk, DiskFile};

/// An open file with its path and its last bytes in memory.
pub(crate) struct OpenFile {
    path: PathBuf,
    /// `None` if all of the file is in memory.
    file: Option<Arc<dyn DiskFile>>,
    len: u64,
    tail: Box<[u8]>,
    /// Offset of `tail` in the file, bytes.
    tail_start: u64,
    read_ahead: ReadAhead,
}

/// The blocks that read-ahead uses.
struct ReadAhead {
    /// Recently read blocks, each with the number of reads; see [`ReadAhead::is_walk`].
    touched: [AtomicU64; TRACKED_BLOCKS],
    next_touched: AtomicUsize,
    /// The blocks in memory, the last used first: number and bytes.
    blocks: Mutex<Vec<(u64, Arc<[u8]>)>>,
}

/// The size up to which a file is read whole, bytes.
pub(crate) const WHOLE_FILE: u64 = 16 << 10;

/// The size of a block, bytes.
const BLOCK: u64 = 64 << 10;

/// Longer reads do not go through a block, bytes.
const MAX_BUFFERED_READ: usize = 16 << 10;

/// The number of blocks of one file in memory.
const CACHED_BLOCKS: usize = 2;

/// The number of earlier reads within a block that make the next one a walk.
const READS_BEFORE_WALK: u64 = 3;

/// The number of blocks whose reads are counted: a walk reads node-revisions, directories and texts in different
/// parts of the file.
const TRACKED_BLOCKS: usize = 8;

impl OpenFile {
    /// Opens a file and reads it whole if it is small, else its last `tail` bytes.
    pub(crate) fn open(disk: &dyn Disk, path: PathBuf, tail: u64) -> Result<Self> {
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
            read_ahead: ReadAhead::new(),
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

    /// True if all of it is in memory.
    pub(crate) fn is_whole(&self) -> bool {
        self.file.is_none()
    }

    /// Bytes of the file when it was opened.
    pub(crate) fn len(&self) -> u64 {
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
    pub(crate) fn read_vec(&self, offset: u64, length: u64) -> Result<Vec<u8>> {
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
        let mut buf = vec![0; first.min(available)];
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
    pub(crate) fn read_into(&self, offset: u64, length: usize, buf: &mut Vec<u8>) -> Result<()> {
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
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The last bytes of the file: those that are in memory.
    pub(crate) fn tail(&self) -> &[u8] {
        &self.tail
    }

    /// The error for a file that ends inside of an item.
    pub(crate) fn ends_early(&self) -> Error {
        Error::new(
            Code::FS_CORRUPT,
            format!("Unexpected end of file '{}'", self.path.display()),
        )
    }

    /// Reads out of the block that contains the bytes, if a walk is in progress there.
    fn read_through_block(&self, offset: u64, buf: &mut [u8]) -> Result<Option<usize>> {
        let number = offset / BLOCK;
        if buf.is_empty()
            || buf.len() > MAX_BUFFERED_READ
            || (offset + buf.len() as u64 - 1) / BLOCK != number
        {
            return Ok(None);
        }
        let Some(block) = self.block(number)? else {
            return Ok(None);
        };
        let Some(rest) = block.get((offset % BLOCK) as usize..) else {
            return Ok(Some(0));
        };
        let length = rest.len().min(buf.len());
        buf[..length].copy_from_slice(&rest[..length]);
        Ok(Some(length))
    }

    fn block(&self, number: u64) -> Result<Option<Arc<[u8]>>> {
        {
            let mut blocks = self.read_ahead.blocks.lock();
            if let Some(at) = blocks.iter().position(|(cached, _)| *cached == number) {
                blocks[..=at].rotate_right(1);
                return Ok(Some(blocks[0].1.clone()));
            }
        }
        if !self.read_ahead.is_walk(number) {
            return Ok(None);
        }
        let start = number * BLOCK;
        let length = BLOCK.min(self.len.saturating_sub(start)) as usize;
        let mut bytes = Vec::with_capacity(length);
        self.append(&mut bytes, length, start)?;
        let block: Arc<[u8]> = bytes.into();
        let mut blocks = self.read_ahead.blocks.lock();
        blocks.truncate(CACHED_BLOCKS - 1);
        blocks.insert(0, (number, block.clone()));
        Ok(Some(block))
    }
}

impl ReadAhead {
    /// Counts a read in a block. Returns true if there were enough other reads in it recently.
    fn is_walk(&self, number: u64) -> bool {
        // The low 8 bits are the count, the others the number of the block + 1.
        let tag = (number + 1) << 8;
        for slot in &self.touched {
            let seen = slot.load(Ordering::Relaxed);
            if seen & !0xff == tag {
                if seen & 0xff >= READS_BEFORE_WALK {
                    slot.store(0, Ordering::Relaxed);
                    return true;
                }
                slot.store(seen + 1, Ordering::Relaxed);
                return false;
            }
        }
        let slot = self.next_touched.fetch_add(1, Ordering::Relaxed) % TRACKED_BLOCKS;
        self.touched[slot].store(tag + 1, Ordering::Relaxed);
        false
    }

    fn new() -> Self {
        ReadAhead {
            touched: Default::default(),
            next_touched: AtomicUsize::new(0),
            blocks: Mutex::default(),
        }
    }
}
