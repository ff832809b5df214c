//! Locks between writers, as values: holding the value is holding the lock.
//!
//! The order is txn-current, then pack, then write; so the later ones are taken through the earlier ones where both are
//! needed ([`PackLock::write_lock`], [`Store::all_locks`]), and no method leads back. Each lock is first a queue within the
//! process (first come, first served; by directory and name, so that two open handles of one repository meet), then a lock
//! of the file between processes. While one thread has the file open no other does: closing a second descriptor would
//! give the first one's lock away.
//!
//! What depends on other writers standing still is read when the write lock has been taken, and lives in it: the youngest
//! revision, and how far the repository is packed.
//!
//! Readers take none of these.

use std::collections::{HashMap, VecDeque};
use std::ffi::OsString;
use std::path::Path;
use std::sync::{Arc, LazyLock, Weak};

use base::{Code, Error, Result, Revnum};
use parking_lot::{Condvar, Mutex};
use rustix::io::Errno;

use super::Store;
use crate::store::disk::DiskLock;

/// The right to commit, to change revision properties and user locks, and to make packed revisions current. Given back
/// when it is dropped.
#[must_use]
pub struct WriteLock {
    youngest: Revnum,
    min_unpacked_rev: Revnum,
    _held: Arc<FileLock>,
}

/// The right to pack.
#[must_use]
pub struct PackLock {
    fs: Store,
    held: Arc<FileLock>,
}

/// The right to hand out transaction numbers.
#[must_use]
pub struct TxnCurrentLock {
    _held: FileLock,
}

/// Every lock that the format knows, for what must have the repository for itself: upgrade, recover, and being copied to.
#[must_use]
pub struct AllLocks {
    // Given back in this order.
    write: WriteLock,
    _pack: PackLock,
    _txn_current: Option<TxnCurrentLock>,
}

impl Store {
    /// Waits for the write lock.
    ///
    /// # Errors
    /// The system's; `FS_UNSUPPORTED_FORMAT` if the repository was upgraded so that this handle cannot write to it.
    pub fn write_lock(&self) -> Result<WriteLock> {
        let held = FileLock::wait_in(self, WRITE)?;
        WriteLock::new(self, Arc::new(held))
    }

    /// Waits for the pack lock: in formats without one the write lock serves, for all of the time.
    ///
    /// # Errors
    /// The system's.
    pub fn pack_lock(&self) -> Result<PackLock> {
        let name = if self.format().has_pack_lock() {
            PACK
        } else {
            WRITE
        };
        let held = FileLock::wait_in(self, name)?;
        Ok(PackLock {
            fs: self.clone(),
            held: Arc::new(held),
        })
    }

    /// Waits for the lock of `txn-current` (format 3 and later).
    ///
    /// # Errors
    /// The system's.
    pub fn txn_current_lock(&self) -> Result<TxnCurrentLock> {
        let held = FileLock::wait_in(self, TXN_CURRENT)?;
        Ok(TxnCurrentLock { _held: held })
    }

    /// Waits for every lock that the format knows.
    ///
    /// # Errors
    /// As [`Store::write_lock`].
    pub fn all_locks(&self) -> Result<AllLocks> {
        let has_txn_current = self.format().has_protorevs_dir();
        let txn_current = has_txn_current.then(|| self.txn_current_lock()).transpose()?;
        let pack = self.pack_lock()?;
        Ok(AllLocks {
            write: pack.write_lock()?,
            _pack: pack,
            _txn_current: txn_current,
        })
    }
}

impl PackLock {
    /// Waits for the write lock; where it is what this lock consists of, it is there already.
    ///
    /// # Errors
    /// As [`Store::write_lock`].
    pub fn write_lock(&self) -> Result<WriteLock> {
        if self.fs.format().has_pack_lock() {
            self.fs.write_lock()
        } else {
            WriteLock::new(&self.fs, self.held.clone())
        }
    }
}

impl WriteLock {
    fn new(fs: &Store, held: Arc<FileLock>) -> Result<Self> {
        let now = fs.read_format()?;
        let known = fs.format();
        // An upgrade keeps layout and addressing, and from format 4 on nothing that a handle of an older format writes is
        // wrong in a newer one. Before that, IDs and `current` are.
        if now != *known && known.number < 4 {
            return Err(Error::new(
                Code::FS_UNSUPPORTED_FORMAT,
                format!(
                    "Filesystem '{}' was upgraded from format {} to {} since it was opened",
                    fs.path().display(),
                    known.number,
                    now.number
                ),
            ));
        }
        if now.number < known.number || now.shard_size != known.shard_size || now.logical != known.logical {
            return Err(Error::new(
                Code::FS_UNSUPPORTED_FORMAT,
                format!(
                    "Filesystem '{}' was replaced by one of another layout since it was opened",
                    fs.path().display()
                ),
            ));
        }
        fs.refresh_min_unpacked_rev()?;
        Ok(WriteLock {
            youngest: fs.youngest()?,
            min_unpacked_rev: fs.min_unpacked_rev(),
            _held: held,
        })
    }

