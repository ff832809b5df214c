//! The real disk: files of the operating system.
//!
//! Two disks share the code. [`RealDisk`] makes data durable when it is asked to. [`UnsyncedDisk`]
//! (`--no-flush-to-disk`) leaves that to the operating system. New files and directories get the permissions that the
//! umask of the process leaves.
//!
//! A lock file is locked twice, by `flock` and then by `fcntl` on the same descriptor. Subversion uses one or the
//! other, depending on how it was built, and on Linux the two kinds do not exclude each other. On file systems where
//! they do, `fcntl` alone is used, see [`is_network`]. Closing any descriptor of a file releases all `fcntl`
//! locks that the process has on it, so a lock file that is held must not be opened a second time.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
#[cfg(target_os = "linux")]
use std::num::NonZeroU64;
use std::os::fd::AsFd;
use std::os::unix::fs::{FileExt, MetadataExt, PermissionsExt as _};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use rustix::buffer::spare_capacity;
#[cfg(target_os = "linux")]
use rustix::fs::Advice;
use rustix::fs::{CWD, FlockOperation, Mode, OFlags, SeekFrom};
use rustix::io::Errno;
use rustix::path::Arg;

use super::copy;
use super::directory::RealDir;
use super::{Create, Disk, DiskDir, DiskFile, DiskLock, DiskVolume, DiskWriter, FileMeta};

/// Opens a file of a repository for reading; `path` is relative to `directory`. A FIFO in its place reads as an empty
/// file, without waiting for a writer.
pub(super) fn open_to_read(directory: impl AsFd, path: impl Arg + Copy) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC;
    let open = |flags| retry_on_signal(|| rustix::fs::openat(directory.as_fd(), path, flags, Mode::empty()));
    let file = match open(flags | OFlags::NONBLOCK) {
        // Another process holds a lease on the file. Opening it without `NONBLOCK` waits until the lease is given up.
        Err(Errno::AGAIN) => open(flags)?,
        opened => opened?,
    };
    Ok(File::from(file))
}

/// The disk of the machine.
#[derive(Clone, Copy, Debug, Default)]
pub struct RealDisk;

/// The disk of the machine, without waiting for data to be durable.
#[derive(Clone, Copy, Debug, Default)]
pub struct UnsyncedDisk;

