//! `MKACTIVITY` and `CHECKOUT`: how old clients begin a commit. An activity is a name that a client chose for its transaction.

use base::{Code, Error, FsPath, Props, Revnum};
use http::StatusCode;
use wire::dav::checkout::Checkout;
use wire::dav::uri::Resource;

use super::Outcome;
use super::created::{created, created_at};
use super::fault::Fault;
use super::post;
use super::target::Target;
use super::visit::Visit;
use crate::http::Reply;

pub(super) fn mkactivity(visit: &mut Visit<'_>, reply: &mut Reply) -> Outcome {
    let Resource::Activity(id) = visit.resource.clone() else {
        return Err(visit.refusal(|target| match target {
            Target::Regular { exists: false } | Target::Working { exists: false } => StatusCode::FORBIDDEN,
            _ => StatusCode::CONFLICT,
        }));
    };
    let activities = visit.activities();
    if activities.find(&id)?.is_some() {
        return Err(Fault::html(StatusCode::CONFLICT));
    }
    let (name, _) = post::begin(visit, Props::new())?;
    activities.store(&id, &name)?;
    reply.header("cache-control", "no-cache");
    created(visit, reply);
    Ok(())
}

pub(super) fn checkout(visit: &mut Visit<'_>, reply: &mut Reply) -> Outcome {
    let root = visit.xml()?.map(|(root, _)| root);
    let asked = match &root {
        Some(root) => Checkout::parse(root).ok_or_else(|| Fault::html(StatusCode::BAD_REQUEST))?,
        None => Checkout::default(),
    };
    match visit.target()? {
        Target::Regular { exists: false }
        | Target::Working { exists: false }
        | Target::Activity { exists: false } => {
            return Err(Fault::html(StatusCode::NOT_FOUND));
        }
        Target::Version | Target::Baseline => {}
        // Of what is controlled, the version is taken.
        Target::Private if visit.resource == Resource::Vcc && asked.apply_to_version => {}
        Target::Regular { .. } => {
            let text = "CHECKOUT can only be performed on a version resource";
            return Err(refusal(
                StatusCode::METHOD_NOT_ALLOWED,
                Code::UNSUPPORTED_FEATURE,
                text,
            ));
        }
        _ => return Err(Fault::html(StatusCode::CONFLICT)),
    }
    let id = activity(visit, &asked)?;
    let Some(name) = visit.activities().find(&id)? else {
        let text = "The specified activity does not exist";
        return Err(conflict(Code::APMOD_ACTIVITY_NOT_FOUND, text));
    };
    let url = match visit.resource.clone() {
        Resource::Version(rev, path) => {
            check_version(visit, &name, rev, &path)?;
            visit.base().working("wrk", &id, &path)
        }
        Resource::Baseline(rev) | Resource::Revision(rev) => {
            check_baseline(visit, &name, rev)?;
            visit.base().named("wbl", &format!("{id}/{rev}"))
        }
        _ => {
            let rev = visit.youngest()?;
            check_baseline(visit, &name, rev)?;
            visit.base().named("wbl", &format!("{id}/{rev}"))
        }
    };
    reply.header("cache-control", "no-cache");
    created_at(visit, reply, &url);
    Ok(())
}

/// The activity that a request names.
fn activity(visit: &Visit<'_>, asked: &Checkout) -> Result<String, Fault> {
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
        [url] => match visit.place.resource_of_url(url) {
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

/// Old clients change a revision's properties-to-be through the youngest baseline. Their transaction may be based on an older
/// one: who has seen another commit asks again, with the baseline that is the youngest then.
fn check_baseline(visit: &mut Visit<'_>, name: &str, rev: Revnum) -> Outcome {
    visit.step_in(name, |visit, _| {
        if rev != visit.youngest()? {
            return Err(conflict(
                Code::APMOD_BAD_BASELINE,
                "The specified baseline is not the latest baseline, so it may not be checked out",
            ));
        }
        Ok(())
    })
}

/// The version must be the one that the transaction has, or one that has not changed since.
fn check_version(visit: &mut Visit<'_>, name: &str, rev: Revnum, path: &FsPath) -> Outcome {
    if rev > visit.youngest()? {
        return Err(Error::new(Code::FS_NO_SUCH_REVISION, format!("No such revision {rev}")).into());
    }
    visit.step_in(name, |_, in_use| {
        let transaction = in_use.transaction;
        let node = transaction.existing(path)?;
        // One that the transaction has changed already may be checked out again.
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

/// A status that the number does not change.
fn refusal(status: StatusCode, code: Code, text: &str) -> Fault {
    let mut fault = Fault::new(status, Error::new(code, text));
    fault.status = status;
    fault
}
