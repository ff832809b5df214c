//! `MKCOL` and `DELETE`: add and remove nodes.

use base::{Code, Depth, Error, FsPath, NodeKind};
use http::StatusCode;
use repos::access::Everything;
use wire::dav::lock_tokens::find_lock_tokens;
use wire::dav::uri::Resource;

use super::Outcome;
use super::created::created;
use super::resource_kind::ResourceKind;
use super::txn_step::{check_utf8, refused};
use crate::http::{Fault, ResponseWriter};
use crate::site::RequestContext;

pub(super) fn mkcol(context: &mut RequestContext<'_>, reply: &mut ResponseWriter) -> Outcome {
    if context.request.body.next_piece()?.is_some() {
        return Err(Fault::html(StatusCode::UNSUPPORTED_MEDIA_TYPE));
    }
    let Some(path) = context.working_path() else {
        return Err(context.not_writable());
    };
    context.step(|context, in_use| {
        let transaction = in_use.transaction;
        if transaction.kind(&path)? != NodeKind::None {
            return Err(already_exists(context, &path));
        }
        check_utf8(&path)?;
        context.check_step_conditions(&path, false)?;
        context.check_locked(&path, &transaction.ended_lock_tokens())?;
        transaction.make_dir(&path).map_err(refused)
    })?;
    created(context, reply);
    Ok(())
}

/// Returns the error response for an existing node: with a number for Subversion's clients, without one for others.
fn already_exists(context: &RequestContext<'_>, path: &FsPath) -> Fault {
    let status = StatusCode::METHOD_NOT_ALLOWED;
    match context.request.is_svn_client() && context.autoversion.is_none() {
        true => Fault::new(
            status,
            Error::new(
                Code::FS_ALREADY_EXISTS,
                format!("Path already exists, path '{path}'"),
            ),
        ),
        false => Fault::html(status),
    }
}

pub(super) fn delete(context: &mut RequestContext<'_>, reply: &mut ResponseWriter) -> Outcome {
    if matches!(
        context.resource,
        Resource::Txn(_) | Resource::Vtxn(_) | Resource::Activity(_)
    ) {
        context.check_unversioned_conditions(true)?;
    }
    match &context.resource {
        Resource::Txn(_) => abort(context)?,
        Resource::Vtxn(id) => {
            let id = id.clone();
            abort(context)?;
            context.activities().remove(&id)?;
        }
        Resource::Activity(id) => {
            let id = id.clone();
            abort_activity(context, &id)?;
        }
        _ => delete_node(context)?,
    }
    reply.head.status(StatusCode::NO_CONTENT);
    Ok(())
}

/// Refuses to delete less than a whole directory. For a file only the depth `1` is refused, as by the incumbent.
///
/// # Errors
/// 400.
fn check_depth(context: &RequestContext<'_>, kind: NodeKind) -> Outcome {
    match context.request.header("depth").map(str::trim) {
        None => Ok(()),
        Some(depth) if depth.eq_ignore_ascii_case("infinity") => Ok(()),
        Some(depth) if kind != NodeKind::Dir && depth != "1" => Ok(()),
        Some(_) => Err(Fault::html(StatusCode::BAD_REQUEST)),
    }
}

/// Returns the kind of the request's node outside of transactions.
pub(super) fn kind_at(context: &RequestContext<'_>) -> Result<NodeKind, Fault> {
    let (rev, path) = match &context.resource {
        Resource::Public(path) => (context.youngest()?, path),
        Resource::BaselineCollection(rev, path) | Resource::RevisionRoot(rev, path) => (*rev, path),
        _ => return Ok(NodeKind::None),
    };
    Ok(context.repository().check_path(rev, path)?)
}

fn delete_node(context: &mut RequestContext<'_>) -> Outcome {
    let Some(path) = context.working_path() else {
        match (kind_at(context)?, &context.resource) {
            // Whether a version is a directory is not known.
            (_, Resource::Version(..)) => check_depth(context, NodeKind::File)?,
            (NodeKind::None, _) => {}
            (kind, _) => check_depth(context, kind)?,
        }
        return Err(context.refusal(|kind| match kind {
            ResourceKind::Regular { exists: false } => StatusCode::NOT_FOUND,
            ResourceKind::Regular { exists: true } => StatusCode::CONFLICT,
            ResourceKind::WorkingBaseline => StatusCode::METHOD_NOT_ALLOWED,
            _ => StatusCode::INTERNAL_SERVER_ERROR,
        }));
    };
    if context.autoversion.is_some() {
        if path.is_root() {
            return Err(Fault::html(StatusCode::FORBIDDEN));
        }
        check_locked_below(context, &path)?;
    }
    // Clients send tokens in the body if they are too many for a header.
    let body = context.xml()?;
    let listed = body.map(|(root, _)| find_lock_tokens(&root)).unwrap_or_default();
    context.step(|context, in_use| {
        let transaction = in_use.transaction;
        match transaction.kind(&path)? {
            NodeKind::None => return Err(Fault::html(StatusCode::NOT_FOUND)),
            kind => check_depth(context, kind)?,
        }
        context.check_step_conditions(&path, true)?;
        let mut listed: Vec<String> = listed.into_iter().map(|held| held.token).collect();
        listed.extend(transaction.ended_lock_tokens());
        context.check_locked(&path, &listed)?;
        let mut tokens = context.held_tokens()?;
        tokens.extend(listed);
        transaction.set_access(context.user.as_deref(), tokens.clone());
        transaction
            .delete(&path, context.version_name())
            .map_err(refused)?;
        // The incumbent unlocks at once. Clients rely on being able to use the path again.
        if context.autoversion.is_none()
            && !context.has_option("keep-locks")
            && let Some(lock) = context.repository().get_lock(&path)?
            && tokens.contains(&lock.token)
        {
            transaction.end_lock(path.clone(), lock.token);
        }
        Ok(())
    })
}

/// Refuses to remove a directory with a locked node below it, whose token the request does not have.
///
/// # Errors
/// 424.
pub(super) fn check_locked_below(context: &RequestContext<'_>, path: &FsPath) -> Outcome {
    let held = context.held_tokens()?;
    let locks = context.repository().locks(path, Depth::Infinity, &Everything)?;
    match locks
        .iter()
        .all(|lock| lock.path == *path || held.contains(&lock.token))
    {
        true => Ok(()),
        false => Err(Fault::html(StatusCode::FAILED_DEPENDENCY)),
    }
}

/// Removes the request's transaction.
fn abort(context: &RequestContext<'_>) -> Outcome {
    let name = context.txn_name()?;
    context.abort(&name).map_err(|error| match error.code() {
        Code::FS_NO_SUCH_TRANSACTION => Fault::hidden(StatusCode::NOT_FOUND, error),
        _ => error.into(),
    })
}

/// Removes an activity, and its transaction if it still has one.
fn abort_activity(context: &RequestContext<'_>, id: &str) -> Outcome {
    let activities = context.activities();
    let Some(name) = activities.find(id)? else {
        return Err(Fault::html(StatusCode::NOT_FOUND));
    };
    if !name.is_empty() {
        match context.abort(&name) {
            Err(error) if error.code() != Code::FS_NO_SUCH_TRANSACTION => return Err(error.into()),
            _ => {}
        }
    }
    Ok(activities.remove(id)?)
}
