//! Creating and removing users' locks.
//!
//! All of it happens under the write lock. A lock is one file for the locked path, and one entry in the file of every directory
//! above it. Locking writes the entries first and the lock's own file last; unlocking works in the opposite order. So a crash
//! leaves at worst an entry without a lock, which counts as none. Files are made durable before they get their names.
//!
//! Where several machines share the filesystem, all locks of a call are made in one step, from a known state. If another machine was
//! faster, all is checked again in the new state.

use std::collections::{BTreeMap, BTreeSet};

use base::checksum::Md5;
use base::{Code, Date, Error, FsPath, Lock, NodeKind, Result, Revnum};

use super::lock_files::LockDigestChanges;
use crate::store::guard::WriteLock;
use crate::store::shared::{Outcome, SharedFs};
use crate::tree::Fs;
use crate::tree::root::Root;
use crate::txn::LockAccess;

/// A path to lock.
#[derive(Clone, Debug)]
pub struct LockTarget {
    /// The file.
    pub path: FsPath,
    /// The token of the new lock; `None` generates one.
    pub token: Option<String>,
    /// The revision of the file that the user has. The lock is refused if a newer version exists.
    pub rev: Option<Revnum>,
}

/// The data that all locks of one call have in common.
#[derive(Clone, Copy, Debug)]
pub struct LockRequest<'a> {
    /// The user who locks.
    pub owner: &'a str,
    /// The user's comment.
    pub comment: Option<&'a str>,
    /// True if the comment is an XML fragment of a WebDAV client.
    pub is_dav_comment: bool,
    /// The time at which the locks expire; `None` is never.
    pub expires: Option<Date>,
    /// True if other users' locks are taken over.
    pub steal: bool,
    /// The current time: the creation time of the locks, and the time by which other locks have expired.
    pub now: Date,
}

impl Fs {
    /// Locks files; each path succeeds or fails by itself. The results are in the order of the targets.
    ///
    /// # Errors
    /// Of the whole call: the system's. Of a path: `FS_NOT_FOUND`, `FS_OUT_OF_DATE`, `FS_NOT_FILE`, `FS_PATH_ALREADY_LOCKED`,
    /// `FS_NO_SUCH_REVISION`.
    pub fn lock_paths(
        &self,
        targets: &[LockTarget],
        request: &LockRequest<'_>,
    ) -> Result<Vec<(FsPath, Result<Lock>)>> {
        let mut held = self.write_lock()?;
        held.read_head(self)?;
        loop {
            let results = self.new_locks(targets, request, &held)?;
            let made = results.iter().filter_map(|(_, result)| result.as_ref().ok());
            let Some(shared) = self.shared_fs() else {
                let mut digests = LockDigestChanges::new(self);
                for lock in made {
                    digests.add(lock)?;
                }
                digests.write(&held)?;
                return Ok(results);
            };
            let made: Vec<Lock> = made.cloned().collect();
            if self.change_shared_locks(shared, &mut held, &made, &[])? {
                drop(held);
                shared.heads.wait_until_seen()?;
                return Ok(results);
            }
        }
    }

    /// Makes the locks those of another filesystem with the same history: those that are not `wanted` are removed, the others are
    /// written as they are. A lock may be of a path that is not in the youngest revision: the path was removed under it.
    ///
    /// # Errors
    /// Those of reading locks; the system's.
    pub fn replace_locks(&self, wanted: &[Lock]) -> Result<()> {
        let mut held = self.write_lock()?;
        held.read_head(self)?;
        loop {
            let there = self.locks(&FsPath::root(), base::Depth::Infinity)?;
            let stays: BTreeSet<&FsPath> = wanted.iter().map(|lock| &lock.path).collect();
            let removed = there.iter().map(|lock| &lock.path);
            let removed: Vec<FsPath> = removed.filter(|path| !stays.contains(path)).cloned().collect();
            let made = wanted.iter().filter(|lock| !there.contains(lock));
            let made: Vec<Lock> = made.cloned().collect();
            let Some(shared) = self.shared_fs() else {
                let mut digests = LockDigestChanges::new(self);
                removed.iter().try_for_each(|path| digests.remove(path))?;
                made.iter().try_for_each(|lock| digests.add(lock))?;
                return digests.write(&held);
            };
            if self.change_shared_locks(shared, &mut held, &made, &removed)? {
                drop(held);
                return shared.heads.wait_until_seen();
            }
        }
    }

