//! A file for parts of a large transaction that need not be in memory.
//!
//! It is in the directory of the transaction and is removed with it. Only this process reads it, while it edits the transaction:
//! it is never made durable, and nothing reads it after a crash.

use std::fmt;
use std::path::{Path, PathBuf};

use base::{Code, Error, Result};

use super::write_files::remove_if_there;
use crate::store::disk::{Create, DiskWriter};
use crate::tree::Fs;

/// The file. It only grows.
pub(super) struct SpillFile {
    path: PathBuf,
    file: Box<dyn DiskWriter>,
    /// Length of the file, bytes; `None` after a failed write, because it is unknown then.
    end: Option<u64>,
}

impl SpillFile {
    /// Creates the file, in place of an existing one.
    ///
    /// # Errors
    /// The system's.
    pub(super) fn create(fs: &Fs, path: &Path) -> Result<SpillFile> {
        // Another process that has edited the transaction may have it open: the file is replaced, not truncated.
        remove_if_there(fs, path)?;
        let file = fs.disk().write(path, Create::New);
        let file = file.map_err(|e| Error::io("Can't open file", path, &e))?;
        Ok(SpillFile {
            path: path.to_owned(),
            file,
            end: Some(0),
        })
    }

    /// Appends bytes; returns their offset.
    ///
    /// # Errors
    /// The system's. Afterwards nothing can be appended any more; earlier bytes can still be read.
    pub(super) fn append(&mut self, bytes: &[u8]) -> Result<u64> {
        let start = self.end.take().ok_or_else(|| self.is_damaged())?;
        let appended = self.file.append(bytes);
        appended.map_err(|e| Error::io("Can't write to file", &self.path, &e))?;
        self.end = start.checked_add(bytes.len() as u64);
        Ok(start)
    }

    /// Reads `length` bytes.
    ///
    /// # Errors
    /// `FS_CORRUPT` if another process has truncated the file; the system's.
    pub(super) fn read(&self, offset: u64, length: usize) -> Result<Vec<u8>> {
        let mut bytes = Vec::with_capacity(length);
        while bytes.len() < length {
            let (at, missing) = (offset + bytes.len() as u64, length - bytes.len());
            let read = self.file.append_at(&mut bytes, missing, at);
            if read.map_err(|e| Error::io("Can't read file", &self.path, &e))? == 0 {
                return Err(self.is_damaged());
            }
        }
        Ok(bytes)
    }

    /// Returns the error for contents that cannot be decoded.
    pub(super) fn is_damaged(&self) -> Error {
        let message = format!("File '{}' has been changed by others", self.path.display());
        Error::new(Code::FS_CORRUPT, message)
    }
}

impl fmt::Debug for SpillFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({:?} bytes)", self.path.display(), self.end)
    }
}
