//! An opened repository: the directory with `format`, `conf/`, `db/` and `hooks/`.
//!
//! [`Repository`] is a cheap handle that many threads share. Opening reads `format` and passes `db/` to the storage
//! engine. Requests about a revision begin here (see [`crate::get`] for nodes) or take the handle as first argument
//! ([`crate::log`], [`crate::history`], …).
//!
//! [`Repository::revision_access`] decides what a user may see of a revision as a whole.

use std::cmp::Ordering;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use base::{
    Cancel, Code, Date, Depth, Error, FsPath, Lock, PropList, Props, Result, Revnum, disk_path, props,
};
use fsfs::admin::history_index::{self, BuildOptions};
use fsfs::disk::{Disk, IoMeter, MeteredDisk, RealDisk, UnsyncedDisk};
use fsfs::shared::{SharedNodes, TxnOwner};
use fsfs::{Cache, ChangeKind, ChangeList, ChangedPath, Fs, FsInfo, Instance, ReadMode};

use crate::access::{Readable, Subtree};
use crate::prefetch::{PrefetchPool, PrefetchQueue};

/// An opened repository. Clones share everything.
#[derive(Clone)]
pub struct Repository(Arc<Inner>);

struct Inner {
    prefetch: Arc<PrefetchPool>,
    path: Arc<Path>,
    fs: Fs,
    format: u32,
}

/// Options for opening a repository.
#[derive(Clone, Debug, Default)]
pub struct OpenOptions {
    /// The threads that read ahead for long responses; `None` for a pool of the repository's own.
    pub prefetch: Option<Arc<PrefetchPool>>,
    /// The system decides when data is on disk (`--no-flush-to-disk`): faster, and written data may be lost if the
    /// machine crashes.
    pub no_flush: bool,
    /// Counts the bytes that are read and written, and may limit their rate.
    pub meter: Option<Arc<IoMeter>>,
}

/// The part of a revision that a user may see.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RevisionAccess {
    /// The user may read every changed path and copy source: all revision properties.
    Full,
    /// The user may read some of them: author and date only.
    Partial,
    /// The user may read none of them: no property.
    None,
}

impl Repository {
    /// Opens the repository whose top directory is `root`.
    ///
    /// # Errors
    /// `REPOS_UNSUPPORTED_VERSION` unless the layout is 3 or 5; the system's error where `format` cannot be
    /// read; what the engine says about `db/`.
    pub fn open(root: &Path, cache: &Arc<Cache>) -> Result<Repository> {
        Self::open_with(root, cache, OpenOptions::default())
    }

    /// [`Repository::open`], with a say in how it is worked with.
    ///
    /// # Errors
    /// As [`Repository::open`].
    pub fn open_with(root: &Path, cache: &Arc<Cache>, options: OpenOptions) -> Result<Repository> {
        let format = read_format(&root.join(FORMAT))?;
        if !SUPPORTED.contains(&format) {
            return Err(Error::new(
                Code::REPOS_UNSUPPORTED_VERSION,
                format!("Expected repository format '3' or '5'; found format '{format}'"),
            ));
        }
        let disk: Arc<dyn Disk> = match options.no_flush {
            true => Arc::new(UnsyncedDisk),
            false => Arc::new(RealDisk),
        };
        let disk = match options.meter {
            Some(meter) => Arc::new(MeteredDisk::new(disk, meter)),
            None => disk,
        };
        let db = root.join("db");
        let fs = match Fs::open_on(&db, cache, disk.clone()) {
            Err(e) if e.code() == Code::FS_UNKNOWN_FS_TYPE && cluster::is_node_dir(&db) => {
                Fs::open_shared(&db, cache, disk, cluster::open(&db)?)?
            }
            opened => opened?,
        };
        Ok(Repository(Arc::new(Inner {
            prefetch: options.prefetch.unwrap_or_default(),
            path: root.into(),
            fs,
            format,
        })))
    }

    /// True if `path` looks like the top directory of a repository: it has a file `format` and a directory `db`,
    /// whose contents [`Repository::open`] checks.
    pub fn is_repository(path: &Path) -> bool {
        Self::check_repository(path).unwrap_or(false)
    }