    /// Returns the locks that targets get in the state of `held`, in the order of the targets.
    fn new_locks(
        &self,
        targets: &[LockTarget],
        request: &LockRequest<'_>,
        held: &WriteLock,
    ) -> Result<Vec<(FsPath, Result<Lock>)>> {
        let head = self.root(held.youngest())?;
        let mut results: Vec<(FsPath, Result<Lock>)> = Vec::with_capacity(targets.len());
        let mut made: BTreeMap<&FsPath, usize> = BTreeMap::new();
        for target in targets {
            let result = match made.get(&target.path) {
                Some(&before) => results[before].1.clone(),
                None => self.new_lock(target, request, &head, held),
            };
            // What cannot be read is an error of the whole call.
            if let Err(e) = &result
                && e.code().is_os()
            {
                return Err(e.clone());
            }
            made.entry(&target.path).or_insert(results.len());
            results.push((target.path.clone(), result));
        }
        Ok(results)
    }

    /// Changes the locks of a filesystem that several machines share. Returns false if another machine was faster; `held` has the
    /// new state then.
    fn change_shared_locks(
        &self,
        shared: &SharedFs,
        held: &mut WriteLock,
        made: &[Lock],
        removed: &[FsPath],
    ) -> Result<bool> {
        let Some(head) = held.head().filter(|_| !made.is_empty() || !removed.is_empty()) else {
            return Ok(true);
        };
        if shared.heads.change_locks(head, made, removed)? == Outcome::Done {
            return Ok(true);
        }
        held.read_head(self)?;
        Ok(false)
    }

    /// Removes locks; each path succeeds or fails by itself. Without `break_lock`, token and user must be those of the lock.
    ///
    /// # Errors
    /// Of the whole call: the system's. Of a path: `FS_NO_SUCH_LOCK`, `FS_LOCK_OWNER_MISMATCH`, `FS_NO_USER`.
    pub fn unlock_paths(
        &self,
        targets: &[(FsPath, Option<String>)],
        user: Option<&str>,
        break_lock: bool,
    ) -> Result<Vec<(FsPath, Result<()>)>> {
        let mut held = self.write_lock()?;
        held.read_head(self)?;
        loop {
            let mut removed = BTreeSet::new();
            let results = self.removable_locks(targets, user, break_lock, &mut removed)?;
            let Some(shared) = self.shared_fs() else {
                let mut digests = LockDigestChanges::new(self);
                for path in removed {
                    digests.remove(path)?;
                }
                digests.write(&held)?;
                return Ok(results);
            };
            let removed: Vec<FsPath> = removed.into_iter().cloned().collect();
            if self.change_shared_locks(shared, &mut held, &[], &removed)? {
                drop(held);
                shared.heads.wait_until_seen()?;
                return Ok(results);
            }
        }
    }

