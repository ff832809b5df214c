//! A repository of the cluster into files that Subversion opens.
//!
//! A first export makes the directories around the filesystem; the file `format` of the repository is written last, so an interrupted one is no
//! repository. The next export goes on where it was. Later exports add what is new to the same directory. They take its locks, so that it stays a copy: no program
//! commits to it meanwhile.
//!
//! The steps are those of FSFS: files are durable before `current` or `min-unpacked-rev` names them, and what a pack replaces is removed after
//! that. The file `db/sven-export` says of which repository this is an export, and how far it is.
//!
//! The rep-cache is not copied: its rows are made again from the revisions that were exported.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use base::{Cancel, Code, Depth, Error, FsPath, Result, Revnum, hashdump};
use fsfs::admin::{pack::packed_revprops, rep_cache};
use fsfs::disk::{DiskFile, RealDisk, Volumes, is_missing, is_stale};
use fsfs::shared::{Head, SharedFs};
use fsfs::{Cache, Fs};

use super::files::{TEMPORARY, fresh_dir, make_dirs, read_only, replace, set_mode, write_from, write_new};
use super::lineage::has_same_history;
use super::marker::Marker;
use crate::cluster::{Cluster, RepositoryInfo};
use crate::database::sql_error;
use crate::node_dir::remove;

/// Writes the repository `name` to the directory `to`, or brings an earlier export there up to date. Calls `done` with each revision
/// that is there. Returns the youngest revision.
///
/// # Errors
/// `FS_NOT_FOUND` without such a repository; `DIR_NOT_EMPTY` if the directory is not an export of it; `FS_ALREADY_EXISTS` if the export has revisions of its own;
/// `CANCELLED`; the system's; those of the cluster.
pub fn export(
    cluster: &Cluster,
    name: &str,
    to: &Path,
    done: &mut dyn FnMut(Revnum),
    cancel: &Cancel,
) -> Result<Revnum> {
    let info = cluster.repository(name)?;
    let shared = cluster.shared_fs(&info);
    let head = shared.heads.head(Duration::ZERO)?;
    let db = to.join("db");
    let is_complete = to.join("format").exists();
    let marker = prepare(to, &info, is_complete)?;
    let open = || Fs::open_on(&db, &Cache::new(CACHE), Arc::new(RealDisk));
    let locks = match is_complete {
        true => Some(open()?.all_locks()?),
        false => None,
    };
    let mut copy = Copy::new(&shared, &info, head, &db)?;
    let before = copy.youngest;
    if let Some(before) = before {
        let is_same =
            before <= head.youngest.0 && has_same_history(cluster, &info, None, &open()?, Revnum(before))?;
        if !is_same {
            return Err(own_revisions_error(to));
        }
    }
    copy.all(done, cancel)?;
    let youngest = copy.head.youngest;
    drop(locks);
    let fs = open()?;
    let known = marker.as_ref().and_then(|marker| marker.revprops_version);
    if let Some(before) = before {
        copy_changed_props(
            cluster,
            &shared,
            &info,
            (known, head.revprops_version),
            &fs,
            before,
        )?;
    }
    copy_locks(&shared, &fs)?;
    if fs::read(db.join("uuid")).is_ok_and(|found| found != info.uuid.as_bytes()) {
        replace(&db.join("uuid"), info.uuid.as_bytes())?;
    }
    // An earlier program, which did not say it, had made the rows of all revisions of a complete export.
    let shared_up_to = marker.and_then(|marker| marker.shared_up_to);
    let shared_up_to = shared_up_to.or_else(|| before.filter(|_| is_complete).map(Revnum));
    build_rep_cache(&fs, shared_up_to, youngest, cancel)?;
    // Later changes may have reached the lists that were copied, or not.
    let marker = Marker {
        instance: info.instance,
        revprops_version: Some(head.revprops_version),
        shared_up_to: Some(youngest),
    };
    marker.write(&db)?;
    if !is_complete {
        complete(cluster, to, &info)?;
    }
    Ok(youngest)
}

/// Makes what an export lacks besides revisions. Returns its marker; `None` if it begins now.
///
/// # Errors
/// `DIR_NOT_EMPTY` if the directory has something else; the system's.
fn prepare(to: &Path, info: &RepositoryInfo, is_complete: bool) -> Result<Option<Marker>> {
    let marker = Marker::read(&to.join("db"));
    let is_export_of_it = match &marker {
        Some(marker) => marker.instance == info.instance,
        None => is_empty(to),
    };
    if !is_export_of_it {
        let text = format!("'{}' is not an export of '{}'", to.display(), info.name);
        return Err(Error::new(Code::DIR_NOT_EMPTY, text));
    }
    if !is_complete {
        make_directories(to, info)?;
    }
    Ok(marker)
}

