//! Atomic replacement of a small file: readers see the old or the new content, also after a power failure.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use base::{Error, Result};

use super::{Create, Disk, DiskWriter};

/// Replaces the file at `path`, which need not exist, by one with the content `bytes` and the permissions of
/// `perms_like`. When it returns, the new content is durable under this name.
///
/// # Errors
/// The system's. The old file is then still in place, unless only the sync of the directory failed.
pub fn write_atomic(disk: &dyn Disk, path: &Path, bytes: &[u8], perms_like: &Path) -> Result<()> {
    replace(disk, path, bytes, perms_like, true)?;
    let directory = directory_of(path);
    disk.sync_dir(directory)
        .map_err(|e| Error::io("Can't flush directory", directory, &e))
}

/// As [`write_atomic`], for a file that is not needed after a power failure: it may have its old content then, or none.
///
/// # Errors
/// The system's. The old file is then still in place.
pub(crate) fn write_volatile(disk: &dyn Disk, path: &Path, bytes: &[u8], perms_like: &Path) -> Result<()> {
    replace(disk, path, bytes, perms_like, false)
}

fn directory_of(path: &Path) -> &Path {
    // The parent of a relative name without a slash is empty.
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    parent.unwrap_or(Path::new("."))
}

fn replace(disk: &dyn Disk, path: &Path, bytes: &[u8], perms_like: &Path, sync: bool) -> Result<()> {
    let directory = directory_of(path);
    let (temporary, mut file) = create_unique(disk, directory)?;
    let write = || -> Result<()> {
        file.append(bytes)
            .map_err(|e| Error::io("Can't write to file", &temporary, &e))?;
        if sync {
            file.sync()
                .map_err(|e| Error::io("Can't flush file", &temporary, &e))?;
        }
        drop(file);
        disk.copy_permissions(perms_like, &temporary)
            .map_err(|e| Error::io("Can't set permissions on file", &temporary, &e))?;
        disk.rename(&temporary, path)
            .map_err(|e| Error::io("Can't move a file to", path, &e))
    };
    write().inspect_err(|_| {
        // This may fail as well. A left-over temporary file has no effect.
        _ = disk.remove_file(&temporary);
    })
}

/// What [`move_file`] finds at the new name, and whether the file must be durable there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MoveMode {
    /// The name must be free. The caller has made the file durable, and makes its name durable.
    New,
    /// As `New`, but a file with the name is replaced.
    Replace,
    /// A file with the name is replaced. Nothing is durable yet.
    ReplaceVolatile,
}

/// Renames a file. `db/` may consist of several file systems: the file is then copied, with its permissions.
///
/// # Errors
/// The system's, with the number of `AlreadyExists` if the name must be free and is taken. The file may have either name then.
pub(crate) fn move_file(disk: &dyn Disk, from: &Path, to: &Path, mode: MoveMode) -> Result<()> {
    let rename = |from: &Path| match mode {
        MoveMode::New => disk.rename_new(from, to),
        MoveMode::Replace | MoveMode::ReplaceVolatile => disk.rename(from, to),
    };
    let failed = |e| Error::io("Can't move a file to", to, &e);
    match rename(from) {
        Err(e) if e.kind() == io::ErrorKind::CrossesDevices => {}
        renamed => return renamed.map_err(failed),
    }
    let (temporary, mut copy) = create_unique(disk, directory_of(to))?;
    let mut run = || -> Result<()> {
        let file = disk
            .open(from)
            .map_err(|e| Error::io("Can't open file", from, &e))?;
        let mut buffer = vec![0; COPY_SIZE];
        let mut offset = 0;
        loop {
            let length = file
                .read_at(&mut buffer, offset)
                .map_err(|e| Error::io("Can't read file", from, &e))?;
            if length == 0 {
                break;
            }
            copy.append(&buffer[..length])
                .map_err(|e| Error::io("Can't write to file", &temporary, &e))?;
            offset += length as u64;
        }
        if mode != MoveMode::ReplaceVolatile {
            copy.sync()
                .map_err(|e| Error::io("Can't flush file", &temporary, &e))?;
        }
        disk.copy_permissions(from, &temporary)
            .map_err(|e| Error::io("Can't set permissions on file", &temporary, &e))?;
        rename(&temporary).map_err(failed)
    };
    run().inspect_err(|_| _ = disk.remove_file(&temporary))?;
    // One that stays is removed with the transaction, or by the next group of commits.
    _ = disk.remove_file(from);
    Ok(())
}

/// Bytes that are copied at once.
const COPY_SIZE: usize = 128 << 10;

/// Creates a file in `directory` under a name that no other file has.
///
/// # Errors
/// The system's.
pub(crate) fn create_unique(disk: &dyn Disk, directory: &Path) -> Result<(PathBuf, Box<dyn DiskWriter>)> {
    static COUNTER: AtomicU64 = AtomicU64::new(0);
    for _ in 0..ATTEMPTS {
        let number = COUNTER.fetch_add(1, Ordering::Relaxed);
        let path = directory.join(format!("svn-{:x}-{number:x}", std::process::id()));
        match disk.write(&path, Create::New) {
            Ok(file) => return Ok((path, file)),
            // The file of a crashed process with the same process ID.
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {}
            Err(e) => return Err(Error::io("Can't create temporary file", &path, &e)),
        }
    }
    let e = io::Error::from(io::ErrorKind::AlreadyExists);
    Err(Error::io("Can't create temporary file in", directory, &e))
}

/// The number of names that are tried for a temporary file.
const ATTEMPTS: u32 = 10_000;
