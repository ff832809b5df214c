//! `LOCK` and `UNLOCK`: users' locks on files of the youngest revision.
//!
//! Subversion's clients and plain WebDAV programs use the same elements differently. The former put a comment into `owner`; the latter
//! put their own data there and expect it back unchanged. The former lock existing files; the latter may create a file by
//! locking it, where autoversioning is on.

use base::{Code, Date, Error, FsPath, Lock, NodeKind, Result};
use http::StatusCode;
use repos::user_locks::{LockOutcome, LockRequest, LockTarget};
use wire::dav::fault::XML_TYPE;
use wire::dav::lock::{
    ActiveLock, LockInfo, LockInfoFault, asks_for_shared_lock, parse_timeout, parse_token, write_lock_answer,
};
use wire::dav::uri::Resource;

use super::{Outcome, autoversion};
use crate::clock::now;
use crate::http::{Fault, ResponseWriter};
use crate::log::operation_text;
use crate::site::RequestContext;

const MICROSECONDS: u64 = 1_000_000;

pub(super) fn lock(context: &mut RequestContext<'_>, reply: &mut ResponseWriter) -> Outcome {
    let path = public(context)?;
    if context.user.is_none() {
        return Err(Fault::html(StatusCode::NOT_IMPLEMENTED));
    }
    context.check_conditions(&path)?;
    // A locked node is refused as locked, whatever the header says.
    let is_locked = context.repository().get_lock(&path)?.is_some();
    if !is_locked {
        context.check_if_header(&path)?;
    }
    let depth = match context.request.header("depth").map(str::trim) {
        None => "infinity",
        Some("0") => "0",
        Some(word) if word.eq_ignore_ascii_case("infinity") => "infinity",
        Some(_) => return Err(Fault::html(StatusCode::BAD_REQUEST)),
    };
    let Some((root, body)) = context.xml()? else {
        let lock = refresh(context, &path)?;
        answer(&lock, depth, reply);
        return Ok(());
    };
    let info = LockInfo::parse(&root, &body).map_err(|fault| {
        Fault::html(match fault {
            LockInfoFault::Unknown => StatusCode::PRECONDITION_FAILED,
            LockInfoFault::Malformed if is_locked && asks_for_shared_lock(&root) => StatusCode::LOCKED,
            LockInfoFault::Malformed => StatusCode::BAD_REQUEST,
        })
    })?;
    let is_svn = context.request.is_svn_client();
    let youngest = context.repository().youngest()?;
    if context.repository().check_path(youngest, &path)? == NodeKind::None {
        if is_svn || !context.mount.location.autoversioning {
            return Err(Fault::html(StatusCode::METHOD_NOT_ALLOWED));
        }
        autoversion::make_empty(context, &path)?;
    }
    let target = LockTarget {
        path: path.clone(),
        token: None,
        rev: context.version_name(),
    };
    // The options of Subversion's clients mean nothing in requests of other programs.
    let steal = is_svn && context.has_option("lock-steal");
    let comment = if is_svn { info.owner_text } else { info.owner_xml };
    let expires = expiry(context);
    let lock = take(context, target, comment.as_deref(), !is_svn, expires, steal)?;
    context.log_operation(|| operation_text::lock(&[&path], steal));
    reply.head.header("lock-token", &format!("<{}>", lock.token));
    answer(&lock, depth, reply);
    Ok(())
}

/// Extends the client's lock.
fn refresh(context: &RequestContext<'_>, path: &FsPath) -> Result<Lock, Fault> {
    let refused = || Fault::html(StatusCode::PRECONDITION_FAILED);
    context.check_locked(path, &[])?;
    if context.held_tokens()?.is_empty() {
        return Err(Fault::html(StatusCode::BAD_REQUEST));
    }
    let lock = context.repository().get_lock(path)?.ok_or_else(refused)?;
    if context.request.is_svn_client() {
        return Err(refused());
    }
    // Tokens are no secrets: they are in the properties of a node.
    if context.user.as_deref() != Some(&lock.owner) {
        return Err(Fault::html(StatusCode::FORBIDDEN));
    }
    let target = LockTarget {
        path: path.clone(),
        token: Some(lock.token.clone()),
        rev: None,
    };
    take(
        context,
        target,
        lock.comment.as_deref(),
        lock.is_dav_comment,
        expiry(context),
        true,
    )
}