fn own_revisions_error(to: &Path) -> Error {
    Error::new(
        Code::FS_ALREADY_EXISTS,
        format!("'{}' has revisions that were committed to it", to.display()),
    )
}

/// Returns the youngest revision of an export, complete or not; `None` if there is none yet.
///
/// # Errors
/// `FS_CORRUPT`; the system's.
pub fn exported(to: &Path) -> Result<Option<Revnum>> {
    Ok(number_in(&to.join("db/current"))?.map(Revnum))
}

/// The copying of revisions.
struct Copy<'a> {
    shared: &'a SharedFs,
    head: Head,
    db: PathBuf,
    /// Revisions of a shard; 0 for the linear layout.
    shard_size: u64,
    packs_props: bool,
    /// The state of the export.
    youngest: Option<u64>,
    min_unpacked: u64,
    /// The file systems of the export, open before anything is written.
    volumes: Volumes,
}

impl<'a> Copy<'a> {
    fn new(shared: &'a SharedFs, info: &RepositoryInfo, head: Head, db: &Path) -> Result<Copy<'a>> {
        let mut lines = info.format.lines();
        let number: u32 = lines.next().and_then(|line| line.parse().ok()).unwrap_or(0);
        let size = lines.find_map(|line| line.strip_prefix("layout sharded "));
        Ok(Copy {
            shared,
            head,
            db: db.to_owned(),
            shard_size: size.and_then(|size| size.parse().ok()).unwrap_or(0),
            packs_props: number >= 6,
            youngest: number_in(&db.join("current"))?,
            min_unpacked: number_in(&db.join("min-unpacked-rev"))?.unwrap_or(0),
            volumes: Volumes::open(&RealDisk, db)?,
        })
    }

    /// Copies what the export does not have.
    fn all(&mut self, done: &mut dyn FnMut(Revnum), cancel: &Cancel) -> Result<()> {
        loop {
            self.packs(done, cancel)?;
            match self.revisions(done, cancel) {
                Err(e) if is_gone(&e) && self.was_packed()? => {}
                outcome => return outcome,
            }
        }
    }

    /// Reads the state of the cluster again. True if more is packed now.
    fn was_packed(&mut self) -> Result<bool> {
        let before = self.head.min_unpacked;
        self.head = self.shared.heads.head(Duration::ZERO)?;
        Ok(self.head.min_unpacked > before)
    }

    /// Copies the packs that the export does not have.
    fn packs(&mut self, done: &mut dyn FnMut(Revnum), cancel: &Cancel) -> Result<()> {
        let shards = |revs: u64| revs.checked_div(self.shard_size).unwrap_or(0);
        for shard in shards(self.min_unpacked)..shards(self.head.min_unpacked.0) {
            cancel.check()?;
            let (first, end) = (shard * self.shard_size, (shard + 1) * self.shard_size);
            let dir = self.db.join("revs").join(format!("{shard}.pack"));
            fresh_dir(&dir)?;
            let pack = self.shared.blobs.open_pack(shard);
            let pack = pack.map_err(|e| Error::io("Can't open file", &dir.join("pack"), &e))?;
            write_from(&dir.join("pack"), &*pack)?;
            match self.shared.blobs.pack_manifest(shard) {
                Ok(manifest) => write_new(&dir.join("manifest"), &manifest)?,
                Err(e) if e.kind() == io::ErrorKind::NotFound => {}
                Err(e) => return Err(Error::io("Can't open file", &dir.join("manifest"), &e)),
            }
            self.pack_props(shard, first, end)?;
            self.sync()?;
            replace(&self.db.join("min-unpacked-rev"), format!("{end}\n").as_bytes())?;
            self.min_unpacked = end;
            if self.youngest.is_none_or(|youngest| youngest < end - 1) {
                self.set_youngest(end - 1)?;
            }
            self.remove_unpacked(shard)?;
            done(Revnum(end - 1));
        }
        Ok(())
    }

    fn pack_props(&self, shard: u64, first: u64, end: u64) -> Result<()> {
        let revs: Vec<Revnum> = (first..end).map(Revnum).collect();
        let lists = self
            .shared
            .heads
            .revprops(&revs)
            .into_iter()
            .collect::<Result<Vec<_>>>()?;
        let unpacked = match self.packs_props {
            // Revision 0 is never packed.
            true => usize::from(shard == 0),
            false => lists.len(),
        };
        for (rev, list) in revs.iter().zip(&lists).take(unpacked) {
            self.write_props(*rev, list)?;
        }
        if self.packs_props {
            let dir = self.db.join("revprops").join(format!("{shard}.pack"));
            fresh_dir(&dir)?;
            let first = Revnum(first + unpacked as u64);
            for (name, bytes) in packed_revprops(&self.db, first, &lists[unpacked..])? {
                write_new(&dir.join(name), &bytes)?;
            }
        }
        Ok(())
    }

    /// Removes the files of revisions whose pack is durable.
    fn remove_unpacked(&self, shard: u64) -> Result<()> {
        let mut gone = vec![self.db.join("revs").join(shard.to_string())];
        let props = self.db.join("revprops").join(shard.to_string());
        match (self.packs_props, shard) {
            (true, 0) => gone.extend((1..self.shard_size).map(|rev| props.join(rev.to_string()))),
            (true, _) => gone.push(props),
            (false, _) => {}
        }
        gone.iter().try_for_each(|path| remove(path))
    }

    /// Copies the revisions that the export does not have.
    fn revisions(&mut self, done: &mut dyn FnMut(Revnum), cancel: &Cancel) -> Result<()> {
        let first = self.youngest.map_or(0, |youngest| youngest + 1);
        let revs: Vec<Revnum> = (first..=self.head.youngest.0).map(Revnum).collect();
        for group in revs.chunks(GROUP) {
            let lists = self.shared.heads.revprops(group);
            for (rev, list) in group.iter().zip(lists) {
                cancel.check()?;
                let path = self.in_shard("revs", *rev);
                make_dirs(path.parent().unwrap_or(&self.db))?;
                write_from(&path, &*self.open(*rev)?)?;
                self.write_props(*rev, &list?)?;
                done(*rev);
            }
            self.sync()?;
            if let Some(last) = group.last() {
                self.set_youngest(last.0)?;
            }
        }
        Ok(())
    }

    fn write_props(&self, rev: Revnum, list: &[u8]) -> Result<()> {
        let path = self.in_shard("revprops", rev);
        make_dirs(path.parent().unwrap_or(&self.db))?;
        write_new(&path, list)
    }

    fn open(&self, rev: Revnum) -> Result<Arc<dyn DiskFile>> {
        let opened = self.shared.blobs.open_revision(rev);
        opened.map_err(|e| Error::io("Can't open file", &self.in_shard("revs", rev), &e))
    }

    fn set_youngest(&mut self, rev: u64) -> Result<()> {
        replace(&self.db.join("current"), format!("{rev}\n").as_bytes())?;
        self.youngest = Some(rev);
        Ok(())
    }

    /// Makes durable what was written.
    fn sync(&self) -> Result<()> {
        self.volumes.sync()
    }

    fn in_shard(&self, kind: &str, rev: Revnum) -> PathBuf {
        let dir = self.db.join(kind);
        match rev.0.checked_div(self.shard_size) {
            Some(shard) => dir.join(shard.to_string()).join(rev.to_string()),
            None => dir.join(rev.to_string()),
        }
    }
}

/// True for the error of a revision whose shard another node has packed.
fn is_gone(e: &Error) -> bool {
    is_missing(e) || is_stale(e)
}

/// Copies the property lists of revisions up to `before` that have changed since an earlier export.
fn copy_changed_props(
    cluster: &Cluster,
    shared: &SharedFs,
    info: &RepositoryInfo,
    (known, now): (Option<u64>, u64),
    fs: &Fs,
    before: u64,
) -> Result<()> {
    if known == Some(now) {
        return Ok(());
    }
    let signed = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
    let mut revs: Option<Vec<Revnum>> = None;
    if let Some(known) = known.filter(|known| *known < now) {
        let (id, known, now) = (info.id, signed(known), signed(now));
        let rows = cluster
            .0
            .database
            .run("look for changed property lists", |client| async move {
                client.query(SELECT_CHANGES, &[&id, &known, &now]).await
            })?;
        let complete = rows
            .first()
            .map(|row| row.try_get::<_, i64>(1))
            .transpose()
            .map_err(sql_error)?;
        // Old changes may have been removed: then all lists are compared.
        if complete == Some(now - known) {
            let changed = rows.iter().map(|row| {
                let rev: i64 = row.try_get(0).map_err(sql_error)?;
                Ok(Revnum(u64::try_from(rev).unwrap_or_default()))
            });
            revs = Some(changed.collect::<Result<_>>()?);
        }
    }
    let revs = revs.unwrap_or_else(|| (0..=before).map(Revnum).collect());
    for group in revs.chunks(GROUP) {
        for (rev, list) in group.iter().zip(shared.heads.revprops(group)) {
            if rev.0 <= before {
                fs.set_revprops(*rev, &hashdump::read_props(&list?)?)?;
            }
        }
    }
    Ok(())
}

/// Makes the rows for rep sharing of the revisions after `done` up to `last`. Revisions that cannot be read have none: the copy of a damaged
/// repository is as good as the repository.
fn build_rep_cache(fs: &Fs, done: Option<Revnum>, last: Revnum, cancel: &Cancel) -> Result<()> {
    let mut next = done.map_or(Revnum::ZERO, Revnum::next);
    while next <= last {
        let from = next;
        match rep_cache::build(fs, from, last, &mut |rev| next = rev.next(), cancel) {
            Ok(()) => return Ok(()),
            Err(e) if HAVE_NONE.contains(&e.code()) => return Ok(()),
            Err(e) if e.code().is_os() || NO_DAMAGE.contains(&e.code()) => return Err(e),
            Err(e) => {
                tracing::warn!("the contents of r{next} are not shared: {e}");
                next = next.next();
            }
        }
    }
    Ok(())
}

/// Makes the locks of the export those of the cluster.
fn copy_locks(shared: &SharedFs, fs: &Fs) -> Result<()> {
    fs.replace_locks(&shared.heads.locks(&FsPath::root(), Depth::Infinity)?)
}

/// Makes what a filesystem has besides revisions, or completes it. The first file is the one by which the next export knows the directory.
fn make_directories(to: &Path, info: &RepositoryInfo) -> Result<()> {
    let db = to.join("db");
    make_dirs(&db)?;
    let marker = Marker {
        instance: info.instance,
        revprops_version: None,
        shared_up_to: None,
    };
    marker.write(&db)?;
    for dir in ["revs", "revprops", "transactions", "txn-protorevs"] {
        make_dirs(&db.join(dir))?;
    }
    if !db.join("min-unpacked-rev").exists() {
        replace(&db.join("min-unpacked-rev"), b"0\n")?;
    }
    for (name, bytes) in [
        ("fs-type", "fsfs\n".as_bytes()),
        ("uuid", info.uuid.as_bytes()),
        ("fsfs.conf", &info.fsfs_conf),
        ("write-lock", b""),
        ("txn-current", b"0\n"),
        ("txn-current-lock", b""),
        ("format", info.format.as_bytes()),
    ] {
        replace(&db.join(name), bytes)?;
    }
    read_only(&db.join("format"))
}

/// Makes a repository of a directory with a complete filesystem.
fn complete(cluster: &Cluster, to: &Path, info: &RepositoryInfo) -> Result<()> {
    for dir in ["conf", "hooks", "locks"] {
        make_dirs(&to.join(dir))?;
    }
    for file in cluster.repository_files(info)?.files {
        let path = to.join(&file.path);
        make_dirs(path.parent().unwrap_or(to))?;
        replace(&path, &file.content)?;
        set_mode(&path, file.mode & 0o777)?;
    }
    for name in ["locks/db.lock", "locks/db-logs.lock"] {
        replace(&to.join(name), b"")?;
    }
    replace(&to.join("format"), b"5\n")?;
    read_only(&to.join("format"))
}

/// True if there is nothing in a directory, or no directory; or no more than an export makes before its first file is there.
fn is_empty(dir: &Path) -> bool {
    let has_only = |dir: &Path, may_be: &dyn Fn(&OsStr) -> bool| match fs::read_dir(dir) {
        Ok(mut entries) => entries.all(|entry| entry.is_ok_and(|entry| may_be(&entry.file_name()))),
        Err(e) => e.kind() == io::ErrorKind::NotFound,
    };
    let is_unfinished = |name: &OsStr| name.as_encoded_bytes().starts_with(TEMPORARY.as_bytes());
    has_only(dir, &|name| name == "db") && has_only(&dir.join("db"), &is_unfinished)
}

/// Reads the number in a small file; `None` without the file.
fn number_in(path: &Path) -> Result<Option<u64>> {
    match fs::read_to_string(path) {
        Ok(text) => {
            let number = text
                .split_ascii_whitespace()
                .next()
                .and_then(|word| word.parse().ok());
            match number {
                Some(number) => Ok(Some(number)),
                None => Err(Error::new(
                    Code::FS_CORRUPT,
                    format!("'{}' has no number", path.display()),
                )),
            }
        }
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(e) => Err(Error::io("Can't open file", path, &e)),
    }
}

/// Errors of filesystems without a rep-cache.
const HAVE_NONE: [Code; 2] = [
    Code::FS_REP_SHARING_NOT_SUPPORTED,
    Code::FS_REP_SHARING_NOT_ALLOWED,
];

/// Errors of the rep-cache itself.
const NO_DAMAGE: [Code; 4] = [
    Code::CANCELLED,
    Code::SQLITE_ERROR,
    Code::SQLITE_READONLY,
    Code::SQLITE_BUSY,
];

/// Of the export, to write property lists and locks.
const CACHE: u64 = 32 << 20;

/// Revisions that become visible together.
const GROUP: usize = 1000;

const SELECT_CHANGES: &str = "SELECT DISTINCT rev, (SELECT count(*) FROM sven_revprop_change \
     WHERE repository = $1 AND version > $2 AND version <= $3) \
     FROM sven_revprop_change WHERE repository = $1 AND version > $2 AND version <= $3 ORDER BY rev";
