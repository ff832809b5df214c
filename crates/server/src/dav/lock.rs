//! `LOCK` and `UNLOCK`: locks of users, on files of the youngest revision.
//!
//! Subversion's clients and plain WebDAV programs mean different things by the same words: what the former put into `owner` is
//! a comment, to the latter it is theirs and comes back as it was; the former lock what exists, the latter may make a file by
//! locking it, where writes of such programs become revisions.

use base::{Code, Date, Error, FsPath, Lock, NodeKind, Result};
use http::StatusCode;
use repos::user_locks::{LockOutcome, LockRequest, LockTarget};
use wire::dav::fault::XML_TYPE;
use wire::dav::lock::{ActiveLock, LockInfo, parse_timeout, parse_token, write_lock_answer};
use wire::dav::uri::Resource;

use super::fault::Fault;
use super::visit::Visit;
use super::{Outcome, autoversion};
use crate::http::Reply;
use crate::oplog;
use crate::service::now;

const MICROSECONDS: u64 = 1_000_000;

pub(super) fn lock(visit: &mut Visit<'_>, reply: &mut Reply) -> Outcome {
    let path = public(visit)?;
    if visit.user.is_none() {
        return Err(Fault::html(StatusCode::NOT_IMPLEMENTED));
    }
    visit.check_conditions(&path)?;
    // What is locked already is that, whatever is believed of it.
    if visit.repository().get_lock(&path)?.is_none() {
        visit.check_believed(&path)?;
    }
    let depth = match visit.request.header("depth").map(str::trim) {
        None => "infinity",
        Some("0") => "0",
        Some(word) if word.eq_ignore_ascii_case("infinity") => "infinity",
        Some(_) => return Err(Fault::html(StatusCode::BAD_REQUEST)),
    };
    let body = visit.request.body.read_all(visit.http.limits.xml_body)?;
    if body.is_empty() {
        let lock = refresh(visit, &path)?;
        answer(&lock, depth, reply);
        return Ok(());
    }
    let root = visit.parse_xml(&body)?;
    let info = LockInfo::parse(&root, &body).ok_or_else(|| Fault::html(StatusCode::BAD_REQUEST))?;
    let is_svn = visit.request.is_svn_client();
    let youngest = visit.repository().youngest()?;
    if visit.repository().check_path(youngest, &path)? == NodeKind::None {
        if is_svn || !visit.place.location.autoversioning {
            return Err(Fault::html(StatusCode::METHOD_NOT_ALLOWED));
        }
        autoversion::make_empty(visit, &path)?;
    }
    let target = LockTarget {
        path: path.clone(),
        token: None,
        rev: visit.version_name(),
    };
    let steal = visit.has_option("lock-steal");
    let comment = if is_svn { info.owner_text } else { info.owner_xml };
    let expires = if is_svn { None } else { expiry(visit) };
    let lock = take(visit, target, comment.as_deref(), !is_svn, expires, steal)?;
    visit.log_operation(|| oplog::lock(&[&path], steal));
    reply.header("lock-token", &format!("<{}>", lock.token));
    answer(&lock, depth, reply);
    Ok(())
}

/// Makes the lock last longer that the client holds.
fn refresh(visit: &Visit<'_>, path: &FsPath) -> Result<Lock, Fault> {
    let refused = || Fault::html(StatusCode::PRECONDITION_FAILED);
    visit.check_locked(path, &[])?;
    if visit.held_tokens()?.is_empty() {
        return Err(Fault::html(StatusCode::BAD_REQUEST));
    }
    let lock = visit.repository().get_lock(path)?.ok_or_else(refused)?;
    if visit.request.is_svn_client() {
        return Err(refused());
    }
    // Tokens are no secrets: whoever reads the properties sees them.
    if visit.user.as_deref() != Some(&lock.owner) {
        return Err(Fault::html(StatusCode::FORBIDDEN));
    }
    let target = LockTarget {
        path: path.clone(),
        token: Some(lock.token.clone()),
        rev: None,
    };
    take(
        visit,
        target,
        lock.comment.as_deref(),
        lock.is_dav_comment,
        expiry(visit),
        true,
    )
}

