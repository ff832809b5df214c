//! Writes of plain WebDAV programs: each becomes a revision of its own, where a location allows it.
//!
//! Such a program knows nothing of transactions: it puts, deletes and moves what everybody sees. One transaction is begun for
//! its request, the method's own code takes its step in it as if it had been named, and it is made a revision at
//! once; or removed, if the step failed.

use base::{FsPath, Props, Revnum, props};
use http::StatusCode;
use repos::transaction::{PutText, TransactionEnd};
use wire::dav::uri::Resource;

use super::fault::Fault;
use super::steps::clock;
use super::visit::Visit;
use super::{Outcome, post};
use crate::http::Reply;

/// Marks revisions that were made like this.
const AUTOVERSIONED: &str = "svn:autoversioned";

/// True if a request is a plain program's write.
pub(super) fn is_wanted(visit: &Visit<'_>) -> bool {
    visit.place.location.autoversioning
        && visit.autoversion.is_none()
        && matches!(visit.resource, Resource::Public(_))
        && matches!(
            visit.request.method.as_str(),
            "PUT" | "MKCOL" | "DELETE" | "COPY" | "MOVE" | "PROPPATCH"
        )
}

/// Does what `step` does, and makes a revision of it.
///
/// # Errors
/// Those of the step and of commits.
pub(super) fn autoversion(
    visit: &mut Visit<'_>,
    reply: &mut Reply,
    step: impl FnOnce(&mut Visit<'_>, &mut Reply) -> Outcome,
) -> Outcome {
    let path = match &visit.resource {
        Resource::Public(path) => path.clone(),
        _ => return Err(Fault::html(StatusCode::CONFLICT)),
    };
    let (name, base) = begin(visit, &path)?;
    visit.autoversion = Some(name.clone());
    // What the request says of a node is asked of what the transaction is based on: what somebody else changes from then on is
    // a conflict.
    visit.look_at(base);
    match step(visit, reply) {
        Ok(()) if !visit.is_refused => commit(visit, &name),
        Ok(()) => Ok(visit.abort(&name)?),
        Err(fault) => {
            // What cannot be removed now is listed by `lstxns`.
            _ = visit.abort(&name);
            Err(fault)
        }
    }
}

/// Makes an empty file, for somebody who wants to lock it.
///
/// # Errors
/// Those of commits.
pub(super) fn make_empty(visit: &mut Visit<'_>, path: &FsPath) -> Outcome {
    let (name, _) = begin(visit, path)?;
    let made = visit.step_in(&name, |_, in_use| {
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
        Ok(()) => commit(visit, &name),
        Err(fault) => {
            _ = visit.abort(&name);
            Err(fault)
        }
    }
}

fn begin(visit: &Visit<'_>, path: &FsPath) -> Result<(String, Revnum), Fault> {
    // Log messages have no CR. A request for such a path fails in its step, or has found a node that `load` has made.
    let path = path.as_str().replace('\r', "?\\013");
    let message = format!("Autoversioning commit:  a non-deltaV client made a change to\n{path}");
    let revprops = Props::from_iter([
        (props::LOG.to_owned(), message.into_bytes()),
        (AUTOVERSIONED.to_owned(), b"*".to_vec()),
    ]);
    post::begin(visit, revprops)
}

fn commit(visit: &Visit<'_>, name: &str) -> Outcome {
    let transaction = visit.take(name)?;
    let held = visit.held_tokens()?;
    let tokens: Vec<(FsPath, String)> = held.into_iter().map(|token| (FsPath::root(), token)).collect();
    let ending = TransactionEnd {
        lock_tokens: &tokens,
        // Their programs unlock what they have locked.
        release_locks: false,
        user: visit.user.as_deref(),
        hooks: &visit.hooks()?,
    };
    let info = transaction
        .commit(&ending, &clock())
        .map_err(|error| match error.code() {
            base::Code::FS_CONFLICT | base::Code::FS_TXN_OUT_OF_DATE => {
                Fault::new(StatusCode::CONFLICT, error)
            }
            _ => error.into(),
        })?;
    visit.log_operation(|| format!("commit r{}", info.rev));
    Ok(())
}
