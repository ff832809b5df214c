//! The seam between the engine and the machine: every file under `db/` is read and written through these traits.
//!
//! The real one is [`RealDisk`] (or [`UnsyncedDisk`], which leaves durability to the system); tests put another in their
//! place that fails at the n-th call or loses what was not synced. Nothing here knows what the files mean. Files are read at
//! offsets, never by seeking, and never mapped: an I/O error stays an error. Files are written at their end only.
//!
//! Repositories may lie on NFS: files that are replaced by rename can be momentarily missing or stale, so
//! [`read_replaced`] tries again, as Subversion does.

mod directory;
mod machine;
mod names;
mod replace;

use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use base::{Error, Result};
use rustix::io::Errno;

pub use machine::{RealDisk, UnsyncedDisk};
pub(crate) use replace::create_unique;
pub use replace::write_atomic;

/// What the engine asks of a machine.
pub trait Disk: Send + Sync {
    /// Opens a file for reading.
    ///
    /// # Errors
    /// Whatever the system says.
    fn open(&self, path: &Path) -> io::Result<Arc<dyn DiskFile>>;

    /// Reads a whole small file; for those that do not grow with the repository or are bounded by their kind.
    ///
    /// # Errors
    /// Whatever the system says.
    fn read_small(&self, path: &Path) -> io::Result<Vec<u8>>;

    /// Names in a directory, in any order, without `.` and `..`.
    ///
    /// # Errors
    /// Whatever the system says.
    fn list(&self, path: &Path) -> io::Result<Vec<OsString>>;

    /// Size, kind, identity and time of a file or directory; follows symbolic links.
    ///
    /// # Errors
    /// Whatever the system says.
    fn metadata(&self, path: &Path) -> io::Result<FileMeta>;

    /// Opens a directory, for callers that will ask for many of its files; `None` if that is no quicker than by path.
    ///
    /// # Errors
    /// Whatever the system says.
    fn open_dir(&self, path: &Path) -> io::Result<Option<Arc<dyn DiskDir>>> {
        let _ = path;
        Ok(None)
    }

    /// Opens a file for writing.
    ///
    /// # Errors
    /// Whatever the system says.
    fn write(&self, path: &Path, how: Create) -> io::Result<Box<dyn DiskWriter>> {
        let _ = (path, how);
        Err(read_only())
    }

