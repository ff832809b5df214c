//! Autoversioning: each write of a plain WebDAV program becomes a revision, where a location allows it.
//!
//! Such a program does not know transactions: it writes, deletes and moves public resources. A transaction is begun for its
//! request, the method's own code takes its step in it as if the request had named it, and it is committed at once; or
//! removed, if the step failed.

use base::{Depth, FsPath, Props, Revnum, props};
use http::StatusCode;
use repos::access::Everything;
use repos::transaction::{PutText, TransactionEnd};
use wire::dav::uri::Resource;

use super::txn_step::clock;
use super::{Outcome, post};
use crate::http::{Fault, ResponseWriter};
use crate::site::RequestContext;

/// The revision property of such revisions.
const AUTOVERSIONED: &str = "svn:autoversioned";

/// Returns whether a request is the write of a plain WebDAV program: of a public resource, or a copy of a node of any revision to one.
pub(super) fn is_wanted(context: &RequestContext<'_>) -> bool {
    if !context.mount.location.autoversioning || context.autoversion.is_some() {
        return false;
    }
    let is_public = matches!(context.resource, Resource::Public(_));
    match context.request.method.as_str() {
        "PUT" | "MKCOL" | "DELETE" | "MOVE" | "PROPPATCH" => is_public,
        "COPY" => public_destination(context).is_some(),
        _ => false,
    }
}

/// Returns the path of the request's `Destination`, if that is a public URL.
fn public_destination(context: &RequestContext<'_>) -> Option<FsPath> {
    let url = context.request.header_utf8("destination")?;
    match context.mount.resource_of_url(url)? {
        Resource::Public(path) => Some(path),
        _ => None,
    }
}

/// Runs `step` in a new transaction, and commits it.
///
/// # Errors
/// Those of the step and of commits.
pub(super) fn autoversion(
    context: &mut RequestContext<'_>,
    reply: &mut ResponseWriter,
    step: impl FnOnce(&mut RequestContext<'_>, &mut ResponseWriter) -> Outcome,
) -> Outcome {
    let path = match (&context.resource, context.request.method.as_str()) {
        (_, "COPY") => public_destination(context),
        (Resource::Public(path), _) => Some(path.clone()),
        _ => None,
    };
    let path = path.ok_or_else(|| Fault::html(StatusCode::CONFLICT))?;
    let (name, base) = begin(context, &path)?;
    context.autoversion = Some(name.clone());
    // The request's preconditions are checked in the revision that the transaction is based on: later changes by others are
    // conflicts.
    context.set_youngest(base);
    match step(context, reply) {
        Ok(()) if !context.is_refused => {
            commit(context, &name)?;
            match context.request.method.as_str() {
                "DELETE" | "MOVE" => release_locks(context, &path),
                _ => Ok(()),
            }
        }
        Ok(()) => Ok(context.abort(&name)?),
        Err(fault) => {
            // If that fails the transaction stays, and `lstxns` lists it.
            _ = context.abort(&name);
            Err(fault)
        }
    }
}

/// Commits an empty file, for a client that locks a path where nothing is.
///
/// # Errors
/// Those of commits.
pub(super) fn make_empty(context: &mut RequestContext<'_>, path: &FsPath) -> Outcome {
    let (name, _) = begin(context, path)?;
    let made = context.step_in(&name, |_, in_use| {
        let put = PutText {
            path,
            base_md5: None,
            result_md5: None,
            is_delta: false,
        };
        let putting = in_use.transaction.put(&put)?;
        putting.finish(in_use.transaction)?;
        Ok(())
    });
    match made {
        Ok(()) => commit(context, &name),
        Err(fault) => {
            _ = context.abort(&name);
            Err(fault)
        }
    }
}

/// Releases the client's locks of a node that is gone, and of all below it: WebDAV's `DELETE` and `MOVE` end locks.
///
/// # Errors
/// Those of unlocking, the `pre-unlock` hook's included. The revision exists nevertheless.
fn release_locks(context: &RequestContext<'_>, path: &FsPath) -> Outcome {
    let held = context.held_tokens()?;
    if held.is_empty() || context.has_option("keep-locks") {
        return Ok(());
    }
    let repository = context.repository();
    let locks = repository.locks(path, Depth::Infinity, &Everything)?;
    let hooks = context.hooks()?;
    // As with Apache, each lock is a release of its own to the hooks.
    for lock in locks.into_iter().filter(|lock| held.contains(&lock.token)) {
        let targets = [(lock.path, Some(lock.token))];
        let outcome = repository.unlock_many(&targets, context.user.as_deref(), false, Some(&hooks))?;
        if let Some(error) = &outcome.post_hook_error {
            context.log_error(error);
        }
        outcome.each.into_iter().try_for_each(|(_, ended)| ended)?;
    }
    Ok(())
}

fn begin(context: &RequestContext<'_>, path: &FsPath) -> Result<(String, Revnum), Fault> {
    // Log messages contain no CR. A request for such a path fails in its step, or is for a node that `load` has made.
    let path = path.as_str().replace('\r', "?\\013");
    let message = format!("Autoversioning commit:  a non-deltaV client made a change to\n{path}");
    let revprops = Props::from_iter([
        (props::LOG.to_owned(), message.into_bytes()),
        (AUTOVERSIONED.to_owned(), b"*".to_vec()),
    ]);
    post::begin(context, revprops)
}

fn commit(context: &RequestContext<'_>, name: &str) -> Outcome {
    let transaction = context.take(name)?;
    let held = context.held_tokens()?;
    let tokens: Vec<(FsPath, String)> = held.into_iter().map(|token| (FsPath::root(), token)).collect();
    let ending = TransactionEnd {
        lock_tokens: &tokens,
        // Plain WebDAV programs release their locks themselves.
        release_locks: false,
        user: context.user.as_deref(),
        hooks: &context.hooks()?,
    };
    let info = transaction
        .commit(&ending, &clock())
        .map_err(|error| match error.code() {
            base::Code::FS_CONFLICT | base::Code::FS_TXN_OUT_OF_DATE => {
                Fault::new(StatusCode::CONFLICT, error)
            }
            _ => error.into(),
        })?;
    context.log_operation(|| format!("commit r{}", info.rev));
    Ok(())
}
