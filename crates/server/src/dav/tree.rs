//! `MKCOL`, `DELETE`, `COPY` and `MOVE`: the shape of a tree.

use base::{Code, Error, FsPath, NodeKind, Revnum};
use http::StatusCode;
use wire::dav::lock_tokens::find_lock_tokens;
use wire::dav::uri::Resource;

use super::Outcome;
use super::created::{created, created_at, url_of};
use super::fault::Fault;
use super::place::no_resource;
use super::steps::{check_utf8, refused};
use super::target::Target;
use super::visit::Visit;
use crate::http::Reply;

pub(super) fn mkcol(visit: &mut Visit<'_>, reply: &mut Reply) -> Outcome {
    if visit.request.body.next_piece()?.is_some() {
        return Err(Fault::html(StatusCode::UNSUPPORTED_MEDIA_TYPE));
    }
    let Some(path) = visit.working_path() else {
        return Err(visit.not_writable());
    };
    visit.step(|visit, in_use| {
        let transaction = in_use.transaction;
        if transaction.kind(&path)? != NodeKind::None {
            return Err(already_exists(visit, &path));
        }
        check_utf8(&path)?;
        visit.check_conditions(&path)?;
        visit.check_locked(&path, &transaction.ended_lock_tokens())?;
        transaction.make_dir(&path).map_err(refused)
    })?;
    created(visit, reply);
    Ok(())
}

/// Subversion's clients get a number, others what WebDAV says.
fn already_exists(visit: &Visit<'_>, path: &FsPath) -> Fault {
    let status = StatusCode::METHOD_NOT_ALLOWED;
    match visit.request.is_svn_client() && visit.autoversion.is_none() {
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
        Resource::Txn(_) => abort(visit)?,
        Resource::Vtxn(id) => {
            let id = id.clone();
            abort(visit)?;
            visit.activities().remove(&id)?;
        }
        Resource::Activity(id) => {
            let id = id.clone();
            abort_activity(visit, &id)?;
        }
        _ => delete_node(visit)?,
    }
    reply.status(StatusCode::NO_CONTENT);
    Ok(())
}

/// Refuses to delete less than a whole directory. Of a file, as the incumbent, only the depth `1` is refused.
///
/// # Errors
/// 400.
fn check_depth(visit: &Visit<'_>, kind: NodeKind) -> Outcome {
    match visit.request.header("depth").map(str::trim) {
        None => Ok(()),
        Some(depth) if depth.eq_ignore_ascii_case("infinity") => Ok(()),
        Some(depth) if kind != NodeKind::Dir && depth != "1" => Ok(()),
        Some(_) => Err(Fault::html(StatusCode::BAD_REQUEST)),
    }
}

/// As [`check_depth`], to move; of a file the depth is infinite or 0.
///
/// # Errors
/// 400.
fn check_move_depth(visit: &Visit<'_>, kind: NodeKind) -> Outcome {
    match visit.request.header("depth").map(str::trim) {
        Some(depth) if depth != "0" && !depth.eq_ignore_ascii_case("infinity") => {
            Err(Fault::html(StatusCode::BAD_REQUEST))
        }
        _ => check_depth(visit, kind),
    }
}

/// What the URL names outside of transactions.
fn kind_at(visit: &Visit<'_>) -> Result<NodeKind, Fault> {
    let (rev, path) = match &visit.resource {
        Resource::Public(path) => (visit.youngest()?, path),
        Resource::BaselineCollection(rev, path) | Resource::RevisionRoot(rev, path) => (*rev, path),
        _ => return Ok(NodeKind::None),
    };
    Ok(visit.repository().check_path(rev, path)?)
}

fn delete_node(visit: &mut Visit<'_>) -> Outcome {
    let Some(path) = visit.working_path() else {
        match (kind_at(visit)?, &visit.resource) {
            // A version is not known to be a directory.
            (_, Resource::Version(..)) => check_depth(visit, NodeKind::File)?,
            (NodeKind::None, _) => {}
            (kind, _) => check_depth(visit, kind)?,
        }
        return Err(visit.refusal(|target| match target {
            Target::Regular { exists: false } => StatusCode::NOT_FOUND,
            Target::Regular { exists: true } => StatusCode::CONFLICT,
            Target::WorkingBaseline => StatusCode::METHOD_NOT_ALLOWED,
            _ => StatusCode::INTERNAL_SERVER_ERROR,
        }));
    };
    // Too many tokens for a header come in the body.
    let body = visit.xml()?;
    let listed = body.map(|(root, _)| find_lock_tokens(&root)).unwrap_or_default();
    visit.step(|visit, in_use| {
        let transaction = in_use.transaction;
        match transaction.kind(&path)? {
            NodeKind::None => return Err(Fault::html(StatusCode::NOT_FOUND)),
            kind => check_depth(visit, kind)?,
        }
        visit.check_conditions(&path)?;
        let mut listed: Vec<String> = listed.into_iter().map(|held| held.token).collect();
        listed.extend(transaction.ended_lock_tokens());
        visit.check_locked(&path, &listed)?;
        let mut tokens = visit.held_tokens()?;
        tokens.extend(listed);
        transaction.set_access(visit.user.as_deref(), tokens.clone());
        transaction.delete(&path, visit.version_name()).map_err(refused)?;
        // The incumbent unlocks here and now; what clients rely on is that the path may be used again.
        if visit.autoversion.is_none()
            && !visit.has_option("keep-locks")
            && let Some(lock) = visit.repository().get_lock(&path)?
            && tokens.contains(&lock.token)
        {
            transaction.end_lock(path.clone(), lock.token);
        }
        Ok(())
    })
}

