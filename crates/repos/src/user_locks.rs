//! Locks and unlocks paths for users, with hooks.
//!
//! A request names many paths, and each succeeds or fails alone: refused by `pre-lock`, for a malformed token, or by
//! the storage engine. Each path is handled once, in the order of paths, however often a request names it. The hooks
//! after it run once for all that succeeded.

use std::collections::{BTreeMap, BTreeSet};

use base::{Code, Date, Error, FsPath, Lock, Result};

use crate::hooks::Hooks;
use crate::repo::Repository;

pub use fsfs::LockTarget;

/// The parameters that all paths of a request share.
#[derive(Clone, Copy, Debug)]
pub struct LockRequest<'a> {
    /// The user who locks.
    pub user: Option<&'a str>,
    /// The user's comment.
    pub comment: Option<&'a str>,
    /// The comment is a WebDAV client's XML fragment.
    pub is_dav_comment: bool,
    /// The time at which the locks expire.
    pub expires: Option<Date>,
    /// Take the lock from another user.
    pub steal: bool,
}

/// The result of a request.
#[derive(Debug)]
pub struct LockOutcome<T> {
    /// The results of the paths, in the order of the request.
    pub each: Vec<(FsPath, Result<T>)>,
    /// The error of the post hook: what is done stays done.
    pub post_hook_error: Option<Error>,
}

impl Repository {
    /// Locks paths. Without `hooks` none is run.
    ///
    /// # Errors
    /// `FS_NO_USER`, `XML_UNESCAPABLE_DATA` for the comment; the system's.
    pub fn lock_many(
        &self,
        targets: &[LockTarget],
        request: &LockRequest<'_>,
        hooks: Option<&Hooks>,
        now: Date,
    ) -> Result<LockOutcome<Lock>> {
        let Some(owner) = request.user else {
            return Err(no_user("Cannot lock path, no authenticated username available."));
        };
        let comment = request.comment.map(until_nul);
        let mut each = Outcomes::default();
        let mut allowed = Vec::new();
        let unique: BTreeMap<&FsPath, &LockTarget> = targets.iter().map(|t| (&t.path, t)).collect();
        for (path, target) in unique {
            match prepare(target, owner, comment, request.steal, hooks) {
                Ok(target) => allowed.push(target),
                Err(e) => each.insert(path.clone(), Err(e)),
            }
        }
        if comment.is_some_and(|text| !is_xml_safe(text)) {
            return Err(Error::new(
                Code::XML_UNESCAPABLE_DATA,
                "Lock comment contains illegal characters",
            ));
        }
        if !allowed.is_empty() {
            let request = fsfs::LockRequest {
                owner,
                comment,
                is_dav_comment: request.is_dav_comment,
                expires: request.expires,
                steal: request.steal,
                now,
            };
            each.extend(self.fs().lock_paths(&allowed, &request)?);
        }
        let post_hook_error = each.done().and_then(|done| {
            let e = hooks?.post_lock(&done, owner).err()?;
            Some(e.wrap(
                Code::REPOS_POST_LOCK_HOOK_FAILED,
                "Locking succeeded, but post-lock hook failed",
            ))
        });
        Ok(LockOutcome {
            each: each.in_order(targets.iter().map(|target| &target.path)),
            post_hook_error,
        })
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
        if user.is_none() && !break_lock {
            return Err(no_user("Cannot unlock, no authenticated username available"));
        }
        let mut each = Outcomes::default();
        let mut allowed = Vec::new();
        let unique: BTreeMap<_, _> = targets.iter().map(|(path, token)| (path, token)).collect();
        for (path, token) in unique {
            let asked = match hooks {
                Some(hooks) => hooks.pre_unlock(path, user, token.as_deref(), break_lock),
                None => Ok(()),
            };
            match asked {
                Ok(()) => allowed.push((path.clone(), token.clone())),
                Err(e) => each.insert(path.clone(), Err(e)),
            }
        }
        if !allowed.is_empty() {
            // Clients get this error only after the hooks have run.
            if user.is_none() && hooks.is_some() {
                return Err(Error::new(
                    Code::FS_NO_USER,
                    format!(
                        "No username is currently associated with filesystem '{}'",
                        self.uuid()
                    ),
                ));
            }
            each.extend(self.fs().unlock_paths(&allowed, user, break_lock)?);
        }
        let post_hook_error = each.done().and_then(|done| {
            let e = hooks?.post_unlock(&done, user).err()?;
            Some(e.wrap(
                Code::REPOS_POST_UNLOCK_HOOK_FAILED,
                "Unlock succeeded, but post-unlock hook failed",
            ))
        });
        Ok(LockOutcome {
            each: each.in_order(targets.iter().map(|(path, _)| path)),
            post_hook_error,
        })
    }
}

