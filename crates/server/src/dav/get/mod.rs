//! `GET` and `HEAD`: texts, deltas between texts, listings of directories.
//!
//! First the node that path and query name (`target`), then the request's conditions, then the body: a listing (`index`), the whole
//! text or a range of it, perhaps with keywords expanded (`text`), or a delta against a text that the client has (`delta`).

mod delta;
pub(in crate::dav) mod index;
pub(in crate::dav) mod media;
mod target;
mod text;

use base::{Date, Revnum};
use http::StatusCode;
use repos::tree::TreeNode;
use wire::dav::conditions::Precondition;
use wire::dav::http_date;

use self::target::GetTarget;
use super::Outcome;
use super::preconditions::{conditions, entity_tag};
use super::propfind::without_slash;
use crate::clock::now;
use crate::http::{CacheableResponse, Fault, Request, ResponseWriter};
use crate::response_cache::{RequiredAccess, Validators};
use crate::site::RequestContext;

pub(super) fn get(context: &mut RequestContext<'_>, reply: &mut ResponseWriter) -> Outcome {
    let target = target::find(context)?;
    let node = &target.node;
    if node.is_dir() && !target.working && !context.request.path.ends_with('/') {
        return Err(Fault::html(StatusCode::MOVED_PERMANENTLY).with("location", with_slash(context.request)));
    }
    let tag = tag(&target);
    let committed = match target.public {
        true => commit_date(context, node)?,
        false => None,
    };
    // The clock of a committer may have been ahead. Nothing was modified later than now (RFC 9110, 8.8.2.1).
    let now = Date(now());
    let modified = committed.map(|date| date.min(now));
    let verdict = conditions(context.request).judge(&tag, modified, now);
    if verdict == Precondition::Failed {
        return Err(Fault::html(StatusCode::PRECONDITION_FAILED));
    }
    let is_immutable = target.immutable && !node.is_dir();
    reply
        .head
        .header("cache-control", if is_immutable { IMMUTABLE } else { REVALIDATE });
    if let Some(date) = modified {
        reply.head.header("last-modified", &http_date::format(date));
    }
    if !tag.is_empty() {
        reply.head.header("etag", &tag);
    }
    reply.head.header("accept-ranges", "bytes");
    if verdict == Precondition::NotModified {
        reply.head.status(StatusCode::NOT_MODIFIED);
        return Ok(());
    }
    if node.is_dir() {
        return index::index(context, &target, reply);
    }
    if let Some(base) = delta::base(context)? {
        context.request.check_may_wait()?;
        return delta::send(context, node, &base, reply);
    }
    let checked = text::send(context, &target, &tag, modified, reply)?;
    if checked && let Some(validators) = validators(context, &target, committed) {
        context.request.cacheable = Some(CacheableResponse {
            instance: context.instance,
            validators,
        });
    }
    Ok(())
}

/// Returns the facts that the response with a text depends on; `None` if [`Validators`] cannot express them.
fn validators(
    context: &RequestContext<'_>,
    target: &GetTarget,
    committed: Option<Date>,
) -> Option<Validators> {
    if target.working || target.keywords || !(target.public || target.immutable) {
        return None;
    }
    let node = &target.node;
    let mut validators = context.validators(RequiredAccess::Path(node.path().clone()));
    if target.public {
        validators.date = Some((node.created_rev()?, committed));
    }
    if !target.immutable {
        validators.youngest = Some(node.tree().revision()?);
    }
    Some(validators)
}

/// A week: a text that is addressed by its revision does not change.
const IMMUTABLE: &str = "max-age=604800";
/// For texts that may change, or whose digest was not checked.
const REVALIDATE: &str = "max-age=0";

/// Returns the entity tag as header lines have it; empty for nodes of transactions.
fn tag(target: &GetTarget) -> String {
    let (node, Some(rev)) = (&target.node, target.node.created_rev()) else {
        return String::new();
    };
    if target.working {
        return String::new();
    }
    entity_tag(node.is_dir(), rev, node.path())
}

fn commit_date(context: &RequestContext<'_>, node: &TreeNode) -> Result<Option<Date>, Fault> {
    let Some(rev) = node.created_rev() else {
        return Ok(None);
    };
    Ok(context.repository().date(rev)?)
}

/// Returns the request's URL with a final slash in its path.
pub(super) fn with_slash(request: &Request) -> String {
    let query = request.query.as_ref().map(|query| format!("?{query}"));
    format!(
        "{}{}/{}",
        request.origin(),
        without_slash(&request.path),
        query.unwrap_or_default()
    )
}

/// Returns the revision for the links of a listing, if the request names one.
fn pegged(target: &GetTarget) -> Option<Revnum> {
    target.peg.filter(|_| target.public)
}
