//! Disks for the storage engine that fail or lose data.
//!
//! [`FailingDisk`] works on the machine's files and lets the n-th call fail. [`CrashDisk`] records all calls and can
//! make the image that a power cut at any point would have left. Both are [`WatchedDisk`]s: a [`Watcher`] sees every
//! call before and after it.

mod crash;
mod failing;

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;

use fsfs::disk::{Create, Disk, DiskFile, DiskLock, DiskVolume, DiskWriter, FileMeta, UnsyncedDisk};

pub use crash::{CrashDisk, Loss};
pub use failing::{CountedCalls, DiskFault, FailingDisk};

/// A call to a disk. A file opened for writing has a number, a new one for each time that a file is opened.
#[derive(Clone, Copy, Debug)]
pub enum DiskCall<'a> {
    /// Opens for reading.
    Open(&'a Path),
    /// Reads a whole file.
    ReadSmall(&'a Path),
    /// Reads from an open file.
    ReadAt(&'a Path),
    /// Lists a directory.
    List(&'a Path),
    /// Reads the metadata of a file.
    Metadata(&'a Path),
    /// Opens for writing, with this file number.
    Write(&'a Path, Create, u64),
    /// Appends to a file.
    Append(&'a Path, u64, &'a [u8]),
    /// Truncates a file.
    Truncate(&'a Path, u64, u64),
    /// Makes a file durable.
    Sync(&'a Path, u64),
    /// Renames, from and to.
    Rename(&'a Path, &'a Path),
    /// Removes a file.
    RemoveFile(&'a Path),
    /// Makes a directory.
    CreateDir(&'a Path),
    /// Removes a directory.
    RemoveDir(&'a Path),
    /// Sets the time of a file.
    SetModified(&'a Path, SystemTime),
    /// Changes the permissions of a file.
    Permissions(&'a Path),
    /// Makes the names in a directory durable.
    SyncDir(&'a Path),
    /// Opens a file system, to make everything durable later.
    OpenVolume(&'a Path),
    /// Makes everything durable.
    SyncAll(&'a Path),
    /// Takes a lock.
    Lock(&'a Path),
}

/// The decision of a [`Watcher`] about a call.
#[derive(Debug)]
pub enum CallDecision {
    /// The call is made.
    Proceed,
    /// The call fails without any effect.
    Fail(io::Error),
    /// The call fails after half of the bytes.
    FailAfterHalf(io::Error),
}

/// The observer of all calls to a [`WatchedDisk`].
pub trait Watcher: Send + Sync + 'static {
    /// Called before a call; decides about it.
    fn before(&self, call: DiskCall<'_>) -> CallDecision {
        _ = call;
        CallDecision::Proceed
    }

    /// Called after a successful call.
    fn after(&self, call: DiskCall<'_>) {
        _ = call;
    }
}

/// A disk on the machine's files with a watcher that sees each call. Syncs have no effect: the watcher decides what
/// is durable.
pub struct WatchedDisk<W>(Arc<WatchedDiskState<W>>);

struct WatchedDiskState<W> {
    watcher: W,
    next_file: AtomicU64,
}

impl<W> Clone for WatchedDisk<W> {
    fn clone(&self) -> Self {
        WatchedDisk(self.0.clone())
    }
}

impl<W: Watcher> WatchedDisk<W> {
    /// Returns a disk with this watcher.
    pub fn new(watcher: W) -> Self {
        WatchedDisk(Arc::new(WatchedDiskState {
            watcher,
            next_file: AtomicU64::new(0),
        }))
    }

    /// Returns the watcher.
    pub fn watcher(&self) -> &W {
        &self.0.watcher
    }

    fn watch<T>(&self, call: DiskCall<'_>, run: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
        match self.0.watcher.before(call) {
            CallDecision::Proceed => {}
            CallDecision::Fail(e) | CallDecision::FailAfterHalf(e) => return Err(e),
        }
        let result = run();
        if result.is_ok() {
            self.0.watcher.after(call);
        }
        result
    }
}

impl<W: Watcher> Disk for WatchedDisk<W> {
    fn open(&self, path: &Path) -> io::Result<Arc<dyn DiskFile>> {
        let file = self.watch(DiskCall::Open(path), || UnsyncedDisk.open(path))?;
        Ok(Arc::new(WatchedFile {
            disk: self.clone(),
            path: path.to_owned(),
            file,
        }))
    }

    fn read_small(&self, path: &Path) -> io::Result<Vec<u8>> {
        self.watch(DiskCall::ReadSmall(path), || UnsyncedDisk.read_small(path))
    }

    fn list(&self, path: &Path) -> io::Result<Vec<OsString>> {
        self.watch(DiskCall::List(path), || UnsyncedDisk.list(path))
    }

    fn metadata(&self, path: &Path) -> io::Result<FileMeta> {
        self.watch(DiskCall::Metadata(path), || UnsyncedDisk.metadata(path))
    }

    fn write(&self, path: &Path, how: Create) -> io::Result<Box<dyn DiskWriter>> {
        let number = self.0.next_file.fetch_add(1, Ordering::Relaxed);
        let file = self.watch(DiskCall::Write(path, how, number), || {
            UnsyncedDisk.write(path, how)
        })?;
        Ok(Box::new(WatchedWriter {
            disk: self.clone(),
            path: path.to_owned(),
            number,
            file,
        }))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.watch(DiskCall::Rename(from, to), || UnsyncedDisk.rename(from, to))
    }

    fn remove_file(&self, path: &Path) -> io::Result<()> {
        self.watch(DiskCall::RemoveFile(path), || UnsyncedDisk.remove_file(path))
    }

    fn create_dir(&self, path: &Path) -> io::Result<()> {
        self.watch(DiskCall::CreateDir(path), || UnsyncedDisk.create_dir(path))
    }

    fn remove_dir(&self, path: &Path) -> io::Result<()> {
        self.watch(DiskCall::RemoveDir(path), || UnsyncedDisk.remove_dir(path))
    }

    fn copy_permissions(&self, like: &Path, path: &Path) -> io::Result<()> {
        self.watch(DiskCall::Permissions(path), || {
            UnsyncedDisk.copy_permissions(like, path)
        })
    }

    fn set_modified(&self, path: &Path, time: SystemTime) -> io::Result<()> {
        self.watch(DiskCall::SetModified(path, time), || {
            UnsyncedDisk.set_modified(path, time)
        })
    }

    fn set_read_only(&self, path: &Path) -> io::Result<()> {
        self.watch(DiskCall::Permissions(path), || UnsyncedDisk.set_read_only(path))
    }

    fn share_group(&self, path: &Path) -> io::Result<()> {
        self.watch(DiskCall::Permissions(path), || UnsyncedDisk.share_group(path))
    }

    fn sync_dir(&self, path: &Path) -> io::Result<()> {
        self.watch(DiskCall::SyncDir(path), || Ok(()))
    }

    fn open_volume(&self, path: &Path) -> io::Result<Box<dyn DiskVolume>> {
        let volume = self.watch(DiskCall::OpenVolume(path), || UnsyncedDisk.open_volume(path))?;
        let (disk, path) = (self.clone(), path.to_owned());
        Ok(Box::new(move || {
            disk.watch(DiskCall::SyncAll(&path), || volume.sync())
        }))
    }

    fn lock(&self, path: &Path, wait: bool) -> io::Result<Option<Box<dyn DiskLock>>> {
        self.watch(DiskCall::Lock(path), || UnsyncedDisk.lock(path, wait))
    }
}

struct WatchedFile<W> {
    disk: WatchedDisk<W>,
    path: PathBuf,
    file: Arc<dyn DiskFile>,
}

impl<W: Watcher> DiskFile for WatchedFile<W> {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        self.disk
            .watch(DiskCall::ReadAt(&self.path), || self.file.read_at(buf, offset))
    }

    fn len(&self) -> io::Result<u64> {
        self.file.len()
    }
}

struct WatchedWriter<W> {
    disk: WatchedDisk<W>,
    path: PathBuf,
    number: u64,
    file: Box<dyn DiskWriter>,
}

impl<W: Watcher> DiskFile for WatchedWriter<W> {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        self.disk
            .watch(DiskCall::ReadAt(&self.path), || self.file.read_at(buf, offset))
    }

    fn len(&self) -> io::Result<u64> {
        self.file.len()
    }
}

impl<W: Watcher> DiskWriter for WatchedWriter<W> {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        let watcher = self.disk.watcher();
        match watcher.before(DiskCall::Append(&self.path, self.number, bytes)) {
            CallDecision::Proceed => {}
            CallDecision::Fail(e) => return Err(e),
            CallDecision::FailAfterHalf(e) => {
                let half = &bytes[..bytes.len() / 2];
                self.file.append(half)?;
                watcher.after(DiskCall::Append(&self.path, self.number, half));
                return Err(e);
            }
        }
        self.file.append(bytes)?;
        watcher.after(DiskCall::Append(&self.path, self.number, bytes));
        Ok(())
    }

    fn truncate(&mut self, length: u64) -> io::Result<()> {
        let call = DiskCall::Truncate(&self.path, self.number, length);
        self.disk.watch(call, || self.file.truncate(length))
    }

    fn sync(&mut self) -> io::Result<()> {
        self.disk
            .watch(DiskCall::Sync(&self.path, self.number), || Ok(()))
    }
}
