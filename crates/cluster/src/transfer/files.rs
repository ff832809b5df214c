//! Files of an export.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use base::{Error, Result};
use fsfs::disk::DiskFile;

/// Makes a directory empty, which an interrupted export may have begun.
pub(super) fn fresh_dir(dir: &Path) -> Result<()> {
    match fs::remove_dir_all(dir) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => Err(Error::io("Can't remove directory", dir, &e)),
        _ => make_dirs(dir),
    }
}

pub(super) fn make_dirs(dir: &Path) -> Result<()> {
    fs::create_dir_all(dir).map_err(|e| Error::io("Can't create directory", dir, &e))
}

/// Writes a small file in one step, and makes it durable. An existing file keeps its permissions.
pub(super) fn replace(path: &Path, bytes: &[u8]) -> Result<()> {
    let dir = path.parent().unwrap_or(Path::new("."));
    let mode = fs::metadata(path).map(|meta| meta.permissions());
    let written = || -> io::Result<()> {
        let mut new = tempfile::Builder::new();
        new.prefix(TEMPORARY).permissions(Permissions::from_mode(0o666));
        let mut file = new.tempfile_in(dir)?;
        file.write_all(bytes)?;
        if let Ok(mode) = mode {
            file.as_file().set_permissions(mode)?;
        }
        file.as_file().sync_data()?;
        file.persist(path).map_err(|e| e.error)?;
        File::open(dir)?.sync_all()
    };
    written().map_err(|e| Error::io("Can't write to file", path, &e))
}

/// Writes a file that nothing names yet, or that an interrupted export has left, and makes it read-only.
pub(super) fn write_new(path: &Path, bytes: &[u8]) -> Result<()> {
    let written = created(path).and_then(|mut file| file.write_all(bytes));
    written.map_err(|e| Error::io("Can't write to file", path, &e))?;
    read_only(path)
}

/// As [`write_new`], with the bytes of a file of the cluster.
pub(super) fn write_from(path: &Path, from: &dyn DiskFile) -> Result<()> {
    let copied = created(path).and_then(|mut file| {
        let (length, mut at, mut buf) = (from.len()?, 0, vec![0; BUFFER]);
        while at < length {
            match from.read_at(&mut buf, at)? {
                0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                count => {
                    file.write_all(&buf[..count])?;
                    at += count as u64;
                }
            }
        }
        Ok(())
    });
    copied.map_err(|e| Error::io("Can't write to file", path, &e))?;
    read_only(path)
}

fn created(path: &Path) -> io::Result<File> {
    match fs::remove_file(path) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => return Err(e),
        _ => {}
    }
    OpenOptions::new().write(true).create_new(true).open(path)
}

pub(super) fn read_only(path: &Path) -> Result<()> {
    set_mode(path, 0o444)
}

pub(super) fn set_mode(path: &Path, mode: u32) -> Result<()> {
    fs::set_permissions(path, Permissions::from_mode(mode))
        .map_err(|e| Error::io("Can't set permissions on file", path, &e))
}

/// How the names of files begin that are not complete.
pub(super) const TEMPORARY: &str = "svn-";

/// Bytes that are copied at once.
const BUFFER: usize = 256 << 10;