    /// Returns the result of each target of [`Fs::unlock_paths`], and adds the paths whose locks are removed to `removed`. The caller
    /// holds the write lock.
    fn removable_locks<'t>(
        &self,
        targets: &'t [(FsPath, Option<String>)],
        user: Option<&str>,
        break_lock: bool,
        removed: &mut BTreeSet<&'t FsPath>,
    ) -> Result<Vec<(FsPath, Result<()>)>> {
        let mut results = Vec::with_capacity(targets.len());
        for (path, token) in targets {
            let mut result = Ok(());
            if !removed.contains(path) {
                result = match self.lock(path) {
                    Ok(lock) if break_lock => lock.map(|_| ()).ok_or_else(|| self.no_such_lock(path)),
                    Ok(lock) => self.may_unlock(lock, path, token.as_deref(), user),
                    Err(e) => Err(e),
                };
            }
            let is_gone = matches!(&result, Err(e) if e.code() == Code::FS_NO_SUCH_LOCK)
                && self.has_expired_lock(path)?;
            if result.is_ok() || is_gone {
                removed.insert(path);
            }
            results.push((path.clone(), result));
        }
        Ok(results)
    }

    /// Checks that a user with these tokens may change a path and, with `recursive`, everything below it.
    ///
    /// # Errors
    /// `FS_NO_USER`, `FS_LOCK_OWNER_MISMATCH`, `FS_BAD_LOCK_TOKEN`; what reading locks may say.
    pub(crate) fn check_lock(&self, path: &FsPath, access: &LockAccess, recursive: bool) -> Result<()> {
        if recursive {
            let locks = self.locks(path, base::Depth::Infinity)?;
            locks.iter().try_for_each(|lock| check_access(lock, access))
        } else {
            self.lock(path)?
                .map_or(Ok(()), |lock| check_access(&lock, access))
        }
    }

    /// Returns a new lock token: `opaquelocktoken:` and a UUID.
    pub fn generate_lock_token() -> String {
        format!("opaquelocktoken:{}", crate::store::uuid::new_uuid())
    }

    /// Returns the lock that `target` gets; an error if it cannot be locked.
    fn new_lock(
        &self,
        target: &LockTarget,
        request: &LockRequest<'_>,
        head: &Root,
        held: &WriteLock,
    ) -> Result<Lock> {
        let path = &target.path;
        match head.kind(path)? {
            NodeKind::File => {}
            NodeKind::Dir => {
                let message = format!("'{path}' is not a file in filesystem '{}'", self.uuid());
                return Err(Error::new(Code::FS_NOT_FILE, message));
            }
            _ => {
                let code = match target.rev {
                    Some(_) => Code::FS_OUT_OF_DATE,
                    None => Code::FS_NOT_FOUND,
                };
                let message = format!("Path '{path}' doesn't exist in HEAD revision");
                return Err(Error::new(code, message));
            }
        }
        if let Some(rev) = target.rev {
            if rev > held.youngest() {
                let message = format!("No such revision {rev}");
                return Err(Error::new(Code::FS_NO_SUCH_REVISION, message));
            }
            if head
                .node(path)?
                .created_rev()
                .is_some_and(|created| rev < created)
            {
                let message = format!("Lock failed: newer version of '{path}' exists");
                return Err(Error::new(Code::FS_OUT_OF_DATE, message));
            }
        }
        if let Some(lock) = self.lock_at(path, request.now)?
            && !request.steal
        {
            let message = format!(
                "Path '{path}' is already locked by user '{}' in filesystem '{}'",
                lock.owner,
                self.uuid()
            );
            return Err(Error::new(Code::FS_PATH_ALREADY_LOCKED, message));
        }
        Ok(Lock {
            path: path.clone(),
            token: target.token.clone().unwrap_or_else(Self::generate_lock_token),
            owner: request.owner.to_owned(),
            comment: request.comment.map(str::to_owned),
            is_dav_comment: request.is_dav_comment,
            created: request.now,
            expires: request.expires,
        })
    }

    fn may_unlock(
        &self,
        lock: Option<Lock>,
        path: &FsPath,
        token: Option<&str>,
        user: Option<&str>,
    ) -> Result<()> {
        let lock = lock.filter(|lock| Some(&*lock.token) == token);
        let lock = lock.ok_or_else(|| self.no_such_lock(path))?;
        let Some(user) = user.filter(|user| !user.is_empty()) else {
            let message = format!(
                "No username is currently associated with filesystem '{}'",
                self.uuid()
            );
            return Err(Error::new(Code::FS_NO_USER, message));
        };
        if user == lock.owner {
            return Ok(());
        }
        let message = format!(
            "User '{user}' is trying to use a lock owned by '{}' in filesystem '{}'",
            lock.owner,
            self.uuid()
        );
        Err(Error::new(Code::FS_LOCK_OWNER_MISMATCH, message))
    }

    /// True if there is a lock that has expired. It may be removed, as the write lock is held.
    fn has_expired_lock(&self, path: &FsPath) -> Result<bool> {
        let has_lock = match self.shared_fs() {
            Some(shared) => shared.heads.lock(path)?.is_some(),
            None => {
                let digest = self.lock_digest(&Md5::of(path.as_str().as_bytes()), path)?;
                digest.is_some_and(|digest| digest.lock.is_some())
            }
        };
        Ok(has_lock && self.lock(path)?.is_none())
    }

    fn no_such_lock(&self, path: &FsPath) -> Error {
        let message = format!("No lock on path '{path}' in filesystem '{}'", self.uuid());
        Error::new(Code::FS_NO_SUCH_LOCK, message)
    }
}

/// Checks that a user with these tokens may change what `lock` locks.
fn check_access(lock: &Lock, access: &LockAccess) -> Result<()> {
    let path = &lock.path;
    let Some(user) = access.user.as_deref().filter(|user| !user.is_empty()) else {
        let message = format!("Cannot verify lock on path '{path}'; no username available");
        return Err(Error::new(Code::FS_NO_USER, message));
    };
    if user != lock.owner {
        let message = format!(
            "User '{user}' does not own lock on path '{path}' (currently locked by '{}')",
            lock.owner
        );
        return Err(Error::new(Code::FS_LOCK_OWNER_MISMATCH, message));
    }
    if access.tokens.contains(&lock.token) {
        return Ok(());
    }
    let message = format!("Cannot verify lock on path '{path}'; no matching lock-token available");
    Err(Error::new(Code::FS_BAD_LOCK_TOKEN, message))
}
