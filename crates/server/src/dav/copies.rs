//! `COPY` and `MOVE`: copy nodes of revisions into transactions, and with autoversioning to public URLs.
//!
//! The checks of source and target are in the incumbent's order: the source exists, `Destination` is valid, nothing is there that must
//! not be replaced, it is another resource, the depth of a move, neither contains the other, the target's kind. Many requests have more
//! than one fault.

use base::{FsPath, NodeKind, Revnum};
use http::StatusCode;
use wire::dav::uri::Resource;

use super::Outcome;
use super::created::{created_at, url_of};
use super::resource_kind::ResourceKind;
use super::tree_changes::{check_locked_below, kind_at};
use super::txn_step::{check_utf8, refused};
use crate::http::{Fault, ResponseWriter};
use crate::site::RequestContext;
use crate::site::mount::no_resource;

pub(super) fn copy(context: &mut RequestContext<'_>, reply: &mut ResponseWriter) -> Outcome {
    let (rev, from, kind) = source(context)?;
    context.check_source_conditions(rev, &from)?;
    if context.autoversion.is_some() {
        context.check_if_header(&from)?;
    }
    let (to, overwrite) = destination(context)?;
    let copied = std::mem::replace(&mut context.resource, to.clone());
    if !to.is_in_transaction() {
        check_target(context, &copied, kind, overwrite)?;
    }
    let Some(path) = context.working_path() else {
        let is_of_the_same_kind = kind_at(context)? == kind;
        return Err(Fault::html(match is_of_the_same_kind {
            true => StatusCode::METHOD_NOT_ALLOWED,
            false => StatusCode::CONFLICT,
        }));
    };
    let replaced = context.step(|context, in_use| {
        let transaction = in_use.transaction;
        let exists = transaction.kind(&path)? != NodeKind::None;
        if exists && !overwrite {
            return Err(Fault::html(StatusCode::PRECONDITION_FAILED));
        }
        check_utf8(&path)?;
        context.check_locked(&path, &transaction.ended_lock_tokens())?;
        transaction.copy(rev, &from, &path).map_err(refused)?;
        Ok(exists)
    })?;
    match replaced {
        true => _ = reply.head.status(StatusCode::NO_CONTENT),
        false => created_at(context, reply, &created_url(context, &to)),
    }
    Ok(())
}

/// Checks the request's resource as the target of a copy or a move of `source`, a node of this kind.
///
/// # Errors
/// 412 if there is something that must not be replaced, 403 if one contains the other, 400 for the depth of a move, 500 for resources
/// that are no nodes; those of resources that do not exist.
fn check_target(
    context: &mut RequestContext<'_>,
    source: &Resource,
    kind: NodeKind,
    overwrite: bool,
) -> Outcome {
    let target = context.resource_kind()?;
    let status = if target.exists() && !overwrite {
        StatusCode::PRECONDITION_FAILED
    } else if context.resource == *source {
        StatusCode::FORBIDDEN
    } else if context.request.method == "MOVE" && !is_depth_of_move(context, kind) {
        StatusCode::BAD_REQUEST
    } else if is_cyclic(context, source, kind) {
        StatusCode::FORBIDDEN
    } else if matches!(
        target,
        ResourceKind::Private | ResourceKind::Version | ResourceKind::Baseline
    ) {
        StatusCode::INTERNAL_SERVER_ERROR
    } else {
        return Ok(());
    };
    Err(Fault::html(status))
}

/// Returns whether the request would replace the root or a parent of a directory, or move a directory into itself. A copy may be inside
/// of its source.
fn is_cyclic(context: &RequestContext<'_>, source: &Resource, kind: NodeKind) -> bool {
    let is_move = context.request.method == "MOVE";
    let is_dir = kind == NodeKind::Dir;
    match (source, &context.resource) {
        (_, Resource::Public(to)) if to.is_root() => true,
        (Resource::Public(source), Resource::Public(to)) => {
            is_dir && (to.contains(source) || is_move && source.contains(to))
        }
        // All other URLs are below that of the root.
        (Resource::Public(source), _) => is_dir && is_move && source.is_root(),
        _ => false,
    }
}

/// Returns the source of a copy, an existing node of a revision, and its kind.
fn source(context: &mut RequestContext<'_>) -> Result<(Revnum, FsPath, NodeKind), Fault> {
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
        kind => Ok((rev, path, kind)),
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
    match context.resource_kind()? {
        ResourceKind::Regular { exists: true } => {}
        kind if kind.exists() => return Err(Fault::html(StatusCode::METHOD_NOT_ALLOWED)),
        _ => return Err(Fault::html(StatusCode::NOT_FOUND)),
    }
    let (to, overwrite) = destination(context)?;
    let kind = kind_at(context)?;
    let moved = std::mem::replace(&mut context.resource, to);
    check_target(context, &moved, kind, overwrite)?;
    let to = std::mem::replace(&mut context.resource, moved);
    let from = match &context.resource {
        Resource::Public(from) if context.autoversion.is_some() => from.clone(),
        _ => return Err(Fault::html(StatusCode::CONFLICT)),
    };
    if to.is_in_transaction() {
        return Err(Fault::html(StatusCode::METHOD_NOT_ALLOWED));
    }
    if matches!(&to, Resource::Public(to) if to.contains(&from)) {
        // A file would replace its own parent.
        return Err(Fault::html(StatusCode::CONFLICT));
    }
    context.check_locked(&from, &[])?;
    check_locked_below(context, &from)?;
    copy(context, reply)?;
    context.step(|_, in_use| in_use.transaction.delete(&from, None).map_err(refused))
}

/// Returns whether a node of this kind can be moved with the request's depth: a directory as a whole.
fn is_depth_of_move(context: &RequestContext<'_>, kind: NodeKind) -> bool {
    match context.request.header("depth").map(str::trim) {
        None => true,
        Some("0") => kind != NodeKind::Dir,
        Some(depth) => depth.eq_ignore_ascii_case("infinity"),
    }
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