    /// As [`Repository::is_repository`].
    ///
    /// # Errors
    /// The system's, if the directory may not be searched.
    pub fn check_repository(path: &Path) -> Result<bool> {
        let format = path.join(FORMAT);
        match format.metadata() {
            Err(e) if e.kind() == io::ErrorKind::PermissionDenied => {
                Err(Error::io("Can't open file", &format, &e))
            }
            Ok(meta) if meta.is_file() => Ok(path.join("db").is_dir()),
            _ => Ok(false),
        }
    }

    /// As [`Repository::find_upward`], for a caller that may not pass over what it may not see.
    ///
    /// # Errors
    /// The system's, for the first directory that may not be searched.
    pub fn search_upward(path: &Path) -> Result<Option<PathBuf>> {
        for dir in path.ancestors() {
            if Self::check_repository(dir)? {
                return Ok(Some(dir.to_owned()));
            }
        }
        Ok(None)
    }

    /// Returns the nearest repository at or above `path`.
    pub fn find_upward(path: &Path) -> Option<PathBuf> {
        path.ancestors()
            .find(|dir| Self::is_repository(dir))
            .map(Path::to_owned)
    }

    /// The top directory, as it was given to [`Repository::open`].
    pub fn path(&self) -> &Path {
        &self.0.path
    }

