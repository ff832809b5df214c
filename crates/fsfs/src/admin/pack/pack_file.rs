//! [`PackFile`]: the bytes of a pack file with indexes, as they are appended.

use std::path::Path;

use base::checksum::Md5;
use base::{Error, Result};

use crate::format::footer::Footer;
use crate::store::disk::{Create, Disk, DiskWriter};

/// Bytes that are collected before they are written.
const BUFFER: usize = 256 << 10;

/// A pack file that is being written; it is not made durable.
pub(super) struct PackFile<'a> {
    path: &'a Path,
    file: Box<dyn DiskWriter>,
    buffer: Vec<u8>,
    /// Bytes that are written to the file.
    written: u64,
}

impl<'a> PackFile<'a> {
    /// Creates the file.
    pub(super) fn create(disk: &dyn Disk, path: &'a Path) -> Result<Self> {
        let file = disk.write(path, Create::New);
        let file = file.map_err(|e| Error::io("Can't create file", path, &e))?;
        Ok(PackFile {
            path,
            file,
            buffer: Vec::with_capacity(2 * BUFFER),
            written: 0,
        })
    }

    /// The offset of the next byte.
    pub(super) fn position(&self) -> u64 {
        self.written + self.buffer.len() as u64
    }

    /// Appends bytes.
    pub(super) fn append(&mut self, bytes: &[u8]) -> Result<()> {
        self.buffer.extend_from_slice(bytes);
        if self.buffer.len() >= BUFFER {
            self.flush()?;
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<()> {
        let failed = |e| Error::io("Can't write to file", self.path, &e);
        self.file.append(&self.buffer).map_err(failed)?;
        self.written += self.buffer.len() as u64;
        self.buffer.clear();
        Ok(())
    }

    /// Appends the indexes and the footer after the items.
    pub(super) fn finish(mut self, l2p: &[u8], p2l: &[u8]) -> Result<Box<dyn DiskWriter>> {
        let l2p_offset = self.position();
        self.append(l2p)?;
        let p2l_offset = self.position();
        self.append(p2l)?;
        let footer = Footer {
            l2p_offset,
            l2p_md5: Md5::of(l2p),
            p2l_offset,
            p2l_md5: Md5::of(p2l),
            footer_offset: self.position(),
        };
        let mut bytes = Vec::new();
        footer.encode(&mut bytes);
        self.append(&bytes)?;
        self.flush()?;
        Ok(self.file)
    }
}
