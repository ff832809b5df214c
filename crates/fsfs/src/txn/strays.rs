//! Revision files beyond the youngest revision.
//!
//! A crash leaves some: a commit that did not come to its end, or a group. But where `current` was lost, or came back from a
//! backup, they are revisions that were acknowledged. Nothing here deletes either kind. A file that is a whole revision with its
//! properties makes the commit fail, until `recover` or the administrator decides. Any other file is renamed to a name in `db/`
//! that no program reads, see [`STRAY_PREFIX`].
//!
//! What tells a whole revision of an unfinished commit from one that was acknowledged is a marker: an empty file
//! `svn-after-N` in the directory of the revision file, where N is the youngest revision at that time. It is there before the
//! revision has its name, the same flush makes both names durable, and it is removed once `current` names the revision.

use std::io;
use std::path::{Path, PathBuf};

use base::{Code, Error, Result, Revnum};

use crate::store::disk::{Create, Disk, is_missing};
use crate::store::guard::WriteLock;
use crate::tree::Fs;

/// How the names of files begin that were renamed because they were in the way.
pub(crate) const STRAY_PREFIX: &str = "svn-stray-";

/// Renames what lies in the way of the next revisions. Returns the new names.
///
/// # Errors
/// `FS_CORRUPT` if a whole revision lies there, or a pack; nothing is renamed then. The system's.
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
        // The one after the next is looked at even over a gap: it would follow what is committed now.
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
        // The properties first: a revision file without them is no whole revision, if this is not finished.
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

/// Removes what the rep-cache says of revisions that do not exist. Others will have their numbers.
fn delete_rep_cache_rows(fs: &Fs, youngest: Revnum) -> Result<()> {
    match fs.format().has_rep_sharing() {
        true => fs.with_rep_cache(false, |rows| {
            rows.map_or(Ok(()), |rows| rows.delete_younger(youngest))
        }),
        false => Ok(()),
    }
}

/// Refuses to commit where a pack holds the revisions that come next.
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

/// True if a revision can be read to its end, and has properties.
fn is_complete_revision(view: &Fs, rev: Revnum) -> bool {
    view.root_noderev(rev).is_ok() && view.revprops(rev).is_ok()
}

/// Notes that the revisions after `youngest` up to `last`, whose files will be in the directory of `path`, do not exist yet.
/// The note of a single revision is empty, so that it need not be flushed.
///
/// # Errors
/// The system's.
pub(crate) fn write_marker(fs: &Fs, youngest: Revnum, last: Revnum, path: &Path) -> Result<()> {
    let marker_path = marker_path(path, youngest);
    let mut file = match fs.disk().write(&marker_path, Create::Replace) {
        // Another user's, left by a commit that failed. What it was about has been moved away.
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

/// Removes the note of [`mark`]. One that stays does no harm.
pub(crate) fn remove_marker(fs: &Fs, youngest: Revnum, path: &Path) {
    _ = fs.disk().remove_file(&marker_path(path, youngest));
}

/// True if the file of a revision was left by a commit that did not come to its end.
fn is_unfinished(fs: &Fs, youngest: Revnum, rev: Revnum) -> Result<bool> {
    let marker_path = marker_path(&fs.layout().rev(rev), youngest);
    match fs.disk().read_small(&marker_path) {
        Ok(text) => {
            let last = Revnum::parse(text.trim_ascii_end()).unwrap_or(youngest.next());
            Ok(rev <= last)
        }
        // Another user's, who lets no one read it. It is about the next revision at least.
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
            // `db/` may be made of several filesystems.
            Err(e) if e.kind() == io::ErrorKind::CrossesDevices => {
                let copied = disk.copy(path, &target).and_then(|()| disk.sync_all(db));
                copied.map_err(|e| failed("Can't copy file", path, e))?;
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

/// Names that are tried.
const ATTEMPTS: u32 = 100_000;

/// True if there is a file, false if there is nothing or a directory.
fn is_file(disk: &dyn Disk, path: &Path) -> Result<bool> {
    match disk.metadata(path).map_err(|e| Error::io("Can't stat", path, &e)) {
        Ok(meta) => Ok(!meta.is_dir),
        Err(e) if is_missing(&e) => Ok(false),
        Err(e) => Err(e),
    }
}
