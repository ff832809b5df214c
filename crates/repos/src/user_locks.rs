//! Locking and unlocking paths for users, with hooks.

use base::{Code, Date, Error, FsPath, Lock, Result, Revnum};

use crate::hooks::Hooks;
use crate::repo::Repository;

/// One path to lock.
#[derive(Clone, Debug)]
pub struct LockTarget {
    /// The file.
    pub path: FsPath,
    /// The token to use (`svnadmin lock`); one is made otherwise. What `pre-lock` prints goes before it.
    pub token: Option<String>,
    /// The revision that the client has; a younger change in HEAD refuses the lock.
    pub rev: Option<Revnum>,
}

/// What all paths of a request have in common.
#[derive(Clone, Copy, Debug)]
pub struct LockRequest<'a> {
    /// Who locks.
    pub user: Option<&'a str>,
    /// What they say to it.
    pub comment: Option<&'a str>,
    /// The comment is a WebDAV client's XML fragment.
    pub is_dav_comment: bool,
    /// When the locks end.
    pub expires: Option<Date>,
    /// Take the lock from another user.
    pub steal: bool,
}

/// What became of each path, in the order of the request.
#[derive(Debug)]
pub struct LockOutcome<T> {
    /// Path by path.
    pub each: Vec<(FsPath, Result<T>)>,
    /// What the hook after it all said: the locks stay.
    pub post_hook_error: Option<Error>,
}

impl Repository {
    /// Locks paths. Without `hooks` none is run.
    ///
    /// # Errors
    /// `FS_NO_USER`; the system's.
    pub fn lock_many(
        &self,
        targets: &[LockTarget],
        request: &LockRequest<'_>,
        hooks: Option<&Hooks>,
        now: Date,
    ) -> Result<LockOutcome<Lock>> {
        let _ = (targets, request, hooks, now);
        Err(Error::new(Code::UNSUPPORTED_FEATURE, "being written"))
    }

    /// Unlocks paths, each with its token. Without `hooks` none is run.
    ///
    /// # Errors
    /// `FS_NO_USER`; the system's.
    pub fn unlock_many(
        &self,
        targets: &[(FsPath, Option<String>)],
        user: Option<&str>,
        break_lock: bool,
        hooks: Option<&Hooks>,
    ) -> Result<LockOutcome<()>> {
        let _ = (targets, user, break_lock, hooks);
        Err(Error::new(Code::UNSUPPORTED_FEATURE, "being written"))
    }
}
