//! Requests about a transaction that another machine of a cluster has.
//!
//! Where several machines share a repository, each request of a client may reach another one. An open transaction belongs to the
//! machine that began it, and its name tells which that is. A request that names such a transaction is authorized here and then
//! passed to that machine, with a header line that names the user and proves that a machine of the cluster has sent it. The other
//! machine does not ask for credentials again, and does not pass the request on.
//!
//! The transaction is named by the URL, by the `Destination` of a copy, or by the body of `MERGE` and `CHECKOUT`.
//!
//! A transaction of a machine that is gone is gone too. The client gets the error that its commit is out of date, and can try again. If
//! the machine is lost after a `MERGE` was sent to it, it may have made the revision; the error says that.

use base::{Code, Error};
use http::{HeaderName, HeaderValue, StatusCode};
use repos::TxnOwner;
use wire::dav::checkout::CheckoutRequest;
use wire::dav::merge::MergeRequest;
use wire::dav::uri::Resource;

use super::{Outcome, proxy};
use crate::http::{Fault, ResponseWriter};
use crate::site::{FORWARDED, ForwardedUser, RequestContext};

/// The machine that has the transaction of a request.
pub(super) struct OtherNode {
    /// The URL of the location on it.
    url: String,
    /// The name of the transaction.
    txn: String,
}

/// Returns the machine that has the transaction of the request; `None` if the request is answered here.
///
/// # Errors
/// 409 if that machine is gone; those of reading the body, and of the shared storage.
pub(super) fn other_node(context: &mut RequestContext<'_>) -> Result<Option<OtherNode>, Fault> {
    if context.repository().shared_nodes().is_none() {
        return Ok(None);
    }
    let method = context.request.method.as_str();
    if !context.resource.is_in_transaction() && !matches!(method, "COPY" | "MOVE" | "MERGE" | "CHECKOUT") {
        return Ok(None);
    }
    context.request.check_may_wait()?;
    let Some(name) = named_txn(context)? else {
        return Ok(None);
    };
    match context.repository().txn_owner(&name)? {
        TxnOwner::This => Ok(None),
        // The other machine took this one for its owner: the transaction is of a process that served here before.
        TxnOwner::Other(_) if context.request.header(FORWARDED).is_some() => Err(gone(&name)),
        TxnOwner::Other(base) => Ok(Some(OtherNode {
            url: format!("{base}{}", context.mount.location.prefix),
            txn: name,
        })),
        TxnOwner::Gone => Err(gone(&name)),
    }
}

/// Passes the request on.
///
/// # Errors
/// 409 if the other machine cannot be reached, does not respond, or loses its lease meanwhile; 504 in the last two cases for `MERGE`:
/// the revision may have been made.
pub(super) fn forward(
    context: &mut RequestContext<'_>,
    reply: &mut ResponseWriter,
    other: &OtherNode,
) -> Outcome {
    let url = other.url.as_str();
    let Some(nodes) = context.repository().shared_nodes().cloned() else {
        return Err(Fault::html(StatusCode::INTERNAL_SERVER_ERROR));
    };
    let line = ForwardedUser::of(context).seal(&*nodes, context.request)?;
    let value = HeaderValue::from_str(&line).map_err(|_| Fault::html(StatusCode::INTERNAL_SERVER_ERROR))?;
    let is_merge = context.request.method == "MERGE";
    let lost = |e: std::io::Error| match is_merge {
        true => unknown_outcome(url, &e),
        false => gone(url),
    };
    // A machine that is silent may be paused or cut off: then its lease ends.
    let repository = context.repository().clone();
    let is_alive = || !matches!(repository.txn_owner(&other.txn), Ok(TxnOwner::Gone));
    let peer = proxy::Peer {
        url,
        added: Some((HeaderName::from_static(FORWARDED), value)),
        is_alive: &is_alive,
        lost: &lost,
    };
    let sent = proxy::forward_to(context, reply, peer);
    sent.map_err(|fault| match fault.status {
        StatusCode::BAD_GATEWAY => gone(url),
        _ => fault,
    })
}

fn gone(what: &str) -> Fault {
    let text = format!("The machine with the transaction ('{what}') cannot be reached; try again");
    Fault::new(StatusCode::CONFLICT, Error::new(Code::FS_TXN_OUT_OF_DATE, text))
}

fn unknown_outcome(url: &str, e: &std::io::Error) -> Fault {
    let text = format!(
        "It is not known whether the revision was made: the machine with the transaction ('{url}') has not responded: {e}"
    );
    Fault::new(StatusCode::GATEWAY_TIMEOUT, Error::new(Code::FS_GENERAL, text))
}

/// Returns the name of the transaction that a request is about. An unknown activity is none.
fn named_txn(context: &mut RequestContext<'_>) -> Result<Option<String>, Fault> {
    let in_url = context.resource.clone();
    if in_url.is_in_transaction() {
        return txn_of(context, &in_url);
    }
    let named = match context.request.method.as_str() {
        "COPY" | "MOVE" => context.request.header_utf8("destination").map(str::to_owned),
        "MERGE" | "CHECKOUT" => url_in_body(context)?,
        _ => None,
    };
    let resource = named.and_then(|url| context.mount.resource_of_url(&url));
    match resource.filter(Resource::is_in_transaction) {
        Some(resource) => txn_of(context, &resource),
        None => Ok(None),
    }
}

fn txn_of(context: &RequestContext<'_>, resource: &Resource) -> Result<Option<String>, Fault> {
    match resource {
        Resource::Txn(name) | Resource::TxnRoot(name, _) => Ok(Some(name.clone())),
        Resource::Activity(id)
        | Resource::WorkingBaseline(id, _)
        | Resource::Working(id, _)
        | Resource::Vtxn(id)
        | Resource::VtxnRoot(id, _) => Ok(context.activities().find(id)?),
        _ => Ok(None),
    }
}

/// Returns the URL of a transaction or activity in the body. The body can be read once more.
fn url_in_body(context: &mut RequestContext<'_>) -> Result<Option<String>, Fault> {
    let Some((root, body)) = context.xml()? else {
        return Ok(None);
    };
    context.request.body.put_back(body);
    Ok(match context.request.method.as_str() {
        "MERGE" => MergeRequest::parse(&root).map(|asked| asked.source),
        _ => CheckoutRequest::parse(&root).and_then(|asked| asked.activities.into_iter().next()),
    })
}
