//! An open filesystem: the small files in `db/`, and the way to roots and revision properties.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use base::{Code, Error, Result, Revnum};

use crate::cache::{Cache, Instance, SharedInstance};
use crate::conf::FsConf;
use crate::disk::{Disk, DiskDir, RealDisk, is_missing, read_replaced};
use crate::format::fs_format::{FormatError, FsFormat};
use crate::format::{quoted, short_line};
use crate::layout::Layout;
use crate::rep::write::UnsharedRows;
use crate::rep_cache::KeptRepCache;
use crate::replaced::Witness;
use crate::rev_file::no_such_revision;
use crate::root::Root;
use crate::shard_dirs::ShardKind;
use crate::txn::LiveTxns;
use crate::txn::proto_rev::LiveProtoRevs;

/// An open filesystem. Cheap to clone; Send + Sync; every method may be called from many threads.
#[derive(Clone)]
pub struct Fs(pub(crate) Arc<FsInner>);

pub(crate) struct FsInner {
    disk: Arc<dyn Disk>,
    layout: Layout,
    format: FsFormat,
    conf: FsConf,
    uuid: String,
    /// What the cache knows this filesystem by; another one once its revisions were replaced.
    instance: SharedInstance,
    /// The name of the instance.
    instance_name: String,
    /// Tells when the revisions were replaced.
    pub(crate) witness: Witness,
    cache: Arc<Cache>,
    /// Revisions below this one are packed; as last read.
    pub(crate) min_unpacked_rev: AtomicU64,
    /// As last read.
    youngest: AtomicU64,
    /// Transactions that holders of this filesystem edit.
    live_txns: LiveTxns,
    pub(crate) live_proto_revs: LiveProtoRevs,
    pub(crate) rep_cache: KeptRepCache,
    /// How many are committing.
    committing: AtomicUsize,
    /// Sees revisions that are not current yet: their number takes the place of the file.
    ahead: Option<Ahead>,
}

/// A private view of revisions that have been written and are not current yet.
#[derive(Clone, Default)]
pub(crate) struct Ahead {
    /// The youngest of them.
    youngest: Arc<AtomicU64>,
    /// The youngest revision whose file has its name; later ones are put aside, see [`Fs::rev_path`].
    named: Arc<AtomicU64>,
    /// What they may share with later ones.
    pub(crate) rows: UnsharedRows,
}

/// What `svnadmin info` prints about the storage.
#[derive(Clone, Debug)]
pub struct FsInfo {
    /// 1 to 8, never 5.
    pub format: u32,
    /// 0 for the linear layout.
    pub shard_size: u64,
    /// True if items are found by number and index, false if by offset.
    pub logical_addressing: bool,
    /// The first revision that is not packed.
    pub min_unpacked_rev: Revnum,
}

impl Fs {
    /// Opens REPOS/db.
    ///
    /// # Errors
    /// `FS_UNSUPPORTED_FORMAT`, `FS_UNKNOWN_FS_TYPE`, the system's if a file is missing.
    pub fn open(db: &Path, cache: &Arc<Cache>) -> Result<Fs> {
        Self::open_on(db, cache, Arc::new(RealDisk))
    }

    /// Opens a filesystem on another disk than the machine's.
    ///
    /// # Errors
    /// As [`Fs::open`].
    pub fn open_on(db: &Path, cache: &Arc<Cache>, disk: Arc<dyn Disk>) -> Result<Fs> {
        let fs = Self::open_without_current(db, cache, disk)?;
        fs.youngest()?;
        Ok(fs)
    }

