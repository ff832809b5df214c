//! Holding a filesystem still, so that anything may copy its files: `svnadmin freeze`.

use base::Result;

use crate::store::rep_cache::RepCache;
use crate::tree::Fs;

impl Fs {
    /// Runs `f` while nobody can change the filesystem: commits, revision properties, user locks and packing wait, and so do those
    /// who would enter rows into the rep-cache after their commit.
    ///
    /// # Errors
    /// What `f` says; the system's; SQLite's.
    pub fn freeze<T>(&self, f: impl FnOnce() -> Result<T>) -> Result<T> {
        // A pack writes most of its files before it takes the write lock.
        let pack = self.pack_lock()?;
        let _lock = pack.write_lock()?;
        let rows = match self.conf().rep_sharing {
            true => RepCache::open(&self.layout().file("rep-cache.db"))?,
            false => None,
        };
        rows.as_ref().map_or(Ok(()), RepCache::hold)?;
        f()
    }
}
