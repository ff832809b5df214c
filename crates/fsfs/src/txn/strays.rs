//! Revision files beyond the youngest revision.
//!
//! A crash leaves strays: of a commit that did not finish, or of a group. But if `current` was lost, or restored from a backup,
//! they are revisions that were acknowledged. Nothing here deletes either kind. A stray that is a complete revision with its
//! properties makes the commit fail, until `recover` or the administrator decides. Any other stray is renamed to a name in `db/`
//! that no program reads, see [`STRAY_PREFIX`]. Only a conversion removes these, from the repository that it makes.
//!
//! A marker distinguishes a complete revision of an unfinished commit from one that was acknowledged: a file `svn-after-N` in the
//! directory of the revision file, where N is the youngest revision at that time. It exists before the revision file has its
//! name, the same flush makes both names durable, and it is removed once `current` names the revision.

use std::io;
use std::path::{Path, PathBuf};

use base::{Code, Error, Result, Revnum};

use crate::store::disk::{Create, Disk, Volumes, is_missing};
use crate::store::guard::WriteLock;
use crate::tree::Fs;

/// The prefix of the names of renamed strays.
pub(crate) const STRAY_PREFIX: &str = "svn-stray-";

/// Renames the strays where the next revisions go. Returns the new names.
///
/// # Errors
/// `FS_CORRUPT` if a complete revision or a pack is there; nothing is renamed then. The system's.
pub(crate) fn set_all_aside(fs: &Fs, lock: &WriteLock) -> Result<Vec<PathBuf>> {
    let youngest = lock.youngest();
    check_packs(fs, lock)?;
    let mut strays = Vec::new();
    let mut rev = youngest.next();
    loop {
        let is_there = is_file(fs.disk(), &fs.layout().rev(rev))?;
        if is_there {
            strays.push(rev);
        }
        // The second revision is checked even if the first is missing: it would follow the one that is committed now.
        if !is_there && rev != youngest.next() {
            break;
        }
        rev = rev.next();
    }
    let Some(&last) = strays.last() else {
        if fs.take_replaced() {
            delete_rep_cache_rows(fs, youngest)?;
        }
        return Ok(Vec::new());
    };
    let view = fs.group_view(last);
    for &rev in &strays {
        if !is_unfinished(fs, youngest, rev)? && is_complete_revision(&view, rev) {
            return Err(refusal(fs, youngest, rev));
        }
    }
    delete_rep_cache_rows(fs, youngest)?;
    let mut renamed = Vec::new();
    for rev in strays {
        let (file, list) = (fs.layout().rev(rev), fs.layout().revprops(rev));
        // The properties first: if this is interrupted, a revision file without properties is no complete revision.
        if is_file(fs.disk(), &list)? {
            renamed.push(set_aside(
                fs.disk(),
                fs.path(),
                &list,
                &format!("revprops-r{rev}"),
            )?);
        }
        renamed.push(set_aside(fs.disk(), fs.path(), &file, &format!("r{rev}"))?);
    }
    Ok(renamed)
}

impl Fs {
    /// Removes the strays that were renamed, from a filesystem that is still being made from another one: all revisions are in
    /// that one.
    ///
    /// # Errors
    /// The system's.
    pub fn remove_set_aside(&self) -> Result<()> {
        self.files_beginning_with(STRAY_PREFIX)?
            .iter()
            .try_for_each(|path| {
                let removed = self.disk().remove_file(path);
                removed.map_err(|e| Error::io("Can't remove file", path, &e))
            })
    }

    /// Returns the files in `db/` whose names begin with a prefix of temporary files.
    pub(super) fn files_beginning_with(&self, prefix: &str) -> Result<Vec<PathBuf>> {
        let db = self.path();
        let names = self
            .disk()
            .list(db)
            .map_err(|e| Error::io("Can't open directory", db, &e))?;
        let names = names
            .into_iter()
            .filter(|name| name.to_str().is_some_and(|name| name.starts_with(prefix)));
        Ok(names.map(|name| db.join(name)).collect())
    }
}

/// Removes rep-cache rows of revisions that do not exist: other revisions will have their numbers.
fn delete_rep_cache_rows(fs: &Fs, youngest: Revnum) -> Result<()> {
    match fs.format().has_rep_sharing() {
        true => fs.with_rep_cache(false, |rows| {
            rows.map_or(Ok(()), |rows| rows.delete_younger(youngest))
        }),
        false => Ok(()),
    }
}

/// Checks that no pack holds the next revisions.
fn check_packs(fs: &Fs, lock: &WriteLock) -> Result<()> {
    let (youngest, next) = (lock.youngest(), lock.youngest().next());
    if next < lock.min_unpacked_rev() {
        return Err(refusal(fs, youngest, Revnum(lock.min_unpacked_rev().0 - 1)));
    }
    let Some(shard) = fs.layout().shard(next) else {
        return Ok(());
    };
    if !next.0.is_multiple_of(fs.format().shard_size) || !is_file(fs.disk(), &fs.layout().pack(shard))? {
        return Ok(());
    }
    Err(refusal(fs, youngest, next))
}

fn refusal(fs: &Fs, youngest: Revnum, rev: Revnum) -> Error {
    let db = fs.path();
    let repository = db.parent().unwrap_or(db);
    Error::new(
        Code::FS_CORRUPT,
        format!(
            "Revision {rev} exists in '{}', but 'current' says that {youngest} is the youngest revision; nothing is \
             committed over it. If 'current' was lost or restored from a backup, run 'svnadmin recover {}'; if the revision \
             is not wanted, move its file away",
            db.display(),
            repository.display()
        ),
    )
}

