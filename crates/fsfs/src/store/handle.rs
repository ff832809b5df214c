//! [`Store`]: the files of one open filesystem, without its trees.
//!
//! A store reads `format`, `uuid` and `fsfs.conf` when it is opened. `current` and `min-unpacked-rev` change while it
//! is open; their values are kept as last read and read again where a caller needs the newest. Values that the store
//! caches carry its instance.

mod group;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use base::{Code, Error, Result, Revnum};

use super::cache::{Cache, Instance, SharedInstance};
use super::conf::FsConf;
use super::disk::{Disk, DiskDir, read_replaced};
use super::history_index::HistoryIndexSlot;
use super::layout::Layout;
use super::read_mode::ReadMode;
use super::rep_cache::RepCacheConnection;
use super::replaced::ReplacementDetector;
use super::rev_file::no_such_revision;
use super::shard_dirs::ShardKind;
use super::shared::{Head, SharedFs};
use super::small_files::{read_format, read_fs_type, read_ids};
use crate::format::fs_format::FsFormat;
use crate::format::short_line;

use self::group::OpenGroup;
pub(crate) use self::group::{GROUP_PREFIX, PreparedFiles, UnsharedRows};

/// The files of one open filesystem. Cheap to clone: all clones share one state. Each has a read mode of its own.
#[derive(Clone)]
pub struct Store {
    shared: Arc<StoreState>,
    read_mode: ReadMode,
}

/// The state that all clones of a [`Store`] share.
struct StoreState {
    disk: Arc<dyn Disk>,
    /// The storage of a filesystem that several machines share; `None` if all of it is in files below `db/`.
    shared_fs: Option<SharedFs>,
    layout: Layout,
    format: FsFormat,
    conf: FsConf,
    uuid: String,
    /// The instance in the cache; a new one after the revisions were replaced.
    instance: SharedInstance,
    /// The text that identifies this filesystem to the cache.
    instance_name: String,
    replacement: ReplacementDetector,
    cache: Arc<Cache>,
    /// The first revision that is not packed, as last read.
    min_unpacked_rev: AtomicU64,
    /// The youngest revision, as last read.
    youngest: AtomicU64,
    rep_cache: RepCacheConnection,
    history_index: HistoryIndexSlot,
    /// The number of commits in progress through this handle.
    committing: AtomicUsize,
    /// The revisions that this handle sees beyond `current`.
    group: Option<OpenGroup>,
}

/// What `svnadmin info` prints about the storage.
#[derive(Clone, Debug)]
pub struct FsInfo {
    /// `fsfs` or `fsx`.
    pub fs_type: &'static str,
    /// FSFS: 1 to 8, never 5. FSX: 2.
    pub format: u32,
    /// 0 for the linear layout.
    pub shard_size: u64,
    /// True if items are found by number and index, false if by offset.
    pub logical_addressing: bool,
    /// The first revision that is not packed.
    pub min_unpacked_rev: Revnum,
}

impl Store {
    /// Opens REPOS/db. `current` may be missing.
    ///
    /// # Errors
    /// `FS_UNSUPPORTED_FORMAT`, `FS_UNKNOWN_FS_TYPE`; the system's if a file is missing.
    pub(crate) fn open(
        db: &Path,
        cache: &Arc<Cache>,
        disk: Arc<dyn Disk>,
        shared_fs: Option<SharedFs>,
    ) -> Result<Store> {
        let back_end = read_fs_type(&*disk, db, shared_fs.is_some())?;
        let format = read_format(&*disk, db, back_end)?;
        let layout = Layout::new(db, format);
        let (uuid, instance_id) = read_ids(&*disk, &layout.file("uuid"), &format)?;
        // The path tells two repositories with the same UUIDs apart (a plain copy of all files). The identity of the
        // format file tells a repository from an earlier one at the same path.
        let identity = disk
            .metadata(&layout.file("format"))
            .or_else(|_| disk.metadata(&layout.file("uuid")));
        let identity = identity.map(|meta| (meta.identity, meta.modified)).ok();
        let name = format!(
            "{uuid}\n{instance_id:?}\n{}\n{identity:?}\n{format:?}",
            db.display()
        );
        let store = Store::of(StoreState {
            instance: SharedInstance::new(cache.instance(name.clone())),
            instance_name: name,
            replacement: ReplacementDetector::default(),
            cache: cache.clone(),
            conf: FsConf::read(&*disk, &layout, &format)?,
            disk,
            shared_fs,
            layout,
            format,
            uuid,
            min_unpacked_rev: AtomicU64::new(0),
            youngest: AtomicU64::new(0),
            rep_cache: RepCacheConnection::default(),
            history_index: HistoryIndexSlot::default(),
            committing: AtomicUsize::new(0),
            group: None,
        });
        store.refresh_min_unpacked_rev()?;
        Ok(store)
    }

