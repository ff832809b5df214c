//! The traits between the engine and the operating system: every file below `db/` is read and written through them,
//! except the SQLite database.
//!
//! The real implementation is [`RealDisk`], or [`UnsyncedDisk`], which does not wait for data to be durable. Tests
//! use others, which fail at the n-th call or lose what was not synced. The traits do not know what the files mean.
//! Files are read at offsets, never by seeking. They are never mapped into memory, so that an I/O error stays an
//! error. Files are written at their end only.
//!
//! Repositories may be on NFS, where a file that another process replaces by rename can be missing or stale for a
//! moment. [`read_replaced`] tries again then, as Subversion does.

#![expect(
    clippy::disallowed_methods,
    reason = "the one module of this crate that calls the system's files"
)]

mod copy;
mod directory;
mod machine;
mod metered;
mod names;
mod replace;
mod throttle;
mod volumes;

use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use base::{Error, Result};
use rustix::io::Errno;
use rustix::process::{Resource, getrlimit};

pub use machine::{RealDisk, UnsyncedDisk};
pub use metered::{IoCounts, IoMeter, MeteredDisk};
pub use replace::write_atomic;
pub(crate) use replace::{MoveMode, create_unique, move_file, write_volatile};
pub use throttle::{Clock, SystemClock, Throttle};
pub use volumes::{DiskVolume, Volumes};

/// The operations that the engine needs.
pub trait Disk: Send + Sync {
    /// Opens a file for reading.
    ///
    /// # Errors
    /// The system's.
    fn open(&self, path: &Path) -> io::Result<Arc<dyn DiskFile>>;

    /// Reads a whole small file: one that does not grow with the repository, or whose kind bounds its size.
    ///
    /// # Errors
    /// The system's.
    fn read_small(&self, path: &Path) -> io::Result<Vec<u8>>;

    /// Names in a directory, in any order, without `.` and `..`.
    ///
    /// # Errors
    /// The system's.
    fn list(&self, path: &Path) -> io::Result<Vec<OsString>>;

    /// Size, kind, identity and time of a file or directory; follows symbolic links.
    ///
    /// # Errors
    /// The system's.
    fn metadata(&self, path: &Path) -> io::Result<FileMeta>;

    /// Opens a directory, for callers that will read many of its files. `None` if that is no faster than reading by
    /// path.
    ///
    /// # Errors
    /// The system's.
    fn open_dir(&self, path: &Path) -> io::Result<Option<Arc<dyn DiskDir>>> {
        let _ = path;
        Ok(None)
    }

    /// Opens a file for writing.
    ///
    /// # Errors
    /// The system's.
    fn write(&self, path: &Path, how: Create) -> io::Result<Box<dyn DiskWriter>> {
        let _ = (path, how);
        Err(read_only())
    }

    /// Renames a file or directory over what is there.
    ///
    /// # Errors
    /// The system's.
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

    /// Makes sure that the names in a directory are those that other machines see, on a network file system. The caller holds the
    /// lock under which others change them. A directory that does not exist is passed over.
    ///
    /// # Errors
    /// The system's.
    fn refresh_names(&self, dir: &Path) -> io::Result<()> {
        let _ = dir;
        Ok(())
    }

    /// Removes a file.
    ///
    /// # Errors
    /// The system's.
    fn remove_file(&self, path: &Path) -> io::Result<()> {
        let _ = path;
        Err(read_only())
    }

    /// Creates a symbolic link at `path`, whose name is free.
    ///
    /// # Errors
    /// `AlreadyExists` if the name is taken; else whatever the system says, also if the file system has no symbolic links.
    fn symlink(&self, target: &Path, path: &Path) -> io::Result<()> {
        let _ = (target, path);
        Err(read_only())
    }

    /// Creates a directory, whose parent exists.
    ///
    /// # Errors
    /// The system's.
    fn create_dir(&self, path: &Path) -> io::Result<()> {
        let _ = path;
        Err(read_only())
    }

    /// Removes an empty directory.
    ///
    /// # Errors
    /// The system's.
    fn remove_dir(&self, path: &Path) -> io::Result<()> {
        let _ = path;
        Err(read_only())
    }

