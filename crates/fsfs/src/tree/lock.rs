//! User locks, stored in `db/locks`, or in the storage that several machines share.
//!
//! Each locked path has a digest file, and so has each directory above one. The file of a directory lists the digests
//! of all locked paths anywhere below, so the locks of a subtree are found with one file, and one more for each lock.
//! Readers take no lock between processes: a listed digest whose file is missing belongs to a lock that was just
//! removed.
//!
//! An expired lock counts as absent. It stays on disk until a process that holds the write lock removes it.

use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use base::checksum::Md5;
use base::{Code, Date, Depth, Error, FsPath, Lock, Result};

use crate::format::lock_digest::{LockDigest, file_name};
use crate::store::disk::{Disk, is_missing};
use crate::tree::Fs;

/// The digest files of a filesystem, the same in both back ends.
#[derive(Clone, Copy)]
pub struct LockFiles<'a> {
    disk: &'a dyn Disk,
    db: &'a Path,
}

impl Fs {
    /// The lock on exactly this path; `None` if there is none or it has expired.
    ///
    /// # Errors
    /// `FS_CORRUPT`, `MALFORMED_FILE`, `BAD_DATE`, or the system's number.
    pub fn lock(&self, path: &FsPath) -> Result<Option<Lock>> {
        self.lock_at(path, now())
    }

    /// The lock on exactly this path at the time `now`.
    pub(crate) fn lock_at(&self, path: &FsPath, now: Date) -> Result<Option<Lock>> {
        match self.shared_fs() {
            None => self.lock_files().lock_at(path, now),
            Some(shared) => {
                self.check_may_wait()?;
                Ok(unexpired(shared.heads.lock(path)?, now))
            }
        }
    }

    /// All locks at or below `path` within `depth`, sorted by path.
    ///
    /// # Errors
    /// As [`Fs::lock`].
    pub fn locks(&self, path: &FsPath, depth: Depth) -> Result<Vec<Lock>> {
        let Some(shared) = self.shared_fs() else {
            return self.lock_files().locks(path, depth);
        };
        self.check_may_wait()?;
        let now = now();
        let mut locks = shared.heads.locks(path, depth)?;
        locks.retain(|lock| is_within(&lock.path, path, depth) && is_unexpired(lock, now));
        Ok(locks)
    }

    /// False if no path is locked, found out without a look at each path. Storage that several machines share is not asked if locks
    /// are `likely`: the look at each path then costs the same.
    pub(crate) fn may_have_locks(&self, likely: bool) -> Result<bool> {
        if self.shared_fs().is_some() {
            return Ok(likely || !self.locks(&FsPath::root(), Depth::Infinity)?.is_empty());
        }
        let folder = self.layout().db().join("locks");
        match self.disk().list(&folder) {
            Ok(names) => Ok(!names.is_empty()),
            Err(e) => {
                let error = Error::io("Can't open directory", &folder, &e);
                if is_missing(&error) { Ok(false) } else { Err(error) }
            }
        }
    }

    /// A digest file; `None` if there is none. `path` is for the message only.
    pub(crate) fn lock_digest(&self, digest: &Md5, path: &FsPath) -> Result<Option<LockDigest>> {
        self.lock_files().digest(digest, path)
    }

    fn lock_files(&self) -> LockFiles<'_> {
        LockFiles::new(self.disk(), self.layout().db())
    }
}

impl<'a> LockFiles<'a> {
    /// The digest files below `db`.
    pub fn new(disk: &'a dyn Disk, db: &'a Path) -> Self {
        LockFiles { disk, db }
    }

    /// As [`Fs::lock`].
    ///
    /// # Errors
    fn lock_at(&self, path: &FsPath, now: Date) -> Result<Option<Lock>> {
        let digest = self.digest(&Md5::of(path.as_bytes()), path)?;
        Ok(unexpired(digest.and_then(|digest| digest.lock), now))
    }

    /// As [`Fs::locks`].
    ///
    /// # Errors
    /// As [`Fs::lock`].
    pub fn locks(&self, path: &FsPath, depth: Depth) -> Result<Vec<Lock>> {
        let Some(top) = self.digest(&Md5::of(path.as_bytes()), path)? else {
            return Ok(Vec::new());
        };
        let now = now();
        let mut locks: Vec<Lock> = unexpired(top.lock, now).into_iter().collect();
        if depth != Depth::Empty {
            for child in &top.children {
                let lock = self.digest(child, path)?.and_then(|digest| digest.lock);
                locks.extend(unexpired(lock, now).filter(|lock| is_within(&lock.path, path, depth)));
            }
        }
        locks.sort_by(|a, b| a.path.cmp(&b.path));
        locks.dedup_by(|a, b| a.path == b.path);
        Ok(locks)
    }

    fn digest(&self, digest: &Md5, path: &FsPath) -> Result<Option<LockDigest>> {
        let (folder, name) = file_name(digest);
        let file = self.db.join("locks").join(folder).join(name);
        let bytes = match self.disk.read_small(&file) {
            Ok(bytes) => bytes,
            Err(e) => {
                let error = Error::io("Can't open file", &file, &e);
                return if is_missing(&error) { Ok(None) } else { Err(error) };
            }
        };
        match LockDigest::decode(&bytes) {
            Ok(digest) => Ok(Some(digest)),
            Err(e) if e.code() == Code::MALFORMED_FILE => {
                Err(e.context(format!("Can't parse lock/entries hashfile '{}'", file.display())))
            }
            Err(e) if e.code() == Code::FS_CORRUPT => {
                let message = format!(
                    "Corrupt lockfile for path '{path}' in filesystem '{}'",
                    self.db.display()
                );
                Err(Error::new(Code::FS_CORRUPT, message))
            }
            Err(e) => Err(e),
        }
    }
}

fn unexpired(lock: Option<Lock>, now: Date) -> Option<Lock> {
    lock.filter(|lock| is_unexpired(lock, now))
}

fn is_unexpired(lock: &Lock, now: Date) -> bool {
    lock.expires.is_none_or(|date| date >= now)
}

fn now() -> Date {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Date(i64::try_from(since.as_micros()).unwrap_or(i64::MAX))
}

/// Locks are on files, so children are within both `files` and `immediates`.
fn is_within(lock: &FsPath, path: &FsPath, depth: Depth) -> bool {
    match (lock.rel_str_below(path), depth) {
        (None, _) => false,
        (Some(_), Depth::Infinity | Depth::Unknown) => true,
        (Some(rel), Depth::Files | Depth::Immediates) => !rel.contains('/'),
        (Some(rel), Depth::Empty | Depth::Exclude) => rel.is_empty(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn depth_limits_what_is_within() {
        let path = |p| FsPath::parse(p).expect("canonical");
        for (lock, depth, within) in [
            ("/t", Depth::Empty, true),
            ("/t/a", Depth::Empty, false),
            ("/t/a", Depth::Files, true),
            ("/t/a", Depth::Immediates, true),
            ("/t/a/b", Depth::Immediates, false),
            ("/t/a/b", Depth::Infinity, true),
            ("/tx", Depth::Infinity, false),
        ] {
            assert_eq!(
                is_within(&path(lock), &path("/t"), depth),
                within,
                "{lock} {depth:?}"
            );
        }
    }
}
