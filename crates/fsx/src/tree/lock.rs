//! Users' locks, which are stored as in FSFS.

use base::{Depth, FsPath, Lock, Result};
use fsfs::LockFiles;

use super::FsxFs;

impl FsxFs {
    /// The lock on exactly this path; `None` if there is none or it has expired.
    ///
    /// # Errors
    /// `FS_CORRUPT`, `MALFORMED_FILE`, `BAD_DATE`, or the system's number.
    pub fn lock(&self, path: &FsPath) -> Result<Option<Lock>> {
        self.lock_files().lock(path)
    }

    /// All locks at or below `path` within `depth`, sorted by path.
    ///
    /// # Errors
    /// As [`FsxFs::lock`].
    pub fn locks(&self, path: &FsPath, depth: Depth) -> Result<Vec<Lock>> {
        self.lock_files().locks(path, depth)
    }

    fn lock_files(&self) -> LockFiles<'_> {
        LockFiles::new(self.store().disk(), self.path())
    }
}
