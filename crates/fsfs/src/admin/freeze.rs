//! Holding a filesystem still, so that anything may copy its files: `svnadmin freeze`.

use std::path::Path;
use std::time::Duration;

use base::{Code, Error, Result};
use rusqlite::{Connection, OpenFlags};

use crate::fs::Fs;

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
        let path = self.layout().file("rep-cache.db");
        let _rows = match self.conf().rep_sharing {
            true => hold_rows(&path)?,
            false => None,
        };
        f()
    }
}

/// Begins a transaction that keeps other writers away until it is dropped; `None` without a database.
fn hold_rows(path: &Path) -> Result<Option<Connection>> {
    if matches!(std::fs::symlink_metadata(path), Err(e) if e.kind() == std::io::ErrorKind::NotFound) {
        return Ok(None);
    }
    let failed = |e: rusqlite::Error| {
        let message = format!("Can't hold rep-cache database '{}': {e}", path.display());
        Error::new(Code::SQLITE_ERROR, message)
    };
    let flags = OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_READ_WRITE;
    let connection = Connection::open_with_flags(path, flags).map_err(failed)?;
    connection.busy_timeout(BUSY_TIMEOUT).map_err(failed)?;
    connection.execute_batch("BEGIN IMMEDIATE").map_err(failed)?;
    Ok(Some(connection))
}

const BUSY_TIMEOUT: Duration = Duration::from_secs(10);