    fn of(state: StoreState) -> Store {
        Store {
            shared: Arc::new(state),
            read_mode: ReadMode::MayWait,
        }
    }

    /// Returns a handle to the same files with another read mode.
    pub(crate) fn with_read_mode(&self, read_mode: &ReadMode) -> Store {
        Store {
            shared: self.shared.clone(),
            read_mode: read_mode.clone(),
        }
    }

    /// Whether reads through this handle may wait for the disk.
    pub fn read_mode(&self) -> &ReadMode {
        &self.read_mode
    }

    /// As [`ReadMode::check_may_wait`], for this handle.
    pub(crate) fn check_may_wait(&self) -> Result<()> {
        self.read_mode.check_may_wait()
    }

    /// Opens the same filesystem again, with a cache of its own for one pass, of at most `budget` bytes.
    pub(crate) fn reopen(&self, budget: u64) -> Result<Store> {
        let store = Self::open(
            self.path(),
            &Cache::for_one_pass(budget),
            self.shared.disk.clone(),
            self.shared.shared_fs.clone(),
        )?;
        store.youngest()?;
        let Some(group) = &self.shared.group else {
            return Ok(store);
        };
        let named = Revnum(group.named.load(Ordering::Acquire));
        Ok(store.view(named, group.prepared.clone(), self.last_youngest()))
    }

    /// REPOS/db.
    pub fn path(&self) -> &Path {
        self.layout().db()
    }

    /// The repository's UUID.
    pub fn uuid(&self) -> String {
        self.shared.uuid.clone()
    }

    /// The history index as it was last opened.
    pub(crate) fn history_index_slot(&self) -> &HistoryIndexSlot {
        &self.shared.history_index
    }

    /// True unless the format is too old to count what has mergeinfo. Reads nothing: sessions begin with this question.
    pub fn tracks_merges(&self) -> bool {
        self.format().has_mergeinfo()
    }

    /// Reads what `svnadmin info` prints.
    ///
    /// # Errors
    /// The system's, if `min-unpacked-rev` cannot be read.
    pub fn info(&self) -> Result<FsInfo> {
        self.refresh_min_unpacked_rev()?;
        Ok(FsInfo {
            fs_type: self.format().back_end.name(),
            format: self.format().number,
            shard_size: self.format().shard_size,
            logical_addressing: self.format().logical,
            min_unpacked_rev: self.min_unpacked_rev(),
        })
    }

    /// Reads `current`.
    ///
    /// # Errors
    /// `REVNUM_PARSE_FAILURE` if it does not start with a number; the system's.
    pub fn youngest(&self) -> Result<Revnum> {
        if let Some(group) = &self.shared.group {
            return Ok(Revnum(group.youngest.load(Ordering::Acquire)));
        }
        if let Some(shared) = self.shared_fs() {
            self.check_may_wait()?;
            let head = shared.heads.head(Duration::ZERO)?;
            self.see_head(&head);
            return Ok(head.youngest);
        }
        // Loaded before the file is read: then a smaller number in the file means that `current` has gone back.
        let seen = self.shared.youngest.load(Ordering::Acquire);
        let path = self.layout().file("current");
        let read = || {
            let before = self.disk().metadata(&path).ok();
            let text = read_replaced(self.disk(), &path)?;
            let has_ids = self.format().has_ids_in_current();
            Ok::<_, Error>((before, short_line::youngest_of_current(&text, has_ids)?))
        };
        let (mut before, mut rev) = read()?;
        if rev.0 < seen {
            // Revisions were replaced, or a network file system has shown an old file.
            self.refresh_names(self.path())?;
            (before, rev) = read()?;
        }
        if rev.0 != seen || self.is_other_current(before) {
            self.compare_revisions(Revnum(seen), rev, before);
        }
        self.shared.youngest.store(rev.0, Ordering::Release);
        Ok(rev)
    }

