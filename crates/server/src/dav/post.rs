//! `POST`: a new transaction. That is all it is for.

use base::{Code, Error, Props, Revnum};
use http::StatusCode;
use repos::transaction::{Transaction, TransactionStart};
use wire::dav::post::{Post, SKEL_TYPE, is_skel};
use wire::dav::uri::Resource;

use super::Outcome;
use super::fault::Fault;
use super::steps::clock;
use super::visit::Visit;
use crate::http::Reply;

/// The name that a client chose for its transaction.
const VTXN_NAME: &str = "svn-vtxn-name";

pub(super) fn post(visit: &mut Visit<'_>, reply: &mut Reply) -> Outcome {
    if visit.resource != Resource::Me || visit.request.header("content-type") != Some(SKEL_TYPE) {
        // What is wrong with the URL is said without Subversion's number here.
        let mut fault = visit.refusal(|_| StatusCode::BAD_REQUEST);
        fault.hide();
        return Err(fault);
    }
    let body = visit.request.body.read_all(visit.http.limits.xml_body)?;
    let revprops = match Post::parse(&body).ok_or_else(|| malformed(&body))? {
        Post::CreateTxn => Props::new(),
        Post::CreateTxnWithProps(list) => list,
    };
    let (name, _) = begin(visit, revprops)?;
    reply.status(StatusCode::CREATED);
    match visit.request.header_utf8(VTXN_NAME) {
        Some(chosen) => {
            visit.activities().store(chosen, &name)?;
            reply.header(VTXN_NAME, chosen);
        }
        None => _ = reply.header("svn-txn-name", &name),
    }
    reply.content_length(0);
    Ok(())
}

/// What is said about a body that cannot be read: of a list of properties more than of others.
fn malformed(body: &[u8]) -> Fault {
    let status = StatusCode::BAD_REQUEST;
    match is_skel(body) && body.trim_ascii_start().starts_with(b"(create-txn-with-props") {
        true => Fault::new(
            status,
            Error::new(Code::FS_MALFORMED_SKEL, "Malformed proplist skeleton"),
        ),
        false => Fault::html(status),
    }
}

/// Begins a transaction for the request's user; answers its name, and the revision that it is based on.
///
/// # Errors
/// Those of hooks and of properties; the system's.
pub(super) fn begin(visit: &Visit<'_>, revprops: Props) -> Result<(String, Revnum), Fault> {
    let mut capabilities = Vec::new();
    if visit.request.header_list("dav").contains(MERGEINFO) {
        capabilities.push("mergeinfo".to_owned());
    }
    let beginning = TransactionStart {
        revprops,
        author: visit.user.as_deref(),
        capabilities: &capabilities,
        hooks: &visit.hooks()?,
    };
    let transaction = Transaction::begin(visit.repository(), beginning, &clock())?;
    let begun = (transaction.name().to_owned(), transaction.base_revision());
    visit.service.transactions.keep(visit.repository(), transaction);
    Ok(begun)
}

/// How a client says that it knows about mergeinfo.
const MERGEINFO: &str = "http://subversion.tigris.org/xmlns/dav/svn/mergeinfo";
