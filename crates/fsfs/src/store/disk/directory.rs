//! An open directory, whose files are found without walking their paths from the root.
//!
//! A walk over a history opens two files for each revision, thousands of them in the same two directories. Finding a
//! name in an open directory costs the system a fraction of walking eight components of a path.

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use rustix::fs::{AtFlags, Mode, OFlags, Stat};
use rustix::io::Errno;

use super::machine::{open_to_read, retry_on_signal};
use super::{DiskDir, DiskFile, FileMeta};

/// An open directory of the operating system.
pub(super) struct RealDir(OwnedFd);

impl RealDir {
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Ok(RealDir(retry_on_signal(|| {
            rustix::fs::open(path, flags, Mode::empty())
        })?))
    }

    fn file(&self, name: &str) -> io::Result<File> {
        open_to_read(&self.0, name)
    }
}

impl DiskDir for RealDir {
    fn open(&self, name: &str) -> io::Result<Arc<dyn DiskFile>> {
        Ok(Arc::new(self.file(name)?))
    }

    fn read_small(&self, name: &str) -> io::Result<(Vec<u8>, FileMeta)> {
        let mut bytes = Vec::new();
        let meta = self.read_small_into(name, &mut bytes)?;
        Ok((bytes, meta))
    }

    fn read_small_into(&self, name: &str, bytes: &mut Vec<u8>) -> io::Result<FileMeta> {
        let file = self.file(name)?;
        let meta = meta(&retry_on_signal(|| rustix::fs::fstat(&file))?)?;
        let expected = usize::try_from(meta.len).map_err(|_| Errno::FBIG)?;
        bytes.clear();
        // One byte more than expected: a read that does not fill the buffer has seen the end of the file.
        bytes.reserve_exact(expected.saturating_add(1));
        loop {
            let (at, room) = (bytes.len(), bytes.capacity() - bytes.len());
            let read = file.append_at(bytes, room.max(PROBE), at as u64)?;
            if read == 0 || bytes.len() == expected {
                return Ok(meta);
            }
        }
    }

    fn metadata(&self, name: &str) -> io::Result<FileMeta> {
        meta(&retry_on_signal(|| {
            rustix::fs::statat(&self.0, name, AtFlags::empty())
        })?)
    }
}

/// The size of further reads of a file that grew while it was read, bytes.
const PROBE: usize = 32;

fn meta(stat: &Stat) -> io::Result<FileMeta> {
    // On some processors (s390x) the type has a sign.
    let nanos = u64::try_from(i128::from(stat.st_mtime_nsec)).unwrap_or_default();
    let nanos = Duration::from_nanos(nanos);
    let modified = match u64::try_from(stat.st_mtime) {
        Ok(seconds) => SystemTime::UNIX_EPOCH.checked_add(Duration::from_secs(seconds) + nanos),
        Err(_) => SystemTime::UNIX_EPOCH
            .checked_sub(Duration::from_secs(stat.st_mtime.unsigned_abs()))
            .and_then(|time| time.checked_add(nanos)),
    };
    Ok(FileMeta {
        len: u64::try_from(stat.st_size).map_err(|_| Errno::OVERFLOW)?,
        is_dir: rustix::fs::FileType::from_raw_mode(stat.st_mode).is_dir(),
        identity: (stat.st_dev, stat.st_ino),
        modified: modified.ok_or(Errno::OVERFLOW)?,
    })
}

#[cfg(test)]
mod tests {
    use super::super::{Disk, RealDisk};
    use super::*;

    #[test]
    fn an_open_directory_reads_the_same_as_the_path() {
        let dir = std::env::temp_dir().join(format!("sven-directory-{}", std::process::id()));
        std::fs::create_dir_all(&dir).expect("a directory");
        for length in [0usize, 1, 31, 32, 5000] {
            let path = dir.join("file");
            std::fs::write(&path, vec![b'x'; length]).expect("a file");
            let open = RealDir::open(&dir).expect("opens");
            let (bytes, meta) = open.read_small("file").expect("reads");
            assert_eq!(bytes.len(), length);
            assert_eq!(meta, RealDisk.metadata(&path).expect("its state"));
            let mut again = vec![b'y'; 100];
            let same = open.read_small_into("file", &mut again).expect("reads");
            assert_eq!((again, same), (bytes, meta));
            assert_eq!(meta, open.metadata("file").expect("its state"));
            let file = open.open("file").expect("opens");
            let mut buf = b"ab".to_vec();
            assert_eq!(file.append_at(&mut buf, 7, 0).expect("reads"), length.min(7));
            assert_eq!(
                (buf.len(), file.len().expect("its length")),
                (2 + length.min(7), length as u64)
            );
        }
        assert!(RealDir::open(&dir.join("file")).is_err());
        let missing = RealDir::open(&dir).expect("opens").metadata("missing");
        assert_eq!(
            missing.expect_err("it is missing").kind(),
            io::ErrorKind::NotFound
        );
        std::fs::remove_dir_all(&dir).expect("cleans up");
    }
}