fn take(
    context: &RequestContext<'_>,
    target: LockTarget,
    comment: Option<&str>,
    is_dav_comment: bool,
    expires: Option<Date>,
    steal: bool,
) -> Result<Lock, Fault> {
    let request = LockRequest {
        user: context.user.as_deref(),
        comment,
        is_dav_comment,
        expires,
        steal,
    };
    let hooks = context.hooks()?;
    let outcome = context
        .repository()
        .lock_many(&[target], &request, Some(&hooks), Date(now()))?;
    // The lock exists even if its post-lock hook fails. As with the incumbent, the client does not get that error.
    if let Some(error) = &outcome.post_hook_error {
        context.log_error(error);
    }
    only(outcome).map_err(|error| match error.code() {
        Code::FS_PATH_ALREADY_LOCKED if !context.request.is_svn_client() => {
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
fn expiry(context: &RequestContext<'_>) -> Option<Date> {
    let seconds = parse_timeout(context.request.header("timeout")?)??;
    let span = i64::try_from(seconds.checked_mul(MICROSECONDS)?).ok()?;
    now().checked_add(span).map(Date)
}

fn answer(lock: &Lock, depth: &str, reply: &mut ResponseWriter) {
    reply
        .head
        .header("x-svn-creation-date", &lock.created.to_string())
        .header("x-svn-lock-owner", &lock.owner)
        .content_type(XML_TYPE);
    let mut out = String::new();
    write_lock_answer(&active(lock, depth), &mut out);
    *reply.buffer() = out.into_bytes();
}

/// Returns a lock as WebDAV describes it.
pub(super) fn active<'a>(lock: &'a Lock, depth: &'a str) -> ActiveLock<'a> {
    ActiveLock {
        token: &lock.token,
        depth,
        comment: lock.comment.as_deref(),
        comment_is_xml: lock.is_dav_comment,
        timeout: lock.expires.map(seconds_left),
    }
}

/// The seconds until a lock ends; the current one counts.
pub(super) fn seconds_left(end: Date) -> u64 {
    u64::try_from(end.0.saturating_sub(now()))
        .unwrap_or(0)
        .div_ceil(MICROSECONDS)
}

pub(super) fn unlock(context: &mut RequestContext<'_>, reply: &mut ResponseWriter) -> Outcome {
    let path = public(context)?;
    context.check_conditions(&path)?;
    let bad = || Fault::html(StatusCode::BAD_REQUEST);
    let token = context.request.header("lock-token").and_then(parse_token);
    let token = token.ok_or_else(bad)?.to_owned();
    let lock = context.repository().get_lock(&path)?.ok_or_else(bad)?;
    if lock.token != token {
        return Err(bad());
    }
    let is_svn = context.request.is_svn_client();
    let force = context.has_option("lock-break");
    let hooks = context.hooks()?;
    let targets = [(path.clone(), Some(token))];
    let outcome = context
        .repository()
        .unlock_many(&targets, context.user.as_deref(), force, Some(&hooks))?;
    let post_hook_error = outcome.post_hook_error.clone();
    only(outcome).map_err(|error| match error.code() {
        Code::FS_LOCK_OWNER_MISMATCH if !is_svn => Fault::hidden(StatusCode::FORBIDDEN, error),
        // It was there above: the hook or another user has removed it.
        Code::FS_NO_SUCH_LOCK | Code::FS_BAD_LOCK_TOKEN => Fault::new(
            StatusCode::INTERNAL_SERVER_ERROR,
            error.context("Failed to remove a lock."),
        ),
        _ => error.into(),
    })?;
    match post_hook_error {
        Some(error) if is_svn => return Err(error.into()),
        Some(error) => context.log_error(&error),
        None => {}
    }
    context.log_operation(|| operation_text::unlock(&[&path], force));
    reply.head.status(StatusCode::NO_CONTENT);
    Ok(())
}

/// Returns the request's path; only public resources can be locked.
fn public(context: &RequestContext<'_>) -> Result<FsPath, Fault> {
    match &context.resource {
        Resource::Public(path) => Ok(path.clone()),
        _ => Err(Fault::html(StatusCode::METHOD_NOT_ALLOWED)),
    }
}
