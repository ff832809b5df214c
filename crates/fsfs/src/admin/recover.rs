//! Making `current` agree with the existing revisions: `svnadmin recover`.
//!
//! Nothing is repaired or truncated: this finds the youngest revision and writes `current` again. In formats 1 and 2 that file
//! also has the next IDs, which are found by reading every directory. The instance ID changes, so that no running process uses
//! its cache for this filesystem.

use std::io;
use std::path::Path;
use std::sync::Arc;

use base::{Cancel, Code, Error, FsPath, NodeKind, Result, ResultExt as _, Revnum};

use crate::format::short_line::{CORRUPT_CURRENT, NextIds, leading_revision};
use crate::store::cache::Cache;
use crate::store::disk::{Disk, RealDisk, is_forbidden, is_missing, read_replaced, write_atomic};
use crate::store::rep_cache::RepCache;
use crate::tree::Fs;
use crate::tree::node::Node;
use crate::txn::strays;

/// Finds the youngest revision of the filesystem in `db`, writes `current` again, and returns the revision. `current` may be
/// damaged or missing.
///
/// # Errors
/// `FS_CORRUPT` if `current` names a revision that does not exist, or if the youngest has no properties; those of reading; the
/// system's.
pub fn run(db: &Path, cancel: &Cancel) -> Result<Revnum> {
    run_on(db, Arc::new(RealDisk), cancel)
}

/// Recovers a filesystem on another disk than the machine's.
///
/// # Errors
/// As [`run`].
pub fn run_on(db: &Path, disk: Arc<dyn Disk>, cancel: &Cancel) -> Result<Revnum> {
    let fs = open(db, disk, cancel)?;
    let locks = fs.all_locks()?;
    fs.write_uuid(&fs.uuid(), fs.format(), locks.write())?;
    let named = locks.write().youngest();
    let youngest = find_youngest(&fs, named, cancel)?;
    if named > youngest {
        let message = format!("Expected current rev to be <= {youngest} but found {named}");
        return Err(Error::new(Code::FS_CORRUPT, message));
    }
    let text = match fs.format().has_ids_in_current() {
        true => next_ids(&fs, youngest, cancel)?.current(youngest),
        false => format!("{youngest}\n"),
    };
    check_revprops(&fs, youngest)?;
    // Rows of revisions that do not exist would make commits fail.
    if let Some(mut rep_cache) = RepCache::open(&fs.layout().file("rep-cache.db"))? {
        rep_cache.delete_younger(youngest)?;
    }
    let path = fs.layout().file("current");
    write_atomic(fs.disk(), &path, text.as_bytes(), &path)?;
    if fs.format().is_fsx() {
        restart_counters(&fs)?;
    }
    // An unfinished commit is finished by that.
    strays::remove_marker(&fs, named, &fs.layout().rev(named.next()));
    // Leftovers of crashes are harmless.
    _ = fs.remove_unnamed_txns();
    _ = fs.remove_group_leftovers();
    Ok(youngest)
}

/// Removes all transactions of FSX, and restarts their numbers and the number of changes of revision properties, as the incumbent
/// does: the new instance ID makes the numbers that other processes know invalid.
fn restart_counters(fs: &Fs) -> Result<()> {
    for txn in fs.list_txns()? {
        fs.purge_txn(&txn)?;
    }
    for name in ["txn-current", "revprop-generation"] {
        let path = fs.layout().file(name);
        write_atomic(fs.disk(), &path, b"0\n", &fs.layout().file("current"))?;
    }
    Ok(())
}

/// Opens the filesystem, also if `current` is damaged.
fn open(db: &Path, disk: Arc<dyn Disk>, cancel: &Cancel) -> Result<Fs> {
    let cache = Cache::new(CACHE);
    let error = match Fs::open_on(db, &cache, disk.clone()) {
        Ok(fs) => return Ok(fs),
        Err(e) => e,
    };
    let path = db.join("current");
    let is_damaged = match read_replaced(&*disk, &path) {
        Ok(text) => leading_revision(&text).is_err() || error.message() == CORRUPT_CURRENT,
        // An unreadable file can be replaced nevertheless.
        Err(e) => is_missing(&e) || is_forbidden(&e),
    };
    if !is_damaged {
        return Err(error);
    }
    // The youngest revision is right; the IDs of formats 1 and 2 follow under the locks. A lower number would be wrong: a commit
    // that waits for the write lock would use it.
    let fs = Fs::open_without_current(db, &cache, disk)?;
    let text = format!("{} 1 1\n", search_youngest(&fs, cancel)?);
    write_atomic(fs.disk(), &path, text.as_bytes(), &fs.layout().file("uuid"))?;
    Ok(fs)
}

