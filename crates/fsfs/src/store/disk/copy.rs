//! Copying a file of the machine with its permissions and its time.
//!
//! Most files of a repository are small: an unpacked revision, a list of properties. For these a read and a write cost less than
//! preparing a copy within the kernel, which larger files get.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::Path;

use rustix::fs::CWD;
use rustix::io::Errno;

use super::machine::{open_to_read, retry_on_signal};

/// Files of at most this size, in bytes, are copied through memory.
const SMALL: usize = 16 << 10;

/// Copies a file, or what it is linked to, to a new path or over the file there.
///
/// # Errors
/// The system's; "invalid argument" for anything but a file: reading a FIFO would wait for a writer.
pub(super) fn copy(from: &Path, to: &Path) -> io::Result<()> {
    copy_in_parts(from, to, u32::MAX, &mut |_| Ok(()))
}

/// As [`copy`], and calls `copied` with the length of each part that was copied, at most `part` bytes.
pub(super) fn copy_in_parts(
    from: &Path,
    to: &Path,
    part: u32,
    copied: &mut dyn FnMut(u64) -> io::Result<()>,
) -> io::Result<()> {
    let mut source = open_to_read(CWD, from)?;
    let meta = source.metadata()?;
    if !meta.is_file() {
        return Err(Errno::INVAL.into());
    }
    let permissions = meta.permissions();
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true);
    let mut copy = options.mode(permissions.mode()).open(to)?;
    // The umask may have taken some of them away, and a file that existed had its own.
    if copy.metadata()?.permissions() != permissions {
        copy.set_permissions(permissions)?;
    }
    let part = u64::from(part.max(1));
    let is_small = meta.len() <= part.min(SMALL as u64);
    if !is_small || !copy_small(&mut source, &mut copy, meta.len(), part, copied)? {
        loop {
            // The system may copy within the kernel, or share the blocks.
            match io::copy(&mut (&mut source).take(part), &mut copy)? {
                0 => break,
                length => copied(length)?,
            }
        }
    }
    // A file system without this gives the copy the time of the copying. The time of the source was read before its bytes.
    _ = meta.modified().and_then(|modified| copy.set_modified(modified));
    Ok(())
}

/// Copies a file of `expected` bytes, at most [`SMALL`] and `part`, by one read. False if it turned out to have another length: more may
/// follow.
fn copy_small(
    source: &mut File,
    copy: &mut File,
    expected: u64,
    part: u64,
    copied: &mut dyn FnMut(u64) -> io::Result<()>,
) -> io::Result<bool> {
    let mut buffer = [0; SMALL + 1];
    let most = buffer.len().min(usize::try_from(part).unwrap_or(usize::MAX));
    let length = retry_on_signal(|| rustix::io::read(&*source, &mut buffer[..most]))?;
    if length == 0 {
        return Ok(true);
    }
    copy.write_all(&buffer[..length])?;
    copied(length as u64)?;
    Ok(length as u64 == expected)
}