    /// Gives `path` the permissions that `like` has.
    ///
    /// # Errors
    /// The system's.
    fn copy_permissions(&self, like: &Path, path: &Path) -> io::Result<()> {
        let _ = (like, path);
        Err(read_only())
    }

    /// Copies a file with its permissions and its time to a new path, or over the file there. The time is that of the bytes, or
    /// an earlier one if they change meanwhile.
    ///
    /// # Errors
    /// The system's.
    fn copy(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.copy_in_parts(from, to, 64 << 10, &mut |_| Ok(()))
    }

    /// As [`Disk::copy`], and calls `copied` with the length of each part that was copied, at most `part` bytes. An error of
    /// `copied` ends the copying.
    ///
    /// # Errors
    /// The system's; those of `copied`.
    fn copy_in_parts(
        &self,
        from: &Path,
        to: &Path,
        part: u32,
        copied: &mut dyn FnMut(u64) -> io::Result<()>,
    ) -> io::Result<()> {
        let modified = self.metadata(from)?.modified;
        let source = self.open(from)?;
        let mut copy = self.write(to, Create::Replace)?;
        let (mut buffer, mut at) = (vec![0; part.max(1) as usize], 0);
        loop {
            match source.read_at(&mut buffer, at)? {
                0 => break,
                length => {
                    copy.append(&buffer[..length])?;
                    at += length as u64;
                    copied(length as u64)?;
                }
            }
        }
        drop(copy);
        self.copy_permissions(from, to)?;
        self.set_modified(to, modified)
    }

    /// Sets the time of the last modification of a file.
    ///
    /// # Errors
    /// The system's.
    fn set_modified(&self, path: &Path, time: SystemTime) -> io::Result<()> {
        let _ = (path, time);
        Ok(())
    }

    /// Gives the owner of a file or directory the permission to write it.
    ///
    /// # Errors
    /// The system's.
    fn set_writable(&self, path: &Path) -> io::Result<()> {
        let _ = path;
        Ok(())
    }

    /// Removes the permission to write a file from all users.
    ///
    /// # Errors
    /// The system's.
    fn set_read_only(&self, path: &Path) -> io::Result<()> {
        let _ = path;
        Err(read_only())
    }

    /// Sets the set-group-ID bit of a directory, so that new files in it get its group. No error on a file system
    /// without that bit.
    ///
    /// # Errors
    /// The system's.
    fn share_group(&self, path: &Path) -> io::Result<()> {
        let _ = path;
        Err(read_only())
    }

    /// Makes the names in a directory durable (renames and new files in it).
    ///
    /// # Errors
    /// The system's. A file system that cannot sync directories is no error.
    fn sync_dir(&self, path: &Path) -> io::Result<()> {
        let _ = path;
        Err(read_only())
    }

    /// Opens the file system that contains a directory, to sync what is written to it from now on.
    ///
    /// # Errors
    /// The system's.
    fn open_volume(&self, path: &Path) -> io::Result<Box<dyn DiskVolume>> {
        let _ = path;
        Err(read_only())
    }

    /// Locks a lock file for this process alone, creating it if it is missing. `None` if `wait` is false and another
    /// process holds it. No other thread of the process may have the file open meanwhile: module `guard` ensures it.
    ///
    /// # Errors
    /// The system's.
    fn lock(&self, path: &Path, wait: bool) -> io::Result<Option<Box<dyn DiskLock>>> {
        let _ = (path, wait);
        Err(read_only())
    }
}

/// The error of a disk that can only read.
fn read_only() -> io::Error {
    Errno::ROFS.into()
}

/// How to open a file for writing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Create {
    /// Creates the file; an error if it exists.
    New,
    /// Creates the file, or empties it.
    Replace,
    /// Creates the file, or appends to it.
    Append,
}

/// A file that is being written, always at its end.
pub trait DiskWriter: DiskFile {
    /// Appends bytes.
    ///
    /// # Errors
    /// The system's; how much was written is then unknown.
    fn append(&mut self, bytes: &[u8]) -> io::Result<()>;

    /// Cuts the file to `length` bytes.
    ///
    /// # Errors
    /// The system's.
    fn truncate(&mut self, length: u64) -> io::Result<()>;

    /// Makes the contents durable.
    ///
    /// # Errors
    /// The system's.
    fn sync(&mut self) -> io::Result<()>;
}

