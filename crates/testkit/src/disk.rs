//! Disks for the storage engine that do what disks do on bad days.
//!
//! [`FailingDisk`] works on the machine's files and lets the n-th call fail; [`CrashDisk`] works on them too, remembers
//! everything, and afterwards makes the image that a power cut at any moment would have left. Both are [`Watched`]: every call
//! passes a [`Watcher`] before it is done and after.

mod crash;
mod failing;

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use fsfs::disk::{Create, Disk, DiskFile, DiskLock, DiskWriter, FileMeta, UnsyncedDisk};

pub use crash::{CrashDisk, Loss};
pub use failing::{Calls, FailingDisk, Fault};

/// A call that is made to a disk. Files that are written have numbers, one for each time that one is opened.
#[derive(Clone, Copy, Debug)]
pub enum Op<'a> {
    /// Opens for reading.
    Open(&'a Path),
    /// Reads a whole file.
    ReadSmall(&'a Path),
    /// Reads from an open file.
    ReadAt(&'a Path),
    /// Lists a directory.
    List(&'a Path),
    /// Asks about a file.
    Metadata(&'a Path),
    /// Opens for writing, as this number.
    Write(&'a Path, Create, u64),
    /// Appends to a file.
    Append(&'a Path, u64, &'a [u8]),
    /// Cuts a file off.
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
    /// Changes the permissions of a file.
    Permissions(&'a Path),
    /// Makes the names in a directory durable.
    SyncDir(&'a Path),
    /// Makes everything durable.
    SyncAll(&'a Path),
    /// Takes a lock.
    Lock(&'a Path),
}

/// What happens to a call.
#[derive(Debug)]
pub enum Verdict {
    /// It is made.
    Go,
    /// It fails, and nothing has been done.
    Fail(io::Error),
    /// It fails after half of the bytes.
    Half(io::Error),
}

/// Who is asked about every call.
pub trait Watcher: Send + Sync + 'static {
    /// Before a call.
    fn before(&self, op: Op<'_>) -> Verdict {
        _ = op;
        Verdict::Go
    }

    /// After a call that succeeded.
    fn after(&self, op: Op<'_>) {
        _ = op;
    }
}

/// The machine's files, with a watcher that sees each call. Nothing is forced to the disk: the watcher decides what is durable.
pub struct Watched<W>(Arc<Shared<W>>);

struct Shared<W> {
    watcher: W,
    next_file: AtomicU64,
}

impl<W> Clone for Watched<W> {
    fn clone(&self) -> Self {
        Watched(self.0.clone())
    }
}

impl<W: Watcher> Watched<W> {
    /// Lets this one watch.
    pub fn new(watcher: W) -> Self {
        Watched(Arc::new(Shared {
            watcher,
            next_file: AtomicU64::new(0),
        }))
    }

    /// Who watches.
    pub fn watcher(&self) -> &W {
        &self.0.watcher
    }

    fn watch<T>(&self, op: Op<'_>, call: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
        match self.0.watcher.before(op) {
            Verdict::Go => {}
            Verdict::Fail(e) | Verdict::Half(e) => return Err(e),
        }
        let result = call();
        if result.is_ok() {
            self.0.watcher.after(op);
        }
        result
    }
}

impl<W: Watcher> Disk for Watched<W> {
    fn open(&self, path: &Path) -> io::Result<Arc<dyn DiskFile>> {
        let file = self.watch(Op::Open(path), || UnsyncedDisk.open(path))?;
        Ok(Arc::new(File {
            disk: self.clone(),
            path: path.to_owned(),
            file,
        }))
    }

    fn read_small(&self, path: &Path) -> io::Result<Vec<u8>> {
        self.watch(Op::ReadSmall(path), || UnsyncedDisk.read_small(path))
    }

    fn list(&self, path: &Path) -> io::Result<Vec<OsString>> {
        self.watch(Op::List(path), || UnsyncedDisk.list(path))
    }

    fn metadata(&self, path: &Path) -> io::Result<FileMeta> {
        self.watch(Op::Metadata(path), || UnsyncedDisk.metadata(path))
    }

    fn write(&self, path: &Path, how: Create) -> io::Result<Box<dyn DiskWriter>> {
        let number = self.0.next_file.fetch_add(1, Ordering::Relaxed);
        let file = self.watch(Op::Write(path, how, number), || UnsyncedDisk.write(path, how))?;
        Ok(Box::new(Writer {
            disk: self.clone(),
            path: path.to_owned(),
            number,
            file,
        }))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.watch(Op::Rename(from, to), || UnsyncedDisk.rename(from, to))
    }

    fn remove_file(&self, path: &Path) -> io::Result<()> {
        self.watch(Op::RemoveFile(path), || UnsyncedDisk.remove_file(path))
    }

    fn create_dir(&self, path: &Path) -> io::Result<()> {
        self.watch(Op::CreateDir(path), || UnsyncedDisk.create_dir(path))
    }

    fn remove_dir(&self, path: &Path) -> io::Result<()> {
        self.watch(Op::RemoveDir(path), || UnsyncedDisk.remove_dir(path))
    }

    fn copy_permissions(&self, like: &Path, path: &Path) -> io::Result<()> {
        self.watch(Op::Permissions(path), || {
            UnsyncedDisk.copy_permissions(like, path)
        })
    }

    fn set_read_only(&self, path: &Path) -> io::Result<()> {
        self.watch(Op::Permissions(path), || UnsyncedDisk.set_read_only(path))
    }

    fn share_group(&self, path: &Path) -> io::Result<()> {
        self.watch(Op::Permissions(path), || UnsyncedDisk.share_group(path))
    }

    fn sync_dir(&self, path: &Path) -> io::Result<()> {
        self.watch(Op::SyncDir(path), || Ok(()))
    }

    fn sync_all(&self, path: &Path) -> io::Result<()> {
        self.watch(Op::SyncAll(path), || Ok(()))
    }

    fn lock(&self, path: &Path, wait: bool) -> io::Result<Option<Box<dyn DiskLock>>> {
        self.watch(Op::Lock(path), || UnsyncedDisk.lock(path, wait))
    }
}

struct File<W> {
    disk: Watched<W>,
    path: PathBuf,
    file: Arc<dyn DiskFile>,
}

impl<W: Watcher> DiskFile for File<W> {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        self.disk
            .watch(Op::ReadAt(&self.path), || self.file.read_at(buf, offset))
    }

    fn len(&self) -> io::Result<u64> {
        self.file.len()
    }
}

struct Writer<W> {
    disk: Watched<W>,
    path: PathBuf,
    number: u64,
    file: Box<dyn DiskWriter>,
}

impl<W: Watcher> DiskFile for Writer<W> {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        self.disk
            .watch(Op::ReadAt(&self.path), || self.file.read_at(buf, offset))
    }

    fn len(&self) -> io::Result<u64> {
        self.file.len()
    }
}

impl<W: Watcher> DiskWriter for Writer<W> {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        let watcher = self.disk.watcher();
        match watcher.before(Op::Append(&self.path, self.number, bytes)) {
            Verdict::Go => {}
            Verdict::Fail(e) => return Err(e),
            Verdict::Half(e) => {
                let half = &bytes[..bytes.len() / 2];
                self.file.append(half)?;
                watcher.after(Op::Append(&self.path, self.number, half));
                return Err(e);
            }
        }
        self.file.append(bytes)?;
        watcher.after(Op::Append(&self.path, self.number, bytes));
        Ok(())
    }

    fn truncate(&mut self, length: u64) -> io::Result<()> {
        let op = Op::Truncate(&self.path, self.number, length);
        self.disk.watch(op, || self.file.truncate(length))
    }

    fn sync(&mut self) -> io::Result<()> {
        self.disk.watch(Op::Sync(&self.path, self.number), || Ok(()))
    }
}