    /// Moves this filesystem to a new instance in the cache, because the cached values are no longer valid.
    pub(crate) fn renew_instance(&self) {
        let fresh = self
            .shared
            .cache
            .renew_instance(&self.shared.instance_name, self.instance());
        self.shared.instance.store(fresh);
    }

    /// The youngest revision when `current` was last read.
    pub fn last_youngest(&self) -> Revnum {
        match &self.shared.group {
            Some(group) => Revnum(group.youngest.load(Ordering::Acquire)),
            None => Revnum(self.shared.youngest.load(Ordering::Relaxed)),
        }
    }

    /// Stores the youngest revision after this process has made it.
    pub(crate) fn set_youngest(&self, rev: Revnum) {
        self.shared.youngest.store(rev.0, Ordering::Release);
        if let Some(group) = &self.shared.group {
            group.youngest.store(rev.0, Ordering::Release);
        }
    }

    /// Checks that a revision exists.
    ///
    /// # Errors
    /// `FS_NO_SUCH_REVISION` if `rev` does not exist, according to a fresh read of `current`.
    pub(crate) fn check_rev(&self, rev: Revnum) -> Result<()> {
        if rev.0 <= self.shared.youngest.load(Ordering::Relaxed) || rev <= self.youngest()? {
            Ok(())
        } else {
            Err(no_such_revision(rev))
        }
    }

    /// Makes revisions up to `rev` readable until `current` is read again.
    pub(crate) fn assume_youngest(&self, rev: Revnum) {
        self.shared.youngest.store(rev.0, Ordering::Relaxed);
    }

    /// Reads `min-unpacked-rev` again.
    pub(crate) fn refresh_min_unpacked_rev(&self) -> Result<()> {
        if !self.format().has_packing() {
            return Ok(());
        }
        if let Some(shared) = self.shared_fs() {
            self.check_may_wait()?;
            self.see_head(&shared.heads.head(Duration::ZERO)?);
            return Ok(());
        }
        let path = self.layout().file("min-unpacked-rev");
        let text = read_replaced(self.disk(), &path)?;
        let line = short_line::first_line(&text, short_line::LIMIT, &path)?;
        let rev = short_line::leading_revision(line)?;
        if self.format().shard_size == 0 && rev.0 != 0 {
            return Err(Error::new(
                Code::FS_CORRUPT,
                "Linear layout with packed revisions",
            ));
        }
        self.set_min_unpacked_rev(rev);
        Ok(())
    }

    fn set_min_unpacked_rev(&self, rev: Revnum) {
        let before = self.shared.min_unpacked_rev.swap(rev.0, Ordering::Relaxed);
        if before < rev.0 {
            self.cache().drop_unpacked(self.instance(), rev.0);
        }
    }

    /// Stores the state of the shared storage as the last known one. The youngest revision never goes back.
    pub(crate) fn see_head(&self, head: &Head) {
        self.shared.youngest.fetch_max(head.youngest.0, Ordering::AcqRel);
        if self.shared.min_unpacked_rev.load(Ordering::Relaxed) < head.min_unpacked.0 {
            self.set_min_unpacked_rev(head.min_unpacked);
        }
    }

    /// The storage of a filesystem that several machines share; `None` if all of it is in files below `db/`.
    pub(crate) fn shared_fs(&self) -> Option<&SharedFs> {
        self.shared.shared_fs.as_ref()
    }