macro_rules! machine {
    ($($disk:ident syncs $syncs:literal;)*) => {$(
        impl Disk for $disk {
            fn open(&self, path: &Path) -> io::Result<Arc<dyn DiskFile>> {
                Ok(Arc::new(open_to_read(CWD, path)?))
            }

            fn read_small(&self, path: &Path) -> io::Result<Vec<u8>> {
                let mut bytes = Vec::new();
                open_to_read(CWD, path)?.read_to_end(&mut bytes)?;
                Ok(bytes)
            }

            fn list(&self, path: &Path) -> io::Result<Vec<OsString>> {
                fs::read_dir(path)?.map(|entry| Ok(entry?.file_name())).collect()
            }

            fn metadata(&self, path: &Path) -> io::Result<FileMeta> {
                let meta = fs::metadata(path)?;
                Ok(FileMeta {
                    len: meta.len(),
                    is_dir: meta.is_dir(),
                    identity: (meta.dev(), meta.ino()),
                    modified: meta.modified()?,
                })
            }

            fn open_dir(&self, path: &Path) -> io::Result<Option<Arc<dyn DiskDir>>> {
                Ok(Some(Arc::new(RealDir::open(path)?)))
            }

            fn write(&self, path: &Path, how: Create) -> io::Result<Box<dyn DiskWriter>> {
                let mut options = OpenOptions::new();
                // A writer may also read what it has written.
                options.read(true).append(true);
                match how {
                    Create::New => options.create_new(true),
                    Create::Replace => options.append(false).write(true).create(true).truncate(true),
                    Create::Append => options.create(true),
                };
                let file = options.open(path)?;
                Ok(Box::new(RealWriter { file, syncs: $syncs, unwritten: 0 }))
            }

            fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
                fs::rename(from, to)
            }

            fn rename_new(&self, from: &Path, to: &Path) -> io::Result<()> {
                super::names::rename_new(from, to)
            }

            fn refresh_names(&self, dir: &Path) -> io::Result<()> {
                match is_on_network(dir) {
                    Ok(true) => super::names::look_up_again(dir),
                    Err(e) if e.kind() != io::ErrorKind::NotFound => Err(e),
                    _ => Ok(()),
                }
            }

            fn remove_file(&self, path: &Path) -> io::Result<()> {
                fs::remove_file(path)
            }

            fn symlink(&self, target: &Path, path: &Path) -> io::Result<()> {
                std::os::unix::fs::symlink(target, path)
            }

            fn create_dir(&self, path: &Path) -> io::Result<()> {
                fs::create_dir(path)
            }

            fn remove_dir(&self, path: &Path) -> io::Result<()> {
                fs::remove_dir(path)
            }

            fn copy_permissions(&self, like: &Path, path: &Path) -> io::Result<()> {
                fs::set_permissions(path, fs::metadata(like)?.permissions())
            }

            fn copy(&self, from: &Path, to: &Path) -> io::Result<()> {
                copy::copy(from, to)
            }

            fn copy_in_parts(
                &self,
                from: &Path,
                to: &Path,
                part: u32,
                copied: &mut dyn FnMut(u64) -> io::Result<()>,
            ) -> io::Result<()> {
                copy::copy_in_parts(from, to, part, copied)
            }

            fn set_modified(&self, path: &Path, time: SystemTime) -> io::Result<()> {
                File::open(path)?.set_modified(time)
            }

            fn set_read_only(&self, path: &Path) -> io::Result<()> {
                let mut permissions = fs::metadata(path)?.permissions();
                permissions.set_readonly(true);
                fs::set_permissions(path, permissions)
            }

            fn set_writable(&self, path: &Path) -> io::Result<()> {
                let mut permissions = fs::metadata(path)?.permissions();
                permissions.set_mode(permissions.mode() | OWNER_WRITES);
                fs::set_permissions(path, permissions)
            }

            fn share_group(&self, path: &Path) -> io::Result<()> {
                share_group(path)
            }

            fn sync_dir(&self, path: &Path) -> io::Result<()> {
                if $syncs { sync_dir(path) } else { Ok(()) }
            }

            fn open_volume(&self, path: &Path) -> io::Result<Box<dyn DiskVolume>> {
                if $syncs { open_volume(path) } else { Ok(Box::new(|| Ok(()))) }
            }

            fn lock(&self, path: &Path, wait: bool) -> io::Result<Option<Box<dyn DiskLock>>> {
                lock(path, wait)
            }
        }
    )*};
}
machine! {
    RealDisk syncs true;
    UnsyncedDisk syncs false;
}

impl DiskFile for File {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        loop {
            match FileExt::read_at(self, buf, offset) {
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                result => return result,
            }
        }
    }

    fn append_at(&self, buf: &mut Vec<u8>, length: usize, offset: u64) -> io::Result<usize> {
        if length == 0 {
            return Ok(0);
        }
        let start = buf.len();
        buf.reserve_exact(length);
        // The bytes that the system fills need not be zeroed first.
        let read = retry_on_signal(|| rustix::io::pread(self, spare_capacity(buf), offset))?;
        buf.truncate(start + length);
        Ok(read.min(length))
    }

    fn len(&self) -> io::Result<u64> {
        // Seeking to the end takes half of the time of `fstat`. No reader uses the position of the descriptor.
        Ok(retry_on_signal(|| rustix::fs::seek(self, SeekFrom::End(0)))?)
    }
}

/// A file that is being written.
struct RealWriter {
    file: File,
    syncs: bool,
    /// Bytes appended since the last request to write back.
    unwritten: u64,
}

impl RealWriter {
    /// Asks the system to start writing recently appended bytes to the disk, so that the disk works while the rest of
    /// a long text arrives and the final sync is short. If the request fails, the sync writes them.
    fn start_write_back(&mut self) {
        #[cfg(target_os = "linux")]
        if let (Ok(end), Some(length)) = (DiskFile::len(self), NonZeroU64::new(self.unwritten)) {
            // Despite its name, the advice starts the writing of dirty pages and drops only clean ones. These pages
            // are dirty, so they stay in memory.
            let start = end.saturating_sub(self.unwritten);
            _ = rustix::fs::fadvise(&self.file, start, Some(length), Advice::DontNeed);
        }
        self.unwritten = 0;
    }
}