fn take(
    visit: &Visit<'_>,
    target: LockTarget,
    comment: Option<&str>,
    is_dav_comment: bool,
    expires: Option<Date>,
    steal: bool,
) -> Result<Lock, Fault> {
    let request = LockRequest {
        user: visit.user.as_deref(),
        comment,
        is_dav_comment,
        expires,
        steal,
    };
    let hooks = visit.hooks()?;
    let outcome = visit
        .repository()
        .lock_many(&[target], &request, Some(&hooks), Date(now()))?;
    // The lock is there whatever the hook after it says; the client is not told, as by the incumbent.
    if let Some(error) = &outcome.post_hook_error {
        visit.log_error(error);
    }
    only(outcome).map_err(|error| match error.code() {
        Code::FS_PATH_ALREADY_LOCKED if !visit.request.is_svn_client() => {
            Fault::hidden(StatusCode::LOCKED, error)
        }
        _ => error.into(),
    })
}

fn only<T>(outcome: LockOutcome<T>) -> Result<T> {
    let first = outcome.each.into_iter().next();
    first.map_or_else(|| Err(Error::bare(Code::FS_GENERAL)), |(_, made)| made)
}

/// When a lock ends that the request asks for.
fn expiry(visit: &Visit<'_>) -> Option<Date> {
    let seconds = parse_timeout(visit.request.header("timeout")?)??;
    let span = i64::try_from(seconds.checked_mul(MICROSECONDS)?).ok()?;
    now().checked_add(span).map(Date)
}

fn answer(lock: &Lock, depth: &str, reply: &mut Reply) {
    reply
        .header("x-svn-creation-date", &lock.created.to_string())
        .header("x-svn-lock-owner", &lock.owner)
        .content_type(XML_TYPE);
    let mut out = String::new();
    write_lock_answer(&active(lock, depth), &mut out);
    *reply.buffer() = out.into_bytes();
}

/// A lock as WebDAV describes it.
pub(super) fn active<'a>(lock: &'a Lock, depth: &'a str) -> ActiveLock<'a> {
    let left = |end: Date| u64::try_from(end.0.saturating_sub(now())).unwrap_or(0) / MICROSECONDS;
    ActiveLock {
        token: &lock.token,
        depth,
        comment: lock.comment.as_deref(),
        comment_is_xml: lock.is_dav_comment,
        timeout: lock.expires.map(left),
    }
}

pub(super) fn unlock(visit: &mut Visit<'_>, reply: &mut Reply) -> Outcome {
    let path = public(visit)?;
    visit.check_conditions(&path)?;
    let bad = || Fault::html(StatusCode::BAD_REQUEST);
    let token = visit.request.header("lock-token").and_then(parse_token);
    let token = token.ok_or_else(bad)?.to_owned();
    let lock = visit.repository().get_lock(&path)?.ok_or_else(bad)?;
    if lock.token != token {
        return Err(bad());
    }
    let is_svn = visit.request.is_svn_client();
    let force = visit.has_option("lock-break");
    let hooks = visit.hooks()?;
    let targets = [(path.clone(), Some(token))];
    let outcome = visit
        .repository()
        .unlock_many(&targets, visit.user.as_deref(), force, Some(&hooks))?;
    let told_after = outcome.post_hook_error.clone();
    only(outcome).map_err(|error| match error.code() {
        Code::FS_LOCK_OWNER_MISMATCH if !is_svn => Fault::hidden(StatusCode::FORBIDDEN, error),
        Code::FS_NO_SUCH_LOCK | Code::FS_BAD_LOCK_TOKEN => Fault::hidden(StatusCode::BAD_REQUEST, error),
        _ => error.into(),
    })?;
    match told_after {
        Some(error) if is_svn => return Err(error.into()),
        Some(error) => visit.log_error(&error),
        None => {}
    }
    visit.log_operation(|| oplog::unlock(&[&path], force));
    reply.status(StatusCode::NO_CONTENT);
    Ok(())
}

/// Only what everybody sees can be locked.
fn public(visit: &Visit<'_>) -> Result<FsPath, Fault> {
    match &visit.resource {
        Resource::Public(path) => Ok(path.clone()),
        _ => Err(Fault::html(StatusCode::METHOD_NOT_ALLOWED)),
    }
}
