//! Making and breaking user locks: SKELETON (agreed signatures; the bodies are being written).

use base::{Code, Date, Error, FsPath, Lock, Result, Revnum};

use crate::fs::Fs;
use crate::txn::LockAccess;

/// A path that is to be locked.
#[derive(Clone, Debug)]
pub struct LockTarget {
    /// The file.
    pub path: FsPath,
    /// The token that it is to have; `None` makes one.
    pub token: Option<String>,
    /// The revision of the file that the user has, to be refused if a newer one exists.
    pub rev: Option<Revnum>,
}

/// What all locks of one call have in common.
#[derive(Clone, Copy, Debug)]
pub struct LockRequest<'a> {
    /// Who locks.
    pub owner: &'a str,
    /// What they say about it.
    pub comment: Option<&'a str>,
    /// True if the comment is an XML fragment of a WebDAV client.
    pub is_dav_comment: bool,
    /// When the locks end; `None` is never.
    pub expires: Option<Date>,
    /// Locks of others are taken over.
    pub steal: bool,
    /// The time that goes into the locks, and by which others' have expired.
    pub now: Date,
}

impl Fs {
    /// Locks files; each succeeds or fails alone. The results are sorted by path, duplicates dropped.
    ///
    /// # Errors
    /// Of the whole call: the system's. Of a path: `FS_NOT_FOUND`, `FS_OUT_OF_DATE`, `FS_NOT_FILE`, `FS_PATH_ALREADY_LOCKED`,
    /// `FS_NO_SUCH_REVISION`, `FS_NO_USER`.
    pub fn lock_paths(
        &self,
        targets: &[LockTarget],
        request: &LockRequest<'_>,
    ) -> Result<Vec<(FsPath, Result<Lock>)>> {
        let _ = (targets, request);
        Err(Error::new(Code::UNSUPPORTED_FEATURE, "being written"))
    }

    /// Takes locks away; each path succeeds or fails alone. Without `break_lock` the token and the user must be the lock's.
    ///
    /// # Errors
    /// Of the whole call: the system's. Of a path: `FS_NO_SUCH_LOCK`, `FS_LOCK_OWNER_MISMATCH`, `FS_NO_USER`.
    pub fn unlock_paths(
        &self,
        targets: &[(FsPath, Option<String>)],
        user: Option<&str>,
        break_lock: bool,
    ) -> Result<Vec<(FsPath, Result<()>)>> {
        let _ = (targets, user, break_lock);
        Err(Error::new(Code::UNSUPPORTED_FEATURE, "being written"))
    }

    /// May this path be changed by who presents `access`; with `recursive`, and everything below it?
    ///
    /// # Errors
    /// `FS_NO_USER`, `FS_LOCK_OWNER_MISMATCH`, `FS_BAD_LOCK_TOKEN`; what reading locks may say.
    pub(crate) fn check_lock(&self, path: &FsPath, access: &LockAccess, recursive: bool) -> Result<()> {
        let _ = (path, access, recursive);
        Err(Error::new(Code::UNSUPPORTED_FEATURE, "being written"))
    }

    /// A new lock token: `opaquelocktoken:` and a UUID.
    pub fn generate_lock_token() -> String {
        String::new()
    }
}
