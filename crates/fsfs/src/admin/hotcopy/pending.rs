//! Files for a destination that is a filesystem already. They have temporary names until they are durable.
//!
//! So a file with its own name is complete and durable, also after a failed flush, a kill or a power cut: the next copy can rely on
//! its length and time. The files get their names in the order of the revisions, so that there are no gaps.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use base::{Error, Result};
use parking_lot::Mutex;

use crate::store::disk::{Create, Disk, MoveMode, Volumes, move_file};

/// Files that were written under temporary names, and what is done once they are durable.
pub(super) struct PendingFiles {
    /// The directory of the temporary files.
    dir: PathBuf,
    /// The number of the next temporary file; shared with the lists of all jobs.
    next: Arc<AtomicU64>,
    steps: Mutex<Vec<Step>>,
}

/// What is done once the files are durable, in this order.
enum Step {
    /// A file gets its name.
    Rename { temporary: PathBuf, to: PathBuf },
    /// A file that the others have replaced is removed.
    Remove(PathBuf),
}

impl PendingFiles {
    /// Returns a list without files for the directory `db`.
    pub(super) fn new(db: &Path) -> Self {
        PendingFiles {
            dir: db.join(DIRECTORY),
            next: Arc::default(),
            steps: Mutex::default(),
        }
    }

    /// Returns a list without files for one job.
    pub(super) fn of_job(&self) -> Self {
        PendingFiles {
            dir: self.dir.clone(),
            next: self.next.clone(),
            steps: Mutex::default(),
        }
    }

    /// Returns the directory of the temporary files. The caller creates and removes it.
    pub(super) fn dir(&self) -> &Path {
        &self.dir
    }

    /// Copies a file with its permissions and its time.
    ///
    /// # Errors
    /// The system's; "no such file" if the source is missing.
    pub(super) fn copy(&self, disk: &dyn Disk, from: &Path, to: &Path) -> Result<()> {
        let temporary = self.temporary();
        let copied = disk.copy(from, &temporary);
        copied.map_err(|e| Error::io("Can't copy file", from, &e))?;
        self.rename(temporary, to);
        Ok(())
    }

    /// Writes a file.
    ///
    /// # Errors
    /// The system's.
    pub(super) fn write(&self, disk: &dyn Disk, to: &Path, bytes: &[u8], perms_like: &Path) -> Result<()> {
        let temporary = self.temporary();
        let write = || {
            disk.write(&temporary, Create::New)?.append(bytes)?;
            disk.copy_permissions(perms_like, &temporary)
        };
        write().map_err(|e| Error::io("Can't write to file", &temporary, &e))?;
        self.rename(temporary, to);
        Ok(())
    }

    /// Removes a file once the files before it have their names.
    pub(super) fn remove(&self, path: PathBuf) {
        self.steps.lock().push(Step::Remove(path));
    }

    /// Adds the files of `later`.
    pub(super) fn append(&self, later: PendingFiles) {
        self.steps.lock().append(&mut later.steps.into_inner());
    }

    /// Makes the files durable and gives them their names. `volumes` were opened before they were written.
    ///
    /// # Errors
    /// The system's.
    pub(super) fn publish(&self, disk: &dyn Disk, volumes: &Volumes) -> Result<()> {
        volumes.sync()?;
        let steps = std::mem::take(&mut *self.steps.lock());
        if steps.is_empty() {
            return Ok(());
        }
        let mut obsolete = Vec::new();
        for step in steps {
            match step {
                // A crash leaves a file as it was or as it is now.
                Step::Rename { temporary, to } => move_file(disk, &temporary, &to, MoveMode::Replace)?,
                Step::Remove(path) => obsolete.push(path),
            }
        }
        volumes.sync()?;
        for path in obsolete {
            // One that stays is useless and harmless.
            _ = disk.remove_file(&path);
        }
        Ok(())
    }

    fn rename(&self, temporary: PathBuf, to: &Path) {
        let to = to.to_owned();
        self.steps.lock().push(Step::Rename { temporary, to });
    }

    fn temporary(&self) -> PathBuf {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        self.dir.join(number.to_string())
    }
}

/// The times at which pending files get their names, so that an interrupted copy has not to be repeated as a whole.
pub(super) struct PublishInterval {
    interval: Duration,
    last: Instant,
}

impl PublishInterval {
    pub(super) fn new(interval: Duration) -> Self {
        PublishInterval {
            interval,
            last: Instant::now(),
        }
    }

    /// Publishes if it is time, or if there are many files.
    ///
    /// # Errors
    /// The system's.
    pub(super) fn publish(
        &mut self,
        pending: &PendingFiles,
        disk: &dyn Disk,
        volumes: &Volumes,
    ) -> Result<()> {
        let count = pending.steps.lock().len();
        if count == 0 || (count < MOST_FILES && self.last.elapsed() < self.interval) {
            return Ok(());
        }
        let start = Instant::now();
        pending.publish(disk, volumes)?;
        if !self.interval.is_zero() {
            // At most a tenth of the time is spent on this.
            self.interval = self.interval.max(10 * start.elapsed());
        }
        self.last = Instant::now();
        Ok(())
    }
}

/// The directory in `db`.
const DIRECTORY: &str = "svn-hotcopy";

/// Files that are kept in the list.
const MOST_FILES: usize = 20_000;
