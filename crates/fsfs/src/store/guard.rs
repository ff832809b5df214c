//! Locks between processes that write, as values: a thread that has the value holds the lock.
//!
//! The order is txn-current, then pack, then write. Where two are needed, the later one is taken through the earlier
//! one ([`PackLock::write_lock`], [`Store::all_locks`]); no method takes an earlier one through a later one.
//!
//! Each lock has two stages. The first is a queue within the process: first come, first served, one queue for each
//! lock file, also if several handles of one repository are open. The second is a lock on the file, between
//! processes. Only the first thread of the queue opens the file, because closing a second descriptor would release
//! the lock of the first.
//!
//! Facts that hold only while no other process writes are read when the write lock has been taken, and are part of
//! its value: the youngest revision, and the first revision that is not packed. Where several machines share the filesystem, the
//! lock is between the processes of one machine, and its value has the state that a change is made from.
//!
//! Readers take no lock.

use std::collections::{HashMap, VecDeque};
use std::ffi::OsString;
use std::path::Path;
use std::sync::{Arc, LazyLock, Weak};
use std::time::Duration;

use base::{Code, Error, Result, Revnum};
use parking_lot::{Condvar, Mutex};
use rustix::io::Errno;

use super::Store;
use crate::store::disk::DiskLock;
use crate::store::shared::Head;

/// The lock for commits, for changes of revision properties and user locks, and for the last step of packing.
/// Released when it is dropped.
#[must_use]
pub struct WriteLock {
    youngest: Revnum,
    min_unpacked_rev: Revnum,
    /// The state of a filesystem that several machines share. Others may change it while the lock is held.
    head: Option<Head>,
    _held: Arc<FileLock>,
}

/// The lock for packing.
#[must_use]
pub struct PackLock {
    fs: Store,
    held: Arc<FileLock>,
}

/// The lock for new transaction numbers.
#[must_use]
pub struct TxnCurrentLock {
    _held: FileLock,
}

/// All locks of the format, for operations that need the repository for themselves: upgrade, recovery, and being the
/// target of a hot copy.
#[must_use]
pub struct AllLocks {
    // Released in this order.
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

    /// Waits for the pack lock. In formats without one it is the write lock, held for the whole packing.
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

    /// Waits for all locks of the format.
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
    /// Waits for the write lock. Where this lock is the write lock already, returns at once.
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
        // An upgrade keeps layout and addressing. Data that a handle of format 4 or later writes is valid in every
        // newer format. Before format 4, IDs and `current` have another form.
        if now != *known && !known.has_upgradable_writes() {
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
        if let Some(shared) = fs.shared_fs() {
            // It may be old: a change that is made from an old state is refused.
            let head = match shared.heads.last_head() {
                Some(head) => head,
                None => shared.heads.head(Duration::ZERO)?,
            };
            fs.see_head(&head);
            return Ok(WriteLock {
                youngest: head.youngest,
                min_unpacked_rev: head.min_unpacked,
                head: Some(head),
                _held: held,
            });
        }
        fs.refresh_min_unpacked_rev()?;
        Ok(WriteLock {
            youngest: fs.youngest()?,
            min_unpacked_rev: fs.min_unpacked_rev(),
            head: None,
            _held: held,
        })
    }

    /// The state that changes of a shared filesystem are made from; `None` for a filesystem of files.
    pub(crate) fn head(&self) -> Option<&Head> {
        self.head.as_ref()
    }

    /// Reads the state of a shared filesystem again, after another machine has changed it.
    ///
    /// # Errors
    /// Those of the shared storage.
    pub(crate) fn read_head(&mut self, fs: &Store) -> Result<()> {
        if let Some(shared) = fs.shared_fs() {
            let head = shared.heads.head(Duration::ZERO)?;
            fs.see_head(&head);
            self.youngest = head.youngest;
            self.min_unpacked_rev = head.min_unpacked;
            self.head = Some(head);
        }
        Ok(())
    }

    /// The youngest revision. It stays the youngest while the lock is held, unless several machines share the filesystem.
    pub fn youngest(&self) -> Revnum {
        self.youngest
    }

    /// The first revision that is not packed.
    pub fn min_unpacked_rev(&self) -> Revnum {
        self.min_unpacked_rev
    }
}

impl AllLocks {
    /// The write lock.
    pub fn write(&self) -> &WriteLock {
        &self.write
    }
}

/// A held lock file.
pub(crate) struct FileLock {
    // Released in this order: the next thread of the queue opens the file again.
    _file: Box<dyn DiskLock>,
    _queue: QueueGuard,
}

impl FileLock {
    /// Waits for a lock file in `db/`.
    fn wait_in(fs: &Store, name: &str) -> Result<FileLock> {
        let path = fs.layout().file(name);
        match Self::take(fs, &path, true)? {
            Some(lock) => {
                fs.refresh_names(fs.path())?;
                Ok(lock)
            }
            None => Err(Error::new(
                Code::FS_GENERAL,
                format!("Can't lock '{}'", path.display()),
            )),
        }
    }

    /// Takes a lock file. `None` if `wait` is false and another thread or process holds it.
    ///
    /// # Errors
    /// The system's.
    pub(crate) fn take(fs: &Store, path: &Path, wait: bool) -> Result<Option<FileLock>> {
        let Some(queue_guard) = QueueGuard::take(fs, path, wait)? else {
            return Ok(None);
        };
        let file = fs.disk().lock(path, wait).map_err(|e| {
            // The errors of locking; all others come from opening the file.
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
            _queue: queue_guard,
        }))
    }
}

/// The first position in the queue of the process for a lock file. Dropping it lets the next thread in.
struct QueueGuard(Arc<Queue>);

/// The threads of this process that wait for one lock file.
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

/// The name of a lock: device and inode of the directory, and the file name.
type LockName = ((u64, u64), OsString);

/// The queues in use.
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
        // The identity of the directory, not of the file: the file may be missing, or be replaced by another one of
        // the same name.
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
        // The position passes directly to the next thread, without being free meanwhile, so that no later thread
        // overtakes it.
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
