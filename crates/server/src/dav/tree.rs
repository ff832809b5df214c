//! `MKCOL`, `DELETE`, `COPY` and `MOVE`: the shape of a tree.

use base::{Code, Error, FsPath, NodeKind, Revnum};
use http::StatusCode;
use wire::dav::lock_tokens::find_lock_tokens;
use wire::dav::uri::Resource;

use super::Outcome;
use super::created::{created, created_at, url_of};
use super::fault::Fault;
use super::steps::refused;
use super::visit::Visit;
use crate::http::Reply;

pub(super) fn mkcol(visit: &mut Visit<'_>, reply: &mut Reply) -> Outcome {
    if visit.request.body.next_piece()?.is_some() {
        return Err(Fault::html(StatusCode::UNSUPPORTED_MEDIA_TYPE));
    }
    let Some(path) = visit.working_path() else {
        return Err(visit.not_writable()?);
    };
    visit.step(|visit, in_use| {
        let transaction = in_use.transaction;
        if transaction.kind(&path)? != NodeKind::None {
            return Err(already_exists(visit, &path));
        }
        transaction.make_dir(&path).map_err(refused)
    })?;
    created(visit, reply);
    Ok(())
}

/// Subversion's clients get a number, others what WebDAV says.
fn already_exists(visit: &Visit<'_>, path: &FsPath) -> Fault {
    let status = StatusCode::METHOD_NOT_ALLOWED;
    match visit.request.is_svn_client() {
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

pub(super) fn delete(visit: &mut Visit<'_>, reply: &mut Reply) -> Outcome {
    match &visit.resource {
        Resource::Txn(_) | Resource::Vtxn(_) => abort(visit)?,
        Resource::Activity(id) => {
            let id = id.clone();
            abort_activity(visit, &id)?;
        }
        _ => delete_node(visit)?,
    }
    reply.status(StatusCode::NO_CONTENT);
    Ok(())
}

fn delete_node(visit: &mut Visit<'_>) -> Outcome {
    let Some(path) = visit.working_path() else {
        return Err(visit.not_writable()?);
    };
    // Too many tokens for a header come in the body.
    let body = visit.xml()?;
    let listed = body.map(|(root, _)| find_lock_tokens(&root)).unwrap_or_default();
    visit.step(|visit, in_use| {
        let transaction = in_use.transaction;
        if transaction.kind(&path)? == NodeKind::None {
            return Err(Fault::html(StatusCode::NOT_FOUND));
        }
        let mut tokens = visit.held_tokens();
        tokens.extend(listed.into_iter().map(|held| held.token));
        if let Some(lock) = visit.repository().get_lock(&path)?
            && !tokens.contains(&lock.token)
        {
            return Err(Fault::html(StatusCode::LOCKED));
        }
        transaction.set_access(visit.user.as_deref(), tokens);
        transaction.delete(&path, visit.version_name()).map_err(refused)
    })
}

/// Gives a transaction up.
fn abort(visit: &Visit<'_>) -> Outcome {
    let name = visit.txn_name()?;
    let aborted = visit.service.transactions.abort(visit.repository(), &name);
    aborted.map_err(|error| match error.code() {
        Code::FS_NO_SUCH_TRANSACTION => Fault::hidden(StatusCode::NOT_FOUND, error),
        _ => error.into(),
    })
}

/// Forgets an activity, and gives its transaction up if it still has one.
fn abort_activity(visit: &Visit<'_>, id: &str) -> Outcome {
    let activities = visit.activities();
    let Some(name) = activities.find(id)? else {
        return Err(Fault::html(StatusCode::NOT_FOUND));
    };
    if !name.is_empty() {
        match visit.service.transactions.abort(visit.repository(), &name) {
            Err(error) if error.code() != Code::FS_NO_SUCH_TRANSACTION => return Err(error.into()),
            _ => {}
        }
    }
    Ok(activities.remove(id)?)
}

pub(super) fn copy(visit: &mut Visit<'_>, reply: &mut Reply) -> Outcome {
    let (rev, from) = source(visit)?;
    let url = visit.request.header_utf8("destination");
    // As everywhere in WebDAV it must be a whole URL.
    let url = url.filter(|url| url.contains("://"));
    let url = url.ok_or_else(|| Fault::html(StatusCode::BAD_REQUEST))?;
    let to = visit.place.resource_of_url(url);
    let to = to.ok_or_else(|| Fault::html(StatusCode::BAD_REQUEST))?;
    let overwrite = match visit.request.header("overwrite").map(str::trim) {
        None => true,
        Some(word) if word.eq_ignore_ascii_case("t") => true,
        Some(word) if word.eq_ignore_ascii_case("f") => false,
        Some(_) => return Err(Fault::html(StatusCode::BAD_REQUEST)),
    };
    if visit.repository().check_path(rev, &from)? == NodeKind::None {
        return Err(Fault::html(StatusCode::NOT_FOUND));
    }
    let copied = std::mem::replace(&mut visit.resource, to.clone());
    let Some(path) = visit.working_path() else {
        return Err(Fault::html(StatusCode::CONFLICT));
    };
    // Into itself, or onto what holds it: neither can be.
    if let Resource::Public(source) = &copied
        && visit.autoversion.is_some()
        && (source.contains(&path) || path.contains(source))
    {
        return Err(Fault::html(StatusCode::FORBIDDEN));
    }
    let replaced = visit.step(|visit, in_use| {
        let transaction = in_use.transaction;
        let exists = transaction.kind(&path)? != NodeKind::None;
        if exists && !overwrite {
            return Err(Fault::html(StatusCode::PRECONDITION_FAILED));
        }
        visit.check_locked(&path)?;
        if exists {
            transaction.delete(&path, None)?;
        }
        transaction.copy(rev, &from, &path).map_err(refused)?;
        Ok(exists)
    })?;
    match replaced {
        true => _ = reply.status(StatusCode::NO_CONTENT),
        false => created_at(visit, reply, &place_of(visit, &to)),
    }
    Ok(())
}

/// What is copied: a node of a revision.
fn source(visit: &Visit<'_>) -> Result<(Revnum, FsPath), Fault> {
    match &visit.resource {
        Resource::Public(path) => Ok((visit.youngest()?, path.clone())),
        Resource::BaselineCollection(rev, path)
        | Resource::RevisionRoot(rev, path)
        | Resource::Version(rev, path) => Ok((*rev, path.clone())),
        _ => Err(Fault::html(StatusCode::METHOD_NOT_ALLOWED)),
    }
}

/// Where something was made: as everybody sees it, if it will be seen at once.
fn place_of(visit: &Visit<'_>, to: &Resource) -> String {
    match to {
        Resource::Public(path) => visit.base().public(path),
        _ => url_of(visit, to),
    }
}

/// A copy, and the end of what was copied: only for programs whose every write is a revision.
pub(super) fn move_(visit: &mut Visit<'_>, reply: &mut Reply) -> Outcome {
    let Resource::Public(from) = visit.resource.clone() else {
        return Err(visit.not_writable()?);
    };
    if visit.autoversion.is_none() {
        return Err(visit.not_writable()?);
    }
    visit.check_locked(&from)?;
    copy(visit, reply)?;
    visit.step(|_, in_use| in_use.transaction.delete(&from, None).map_err(refused))
}