    /// Renames a file or directory over what is there.
    ///
    /// # Errors
    /// Whatever the system says.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let _ = (from, to);
        Err(read_only())
    }

    /// Renames a file to a name that is free.
    ///
    /// # Errors
    /// `AlreadyExists` if the name is taken; else whatever the system says.
    fn rename_new(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.rename(from, to)
    }

    /// Removes a file.
    ///
    /// # Errors
    /// Whatever the system says.
    fn remove_file(&self, path: &Path) -> io::Result<()> {
        let _ = path;
        Err(read_only())
    }

    /// Creates a directory, whose parent exists.
    ///
    /// # Errors
    /// Whatever the system says.
    fn create_dir(&self, path: &Path) -> io::Result<()> {
        let _ = path;
        Err(read_only())
    }

    /// Removes an empty directory.
    ///
    /// # Errors
    /// Whatever the system says.
    fn remove_dir(&self, path: &Path) -> io::Result<()> {
        let _ = path;
        Err(read_only())
    }

    /// Gives `path` the permissions that `like` has.
    ///
    /// # Errors
    /// Whatever the system says.
    fn copy_permissions(&self, like: &Path, path: &Path) -> io::Result<()> {
        let _ = (like, path);
        Err(read_only())
    }

    /// Copies a file with its permissions to a place where there is none, or replaces what is there.
    ///
    /// # Errors
    /// Whatever the system says.
    fn copy(&self, from: &Path, to: &Path) -> io::Result<()> {
        let source = self.open(from)?;
        let mut copy = self.write(to, Create::Replace)?;
        let (mut buffer, mut at) = (vec![0; 64 << 10], 0);
        loop {
            match source.read_at(&mut buffer, at)? {
                0 => break,
                length => {
                    copy.append(&buffer[..length])?;
                    at += length as u64;
                }
            }
        }
        drop(copy);
        self.copy_permissions(from, to)
    }

    /// Gives the owner of a file the right to write it.
    ///
    /// # Errors
    /// Whatever the system says.
    fn set_writable(&self, path: &Path) -> io::Result<()> {
        let _ = path;
        Ok(())
    }

    /// Takes the right to write a file from everybody.
    ///
    /// # Errors
    /// Whatever the system says.
    fn set_read_only(&self, path: &Path) -> io::Result<()> {
        let _ = path;
        Err(read_only())
    }

    /// Lets what is made in a directory belong to the directory's group; where that cannot be, it is left.
    ///
    /// # Errors
    /// Whatever the system says.
    fn share_group(&self, path: &Path) -> io::Result<()> {
        let _ = path;
        Err(read_only())
    }

    /// Makes the names in a directory durable (renames and new files in it).
    ///
    /// # Errors
    /// Whatever the system says; a filesystem that cannot sync directories is no error.
    fn sync_dir(&self, path: &Path) -> io::Result<()> {
        let _ = path;
        Err(read_only())
    }

    /// Makes everything durable that was written to the filesystem on which `path` lies.
    ///
    /// # Errors
    /// Whatever the system says.
    fn sync_all(&self, path: &Path) -> io::Result<()> {
        let _ = path;
        Err(read_only())
    }

    /// Locks a lock file for this process alone, creating it if it is missing; `None` if `wait` is false and another holds it.
    /// Within the process nobody else may have it open at that time: `guard` sees to that.
    ///
    /// # Errors
    /// Whatever the system says.
    fn lock(&self, path: &Path, wait: bool) -> io::Result<Option<Box<dyn DiskLock>>> {
        let _ = (path, wait);
        Err(read_only())
    }
}

/// The answer of a disk that has no writing half.
fn read_only() -> io::Error {
    Errno::ROFS.into()
}

/// What is to happen where the file exists, or does not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Create {
    /// Must not exist.
    New,
    /// Created, or emptied.
    Replace,
    /// Created, or written to behind what is there.
    Append,
}

/// A file that is being written: always at its end.
pub trait DiskWriter: DiskFile {
    /// Appends bytes.
    ///
    /// # Errors
    /// Whatever the system says; how much was written is then unknown.
    fn append(&mut self, bytes: &[u8]) -> io::Result<()>;

    /// Cuts the file off at `length` bytes.
    ///
    /// # Errors
    /// Whatever the system says.
    fn truncate(&mut self, length: u64) -> io::Result<()>;

    /// Makes the contents durable.
    ///
    /// # Errors
    /// Whatever the system says.
    fn sync(&mut self) -> io::Result<()>;
}

/// A held lock file; dropping it gives the lock back.
pub trait DiskLock: Send + Sync {}

/// An open file.
pub trait DiskFile: Send + Sync {
    /// Reads at most `buf.len()` bytes at `offset`; 0 only at the end of the file (or for an empty `buf`).
    ///
    /// # Errors
    /// Whatever the system says.
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize>;

    /// Appends the bytes from `offset` on to `buf`, at most `length`, and returns how many; 0 as for `read_at`.
    ///
    /// # Errors
    /// Whatever the system says.
    fn append_at(&self, buf: &mut Vec<u8>, length: usize, offset: u64) -> io::Result<usize> {
        let start = buf.len();
        buf.resize(start + length, 0);
        let result = self.read_at(&mut buf[start..], offset);
        buf.truncate(start + *result.as_ref().unwrap_or(&0));
        result
    }

    /// Length in bytes.
    ///
    /// # Errors
    /// Whatever the system says.
    fn len(&self) -> io::Result<u64>;