    /// Returns a queue of what is read ahead; `None` if no other thread can help.
    pub(crate) fn prefetch_queue<T: Send + 'static>(&self) -> Option<PrefetchQueue<T>> {
        self.0.prefetch.queue(self.shared_nodes().is_some())
    }

    /// Adds to the history index what it lacks, on one thread. Without an index, makes one if `creates`. Does nothing while
    /// another run extends it.
    ///
    /// # Errors
    /// `CANCELLED`; `FS_CORRUPT`; the system's.
    pub fn extend_history_index(&self, creates: bool, cancel: &Cancel) -> Result<()> {
        let options = BuildOptions {
            cache_budget: 16 << 20,
            jobs: 1,
            creates,
            waits: false,
            cancel: cancel.clone(),
            ..BuildOptions::default()
        };
        history_index::build(self.fs(), &options, &mut |_| {})
    }

    /// How many revisions the history index lacked when it was last used; `None` if it was not used.
    pub fn history_index_lag(&self) -> Option<u64> {
        self.fs().history_index_lag()
    }

    /// Closes what this handle keeps open and was not used since the last call. The files that all handles share are those of the cache
    /// ([`Cache::close_idle_files`]).
    pub fn close_idle_files(&self) {
        self.fs().close_idle_rep_cache();
    }

    /// The storage engine.
    pub fn fs(&self) -> &Fs {
        &self.0.fs
    }

    /// Returns the instance of the repository: another one after its revisions were replaced.
    pub fn instance(&self) -> Instance {
        self.fs().instance()
    }

    /// Returns a handle to the same repository with another read mode.
    pub fn with_read_mode(&self, read_mode: &ReadMode) -> Repository {
        if self.fs().read_mode().may_wait() && read_mode.may_wait() {
            return self.clone();
        }
        Repository(Arc::new(Inner {
            prefetch: self.0.prefetch.clone(),
            path: self.0.path.clone(),
            fs: self.0.fs.with_read_mode(read_mode),
            format: self.0.format,
        }))
    }

    /// The layout version of the directory: 3 or 5.
    pub fn format(&self) -> u32 {
        self.0.format
    }

    /// Describes the storage.
    pub fn fs_info(&self) -> Result<FsInfo> {
        self.0.fs.info()
    }

    /// True unless the format is too old to count what has mergeinfo.
    pub fn tracks_merges(&self) -> bool {
        self.0.fs.tracks_merges()
    }

    /// The UUID.
    pub fn uuid(&self) -> String {
        self.0.fs.uuid()
    }

    /// The youngest revision.
    pub fn youngest(&self) -> Result<Revnum> {
        self.0.fs.youngest()
    }

    /// The youngest revision when it was last read.
    pub fn last_youngest(&self) -> Revnum {
        self.0.fs.last_youngest()
    }

    /// Returns the machine that has a transaction of this name open, where several machines share the repository.
    ///
    /// # Errors
    /// Those of the shared storage.
    pub fn txn_owner(&self, name: &str) -> Result<TxnOwner> {
        self.fs().txn_owner(name)
    }

    /// The machines that share the repository; `None` for a repository of files.
    pub fn shared_nodes(&self) -> Option<&Arc<dyn SharedNodes>> {
        self.fs().shared_nodes()
    }

    /// The directory of the configuration files.
    pub fn conf_dir(&self) -> PathBuf {
        self.0.path.join("conf")
    }

    /// The directory of the hooks.
    pub fn hooks_dir(&self) -> PathBuf {
        self.0.path.join("hooks")
    }

    /// Returns whether all, some or none of what a revision changed may be read. A revision without changes is full.
    pub fn revision_access(&self, rev: Revnum, readable: &dyn Readable) -> Result<RevisionAccess> {
        if readable.subtree(&FsPath::root()) == Subtree::All {
            return Ok(RevisionAccess::Full);
        }
        let changes = self.0.fs.changed_paths(rev)?;
        Ok(changes_access(&changes.to_vec(), readable))
    }

    /// Returns all changed paths of a revision, without access control.
    ///
    /// # Errors
    /// `FS_NO_SUCH_REVISION`.
    pub fn changed_paths(&self, rev: Revnum) -> Result<ChangeList> {
        self.0.fs.changed_paths(rev)
    }

    /// The properties of a revision that may be seen.
    ///
    /// # Errors
    /// `FS_NO_SUCH_REVISION`.
    pub fn revprops(&self, rev: Revnum, readable: &dyn Readable) -> Result<Props> {
        let access = self.revision_access(rev, readable)?;
        let all = self.0.fs.revprops(rev)?;
        Ok(seen_props(all, access).to_props())
    }

    /// The properties of several revisions that may be seen, as they are now. A pack file that holds several of them is
    /// read once.
    ///
    /// # Errors
    /// Each list has its own: `FS_NO_SUCH_REVISION`.
    pub fn revprop_lists(&self, revs: &[Revnum], readable: &dyn Readable) -> Vec<Result<PropList>> {
        let lists = self.0.fs.revprop_lists(revs);
        let seen = |(rev, list): (&Revnum, Result<PropList>)| {
            let access = self.revision_access(*rev, readable)?;
            Ok(seen_props(list?, access))
        };
        revs.iter().zip(lists).map(seen).collect()
    }

    /// One property of a revision; `None` if it is not set or may not be seen.
    ///
    /// # Errors
    /// `FS_NO_SUCH_REVISION`.
    pub fn revprop(&self, rev: Revnum, name: &str, readable: &dyn Readable) -> Result<Option<Vec<u8>>> {
        let visible = match self.revision_access(rev, readable)? {
            RevisionAccess::Full => true,
            RevisionAccess::Partial => seen_of_partial(name),
            RevisionAccess::None => false,
        };
        let value = self.0.fs.revprops(rev)?.get(name).map(<[u8]>::to_vec);
        Ok(value.filter(|_| visible))
    }

    /// Returns the revision that was the youngest at `date`: the last one whose date is not after it, or 0.
    ///
    /// If dates do not ascend there may be several such revisions. The search takes the same steps as Subversion's,
    /// so that it ends at the same one: it looks at the middle, then at the neighbour on the side where it continues.
    ///
    /// # Errors
    /// `FS_GENERAL` for a visited revision without a date, `BAD_DATE` for one whose date does not parse.
    pub fn dated_revision(&self, date: Date) -> Result<Revnum> {
        let youngest = self.youngest()?.0;
        let (mut low, mut high) = (0, youngest);
        while low <= high {
            let middle = low + (high - low) / 2;
            match self.revision_date(Revnum(middle))?.cmp(&date) {
                Ordering::Equal => return Ok(Revnum(middle)),
                Ordering::Less if middle == youngest => return Ok(Revnum(middle)),
                Ordering::Less => {
                    low = middle + 1;
                    if self.revision_date(Revnum(low))? > date {
                        return Ok(Revnum(middle));
                    }
                }
                Ordering::Greater => {
                    let Some(before) = middle.checked_sub(1) else {
                        break;
                    };
                    high = before;
                    if self.revision_date(Revnum(high))? <= date {
                        return Ok(Revnum(high));
                    }
                }
            }
        }
        Ok(Revnum::ZERO)
    }

    /// The lock on `path`, if there is one that has not expired.
    pub fn get_lock(&self, path: &FsPath) -> Result<Option<Lock>> {
        self.0.fs.lock(path)
    }

    /// The locks at and below `path` within `depth` whose paths may be read.
    pub fn locks(&self, path: &FsPath, depth: Depth, readable: &dyn Readable) -> Result<Vec<Lock>> {
        let mut locks = self.0.fs.locks(path, depth)?;
        locks.retain(|lock| readable.read(&lock.path));
        Ok(locks)
    }

    fn revision_date(&self, rev: Revnum) -> Result<Date> {
        match self.0.fs.revprops(rev)?.get(props::DATE) {
            Some(text) => Date::parse(text),
            None => Err(Error::new(
                Code::FS_GENERAL,
                format!("Failed to find time on revision {rev}"),
            )),
        }
    }
}

