//! Replacing a small file so that readers, and a power cut, see the old one or the new one.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use base::{Error, Result};

use super::{Create, Disk, DiskWriter};

/// Replaces the file at `path` (which need not exist) by one with these bytes and the permissions of `perms_like`. When it
/// returns, the new contents are durable under this name.
///
/// # Errors
/// The system's; the old file is then still there, except where only making the new name durable failed.
pub fn write_atomic(disk: &dyn Disk, path: &Path, bytes: &[u8], perms_like: &Path) -> Result<()> {
    let directory = path.parent().unwrap_or(Path::new("."));
    let (temporary, mut file) = create_unique(disk, directory)?;
    let write = || -> Result<()> {
        file.append(bytes)
            .map_err(|e| Error::io("Can't write to file", &temporary, &e))?;
        file.sync()
            .map_err(|e| Error::io("Can't flush file", &temporary, &e))?;
        drop(file);
        disk.copy_permissions(perms_like, &temporary)
            .map_err(|e| Error::io("Can't set permissions on file", &temporary, &e))?;
        disk.rename(&temporary, path)
            .map_err(|e| Error::io("Can't move a file to", path, &e))
    };
    if let Err(e) = write() {
        // It may be that it cannot even be removed now; leftovers of this name are ignored by all.
        _ = disk.remove_file(&temporary);
        return Err(e);
    }
    disk.sync_dir(directory)
        .map_err(|e| Error::io("Can't flush directory", directory, &e))
}

/// Creates a file in `directory` under a name that nobody else uses.
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
            // Left by a crash of a process with the same number.
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {}
            Err(e) => return Err(Error::io("Can't create temporary file", &path, &e)),
        }
    }
    let e = io::Error::from(io::ErrorKind::AlreadyExists);
    Err(Error::io("Can't create temporary file in", directory, &e))
}

/// Names tried for a temporary file.
const ATTEMPTS: u32 = 10_000;