    /// The error of an operation on the files of a filesystem whose data is not in files.
    ///
    /// # Errors
    /// `UNSUPPORTED_FEATURE` if the filesystem is shared by several machines.
    pub(crate) fn check_not_shared(&self, what: &str) -> Result<()> {
        match self.shared_fs() {
            None => Ok(()),
            Some(_) => Err(Error::new(
                Code::UNSUPPORTED_FEATURE,
                format!(
                    "{what} works on the files of a repository, and those of '{}' are in a cluster",
                    self.path().display()
                ),
            )),
        }
    }

    /// Treats the revisions below `rev` as packed until `min-unpacked-rev` is read again.
    pub(crate) fn assume_packed(&self, rev: Revnum) {
        self.shared.min_unpacked_rev.store(rev.0, Ordering::Relaxed);
    }

    /// The first unpacked revision when `min-unpacked-rev` was last read.
    pub(crate) fn min_unpacked_rev(&self) -> Revnum {
        Revnum(self.shared.min_unpacked_rev.load(Ordering::Relaxed))
    }

    /// Reads `format` again: another process may have upgraded the filesystem.
    pub(crate) fn read_format(&self) -> Result<FsFormat> {
        read_format(self.disk(), self.path(), self.format().back_end)
    }

    /// A shared handle to the disk, for opening another filesystem on it.
    pub(crate) fn disk_handle(&self) -> Arc<dyn Disk> {
        self.shared.disk.clone()
    }

    /// The disk that the filesystem is on.
    pub(crate) fn disk(&self) -> &dyn Disk {
        &*self.shared.disk
    }

    /// The paths of all files.
    pub(crate) fn layout(&self) -> &Layout {
        &self.shared.layout
    }

    /// `db/format` as it was when the filesystem was opened.
    pub(crate) fn format(&self) -> &FsFormat {
        &self.shared.format
    }

    /// `fsfs.conf` as it was when the filesystem was opened.
    pub(crate) fn conf(&self) -> &FsConf {
        &self.shared.conf
    }

    /// The cache of the process.
    pub(crate) fn cache(&self) -> &Arc<Cache> {
        &self.shared.cache
    }

    /// The connection to the rep-cache database.
    pub(super) fn rep_cache(&self) -> &RepCacheConnection {
        &self.shared.rep_cache
    }

    /// The state of the check for replaced revisions.
    pub(super) fn replacement(&self) -> &ReplacementDetector {
        &self.shared.replacement
    }

    /// Makes sure that the names in a directory are those that other machines see, see [`Disk::refresh_names`]. To be called under
    /// the lock, before a file is read that will be replaced.
    ///
    /// # Errors
    /// The system's.
    pub(crate) fn refresh_names(&self, dir: &Path) -> Result<()> {
        let refreshed = self.disk().refresh_names(dir);
        refreshed.map_err(|e| Error::io("Can't refresh the names of", dir, &e))
    }

    /// The number of commits in progress through this handle.
    pub(crate) fn committing(&self) -> &AtomicUsize {
        &self.shared.committing
    }

    /// The open directory of a shard, if several of its files were read recently. `path` returns the path of one of
    /// its files.
    pub(crate) fn shard_dir(
        &self,
        kind: ShardKind,
        shard: u64,
        path: impl FnOnce() -> PathBuf,
    ) -> Option<Arc<dyn DiskDir>> {
        if self.shared_fs().is_some() {
            return None;
        }
        let key = (self.instance(), kind, shard);
        self.cache().dirs().get(self.disk(), key, path)
    }

    /// Closes the directory of a shard after a file was missing in it.
    pub(crate) fn forget_shard_dir(&self, kind: ShardKind, shard: u64) {
        self.cache().dirs().forget((self.instance(), kind, shard));
    }

    /// The instance that cache keys carry.
    pub fn instance(&self) -> Instance {
        self.shared.instance.load()
    }
}
