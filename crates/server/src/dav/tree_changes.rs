//! `MKCOL`, `DELETE`, `COPY` and `MOVE`: add, remove and copy nodes.

use base::{Code, Depth, Error, FsPath, NodeKind, Revnum};
use http::StatusCode;
use repos::access::Everything;
use wire::dav::lock_tokens::find_lock_tokens;
use wire::dav::uri::Resource;

use super::Outcome;
use super::created::{created, created_at, url_of};
use super::resource_kind::ResourceKind;
use super::txn_step::{check_utf8, refused};
use crate::http::{Fault, ResponseWriter};
use crate::site::RequestContext;
use crate::site::mount::no_resource;

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
        context.check_conditions(&path)?;
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

/// As [`check_depth`], for `MOVE`; for a file the depth is infinite or 0.
///
/// # Errors
/// 400.
fn check_move_depth(context: &RequestContext<'_>, kind: NodeKind) -> Outcome {
    match context.request.header("depth").map(str::trim) {
        Some(depth) if depth != "0" && !depth.eq_ignore_ascii_case("infinity") => {
            Err(Fault::html(StatusCode::BAD_REQUEST))
        }
        _ => check_depth(context, kind),
    }
}

/// Returns the kind of the request's node outside of transactions.
fn kind_at(context: &RequestContext<'_>) -> Result<NodeKind, Fault> {
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
        context.check_conditions(&path)?;
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
fn check_locked_below(context: &RequestContext<'_>, path: &FsPath) -> Outcome {
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

pub(super) fn copy(context: &mut RequestContext<'_>, reply: &mut ResponseWriter) -> Outcome {
    let (rev, from) = source(context)?;
    if context.autoversion.is_some() {
        context.check_conditions(&from)?;
        context.check_if_header(&from)?;
    }
    let (to, overwrite) = destination(context)?;
    let copied = std::mem::replace(&mut context.resource, to.clone());
    let Some(path) = context.working_path() else {
        return Err(context.refusal(|kind| match kind {
            ResourceKind::Regular { exists: false } | ResourceKind::Activity { exists: false } => {
                StatusCode::CONFLICT
            }
            _ if !overwrite => StatusCode::PRECONDITION_FAILED,
            _ => StatusCode::CONFLICT,
        }));
    };
    let is_cyclic = context.autoversion.is_some() && is_cyclic(context, &copied, &path);
    let replaced = context.step(|context, in_use| {
        let transaction = in_use.transaction;
        let exists = transaction.kind(&path)? != NodeKind::None;
        if exists && !overwrite {
            return Err(Fault::html(StatusCode::PRECONDITION_FAILED));
        }
        if is_cyclic {
            return Err(Fault::html(StatusCode::FORBIDDEN));
        }
        check_utf8(&path)?;
        context.check_locked(&path, &transaction.ended_lock_tokens())?;
        if exists {
            transaction.delete(&path, None)?;
        }
        transaction.copy(rev, &from, &path).map_err(refused)?;
        Ok(exists)
    })?;
    match replaced {
        true => _ = reply.head.status(StatusCode::NO_CONTENT),
        false => created_at(context, reply, &created_url(context, &to)),
    }
    Ok(())
}

/// Returns whether a copy would be inside of its source or replace it or one of its parents. A copy of the root may be inside of it, and
/// one with `Depth: 0`, as with Apache.
fn is_cyclic(context: &RequestContext<'_>, source: &Resource, to: &FsPath) -> bool {
    let Resource::Public(source) = source else {
        return to.is_root();
    };
    let is_whole = context.request.header("depth").map(str::trim) != Some("0");
    let may_be_inside = !is_whole || source.is_root() && context.request.method == "COPY";
    to.contains(source) || !may_be_inside && source.contains(to)
}

/// Returns the source of a copy: an existing node of a revision.
fn source(context: &mut RequestContext<'_>) -> Result<(Revnum, FsPath), Fault> {
    let (rev, path) = match &context.resource {
        Resource::Public(path) => (context.youngest()?, path.clone()),
        Resource::BaselineCollection(rev, path) | Resource::RevisionRoot(rev, path) => (*rev, path.clone()),
        _ => {
            return Err(context.refusal(|kind| match kind {
                ResourceKind::Working { exists: false } | ResourceKind::Activity { exists: false } => {
                    StatusCode::NOT_FOUND
                }
                _ => StatusCode::METHOD_NOT_ALLOWED,
            }));
        }
    };
    match context.repository().check_path(rev, &path)? {
        NodeKind::None => Err(Fault::html(StatusCode::NOT_FOUND)),
        _ => Ok((rev, path)),
    }
}

/// Returns the URL of a new resource: the public one if the revision is committed at once.
fn created_url(context: &RequestContext<'_>, to: &Resource) -> String {
    match to {
        Resource::Public(path) => {
            let sent = context.request.header_utf8("destination");
            let is_directory = sent.is_some_and(|url| url.ends_with('/')) && !path.is_root();
            format!(
                "{}{}",
                context.base().public(path),
                if is_directory { "/" } else { "" }
            )
        }
        _ => url_of(context, to),
    }
}

/// Copies a node and deletes its source. Only autoversioning supports this.
pub(super) fn move_(context: &mut RequestContext<'_>, reply: &mut ResponseWriter) -> Outcome {
    let from = match &context.resource {
        Resource::Public(from) if context.autoversion.is_some() => from.clone(),
        _ => return Err(not_moved(context)),
    };
    check_move_depth(context, kind_at(context)?)?;
    context.check_locked(&from, &[])?;
    check_locked_below(context, &from)?;
    let (to, overwrite) = destination(context)?;
    if to.is_in_transaction() {
        source(context)?;
        context.resource = to;
        return Err(context.refusal(|kind| match kind.exists() {
            true if !overwrite => StatusCode::PRECONDITION_FAILED,
            _ => StatusCode::METHOD_NOT_ALLOWED,
        }));
    }
    copy(context, reply)?;
    context.step(|_, in_use| in_use.transaction.delete(&from, None).map_err(refused))
}

/// Returns the error response for a resource that cannot be moved.
fn not_moved(context: &mut RequestContext<'_>) -> Fault {
    let kind = match context.resource_kind() {
        Ok(kind) => kind,
        Err(fault) => return fault,
    };
    let status = match kind {
        ResourceKind::Regular { exists: false }
        | ResourceKind::Working { exists: false }
        | ResourceKind::Activity { exists: false } => StatusCode::NOT_FOUND,
        ResourceKind::Regular { exists: true } => match move_destination(context) {
            Ok((to, false)) => {
                context.resource = to;
                return context.refusal(|kind| match kind.exists() {
                    true => StatusCode::PRECONDITION_FAILED,
                    false => StatusCode::CONFLICT,
                });
            }
            Ok((_, true)) => StatusCode::CONFLICT,
            Err(fault) => return fault,
        },
        _ => StatusCode::METHOD_NOT_ALLOWED,
    };
    Fault::html(status)
}

/// As [`destination`], after a check of the depth.
fn move_destination(context: &RequestContext<'_>) -> Result<(Resource, bool), Fault> {
    check_move_depth(context, kind_at(context)?)?;
    destination(context)
}

/// Returns the destination of a copy, and whether it may replace an existing node.
///
/// # Errors
/// 400 without a valid destination, 404 for a path that is not followed.
fn destination(context: &RequestContext<'_>) -> Result<(Resource, bool), Fault> {
    let bad = || Fault::html(StatusCode::BAD_REQUEST);
    // WebDAV requires a whole URL.
    let url = context.request.header_utf8("destination");
    let url = url.filter(|url| is_http_url(url)).ok_or_else(bad)?;
    let to = context
        .mount
        .resource_of_url(url)
        .ok_or_else(|| no_resource(url))?;
    let overwrite = match context.request.header("overwrite").map(str::trim) {
        None => true,
        Some(word) if word.eq_ignore_ascii_case("t") => true,
        Some(word) if word.eq_ignore_ascii_case("f") => false,
        Some(_) => return Err(bad()),
    };
    Ok((to, overwrite))
}

/// Returns whether a URL's scheme is that of an HTTP server.
fn is_http_url(url: &str) -> bool {
    url.split_once("://").is_some_and(|(scheme, _)| {
        scheme.eq_ignore_ascii_case("http") || scheme.eq_ignore_ascii_case("https")
    })
}