    /// True if there are no bytes.
    ///
    /// # Errors
    /// Whatever the system says.
    fn is_empty(&self) -> io::Result<bool> {
        Ok(self.len()? == 0)
    }
}

/// An open directory. It stays the same directory when another one takes its place.
pub trait DiskDir: Send + Sync {
    /// Opens a file of the directory for reading.
    ///
    /// # Errors
    /// Whatever the system says.
    fn open(&self, name: &str) -> io::Result<Arc<dyn DiskFile>>;

    /// Reads a whole small file, and what is known about this very file.
    ///
    /// # Errors
    /// Whatever the system says.
    fn read_small(&self, name: &str) -> io::Result<(Vec<u8>, FileMeta)>;

    /// The same, into `bytes`, in place of what is there.
    ///
    /// # Errors
    /// Whatever the system says.
    fn read_small_into(&self, name: &str, bytes: &mut Vec<u8>) -> io::Result<FileMeta> {
        let (read, meta) = self.read_small(name)?;
        *bytes = read;
        Ok(meta)
    }

    /// As [`Disk::metadata`].
    ///
    /// # Errors
    /// Whatever the system says.
    fn metadata(&self, name: &str) -> io::Result<FileMeta>;
}

/// What is known about a file without opening it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileMeta {
    /// Bytes.
    pub len: u64,
    /// True for a directory.
    pub is_dir: bool,
    /// Which file this is: device and inode. A file replaced by rename gets another one.
    pub identity: (u64, u64),
    /// Last modification.
    pub modified: SystemTime,
}

/// Reads a small file that others replace by rename.
///
/// # Errors
/// `Can't open file …` with the system's number, after ten attempts if it may be that the file was just replaced.
pub(crate) fn read_replaced(disk: &dyn Disk, path: &Path) -> Result<Vec<u8>> {
    let mut attempt = 1;
    loop {
        match disk.read_small(path) {
            Ok(bytes) => return Ok(bytes),
            Err(e) if attempt < ATTEMPTS && may_be_replaced(&e) => {
                if Errno::from_io_error(&e) == Some(Errno::STALE) {
                    // An NFS client opens the deleted file again until the name is looked up by another call.
                    _ = disk.metadata(path);
                    std::thread::sleep(STALE_PAUSE * attempt);
                }
                attempt += 1;
            }
            Err(e) => return Err(Error::io("Can't open file", path, &e)),
        }
    }
}

/// Removes a file in a directory that is to be removed. As with the incumbent, the owner of a directory that may not be written
/// makes it writable.
///
/// # Errors
/// The system's.
pub(crate) fn remove_file_in(disk: &dyn Disk, directory: &Path, file: &Path) -> io::Result<()> {
    match disk.remove_file(file) {
        Err(e) if e.kind() == io::ErrorKind::PermissionDenied => disk
            .set_writable(directory)
            .and_then(|()| disk.remove_file(file))
            .map_err(|_| e),
        removed => removed,
    }
}

/// True for failures that a file shows while it is being replaced.
fn may_be_replaced(e: &io::Error) -> bool {
    matches!(
        Errno::from_io_error(e),
        Some(Errno::NOENT | Errno::STALE | Errno::IO)
    )
}

/// True if the error is the system's "no such file".
pub(crate) fn is_missing(e: &Error) -> bool {
    e.code().0 == Errno::NOENT.raw_os_error()
}

/// True if the error is the system's "permission denied".
pub(crate) fn is_forbidden(e: &Error) -> bool {
    e.code().0 == Errno::ACCESS.raw_os_error()
}

/// True if the error is the system's "stale file handle": the file was deleted on the server of a network mount.
pub(crate) fn is_stale(e: &Error) -> bool {
    e.code().0 == Errno::STALE.raw_os_error()
}

/// Attempts at reading something that another process may be replacing.
pub(crate) const ATTEMPTS: u32 = 10;

/// Before the second attempt at a file whose handle is stale; the later pauses are multiples of it.
const STALE_PAUSE: Duration = Duration::from_millis(2);
