//! `POST`: begins a transaction, and does nothing else.

use base::{Code, Error, Props, Revnum};
use http::StatusCode;
use repos::transaction::{Transaction, TransactionStart};
use wire::dav::post::{PostRequest, SKEL_TYPE, is_skel};
use wire::dav::uri::Resource;

use super::Outcome;
use super::txn_step::clock;
use crate::http::{Fault, ResponseWriter};
use crate::site::RequestContext;

/// The header with the client's name for its transaction.
const VTXN_NAME: &str = "svn-vtxn-name";

pub(super) fn post(context: &mut RequestContext<'_>, reply: &mut ResponseWriter) -> Outcome {
    if context.resource != Resource::Me || context.request.header("content-type") != Some(SKEL_TYPE) {
        // Here an error about the URL is sent without Subversion's number.
        let mut fault = context.refusal(|_| StatusCode::BAD_REQUEST);
        fault.hide();
        return Err(fault);
    }
    let body = context.request.body.read_all(context.options.limits.xml_body)?;
    let revprops = match PostRequest::parse(&body).ok_or_else(|| malformed(&body))? {
        PostRequest::CreateTxn => Props::new(),
        PostRequest::CreateTxnWithProps(list) => list,
    };
    let (name, _) = begin(context, revprops)?;
    reply.head.status(StatusCode::CREATED);
    match context.request.header_utf8(VTXN_NAME) {
        Some(chosen) => {
            context.activities().store(chosen, &name)?;
            reply.head.header(VTXN_NAME, chosen);
        }
        None => _ = reply.head.header("svn-txn-name", &name),
    }
    reply.head.content_length(0);
    Ok(())
}

/// Returns the error response for a malformed body; only that of a property list has a message.
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

/// Begins a transaction for the request's user; returns its name and the revision that it is based on.
///
/// # Errors
/// Those of hooks and of properties; the system's.
pub(super) fn begin(context: &RequestContext<'_>, revprops: Props) -> Result<(String, Revnum), Fault> {
    let mut capabilities = Vec::new();
    if context.request.header_list("dav").contains(MERGEINFO) {
        capabilities.push("mergeinfo".to_owned());
    }
    let beginning = TransactionStart {
        revprops,
        author: context.user.as_deref(),
        capabilities: &capabilities,
        hooks: &context.hooks()?,
    };
    let transaction = Transaction::begin(context.repository(), beginning, &clock())?;
    let begun = (transaction.name().to_owned(), transaction.base_revision());
    context
        .site
        .transactions
        .insert(context.repository(), transaction);
    Ok(begun)
}

/// The capability of clients that support mergeinfo.
const MERGEINFO: &str = "http://subversion.tigris.org/xmlns/dav/svn/mergeinfo";