/// Gives a transaction up.
fn abort(visit: &Visit<'_>) -> Outcome {
    let name = visit.txn_name()?;
    visit.abort(&name).map_err(|error| match error.code() {
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
        match visit.abort(&name) {
            Err(error) if error.code() != Code::FS_NO_SUCH_TRANSACTION => return Err(error.into()),
            _ => {}
        }
    }
    Ok(activities.remove(id)?)
}

pub(super) fn copy(visit: &mut Visit<'_>, reply: &mut Reply) -> Outcome {
    let (rev, from) = source(visit)?;
    if visit.autoversion.is_some() {
        visit.check_conditions(&from)?;
        visit.check_believed(&from)?;
    }
    let (to, overwrite) = destination(visit)?;
    let copied = std::mem::replace(&mut visit.resource, to.clone());
    let Some(path) = visit.working_path() else {
        return Err(visit.refusal(|target| match target {
            Target::Regular { exists: false } | Target::Activity { exists: false } => StatusCode::CONFLICT,
            _ if !overwrite => StatusCode::PRECONDITION_FAILED,
            _ => StatusCode::CONFLICT,
        }));
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
        check_utf8(&path)?;
        visit.check_locked(&path, &transaction.ended_lock_tokens())?;
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

/// What is copied: a node of a revision, which must be there.
fn source(visit: &mut Visit<'_>) -> Result<(Revnum, FsPath), Fault> {
    let (rev, path) = match &visit.resource {
        Resource::Public(path) => (visit.youngest()?, path.clone()),
        Resource::BaselineCollection(rev, path) | Resource::RevisionRoot(rev, path) => (*rev, path.clone()),
        _ => {
            return Err(visit.refusal(|target| match target {
                Target::Working { exists: false } | Target::Activity { exists: false } => {
                    StatusCode::NOT_FOUND
                }
                _ => StatusCode::METHOD_NOT_ALLOWED,
            }));
        }
    };
    match visit.repository().check_path(rev, &path)? {
        NodeKind::None => Err(Fault::html(StatusCode::NOT_FOUND)),
        _ => Ok((rev, path)),
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
    let from = match &visit.resource {
        Resource::Public(from) if visit.autoversion.is_some() => from.clone(),
        _ => return Err(not_moved(visit)),
    };
    check_move_depth(visit, kind_at(visit)?)?;
    visit.check_locked(&from, &[])?;
    copy(visit, reply)?;
    visit.step(|_, in_use| in_use.transaction.delete(&from, None).map_err(refused))
}

/// Why a resource cannot be moved.
fn not_moved(visit: &mut Visit<'_>) -> Fault {
    let target = match visit.target() {
        Ok(target) => target,
        Err(fault) => return fault,
    };
    let status = match target {
        Target::Regular { exists: false }
        | Target::Working { exists: false }
        | Target::Activity { exists: false } => StatusCode::NOT_FOUND,
        Target::Regular { exists: true } => match moved(visit) {
            Ok((to, false)) => {
                visit.resource = to;
                return visit.refusal(|target| match target.exists() {
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

/// As [`destination`], of something that is moved as a whole.
fn moved(visit: &Visit<'_>) -> Result<(Resource, bool), Fault> {
    check_move_depth(visit, kind_at(visit)?)?;
    destination(visit)
}

/// Where a copy goes, and whether it may replace what is there.
///
/// # Errors
/// 400 where it does not say, 404 for a path that is not followed.
fn destination(visit: &Visit<'_>) -> Result<(Resource, bool), Fault> {
    let bad = || Fault::html(StatusCode::BAD_REQUEST);
    // As everywhere in WebDAV it must be a whole URL.
    let url = visit.request.header_utf8("destination");
    let url = url.filter(|url| is_web(url)).ok_or_else(bad)?;
    let to = visit.place.resource_of_url(url).ok_or_else(|| no_resource(url))?;
    let overwrite = match visit.request.header("overwrite").map(str::trim) {
        None => true,
        Some(word) if word.eq_ignore_ascii_case("t") => true,
        Some(word) if word.eq_ignore_ascii_case("f") => false,
        Some(_) => return Err(bad()),
    };
    Ok((to, overwrite))
}

/// True for `http://` and `https://`: nothing else can be of this server.
fn is_web(url: &str) -> bool {
    url.split_once("://").is_some_and(|(scheme, _)| {
        scheme.eq_ignore_ascii_case("http") || scheme.eq_ignore_ascii_case("https")
    })
}