/// Returns the youngest revision. Those after `named`, the one in `current`, are looked at one by one up to the first that is missing or
/// incomplete: a copy that was killed may have left later ones. If `named` has no file, the result is an older revision.
fn find_youngest(fs: &Fs, named: Revnum, cancel: &Cancel) -> Result<Revnum> {
    fs.refresh_min_unpacked_rev()?;
    if named > Revnum::ZERO && !has_file(fs, named.0, cancel)? {
        return Ok(search_youngest(fs, cancel)?.min(Revnum(named.0 - 1)));
    }
    let mut youngest = named;
    while has_file(fs, youngest.0 + 1, cancel)? && has_root(fs, youngest.next()) {
        youngest = youngest.next();
    }
    Ok(youngest)
}

/// True if the root directory of a revision can be read, whose place is at the end of the file.
fn has_root(fs: &Fs, rev: Revnum) -> bool {
    fs.group_view(rev).root_noderev(rev).is_ok()
}

/// Searches for the youngest revision that has a file. There must be no gaps.
fn search_youngest(fs: &Fs, cancel: &Cancel) -> Result<Revnum> {
    fs.refresh_min_unpacked_rev()?;
    let mut above = 1u64;
    while above < Revnum::MAX.0 && has_file(fs, above, cancel)? {
        above = above.saturating_mul(2).min(Revnum::MAX.0);
    }
    // Revision 0 always exists.
    let mut below = above / 2;
    while below + 1 < above {
        let middle = below + (above - below) / 2;
        if has_file(fs, middle, cancel)? {
            below = middle;
        } else {
            above = middle;
        }
    }
    Ok(Revnum(below))
}

fn has_file(fs: &Fs, rev: u64, cancel: &Cancel) -> Result<bool> {
    cancel.check()?;
    let path = match fs.layout().shard(Revnum(rev)) {
        Some(shard) if Revnum(rev) < fs.min_unpacked_rev() => fs.layout().pack(shard),
        _ => fs.layout().rev(Revnum(rev)),
    };
    let meta = fs.disk().metadata(&path);
    match meta.map_err(|e| Error::io("Can't stat", &path, &e)) {
        Ok(meta) if meta.is_dir => Ok(false),
        // A file that cannot be opened is an error, not a revision.
        Ok(_) => match fs.disk().open(&path) {
            Ok(_) => Ok(true),
            Err(e) => Err(Error::io("Can't open file", &path, &e)),
        },
        Err(e) if is_missing(&e) => Ok(false),
        Err(e) => Err(e),
    }
}

/// Checks that the youngest revision has properties: a revision file without them was left by a crash.
fn check_revprops(fs: &Fs, youngest: Revnum) -> Result<()> {
    fs.assume_youngest(youngest);
    let path = fs.layout().revprops(youngest);
    match fs.disk().metadata(&path) {
        Ok(meta) if meta.is_dir => {
            let message = format!("Revision {youngest} has a non-file where its revprops file should be");
            return Err(Error::new(Code::FS_CORRUPT, message));
        }
        Err(e) if e.kind() == io::ErrorKind::PermissionDenied => {
            return Err(Error::io("Can't check path", &path, &e));
        }
        _ => {}
    }
    match fs.revprops(youngest) {
        Err(e) if is_missing(&e) || e.code() == Code::FS_NO_SUCH_REVISION => {
            let message = format!("Revision {youngest} has a revs file but no revprops file");
            Err(Error::new(Code::FS_CORRUPT, message))
        }
        // Damaged properties can be replaced once the filesystem can be opened.
        _ => Ok(()),
    }
}

/// Finds the next node ID and the next copy ID (formats 1 and 2).
fn next_ids(fs: &Fs, youngest: Revnum, cancel: &Cancel) -> Result<NextIds> {
    let mut highest = NextIds { node: 0, copy: 0 };
    fs.assume_youngest(youngest);
    for rev in 0..=youngest.0 {
        cancel.check()?;
        let root = fs.root(Revnum(rev))?.node(&FsPath::root());
        let root = root.context(|| format!("Can't read the root of revision {rev}"))?;
        visit_directories(root, Revnum(rev), &mut highest)?;
    }
    Ok(NextIds {
        node: highest.node + 1,
        copy: highest.copy + 1,
    })
}

/// Visits the directories that a revision made, and notes the highest IDs.
fn visit_directories(top: Node, rev: Revnum, highest: &mut NextIds) -> Result<()> {
    let mut directories = vec![top];
    while let Some(directory) = directories.pop() {
        for entry in directory.entries()?.iter() {
            let id = entry.id()?;
            highest.node = highest.node.max(id.node.number());
            highest.copy = highest.copy.max(id.copy.number());
            if entry.kind == NodeKind::Dir && id.rev() == Some(rev) {
                directories.push(directory.child_of(entry)?);
            }
        }
    }
    Ok(())
}

/// Cache budget, bytes: enough for the directories of one revision.
const CACHE: u64 = 16 << 20;
