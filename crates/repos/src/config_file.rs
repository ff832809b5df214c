//! Configuration files as files: reads whole small ones, detects that one has changed, resolves the names in them.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Component, Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use base::ini::{Case, Ini};
pub(crate) use base::shown_bytes as shown;
use base::{Code, Error, Result, ResultExt, disk_path};

/// The identity, size and times of a file: they differ when it was replaced or rewritten.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileStamp {
    identity: (u64, u64),
    size: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl FileStamp {
    /// The stamp of the file at `path`, links followed; `None` if there is none.
    ///
    /// # Errors
    /// The system's number.
    pub fn of(path: &Path) -> Result<Option<FileStamp>> {
        match fs::metadata(path) {
            Ok(meta) => Ok(Some(Self::from_metadata(&meta))),
            Err(e) if e.kind() == io::ErrorKind::NotFound || e.kind() == io::ErrorKind::NotADirectory => {
                Ok(None)
            }
            Err(e) => Err(Error::io("Can't open file", path, &e)),
        }
    }

    #[cfg(unix)]
    fn from_metadata(meta: &fs::Metadata) -> FileStamp {
        use std::os::unix::fs::MetadataExt;
        FileStamp {
            identity: (meta.dev(), meta.ino()),
            size: meta.size(),
            modified: (meta.mtime(), meta.mtime_nsec()),
            changed: (meta.ctime(), meta.ctime_nsec()),
        }
    }

    #[cfg(not(unix))]
    fn from_metadata(meta: &fs::Metadata) -> FileStamp {
        let modified = meta
            .modified()
            .ok()
            .and_then(|t| t.duration_since(std::time::UNIX_EPOCH).ok())
            .unwrap_or_default();
        let modified = (
            i64::try_from(modified.as_secs()).unwrap_or(i64::MAX),
            i64::from(modified.subsec_nanos()),
        );
        FileStamp {
            identity: (0, 0),
            size: meta.len(),
            modified,
            changed: modified,
        }
    }

    /// True if an equal stamp proves equal contents. On a filesystem with times in whole seconds, two writes of the
    /// same size within one second have equal stamps; on others two writes within one tick of the system's clock
    /// have. So a file that has just changed may change once more without a new stamp.
    pub fn is_proof(&self) -> bool {
        let is_fine_grained = self.modified.1 != 0 || self.changed.1 != 0;
        let (seconds, nanos) = self.changed;
        let changed = u64::try_from(seconds).ok().zip(u32::try_from(nanos).ok());
        let changed = changed.map(|(seconds, nanos)| UNIX_EPOCH + Duration::new(seconds, nanos));
        is_fine_grained
            && changed.is_some_and(|at| SystemTime::now().duration_since(at).is_ok_and(|age| age > TICKS))
    }
}

/// Longer than a tick of any system's clock.
const TICKS: Duration = Duration::from_millis(50);

/// Reads a file of at most [`MAX_FILE`] bytes.
///
/// # Errors
/// The system's number with `Can't open file` or, under a link that names the file, `Can't read file`;
/// `MALFORMED_FILE` if it is larger.
pub(crate) fn read_limited(path: &Path) -> Result<Vec<u8>> {
    let file = File::open(path).map_err(|e| Error::io("Can't open file", path, &e))?;
    let mut text = Vec::new();
    let read = file.take(MAX_FILE + 1).read_to_end(&mut text);
    let in_file = || format!("Error while parsing config file: {}:", disk_path::shown(path));
    read.map_err(|e| Error::io("Can't read file", path, &e).context(in_file()))?;
    if text.len() as u64 > MAX_FILE {
        let message = format!("The file is larger than {MAX_FILE} bytes");
        return Err(Error::new(Code::MALFORMED_FILE, message).context(in_file()));
    }
    Ok(text)
}

/// Reads and parses a file.
///
/// # Errors
/// As [`read_limited`] and [`Ini::parse`], under a link that names the file.
pub(crate) fn read_ini(path: &Path, case: Case) -> Result<Ini> {
    parse_file(&read_limited(path)?, path, case)
}

/// Parses the bytes that were read from `path`.
pub(crate) fn parse_file(text: &[u8], path: &Path, case: Case) -> Result<Ini> {
    Ini::parse(text, case).context(|| format!("Error while parsing config file: {}:", disk_path::shown(path)))
}

/// More than any known configuration needs, and small enough for memory.
pub(crate) const MAX_FILE: u64 = 64 << 20;

/// Resolves a file name in a configuration file, relative to `folder`; drops doubled slashes and `.`, keeps `..`.
pub(crate) fn located(name: &[u8], folder: &Path) -> PathBuf {
    let joined = folder.join(path_of(name));
    joined.components().filter(|c| *c != Component::CurDir).collect()
}

#[cfg(unix)]
fn path_of(name: &[u8]) -> PathBuf {
    use std::os::unix::ffi::OsStrExt;
    PathBuf::from(std::ffi::OsStr::from_bytes(name))
}

#[cfg(not(unix))]
fn path_of(name: &[u8]) -> PathBuf {
    PathBuf::from(String::from_utf8_lossy(name).into_owned())
}