/// True if a revision has a readable root and readable properties.
fn is_complete_revision(view: &Fs, rev: Revnum) -> bool {
    view.root_noderev(rev).is_ok() && view.revprops(rev).is_ok()
}

/// Writes the marker: the revisions after `youngest` up to `last`, whose files will be in the directory of `path`, do not exist
/// yet. The marker of a single revision is empty, so that it need not be flushed.
///
/// # Errors
/// The system's.
pub(crate) fn write_marker(fs: &Fs, youngest: Revnum, last: Revnum, path: &Path) -> Result<()> {
    let marker_path = marker_path(path, youngest);
    let mut file = match fs.disk().write(&marker_path, Create::Replace) {
        // Left by a failed commit of another user. The files that it was about have been renamed.
        Err(e) if e.kind() == io::ErrorKind::PermissionDenied => {
            _ = fs.disk().remove_file(&marker_path);
            fs.disk().write(&marker_path, Create::Replace)
        }
        made => made,
    }
    .map_err(|e| Error::io("Can't create file", &marker_path, &e))?;
    if last == youngest.next() {
        return Ok(());
    }
    let text = format!("{last}\n");
    file.append(text.as_bytes())
        .and_then(|()| file.sync())
        .map_err(|e| Error::io("Can't write to file", &marker_path, &e))
}

/// Makes sure that the first revision of a group does not exist. A marker is created and removed again: that changes the directory,
/// so that a network file system looks the names in it up again.
///
/// # Errors
/// `FS_TXN_OUT_OF_DATE` if the revision exists; the system's.
pub(crate) fn check_free(fs: &Fs, youngest: Revnum) -> Result<()> {
    let rev = youngest.next();
    let path = fs.layout().rev(rev);
    write_marker(fs, youngest, rev, &path)?;
    let is_there = is_file(fs.disk(), &path);
    // One that stayed would pass a later revision of another program for unfinished.
    remove_marker(fs, youngest, &path);
    match is_there? {
        true => Err(out_of_date(youngest, rev)),
        false => Ok(()),
    }
}

/// The error of a commit whose number another machine has taken: a network file system has shown an old `current`.
pub(crate) fn out_of_date(youngest: Revnum, rev: Revnum) -> Error {
    Error::new(
        Code::FS_TXN_OUT_OF_DATE,
        format!("Transaction out of date: revision {rev} exists, but 'current' still named {youngest}"),
    )
}

/// Removes the marker. One that stays is harmless.
pub(crate) fn remove_marker(fs: &Fs, youngest: Revnum, path: &Path) {
    _ = fs.disk().remove_file(&marker_path(path, youngest));
}

/// True if a revision file belongs to a commit that did not finish.
fn is_unfinished(fs: &Fs, youngest: Revnum, rev: Revnum) -> Result<bool> {
    let marker_path = marker_path(&fs.layout().rev(rev), youngest);
    match fs.disk().read_small(&marker_path) {
        Ok(text) => {
            let last = Revnum::parse(text.trim_ascii_end()).unwrap_or(youngest.next());
            Ok(rev <= last)
        }
        // The marker of another user, unreadable. It covers the next revision at least.
        Err(e) if e.kind() == io::ErrorKind::PermissionDenied => Ok(rev == youngest.next()),
        Err(e) => match Error::io("Can't open file", &marker_path, &e) {
            e if is_missing(&e) => Ok(false),
            e => Err(e),
        },
    }
}

fn marker_path(path: &Path, youngest: Revnum) -> PathBuf {
    path.with_file_name(format!("svn-after-{youngest}"))
}

/// Renames a file or directory to a name in `db` that no program reads, durably. Returns that name.
///
/// # Errors
/// The system's.
pub(crate) fn set_aside(disk: &dyn Disk, db: &Path, path: &Path, name: &str) -> Result<PathBuf> {
    let failed = |what, path: &Path, e| Error::io(what, path, &e);
    for number in 0..ATTEMPTS {
        let target = db.join(format!("{STRAY_PREFIX}{name}-{number}"));
        match disk
            .metadata(&target)
            .map_err(|e| failed("Can't stat", &target, e))
        {
            Ok(_) => continue,
            Err(e) if is_missing(&e) => {}
            Err(e) => return Err(e),
        }
        match disk.rename(path, &target) {
            // `db/` may consist of several file systems.
            Err(e) if e.kind() == io::ErrorKind::CrossesDevices => {
                let volumes = Volumes::open(disk, db)?;
                disk.copy(path, &target)
                    .map_err(|e| failed("Can't copy file", path, e))?;
                volumes.sync()?;
                disk.remove_file(path)
                    .map_err(|e| failed("Can't remove file", path, e))?;
            }
            renamed => renamed.map_err(|e| failed("Can't move a file to", &target, e))?,
        }
        disk.sync_dir(db)
            .map_err(|e| failed("Can't flush directory", db, e))?;
        return Ok(target);
    }
    let e = io::Error::from(io::ErrorKind::AlreadyExists);
    Err(failed("Can't move away", path, e))
}

/// Number of names that are tried.
const ATTEMPTS: u32 = 100_000;

/// True for a file, false for a directory or if nothing is there.
fn is_file(disk: &dyn Disk, path: &Path) -> Result<bool> {
    match disk.metadata(path).map_err(|e| Error::io("Can't stat", path, &e)) {
        Ok(meta) => Ok(!meta.is_dir),
        Err(e) if is_missing(&e) => Ok(false),
        Err(e) => Err(e),
    }
}
