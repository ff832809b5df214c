//! [`Store`]: an open filesystem without its trees.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use base::{Code, Error, Result, Revnum, shown_bytes};
use fsfs::disk::{Disk, read_replaced};
use quick_cache::sync::Cache as QuickCache;

use super::container::ContainerCache;
use super::layout::Layout;
use super::rev_file::RevFile;
use crate::format::cursor::DecodeError;
use crate::format::small_files;

/// The files of a filesystem.
pub(crate) struct Store {
    disk: Arc<dyn Disk>,
    pub(crate) layout: Layout,
    pub(crate) uuid: String,
    /// The first revision that is not packed, as it was when it was last read. It never goes back.
    min_unpacked_rev: AtomicU64,
    /// Open files by first revision and whether it is a pack file.
    pub(super) files: QuickCache<FileKey, Arc<RevFile>>,
    pub(super) containers: ContainerCache,
}

/// The key of an open file: its first revision, and whether it is a pack file.
pub(super) type FileKey = (u64, bool);

/// The number of open files that are kept, with their indexes.
const OPEN_FILES: usize = 64;

impl Store {
    /// Opens `db`.
    pub(crate) fn open(db: &Path, disk: Arc<dyn Disk>) -> Result<Store> {
        check_fs_type(&*disk, db)?;
        let read = |name: &str| {
            let path = db.join(name);
            let text = disk.read_small(&path);
            text.map_err(|e| Error::io("Can't open file", &path, &e))
        };
        let format = read("format")?;
        let shard_size = small_files::shard_size(&format);
        let shard_size = shard_size.map_err(|e| format_error(&e, &format, &db.join("format")))?;
        let (uuid, _) = small_files::uuids(&read("uuid")?).map_err(|e| {
            let path = db.join("uuid");
            let message = format!("Can't read length line in file '{}'", path.display());
            Error::new(e.code(), message)
        })?;
        let store = Store {
            disk,
            layout: Layout::new(db, shard_size),
            uuid,
            min_unpacked_rev: AtomicU64::new(0),
            files: QuickCache::new(OPEN_FILES),
            containers: ContainerCache::new(),
        };
        store.refresh_min_unpacked_rev()?;
        store.youngest()?;
        Ok(store)
    }

    /// The disk.
    pub(crate) fn disk(&self) -> &dyn Disk {
        &*self.disk
    }

    /// Reads `current`.
    pub(crate) fn youngest(&self) -> Result<Revnum> {
        self.revision_in("current")
    }

    /// Fails for a revision that does not exist.
    pub(crate) fn check_rev(&self, rev: Revnum) -> Result<()> {
        match rev <= self.youngest()? {
            true => Ok(()),
            false => Err(no_such_revision(rev)),
        }
    }

    /// True if `rev` was packed when `min-unpacked-rev` was last read.
    pub(crate) fn is_packed(&self, rev: Revnum) -> bool {
        rev.0 < self.min_unpacked_rev.load(Ordering::Acquire)
    }

    /// Reads `min-unpacked-rev`.
    pub(crate) fn refresh_min_unpacked_rev(&self) -> Result<()> {
        let rev = self.revision_in("min-unpacked-rev")?;
        if rev.0 % self.layout.shard_size() != 0 {
            let message = format!("min-unpacked-rev {rev} is inside of a shard");
            return Err(Error::new(Code::FS_CORRUPT, message));
        }
        self.min_unpacked_rev.fetch_max(rev.0, Ordering::AcqRel);
        Ok(())
    }

    fn revision_in(&self, name: &str) -> Result<Revnum> {
        let path = self.layout.file(name);
        let text = read_replaced(self.disk(), &path)?;
        small_files::revision(&text).map_err(|e| {
            let message = format!("Invalid revision number found parsing '{}'", shown_bytes(&text));
            Error::new(e.code(), message)
        })
    }
}

/// Refuses a filesystem of another back end.
fn check_fs_type(disk: &dyn Disk, db: &Path) -> Result<()> {
    let path = db.join("fs-type");
    let text = disk.read_small(&path);
    let text = text.map_err(|e| Error::io("Can't open file", &path, &e))?;
    match text.split(|&byte| byte == b'\n').next().unwrap_or_default() {
        b"fsx" => Ok(()),
        other => Err(Error::new(
            Code::FS_UNKNOWN_FS_TYPE,
            format!("Unknown FS type '{}'", shown_bytes(other)),
        )),
    }
}

/// The error of the file `format`, in the words of the incumbent.
fn format_error(e: &DecodeError, text: &[u8], path: &Path) -> Error {
    let mut lines = text.split(|&byte| byte == b'\n');
    let mut line = || shown_bytes(lines.next().unwrap_or_default());
    let (number, option) = (line(), line());
    let path = path.display();
    let message = match number.chars().find(|c| !c.is_ascii_digit()) {
        Some(c) => format!("Format file '{path}' contains unexpected non-digit '{c}' within '{number}'"),
        None if e.code() != Code::FS_UNSUPPORTED_FORMAT => {
            format!("'{path}' contains invalid filesystem format option '{option}'")
        }
        None if number == "1" => {
            "Unsupported experimental FSX format '1' found; current format is '2'".to_owned()
        }
        // The first number is a fault of the incumbent.
        None => format!("Expected FSX format between '3' and '2'; found format '{number}'"),
    };
    Error::new(e.code(), message)
}

/// The error for a revision that does not exist (any more).
pub(crate) fn no_such_revision(rev: Revnum) -> Error {
    Error::new(Code::FS_NO_SUCH_REVISION, format!("No such revision {rev}"))
}

/// Adds the path of the file to the error of a decoder.
pub(crate) fn in_file<T>(result: std::result::Result<T, impl Into<Error>>, path: &Path) -> Result<T> {
    result.map_err(|e| {
        let e: Error = e.into();
        let message = format!("{} (file '{}')", e.message(), path.display());
        Error::new(e.code(), message)
    })
}
