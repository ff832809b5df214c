//! `MKACTIVITY` and `CHECKOUT`: how old clients begin a commit. An activity is a client's name for its transaction.

use base::{Code, Error, FsPath, Props, Revnum};
use http::StatusCode;
use wire::dav::checkout::CheckoutRequest;
use wire::dav::uri::Resource;

use super::Outcome;
use super::created::{created, created_at};
use super::post;
use super::resource_kind::ResourceKind;
use crate::http::{Fault, ResponseWriter};
use crate::site::RequestContext;

pub(super) fn mkactivity(context: &mut RequestContext<'_>, reply: &mut ResponseWriter) -> Outcome {
    let Resource::Activity(id) = context.resource.clone() else {
        return Err(context.refusal(|kind| match kind {
            ResourceKind::Regular { exists: false } | ResourceKind::Working { exists: false } => {
                StatusCode::FORBIDDEN
            }
            _ => StatusCode::CONFLICT,
        }));
    };
    let activities = context.activities();
    if activities.find(&id)?.is_some() {
        return Err(Fault::html(StatusCode::CONFLICT));
    }
    let (name, _) = post::begin(context, Props::new())?;
    activities.store(&id, &name)?;
    reply.head.header("cache-control", "no-cache");
    created(context, reply);
    Ok(())
}

pub(super) fn checkout(context: &mut RequestContext<'_>, reply: &mut ResponseWriter) -> Outcome {
    let root = context.xml()?.map(|(root, _)| root);
    let asked = match &root {
        Some(root) => CheckoutRequest::parse(root).ok_or_else(|| Fault::html(StatusCode::BAD_REQUEST))?,
        None => CheckoutRequest::default(),
    };
    match context.resource_kind()? {
        ResourceKind::Regular { exists: false }
        | ResourceKind::Working { exists: false }
        | ResourceKind::Activity { exists: false } => {
            return Err(Fault::html(StatusCode::NOT_FOUND));
        }
        ResourceKind::Version | ResourceKind::Baseline => {}
        // Of a version-controlled resource, its version is checked out.
        ResourceKind::Private if context.resource == Resource::Vcc && asked.apply_to_version => {}
        ResourceKind::Regular { .. } => {
            let text = "CHECKOUT can only be performed on a version resource";
            return Err(refusal(
                StatusCode::METHOD_NOT_ALLOWED,
                Code::UNSUPPORTED_FEATURE,
                text,
            ));
        }
        _ => return Err(Fault::html(StatusCode::CONFLICT)),
    }
    let id = activity(context, &asked)?;
    let Some(name) = context.activities().find(&id)? else {
        let text = "The specified activity does not exist";
        return Err(conflict(Code::APMOD_ACTIVITY_NOT_FOUND, text));
    };
    let url = match context.resource.clone() {
        Resource::Version(rev, path) => {
            check_version(context, &name, rev, &path)?;
            context.base().working("wrk", &id, &path)
        }
        Resource::Baseline(rev) | Resource::Revision(rev) => {
            check_baseline(context, &name, rev)?;
            context.base().named("wbl", &format!("{id}/{rev}"))
        }
        _ => {
            let rev = context.youngest()?;
            check_baseline(context, &name, rev)?;
            context.base().named("wbl", &format!("{id}/{rev}"))
        }
    };
    reply.head.header("cache-control", "no-cache");
    created_at(context, reply, &url);
    Ok(())
}

/// Returns the activity that a request names.
fn activity(context: &RequestContext<'_>, asked: &CheckoutRequest) -> Result<String, Fault> {
    let unsupported = |text: &str| refusal(StatusCode::NOT_IMPLEMENTED, Code::UNSUPPORTED_FEATURE, text);
    if asked.unreserved {
        return Err(unsupported(
            "Unreserved checkouts are not yet available. A version history may not be checked out more than once, into \
             a specific activity",
        ));
    }
    if asked.new_activity {
        return Err(unsupported(
            "CHECKOUT cannot create an activity at this time. Use MKACTIVITY first",
        ));
    }
    match &asked.activities[..] {
        [] => Err(conflict(
            Code::INCOMPLETE_DATA,
            "An activity must be provided for checkout",
        )),
        [url] => match context.mount.resource_of_url(url) {
            Some(Resource::Activity(id)) => Ok(id),
            Some(Resource::Txn(_) | Resource::TxnRoot(..) | Resource::Me | Resource::Revision(_)) => {
                Err(unsupported("Unsupported URI form"))
            }
            _ => Err(conflict(
                Code::INCORRECT_PARAMS,
                "The provided href is not an activity URI",
            )),
        },
        _ => Err(conflict(
            Code::INCORRECT_PARAMS,
            "Only one activity may be specified within the CHECKOUT",
        )),
    }
}

/// Checks that a baseline is the youngest one: old clients change the properties of a future revision through it. The transaction
/// may be based on an older revision: after another commit such a client repeats the request with the new baseline.
fn check_baseline(context: &mut RequestContext<'_>, name: &str, rev: Revnum) -> Outcome {
    context.step_in(name, |context, _| {
        if rev != context.youngest()? {
            return Err(conflict(
                Code::APMOD_BAD_BASELINE,
                "The specified baseline is not the latest baseline, so it may not be checked out",
            ));
        }
        Ok(())
    })
}

/// Checks that a version is the one in the transaction, or one that has not changed since.
fn check_version(context: &mut RequestContext<'_>, name: &str, rev: Revnum, path: &FsPath) -> Outcome {
    if rev > context.youngest()? {
        return Err(Error::new(Code::FS_NO_SUCH_REVISION, format!("No such revision {rev}")).into());
    }
    context.step_in(name, |_, in_use| {
        let transaction = in_use.transaction;
        let node = transaction.existing(path)?;
        // A node that the transaction has changed may be checked out again.
        let Some(created) = node.created_rev() else {
            return Ok(());
        };
        if rev < created {
            return Err(conflict(Code::FS_CONFLICT, "resource out of date; try updating"));
        }
        match rev == created || transaction.has_version(path, rev)? {
            true => Ok(()),
            false => Err(conflict(
                Code::FS_CONFLICT,
                "version resource newer than txn (restart the commit)",
            )),
        }
    })
}

fn conflict(code: Code, text: &str) -> Fault {
    refusal(StatusCode::CONFLICT, code, text)
}

/// Returns an error response whose status does not depend on the number.
fn refusal(status: StatusCode, code: Code, text: &str) -> Fault {
    let mut fault = Fault::new(status, Error::new(code, text));
    fault.status = status;
    fault
}
