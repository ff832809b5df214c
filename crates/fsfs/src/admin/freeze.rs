//! Keeping a filesystem unchanged while another program copies its files: `svnadmin freeze`.

use base::Result;

use crate::store::rep_cache::RepCache;
use crate::tree::Fs;

impl Fs {
    /// Runs `f` while the filesystem cannot change: commits, changes of revision properties, users' locks and packing wait, and
    /// so do processes that add rows to the rep-cache after their commit.
    ///
    /// # Errors
    /// Those of `f`; the system's; SQLite's.
    pub fn freeze<T>(&self, f: impl FnOnce() -> Result<T>) -> Result<T> {
        self.check_not_shared("'freeze'")?;
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
