//! Locks of files.

use base::{Code, Date, Depth, Error, FsPath, Lock, RelPath, Result};
use wire::dav::client::{ReportBody, lock};
use wire::dav::names::SVN;
use wire::dav::xml::{self, Element};

use super::DavSession;
use super::fault::{malformed, refusal};
use super::nodes::prop_value;
use super::request::Request;
use crate::requests::{LockTarget, UnlockTarget};

/// The longest response about a lock that is read, in bytes.
const MOST_BODY: usize = 64 << 10;

impl DavSession {
    pub(super) fn read_locks(&self, path: &RelPath, depth: Depth) -> Result<Vec<Lock>> {
        let target = self.public(path);
        let depth = match depth {
            Depth::Unknown | Depth::Exclude => Depth::Infinity,
            depth => depth,
        };
        let body = ReportBody::new("get-locks-report", &format!(" depth=\"{}\"", depth.word()));
        let mut locks = Vec::new();
        let read = self.report_each(&target, body, &mut |child| {
            if child.name.is(SVN, "lock") {
                locks.push(read_lock(&child)?);
            }
            Ok(())
        });
        match read {
            Err(error) if error.code() != Code::FS_NOT_FOUND => return Err(error),
            _ => {}
        }
        // Servers of old do not know depths, and the path may be a file's.
        let top = self.fs_path(path);
        locks.retain(|lock| crate::svn::is_within(&lock.path, &top, depth));
        locks.sort_unstable_by(|a, b| a.path.cmp(&b.path));
        Ok(locks)
    }

    pub(super) fn lock_all(
        &self,
        targets: &[LockTarget],
        comment: Option<&str>,
        steal: bool,
        outcome: &mut dyn FnMut(&RelPath, Result<Lock>) -> Result<()>,
    ) -> Result<()> {
        for target in targets {
            let result = self.lock_one(target, comment, steal);
            outcome(&target.path, of_one_path(result)?)?;
        }
        Ok(())
    }

    fn lock_one(&self, target: &LockTarget, comment: Option<&str>, steal: bool) -> Result<Lock> {
        if comment.is_some_and(|comment| xml::safe(comment.as_bytes()).is_none()) {
            let message = "Lock comment contains illegal characters";
            return Err(Error::new(Code::XML_UNESCAPABLE_DATA, message));
        }
        let url = self.public(&target.path);
        let mut request = Request::new("LOCK", &url).xml(lock(comment));
        if let Some(rev) = target.rev {
            request = request.header("x-svn-version-name", rev.to_string());
        }
        if steal {
            request = request.header("x-svn-options", "lock-steal");
        }
        let mut response = self.client.call(request)?;
        match response.status {
            200..300 => {}
            405 => {
                let message = format!(
                    "Path '{}' doesn't exist in HEAD revision (405 Method Not Allowed)",
                    target.path
                );
                return Err(Error::new(Code::FS_OUT_OF_DATE, message));
            }
            423 => {
                let error = refusal(response, &url);
                return Err(match error.code() {
                    Code::FS_NO_LOCK_TOKEN => Error::new(Code::FS_PATH_ALREADY_LOCKED, error.message()),
                    _ => error,
                });
            }
            403 => {
                let error = refusal(response, &url);
                return Err(match error.code() {
                    Code::RA_DAV_FORBIDDEN => {
                        let message =
                            format!("Not authorized to perform lock operation on '{}'", target.path);
                        Error::new(Code::FS_LOCK_OWNER_MISMATCH, message)
                    }
                    _ => error.wrap(Code::RA_NOT_AUTHORIZED, "Lock request failed"),
                });
            }
            _ => return Err(refusal(response, &url)),
        }
        response.body.read_up_to(MOST_BODY)?;
        let lacking = || malformed("The server did not describe the lock");
        let token = response
            .header("lock-token")
            .map(|token| token.trim_matches(['<', '>']));
        let date = response.header("x-svn-creation-date");
        Ok(Lock {
            path: self.fs_path(&target.path),
            token: token.ok_or_else(lacking)?.to_owned(),
            owner: response.header("x-svn-lock-owner").unwrap_or_default().to_owned(),
            comment: comment.map(str::to_owned),
            is_dav_comment: false,
            created: date
                .and_then(|date| Date::parse(date.as_bytes()).ok())
                .ok_or_else(lacking)?,
            expires: None,
        })
    }