    /// Opens a filesystem whose `current` may be missing.
    pub(crate) fn open_without_current(db: &Path, cache: &Arc<Cache>, disk: Arc<dyn Disk>) -> Result<Fs> {
        check_fs_type(&*disk, db)?;
        let format = read_format(&*disk, db)?;
        let layout = Layout::new(db, format);
        let (uuid, instance_id) = read_ids(&*disk, &layout.file("uuid"), &format)?;
        // Two repositories with the same UUIDs (a plain copy of all files) are told apart by path; one that replaced
        // another at the same path by the identity of its format file.
        let identity = disk
            .metadata(&layout.file("format"))
            .or_else(|_| disk.metadata(&layout.file("uuid")));
        let identity = identity.map(|meta| (meta.identity, meta.modified)).ok();
        let name = format!(
            "{uuid}\n{instance_id:?}\n{}\n{identity:?}\n{format:?}",
            db.display()
        );
        let fs = Fs(Arc::new(FsInner {
            instance: SharedInstance::new(cache.instance(name.clone())),
            instance_name: name,
            witness: Witness::default(),
            cache: cache.clone(),
            conf: FsConf::read(&*disk, &layout, &format)?,
            disk,
            layout,
            format,
            uuid,
            min_unpacked_rev: AtomicU64::new(0),
            youngest: AtomicU64::new(0),
            live_txns: LiveTxns::default(),
            committing: AtomicUsize::new(0),
            ahead: None,
            live_proto_revs: LiveProtoRevs::default(),
            rep_cache: KeptRepCache::default(),
        }));
        fs.refresh_min_unpacked_rev()?;
        Ok(fs)
    }

    /// Opens the same filesystem again, with a cache of its own of `budget` bytes.
    pub(crate) fn reopen(&self, budget: u64) -> Result<Fs> {
        let fs = Self::open_on(self.path(), &Cache::new(budget), self.0.disk.clone())?;
        let Some(ahead) = &self.0.ahead else {
            return Ok(fs);
        };
        let view = fs.ahead(self.youngest_seen());
        view.set_named(Revnum(ahead.named.load(Ordering::Acquire)));
        Ok(view)
    }

    /// REPOS/db.
    pub fn path(&self) -> &Path {
        self.layout().db()
    }

    /// The repository's UUID.
    pub fn uuid(&self) -> String {
        self.0.uuid.clone()
    }

