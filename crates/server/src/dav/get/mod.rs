//! `GET` and `HEAD`: texts, deltas between them, listings of directories.
//!
//! First what the path and its query name (`target`), then whether the client has it already, then the body: a listing
//! (`index`), the whole text or a part of it (`text`), with keywords (`keywords`), or what turns a text that the client has
//! into this one (`delta`).

mod delta;
pub(in crate::dav) mod index;
pub(in crate::dav) mod media;
mod target;
mod text;

use base::{Date, Revnum};
use http::StatusCode;
use repos::read_mode::check_may_wait;
use repos::tree::Node;
use wire::dav::conditions::Precondition;
use wire::dav::http_date;

use self::target::{Found, Target};
use super::Outcome;
use super::conditions::{conditions, entity_tag};
use super::fault::Fault;
use super::visit::Visit;
use crate::http::{Depends, Lasting, Reply, Request};
use crate::service::now;

pub(super) fn get(visit: &mut Visit<'_>, reply: &mut Reply) -> Outcome {
    let target = match target::find(visit)? {
        Found::Target(target) => target,
        Found::Elsewhere(status, url) => return redirect(status, &url),
    };
    let node = &target.node;
    if node.is_dir() && !target.working && !visit.request.path.ends_with('/') {
        return redirect(StatusCode::MOVED_PERMANENTLY, &with_slash(visit.request));
    }
    let tag = tag(&target);
    let modified = match target.public {
        true => last_modified(visit, node)?,
        false => None,
    };
    let verdict = conditions(visit.request).judge(&tag, modified, Date(now()));
    if verdict == Precondition::Failed {
        return Err(Fault::html(StatusCode::PRECONDITION_FAILED));
    }
    let for_long = target.immutable && !node.is_dir();
    reply.header("cache-control", if for_long { FOR_LONG } else { NOT_KEPT });
    if let Some(date) = modified {
        reply.header("last-modified", &http_date::format(date));
    }
    if !tag.is_empty() {
        reply.header("etag", &tag);
    }
    reply.header("accept-ranges", "bytes");
    if verdict == Precondition::NotModified {
        reply.status(StatusCode::NOT_MODIFIED);
        return Ok(());
    }
    if node.is_dir() {
        return index::index(visit, &target, reply);
    }
    if let Some(base) = delta::base(visit)? {
        check_may_wait()?;
        return delta::send(visit, node, &base, reply);
    }
    let checked = text::send(visit, &target, &tag, modified, reply)?;
    if checked && let Some(depends) = depends(&target, modified) {
        visit.request.lasting = Some(Lasting {
            place: visit.place.clone(),
            path: target.node.path().clone(),
            depends,
        });
    }
    Ok(())
}

/// What an answer depends on that tells a text; `None` if that cannot be said in these words.
fn depends(target: &Target, modified: Option<Date>) -> Option<Depends> {
    if target.working || target.keywords || !(target.public || target.immutable) {
        return None;
    }
    let (node, mut depends) = (&target.node, Depends::default());
    if target.public {
        depends.date = Some((node.created_rev()?, modified));
    }
    if !target.immutable {
        depends.youngest = Some(node.tree().revision()?);
    }
    Some(depends)
}

/// A week: what is addressed by its revision does not change.
const FOR_LONG: &str = "max-age=604800";
/// What may change, or was not checked, is asked for again.
const NOT_KEPT: &str = "max-age=0";

/// The entity tag, as it stands in the header line; empty for what has none.
fn tag(target: &Target) -> String {
    let (node, Some(rev)) = (&target.node, target.node.created_rev()) else {
        return String::new();
    };
    if target.working {
        return String::new();
    }
    entity_tag(node.is_dir(), rev, node.path())
}

fn last_modified(visit: &Visit<'_>, node: &Node) -> Result<Option<Date>, Fault> {
    let Some(rev) = node.created_rev() else {
        return Ok(None);
    };
    Ok(visit.repository().date(rev)?)
}

/// Sends the client to another URL.
fn redirect(status: StatusCode, url: &str) -> Outcome {
    Err(Fault::html(status).with("location", url))
}

/// The same URL with a slash behind its path.
pub(super) fn with_slash(request: &Request) -> String {
    let query = request.query.as_ref().map(|query| format!("?{query}"));
    format!(
        "{}{}/{}",
        request.origin(),
        request.path,
        query.unwrap_or_default()
    )
}

/// The revision that links of a listing name, if the client has named one.
fn pegged(target: &Target) -> Option<Revnum> {
    target.peg.filter(|_| target.public)
}