    pub(super) fn unlock_all(
        &self,
        targets: &[UnlockTarget],
        force: bool,
        outcome: &mut dyn FnMut(&RelPath, Result<()>) -> Result<()>,
    ) -> Result<()> {
        for target in targets {
            let result = self.unlock_one(target, force);
            if let Err(error) = &result
                && error.code() == Code::REPOS_POST_UNLOCK_HOOK_FAILED
            {
                // The file is unlocked.
                outcome(&target.path, Ok(()))?;
            }
            outcome(&target.path, of_one_path(result)?)?;
        }
        Ok(())
    }

    fn unlock_one(&self, target: &UnlockTarget, force: bool) -> Result<()> {
        let url = self.public(&target.path);
        let token = match &target.token {
            Some(token) => token.clone(),
            None => {
                let held = self.read_locks(&target.path, Depth::Empty)?.pop();
                let message = format!("'{}' is not locked in the repository", target.path);
                held.ok_or_else(|| Error::new(Code::RA_NOT_LOCKED, message))?
                    .token
            }
        };
        let mut request = Request::new("UNLOCK", &url).header("lock-token", format!("<{token}>"));
        if force {
            request = request.header("x-svn-options", "lock-break");
        }
        let mut response = self.client.call(request)?;
        match response.status {
            200..300 => response.body.read_up_to(MOST_BODY).map(drop),
            400 => {
                let message = format!("No lock on path '{url}' (400 Bad Request)");
                Err(Error::new(Code::FS_NO_SUCH_LOCK, message))
            }
            403 => {
                let message = format!("Unlock of '{url}' failed (403 Forbidden)");
                Err(Error::new(Code::FS_LOCK_OWNER_MISMATCH, message))
            }
            _ => Err(refusal(response, &url)),
        }
    }
}

/// Reads a lock of a report.
fn read_lock(element: &Element) -> Result<Lock> {
    let lacking = || malformed("The server did not describe a lock completely");
    let text = |name: &str| element.child(SVN, name).map(|child| child.text.as_str());
    let bytes = |name: &str| -> Result<Option<String>> {
        let value = element.child(SVN, name).map(prop_value).transpose()?;
        Ok(value.map(|value| String::from_utf8_lossy(&value).into_owned()))
    };
    let date = |text: &str| Date::parse(text.trim().as_bytes());
    Ok(Lock {
        path: FsPath::canonicalize(text("path").ok_or_else(lacking)?)?,
        token: text("token").ok_or_else(lacking)?.trim().to_owned(),
        owner: bytes("owner")?.ok_or_else(lacking)?,
        comment: bytes("comment")?.filter(|comment| !comment.is_empty()),
        is_dav_comment: false,
        created: date(text("creationdate").ok_or_else(lacking)?)?,
        expires: text("expirationdate").map(date).transpose()?,
    })
}

/// The numbers of errors that concern one path, not the whole request.
const OF_ONE_PATH: &[Code] = &[
    Code::FS_PATH_ALREADY_LOCKED,
    Code::FS_PATH_NOT_LOCKED,
    Code::FS_NOT_FOUND,
    Code::FS_OUT_OF_DATE,
    Code::FS_BAD_LOCK_TOKEN,
    Code::FS_LOCK_OWNER_MISMATCH,
    Code::FS_NO_SUCH_LOCK,
    Code::FS_LOCK_EXPIRED,
    Code::FS_NO_SUCH_REVISION,
    Code::FS_NOT_FILE,
    Code::RA_NOT_LOCKED,
    Code::RA_DAV_METHOD_NOT_ALLOWED,
    Code::REPOS_HOOK_FAILURE,
];

/// Separates errors of one path from errors that concern all.
fn of_one_path<T>(result: Result<T>) -> Result<Result<T>> {
    match result {
        Err(error) if !OF_ONE_PATH.contains(&error.code()) => Err(error),
        result => Ok(result),
    }
}