/// Runs `pre-lock` for a path and checks the token of the future lock.
fn prepare(
    target: &LockTarget,
    owner: &str,
    comment: Option<&str>,
    steal: bool,
    hooks: Option<&Hooks>,
) -> Result<LockTarget> {
    let mut target = target.clone();
    if let Some(hooks) = hooks
        && let Some(printed) = hooks.pre_lock(&target.path, owner, comment, steal)?
    {
        target.token = Some(String::from_utf8_lossy(&printed).into_owned());
    }
    if let Some(token) = &mut target.token {
        token.truncate(until_nul(token).len());
        check_token(token)?;
    }
    Ok(target)
}

/// Refuses a malformed lock token, and one that cannot be sent to every client.
fn check_token(token: &str) -> Result<()> {
    if !token.starts_with(SCHEME) {
        return Err(Error::new(
            Code::FS_BAD_LOCK_TOKEN,
            format!("Lock token URI '{token}' has bad scheme; expected 'opaquelocktoken'"),
        ));
    }
    match token.bytes().position(|b| !(0x20..0x7f).contains(&b)) {
        None => Ok(()),
        Some(at) => Err(Error::new(
            Code::FS_BAD_LOCK_TOKEN,
            format!("Lock token '{token}' is not ASCII or is a control character at byte {at}"),
        )),
    }
}

/// True for text that an XML document can hold.
fn is_xml_safe(text: &str) -> bool {
    !text.bytes().any(|b| b < 0x20 && !b"\t\n\r".contains(&b))
}

/// Cuts a text at its first NUL, where the incumbent's texts end.
fn until_nul(text: &str) -> &str {
    text.split('\0').next().unwrap_or_default()
}

fn no_user(text: &str) -> Error {
    Error::new(Code::FS_NO_USER, text)
}

/// The results by path.
struct Outcomes<T>(BTreeMap<FsPath, Result<T>>);

impl<T> Default for Outcomes<T> {
    fn default() -> Self {
        Outcomes(BTreeMap::new())
    }
}

impl<T: Clone> Outcomes<T> {
    fn insert(&mut self, path: FsPath, outcome: Result<T>) {
        self.0.insert(path, outcome);
    }

    fn extend(&mut self, outcomes: Vec<(FsPath, Result<T>)>) {
        self.0.extend(outcomes);
    }

    /// Returns the paths that succeeded, if there are any.
    fn done(&self) -> Option<Vec<FsPath>> {
        let done: BTreeSet<_> = self
            .0
            .iter()
            .filter(|(_, outcome)| outcome.is_ok())
            .map(|(path, _)| path.clone())
            .collect();
        (!done.is_empty()).then(|| done.into_iter().collect())
    }

    /// Returns one result for each path of the request, which may name one twice.
    fn in_order<'a>(&self, paths: impl Iterator<Item = &'a FsPath>) -> Vec<(FsPath, Result<T>)> {
        paths
            .filter_map(|path| Some((path.clone(), self.0.get(path)?.clone())))
            .collect()
    }
}

const SCHEME: &str = "opaquelocktoken:";

#[cfg(test)]
mod tests {
    use super::*;

    /// The errors of svnserve 1.14.2 for what its `pre-lock` printed.
    #[test]
    fn tokens() {
        for (token, said) in [
            ("opaquelocktoken:abc", None),
            ("opaquelocktoken:", None),
            ("opaquelocktoken:a b<&>", None),
            (
                "abc",
                Some("Lock token URI 'abc' has bad scheme; expected 'opaquelocktoken'"),
            ),
            (
                "opaquelocktoken:abc\n",
                Some("Lock token 'opaquelocktoken:abc\n' is not ASCII or is a control character at byte 19"),
            ),
            (
                "opaquelocktoken:ä",
                Some("Lock token 'opaquelocktoken:ä' is not ASCII or is a control character at byte 16"),
            ),
        ] {
            let refused = check_token(token).err();
            assert_eq!(refused.as_ref().map(Error::message).as_deref(), said);
            assert!(refused.is_none_or(|e| e.code() == Code::FS_BAD_LOCK_TOKEN));
        }
    }

    #[test]
    fn comments() {
        assert!(is_xml_safe("a\tb\r\nc\x7f"));
        assert!(!is_xml_safe("x\x01y"));
    }
}
