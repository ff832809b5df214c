//! `MKACTIVITY` and `CHECKOUT`: how old clients begin a commit. An activity is a name that a client chose for its transaction.

use base::{Code, Error, FsPath, Props, Revnum};
use http::StatusCode;
use wire::dav::checkout::Checkout;
use wire::dav::uri::Resource;

use super::Outcome;
use super::created::{created, created_at};
use super::fault::Fault;
use super::post;
use super::visit::Visit;
use crate::http::Reply;

pub(super) fn mkactivity(visit: &mut Visit<'_>, reply: &mut Reply) -> Outcome {
    let Resource::Activity(id) = &visit.resource else {
        return Err(Fault::html(StatusCode::METHOD_NOT_ALLOWED));
    };
    let activities = visit.activities();
    if activities.find(id)?.is_some() {
        return Err(Fault::html(StatusCode::CONFLICT));
    }
    let name = post::begin(visit, Props::new())?;
    activities.store(id, &name)?;
    reply.header("cache-control", "no-cache");
    created(visit, reply);
    Ok(())
}

pub(super) fn checkout(visit: &mut Visit<'_>, reply: &mut Reply) -> Outcome {
    let (root, _) = visit.required_xml()?;
    let bad = || Fault::html(StatusCode::BAD_REQUEST);
    let asked = Checkout::parse(&root).ok_or_else(bad)?;
    if asked.unreserved {
        return Err(conflict(
            Code::UNSUPPORTED_FEATURE,
            "Unreserved checkouts are not yet available. A version history may not be checked out more than once, into \
             a specific activity.",
        ));
    }
    let id = match (&asked.activities[..], asked.new_activity) {
        ([url], false) => match visit.place.resource_of_url(url) {
            Some(Resource::Activity(id)) => id,
            _ => {
                return Err(conflict(
                    Code::INCORRECT_PARAMS,
                    "The provided href is not an activity URI.",
                ));
            }
        },
        _ => {
            return Err(conflict(
                Code::INCORRECT_PARAMS,
                "Only one activity may be specified within the CHECKOUT.",
            ));
        }
    };
    let name = visit.activities().find(&id)?.filter(|name| !name.is_empty());
    let name = name.ok_or_else(|| {
        conflict(
            Code::APMOD_ACTIVITY_NOT_FOUND,
            "The specified activity does not exist.",
        )
    })?;
    let url = match visit.resource.clone() {
        Resource::Version(rev, path) => {
            check_version(visit, &name, rev, &path)?;
            visit.base().working("wrk", &id, &path)
        }
        Resource::Vcc => {
            let rev = visit.youngest()?;
            check_baseline(visit, &name, rev)?;
            visit.base().named("wbl", &format!("{id}/{rev}"))
        }
        Resource::Baseline(rev) => {
            check_baseline(visit, &name, rev)?;
            visit.base().named("wbl", &format!("{id}/{rev}"))
        }
        _ => {
            return Err(Fault::new(
                StatusCode::METHOD_NOT_ALLOWED,
                Error::new(
                    Code::UNSUPPORTED_FEATURE,
                    "CHECKOUT can only be performed on a version resource.",
                ),
            ));
        }
    };
    reply.header("cache-control", "no-cache");
    created_at(visit, reply, &url);
    Ok(())
}

/// Old clients change a revision's properties-to-be through the baseline that their transaction is based on.
fn check_baseline(visit: &mut Visit<'_>, name: &str, rev: Revnum) -> Outcome {
    visit.step_in(name, |visit, in_use| {
        if rev > visit.youngest()? || rev != in_use.transaction.base_revision() {
            return Err(conflict(
                Code::APMOD_BAD_BASELINE,
                "The specified baseline is not the latest baseline, so it may not be checked out.",
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
        let Some(node) = transaction.look_up(path)? else {
            return Err(Error::new(
                Code::FS_NOT_FOUND,
                format!("File not found: transaction '{name}', path '{path}'"),
            )
            .into());
        };
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
    let mut fault = Fault::new(StatusCode::CONFLICT, Error::new(code, text));
    fault.status = StatusCode::CONFLICT;
    fault
}