/// The number of appended bytes after which writing back is started. No file of an ordinary commit is that long.
const WRITE_BACK_AFTER: u64 = 8 << 20;

impl DiskFile for RealWriter {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        DiskFile::read_at(&self.file, buf, offset)
    }

    fn len(&self) -> io::Result<u64> {
        let stat = retry_on_signal(|| rustix::fs::fstat(&self.file))?;
        u64::try_from(stat.st_size).map_err(|_| Errno::OVERFLOW.into())
    }
}

impl DiskWriter for RealWriter {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.file.write_all(bytes)?;
        self.unwritten += bytes.len() as u64;
        if self.syncs && self.unwritten >= WRITE_BACK_AFTER {
            self.start_write_back();
        }
        Ok(())
    }

    fn truncate(&mut self, length: u64) -> io::Result<()> {
        use std::io::Seek as _;
        retry_on_signal(|| rustix::fs::ftruncate(&self.file, length))?;
        // The position matters only for a file that was opened with `Create::Replace`; others append.
        self.file.seek(io::SeekFrom::Start(length))?;
        Ok(())
    }

    fn sync(&mut self) -> io::Result<()> {
        if !self.syncs {
            return Ok(());
        }
        Ok(retry_on_signal(|| rustix::fs::fdatasync(&self.file))?)
    }
}

/// A held lock file.
struct RealLock(File);

impl DiskLock for RealLock {}

impl Drop for RealLock {
    fn drop(&mut self) {
        // Closing the descriptor would release the locks if there were no copy of it. A child process that another
        // thread is starting has one until it executes its program. Neither call fails on a locked file.
        _ = retry_on_signal(|| rustix::fs::fcntl_lock(&self.0, FlockOperation::Unlock));
        _ = retry_on_signal(|| rustix::fs::flock(&self.0, FlockOperation::Unlock));
    }
}

fn lock(path: &Path, wait: bool) -> io::Result<Option<Box<dyn DiskLock>>> {
    let open = |create: bool| {
        OpenOptions::new()
            .read(true)
            .write(true)
            .create(create)
            .open(path)
    };
    let file = match open(false) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => open(true)?,
        result => result?,
    };
    let both = !is_network(filesystem_of(&file)?);
    lock_file(file, wait, both)
}

/// Locks an open file by `fcntl`, and first by `flock` if `both`.
fn lock_file(file: File, wait: bool, both: bool) -> io::Result<Option<Box<dyn DiskLock>>> {
    let operation = match wait {
        true => FlockOperation::LockExclusive,
        false => FlockOperation::NonBlockingLockExclusive,
    };
    let flock = || match both {
        true => match retry_on_signal(|| rustix::fs::flock(&file, operation)) {
            // Some file systems, such as some in user space, do not have `flock`.
            Err(Errno::NOSYS | Errno::OPNOTSUPP | Errno::NOLCK) => Ok(()),
            result => result,
        },
        false => Ok(()),
    };
    let locked = flock().and_then(|()| {
        retry_on_signal(|| match rustix::fs::fcntl_lock(&file, operation) {
            // The system treats all threads of a process as one when it looks for deadlocks. Our locks have an order,
            // so there is none.
            Err(Errno::DEADLK) if wait => {
                std::thread::sleep(DEADLOCK_PAUSE);
                Err(Errno::INTR)
            }
            result => result,
        })
    });
    match locked {
        Ok(()) => Ok(Some(Box::new(RealLock(file)))),
        // Both error numbers mean that another process holds the lock.
        Err(Errno::AGAIN | Errno::ACCESS) if !wait => Ok(None),
        Err(e) => Err(e.into()),
    }
}

/// The type of the file system of a file, as `statfs` returns it; 0 where it is unknown.
#[cfg(target_os = "linux")]
fn filesystem_of(file: &File) -> io::Result<u64> {
    let stat = retry_on_signal(|| rustix::fs::fstatfs(file))?;
    // The type has 32 bits.
    Ok(stat.f_type as u64 & 0xffff_ffff)
}

/// True if a directory is on a network file system.
#[cfg(target_os = "linux")]
fn is_on_network(dir: &Path) -> io::Result<bool> {
    let stat = retry_on_signal(|| rustix::fs::statfs(dir))?;
    Ok(is_network(stat.f_type as u64 & 0xffff_ffff))
}