    /// Reads what `svnadmin info` prints.
    ///
    /// # Errors
    /// The system's, if `min-unpacked-rev` cannot be read.
    pub fn info(&self) -> Result<FsInfo> {
        self.refresh_min_unpacked_rev()?;
        Ok(FsInfo {
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
        if let Some(ahead) = &self.0.ahead {
            return Ok(Revnum(ahead.youngest.load(Ordering::Acquire)));
        }
        // Before the file is read: then a smaller number in the file is younger than this one.
        let seen = self.0.youngest.load(Ordering::Acquire);
        let path = self.layout().file("current");
        let before = self.disk().metadata(&path).ok();
        let text = read_replaced(self.disk(), &path)?;
        // Formats 1 and 2 have counters behind the number.
        let rev = short_line::leading_revision(&text)?;
        if rev.0 != seen || self.is_other_current(before) {
            self.compare_revisions(Revnum(seen), rev, before);
        }
        self.0.youngest.store(rev.0, Ordering::Release);
        Ok(rev)
    }

    /// Gives this filesystem another name in the cache: what is there is not true any more.
    pub(crate) fn renew_instance(&self) {
        let fresh = self
            .0
            .cache
            .renew_instance(&self.0.instance_name, self.instance());
        self.0.instance.store(fresh);
    }

    /// The youngest revision that we know of, without asking the disk.
    pub(crate) fn youngest_seen(&self) -> Revnum {
        match &self.0.ahead {
            Some(ahead) => Revnum(ahead.youngest.load(Ordering::Acquire)),
            None => Revnum(self.0.youngest.load(Ordering::Relaxed)),
        }
    }

    /// Notes that a revision is the youngest: one that this process has made.
    pub(crate) fn set_youngest(&self, rev: Revnum) {
        self.0.youngest.store(rev.0, Ordering::Release);
        if let Some(ahead) = &self.0.ahead {
            ahead.youngest.store(rev.0, Ordering::Release);
        }
    }

    /// The same filesystem for one who also sees the revisions up to `youngest`, which are written but not current. It shares no
    /// cached value with others: these revisions may yet vanish and others take their numbers.
    pub(crate) fn ahead(&self, youngest: Revnum) -> Fs {
        static VIEWS: AtomicU64 = AtomicU64::new(0);
        let ahead = Ahead::default();
        ahead.youngest.store(youngest.0, Ordering::Release);
        let named = match &self.0.ahead {
            Some(ahead) => ahead.named.load(Ordering::Acquire),
            None => youngest.0,
        };
        ahead.named.store(named, Ordering::Release);
        let number = VIEWS.fetch_add(1, Ordering::Relaxed);
        let inner = &self.0;
        Fs(Arc::new(FsInner {
            disk: inner.disk.clone(),
            layout: inner.layout.clone(),
            format: inner.format,
            conf: inner.conf,
            uuid: inner.uuid.clone(),
            instance: SharedInstance::new(inner.cache.instance(format!("view {number}"))),
            instance_name: format!("view {number}"),
            witness: Witness::default(),
            cache: inner.cache.clone(),
            min_unpacked_rev: AtomicU64::new(inner.min_unpacked_rev.load(Ordering::Relaxed)),
            youngest: AtomicU64::new(youngest.0),
            live_txns: LiveTxns::default(),
            live_proto_revs: LiveProtoRevs::default(),
            rep_cache: KeptRepCache::default(),
            committing: AtomicUsize::new(0),
            ahead: Some(ahead),
        }))
    }

    /// The file of an unpacked revision. A revision that will become current together with others is put aside until then: files
    /// that have revisions' names and are not revisions would deceive `recover`, and whoever comes after a crash.
    pub(crate) fn rev_path(&self, rev: Revnum) -> PathBuf {
        match &self.0.ahead {
            Some(ahead) if rev.0 > ahead.named.load(Ordering::Acquire) => self.aside(rev),
            _ => self.layout().rev(rev),
        }
    }

    /// Where a revision is put aside.
    pub(crate) fn aside(&self, rev: Revnum) -> PathBuf {
        self.layout().file(&format!("{ASIDE}{rev}"))
    }

    /// Notes that the files of all revisions up to `rev` have their names.
    pub(crate) fn set_named(&self, rev: Revnum) {
        if let Some(ahead) = &self.0.ahead {
            ahead.named.store(rev.0, Ordering::Release);
        }
    }

    /// True for a private view of revisions that are not current yet: nobody else writes to its transactions.
    pub(crate) fn is_private(&self) -> bool {
        self.0.ahead.is_some()
    }

    /// What is shared by revisions that are not current yet.
    pub(crate) fn unshared_rows(&self) -> Option<UnsharedRows> {
        self.0.ahead.as_ref().map(|ahead| ahead.rows.clone())
    }

    /// The tree of a revision.
    ///
    /// # Errors
    /// `FS_NO_SUCH_REVISION` `No such revision N`.
    pub fn root(&self, rev: Revnum) -> Result<Root> {
        self.check_rev(rev)?;
        Ok(Root::of_revision(self, rev))
    }

    /// # Errors
    /// `FS_NO_SUCH_REVISION` if `rev` does not exist; re-reads `current` before saying so.
    pub(crate) fn check_rev(&self, rev: Revnum) -> Result<()> {
        if rev.0 <= self.0.youngest.load(Ordering::Relaxed) || rev <= self.youngest()? {
            Ok(())
        } else {
            Err(no_such_revision(rev))
        }
    }

    /// Lets revisions up to `rev` be read, whatever `current` says, until that is read again.
    pub(crate) fn youngest_is(&self, rev: Revnum) {
        self.0.youngest.store(rev.0, Ordering::Relaxed);
    }

    /// Reads `min-unpacked-rev` again.
    pub(crate) fn refresh_min_unpacked_rev(&self) -> Result<()> {
        if !self.format().has_packing() {
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
        let before = self.0.min_unpacked_rev.swap(rev.0, Ordering::Relaxed);
        if before < rev.0 {
            self.cache().drop_unpacked(self.instance(), rev.0);
        }
        Ok(())
    }

    /// Takes the revisions below `rev` for packed, until `min-unpacked-rev` is read again.
    pub(crate) fn assume_packed(&self, rev: Revnum) {
        self.0.min_unpacked_rev.store(rev.0, Ordering::Relaxed);
    }

    /// The first revision that was not packed when we last looked.
    pub(crate) fn min_unpacked_rev(&self) -> Revnum {
        Revnum(self.0.min_unpacked_rev.load(Ordering::Relaxed))
    }

    /// Reads `format` again: another process may have upgraded the filesystem.
    pub(crate) fn read_format(&self) -> Result<FsFormat> {
        read_format(self.disk(), self.path())
    }

    /// The disk, to open another filesystem on it.
    pub(crate) fn disk_handle(&self) -> Arc<dyn Disk> {
        self.0.disk.clone()
    }

    pub(crate) fn disk(&self) -> &dyn Disk {
        &*self.0.disk
    }

    pub(crate) fn layout(&self) -> &Layout {
        &self.0.layout
    }

    pub(crate) fn format(&self) -> &FsFormat {
        &self.0.format
    }

    /// `fsfs.conf` as it was when the filesystem was opened.
    pub(crate) fn conf(&self) -> &FsConf {
        &self.0.conf
    }

    pub(crate) fn cache(&self) -> &Cache {
        &self.0.cache
    }

    /// How many are committing through this filesystem.
    pub(crate) fn committing(&self) -> &AtomicUsize {
        &self.0.committing
    }

    pub(crate) fn live_txns(&self) -> &LiveTxns {
        &self.0.live_txns
    }

    /// The directory of the files of this kind in a shard, if a walk goes on there. `path` makes that of one of its files.
    pub(crate) fn shard_dir(
        &self,
        kind: ShardKind,
        shard: u64,
        path: impl FnOnce() -> PathBuf,
    ) -> Option<Arc<dyn DiskDir>> {
        let key = (self.instance(), kind, shard);
        self.cache().dirs().get(self.disk(), key, path)
    }

    /// A file was not found in that directory.
    pub(crate) fn forget_shard_dir(&self, kind: ShardKind, shard: u64) {
        self.cache().dirs().forget((self.instance(), kind, shard));
    }

    pub(crate) fn instance(&self) -> Instance {
        self.0.instance.load()
    }
}

/// What the names of files begin with that are put aside: as those of all temporary files in `db/` do.
pub(crate) const ASIDE: &str = "svn-group-";

fn check_fs_type(disk: &dyn Disk, db: &Path) -> Result<()> {
    let path = db.join("fs-type");
    let text = match disk.read_small(&path) {
        Ok(text) => text,
        // Before there was a choice.
        Err(e) if is_missing(&Error::io("", &path, &e)) => b"bdb\n".to_vec(),
        Err(e) => return Err(Error::io("Can't open file", &path, &e)),
    };
    match short_line::first_line(&text, short_line::LIMIT, &path)? {
        b"fsfs" => Ok(()),
        other => Err(Error::new(
            Code::FS_UNKNOWN_FS_TYPE,
            format!("Unknown FS type '{}'", quoted(other)),
        )),
    }
}

fn read_format(disk: &dyn Disk, db: &Path) -> Result<FsFormat> {
    let path = db.join("format");
    let text = match disk.read_small(&path) {
        Ok(text) => text,
        Err(e) if is_missing(&Error::io("", &path, &e)) => return Ok(FsFormat::MISSING_FILE),
        Err(e) => return Err(Error::io("Can't open file", &path, &e)),
    };
    FsFormat::parse(&text).map_err(|e| {
        let line = String::from_utf8_lossy(text.split(|&b| b == b'\n').next().unwrap_or_default());
        match e {
            FormatError::Unsupported => Error::new(
                e.code(),
                format!(
                    "Expected FS format between '1' and '{}'; found format '{line}'",
                    FsFormat::NEWEST
                ),
            ),
            FormatError::FirstLine => Error::new(e.code(), first_line_fault(&path, &line)),
            FormatError::Option => Error::new(
                e.code(),
                format!(
                    "'{}' contains invalid filesystem format option '{}'",
                    path.display(),
                    e.line(&text)
                ),
            ),
            FormatError::LogicalLinear => Error::new(
                e.code(),
                format!(
                    "'{}' specifies logical addressing for a non-sharded repository",
                    path.display()
                ),
            ),
        }
    })
}

fn first_line_fault(path: &Path, line: &str) -> String {
    match line.chars().find(|c| !c.is_ascii_digit()) {
        Some(c) => {
            format!(
                "Format file '{}' contains unexpected non-digit '{c}' within '{line}'",
                path.display()
            )
        }
        None => format!("Can't read first line of format file '{}'", path.display()),
    }
}

/// The UUID, and the ID that tells copies of a repository apart, which newer formats have.
fn read_ids(disk: &dyn Disk, path: &Path, format: &FsFormat) -> Result<(String, Option<String>)> {
    let text = read_replaced(disk, path)?;
    let line = |text| short_line::first_line(text, short_line::UUID_LIMIT, path);
    let shown = |line| String::from_utf8_lossy(line).into_owned();
    let uuid = line(&text)?;
    let instance_id = match format.has_instance_id() {
        true => Some(shown(line(&text[uuid.len() + 1..])?)),
        false => None,
    };
    Ok((shown(uuid), instance_id))
}