/// Returns the properties of a revision that may be seen.
fn seen_props(all: PropList, access: RevisionAccess) -> PropList {
    let partial = |all: &PropList| -> Props {
        let seen = all.iter().filter(|(name, _)| seen_of_partial(name));
        seen.map(|(name, value)| (name.to_owned(), value.to_vec()))
            .collect()
    };
    match access {
        RevisionAccess::Full => all,
        RevisionAccess::Partial => (&partial(&all)).into(),
        RevisionAccess::None => PropList::default(),
    }
}

/// True for the two properties that a partly readable revision still shows.
pub(crate) fn seen_of_partial(name: &str) -> bool {
    name == props::AUTHOR || name == props::DATE
}

/// As [`Repository::revision_access`], for known changes.
pub(crate) fn changes_access(changes: &[ChangedPath], readable: &dyn Readable) -> RevisionAccess {
    let (mut seen, mut hidden) = (false, false);
    for change in changes {
        let source = match change.change {
            ChangeKind::Add | ChangeKind::Replace => change.copyfrom.as_ref().map(|(_, path)| path),
            ChangeKind::Modify | ChangeKind::Delete => None,
        };
        // The source of a copy counts only if the copy itself may be seen.
        if readable.read(&change.path) {
            seen = true;
            hidden |= source.is_some_and(|source| !readable.read(source));
        } else {
            hidden = true;
        }
        if seen && hidden {
            return RevisionAccess::Partial;
        }
    }
    if hidden {
        RevisionAccess::None
    } else {
        RevisionAccess::Full
    }
}

/// Reads a file whose first line is a decimal number.
pub(crate) fn read_format(path: &Path) -> Result<u32> {
    let read = RealDisk.read_small(path);
    let bytes = read.map_err(|e| Error::io("Can't open file", path, &e))?;
    let line = bytes.split(|b| *b == b'\n').next().unwrap_or_default();
    if bytes.is_empty() {
        return Err(Error::new(
            APR_EOF,
            format!("Can't read file '{}': End of file found", disk_path::shown(path)),
        ));
    }
    let bad = || {
        Error::new(
            Code::BAD_VERSION_FILE_FORMAT,
            format!("First line of '{}' contains non-digit", disk_path::shown(path)),
        )
    };
    if line.is_empty() || !line.iter().all(u8::is_ascii_digit) {
        return Err(bad());
    }
    std::str::from_utf8(line)
        .ok()
        .and_then(|text| text.parse().ok())
        .ok_or_else(bad)
}

pub(crate) const FORMAT: &str = "format";
const SUPPORTED: [u32; 2] = [3, 5];
/// The text of the incumbent's portability library for the end of a file.
const APR_EOF: Code = Code(70014);