#[cfg(not(target_os = "linux"))]
fn filesystem_of(_: &File) -> io::Result<u64> {
    Ok(0)
}

#[cfg(not(target_os = "linux"))]
fn is_on_network(_: &Path) -> io::Result<bool> {
    Ok(false)
}

/// True for network file systems. Their clients cache names, and `flock` and `fcntl` locks of one file exclude each other, even on
/// one descriptor: the second would wait for the first for ever. They turn `flock` into a lock of all bytes and send both kinds to a
/// server. On Ceph, OCFS2, GFS2 and FUSE the two kinds are independent. On overlayfs they behave as on a local file
/// system.
fn is_network(filesystem: u64) -> bool {
    const NFS: u64 = 0x6969;
    const SMB: u64 = 0x517b;
    const CIFS: u64 = 0xff53_4d42;
    const SMB2: u64 = 0xfe53_4d42;
    const PLAN_9: u64 = 0x0102_1997;
    const AFS: u64 = 0x5346_414f;
    const KERNEL_AFS: u64 = 0x6b41_4653;
    const LUSTRE: u64 = 0x0bd0_0bd0;
    matches!(
        filesystem,
        NFS | SMB | CIFS | SMB2 | PLAN_9 | AFS | KERNEL_AFS | LUSTRE
    )
}

fn share_group(path: &Path) -> io::Result<()> {
    let mut permissions = fs::metadata(path)?.permissions();
    permissions.set_mode(permissions.mode() | SET_GROUP_ID);
    match fs::set_permissions(path, permissions) {
        // Not every file system has that bit.
        Err(e) if e.kind() == io::ErrorKind::PermissionDenied => Ok(()),
        result => result,
    }
}

/// The permission bit for writing by the owner.
const OWNER_WRITES: u32 = 0o200;

/// The set-group-ID bit.
const SET_GROUP_ID: u32 = 0o2000;

fn sync_dir(path: &Path) -> io::Result<()> {
    let directory = File::open(path)?;
    match retry_on_signal(|| rustix::fs::fdatasync(&directory)) {
        // The error of file systems that do not store directories themselves.
        Err(Errno::INVAL | Errno::ROFS) => Ok(()),
        result => Ok(result?),
    }
}

fn open_volume(path: &Path) -> io::Result<Box<dyn DiskVolume>> {
    let directory = File::open(path)?;
    Ok(Box::new(move || {
        Ok(retry_on_signal(|| rustix::fs::syncfs(&directory))?)
    }))
}

/// The pause before the next attempt after a false deadlock.
const DEADLOCK_PAUSE: Duration = Duration::from_millis(5);

/// Repeats a system call while signals interrupt it.
pub(super) fn retry_on_signal<T>(mut call: impl FnMut() -> rustix::io::Result<T>) -> rustix::io::Result<T> {
    loop {
        match call() {
            Err(Errno::INTR) => {}
            result => return result,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn network_file_systems_get_one_kind_of_lock() {
        for network in [0x6969, 0xff53_4d42, 0xfe53_4d42, 0x0102_1997, 0x0bd0_0bd0] {
            assert!(is_network(network), "{network:x}");
        }
        // ext4, XFS, btrfs, tmpfs, overlayfs, FUSE, Ceph.
        for apart in [
            0xef53,
            0x5846_5342,
            0x9123_683e,
            0x0102_1994,
            0x794c_7630,
            0x6573_5546,
            0x00c3_6400,
        ] {
            assert!(!is_network(apart), "{apart:x}");
        }
    }

    #[test]
    fn one_kind_of_lock_does_not_exclude_the_other() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("lock");
        let open = || {
            let mut options = OpenOptions::new();
            options.read(true).write(true).create(true).truncate(false);
            options.open(&path).expect("opens")
        };
        let other = open();
        for both in [true, false] {
            let held = lock_file(open(), true, both).expect("locks").expect("is free");
            let flock = rustix::fs::flock(&other, FlockOperation::NonBlockingLockExclusive);
            assert_eq!(flock.is_err(), both);
            _ = rustix::fs::flock(&other, FlockOperation::Unlock);
            drop(held);
            rustix::fs::flock(&other, FlockOperation::NonBlockingLockExclusive).expect("is free again");
            _ = rustix::fs::flock(&other, FlockOperation::Unlock);
        }
    }
}