/// A held lock file. Dropping it releases the lock.
pub trait DiskLock: Send + Sync {}

/// An open file.
pub trait DiskFile: Send + Sync {
    /// Reads at most `buf.len()` bytes at `offset`; 0 only at the end of the file (or for an empty `buf`).
    ///
    /// # Errors
    /// The system's.
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize>;

    /// Appends the bytes from `offset` on to `buf`, at most `length`, and returns how many; 0 as for `read_at`.
    ///
    /// # Errors
    /// The system's.
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
    /// The system's.
    fn len(&self) -> io::Result<u64>;

    /// True if there are no bytes.
    ///
    /// # Errors
    /// The system's.
    fn is_empty(&self) -> io::Result<bool> {
        Ok(self.len()? == 0)
    }
}

/// An open directory. It stays the same directory when another one takes its place.
pub trait DiskDir: Send + Sync {
    /// Opens a file of the directory for reading.
    ///
    /// # Errors
    /// The system's.
    fn open(&self, name: &str) -> io::Result<Arc<dyn DiskFile>>;

    /// Reads a whole small file. Returns its bytes and the metadata of the same open file.
    ///
    /// # Errors
    /// The system's.
    fn read_small(&self, name: &str) -> io::Result<(Vec<u8>, FileMeta)>;

    /// As `read_small`, but replaces the content of `bytes`.
    ///
    /// # Errors
    /// The system's.
    fn read_small_into(&self, name: &str, bytes: &mut Vec<u8>) -> io::Result<FileMeta> {
        let (read, meta) = self.read_small(name)?;
        *bytes = read;
        Ok(meta)
    }

    /// As [`Disk::metadata`].
    ///
    /// # Errors
    /// The system's.
    fn metadata(&self, name: &str) -> io::Result<FileMeta>;
}

/// The metadata of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileMeta {
    /// The length in bytes.
    pub len: u64,
    /// True for a directory.
    pub is_dir: bool,
    /// Device and inode: which file this is. A file that replaces another by rename has another identity.
    pub identity: (u64, u64),
    /// The time of the last modification.
    pub modified: SystemTime,
}

/// The number of files or directories that a cache may keep open: `most`, or a quarter of all descriptors that this process may
/// have, if those are fewer.
pub fn open_file_budget(most: usize) -> usize {
    let descriptors = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
    let share = usize::try_from(descriptors / 4).unwrap_or(usize::MAX);
    share.clamp(1, most)
}

/// Reads a small file that other processes replace by rename.
///
/// # Errors
/// `Can't open file …` with the system's number. Errors that a replacement may cause are returned after ten attempts.
pub fn read_replaced(disk: &dyn Disk, path: &Path) -> Result<Vec<u8>> {
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

/// Removes a file of a directory that is about to be removed. If the directory is not writable, makes it so first, as
/// the incumbent does.
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

/// True for errors that a file may give while it is being replaced.
fn may_be_replaced(e: &io::Error) -> bool {
    matches!(
        Errno::from_io_error(e),
        Some(Errno::NOENT | Errno::STALE | Errno::IO)
    )
}

/// True if the error is the system's "no such file".
pub fn is_missing(e: &Error) -> bool {
    e.code().0 == Errno::NOENT.raw_os_error()
}

/// True if the system has no room left, for all or for this user.
pub(crate) fn is_out_of_space(e: &Error) -> bool {
    [Errno::NOSPC, Errno::DQUOT]
        .map(Errno::raw_os_error)
        .contains(&e.code().0)
}

/// True if the error is the system's "permission denied".
pub(crate) fn is_forbidden(e: &Error) -> bool {
    e.code().0 == Errno::ACCESS.raw_os_error()
}

/// True if the error is the system's "stale file handle": the file was deleted on the server of a network mount.
pub fn is_stale(e: &Error) -> bool {
    e.code().0 == Errno::STALE.raw_os_error()
}

/// The number of attempts to read a file that another process may be replacing.
pub(crate) const ATTEMPTS: u32 = 10;

/// Before the second attempt at a file whose handle is stale; the later pauses are multiples of it.
const STALE_PAUSE: Duration = Duration::from_millis(2);