    /// The youngest revision: nobody else can add one now.
    pub fn youngest(&self) -> Revnum {
        self.youngest
    }

    /// The first revision that is not packed.
    pub fn min_unpacked_rev(&self) -> Revnum {
        self.min_unpacked_rev
    }
}

impl AllLocks {
    /// The write lock among them.
    pub fn write(&self) -> &WriteLock {
        &self.write
    }
}

/// A held lock file.
pub(crate) struct FileLock {
    // Given back in this order: who is next in the queue opens the file anew.
    _file: Box<dyn DiskLock>,
    _queue: QueueGuard,
}

impl FileLock {
    /// Waits for a lock file in `db/`.
    fn wait_in(fs: &Store, name: &str) -> Result<FileLock> {
        let path = fs.layout().file(name);
        match Self::take(fs, &path, true)? {
            Some(lock) => Ok(lock),
            None => Err(Error::new(
                Code::FS_GENERAL,
                format!("Can't lock '{}'", path.display()),
            )),
        }
    }

    /// Takes a lock file; `None` if `wait` is false and somebody has it.
    ///
    /// # Errors
    /// The system's.
    pub(crate) fn take(fs: &Store, path: &Path, wait: bool) -> Result<Option<FileLock>> {
        let Some(queued) = QueueGuard::take(fs, path, wait)? else {
            return Ok(None);
        };
        let file = fs.disk().lock(path, wait).map_err(|e| {
            // What a lock that cannot be taken says; all else is from opening the file.
            let is_lock = matches!(
                Errno::from_io_error(&e),
                Some(Errno::AGAIN | Errno::DEADLK | Errno::NOLCK | Errno::OPNOTSUPP | Errno::INTR)
            );
            let what = match is_lock {
                true => "Can't get exclusive lock on file",
                false => "Can't open file",
            };
            Error::io(what, path, &e)
        })?;
        Ok(file.map(|file| FileLock {
            _file: file,
            _queue: queued,
        }))
    }
}

/// Being first in the process's queue for a lock file.
struct QueueGuard(Arc<Queue>);

/// Those threads of this process that want one lock file.
#[derive(Default)]
struct Queue(Mutex<QueueState>);

#[derive(Default)]
struct QueueState {
    is_taken: bool,
    next: VecDeque<Arc<Waiter>>,
}

#[derive(Default)]
struct Waiter {
    is_called: Mutex<bool>,
    called: Condvar,
}

/// A directory's device and inode, and a name in it.
type LockName = ((u64, u64), OsString);

/// Queues that somebody is in.
static QUEUES: LazyLock<Mutex<HashMap<LockName, Weak<Queue>>>> = LazyLock::new(Mutex::default);

impl QueueGuard {
    fn take(fs: &Store, path: &Path, wait: bool) -> Result<Option<QueueGuard>> {
        let queue = Self::queue(fs, path)?;
        let waiter = {
            let mut state = queue.0.lock();
            if !state.is_taken {
                state.is_taken = true;
                None
            } else if wait {
                let waiter = Arc::<Waiter>::default();
                state.next.push_back(waiter.clone());
                Some(waiter)
            } else {
                return Ok(None);
            }
        };
        if let Some(waiter) = waiter {
            let mut is_called = waiter.is_called.lock();
            while !*is_called {
                waiter.called.wait(&mut is_called);
            }
        }
        Ok(Some(QueueGuard(queue)))
    }

    fn queue(fs: &Store, path: &Path) -> Result<Arc<Queue>> {
        // The directory rather than the file: that one may be missing, or be replaced by a file of the same name.
        let directory = path.parent().unwrap_or(Path::new("."));
        let meta = fs
            .disk()
            .metadata(directory)
            .map_err(|e| Error::io("Can't stat", directory, &e))?;
        let name = (meta.identity, path.file_name().unwrap_or_default().to_owned());
        let mut queues = QUEUES.lock();
        if let Some(queue) = queues.get(&name).and_then(Weak::upgrade) {
            return Ok(queue);
        }
        queues.retain(|_, queue| queue.strong_count() > 0);
        let queue = Arc::<Queue>::default();
        queues.insert(name, Arc::downgrade(&queue));
        Ok(queue)
    }
}

impl Drop for QueueGuard {
    fn drop(&mut self) {
        let mut state = self.0.0.lock();
        // The turn passes on rather than being free for a moment, so that nobody overtakes those who wait.
        match state.next.pop_front() {
            Some(waiter) => {
                *waiter.is_called.lock() = true;
                waiter.called.notify_one();
            }
            None => state.is_taken = false,
        }
    }
}

const WRITE: &str = "write-lock";
const PACK: &str = "pack-lock";
const TXN_CURRENT: &str = "txn-current-lock";
