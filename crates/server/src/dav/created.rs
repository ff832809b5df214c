//! What all methods say that have made something.

use http::StatusCode;
use wire::dav::uri::Resource;
use wire::dav::xml;

use super::visit::Visit;
use crate::http::Reply;

/// 201 for the resource of the request.
pub(super) fn created(visit: &Visit<'_>, reply: &mut Reply) {
    let url = url_of(visit, &visit.resource);
    created_at(visit, reply, &url);
}

/// 201 for what stands at the path `url`.
pub(super) fn created_at(visit: &Visit<'_>, reply: &mut Reply, url: &str) {
    reply.status(StatusCode::CREATED);
    reply.header("location", &format!("{}{url}", visit.request.origin()));
    reply.content_type("text/html; charset=utf-8");
    let mut page = String::from(
        "<!DOCTYPE html>\n<html><head><title>201 Created</title></head>\n<body><h1>Created</h1><p>",
    );
    xml::escape_text(url, &mut page);
    page.push_str("</p></body></html>\n");
    *reply.buffer() = page.into_bytes();
}

/// The URL of a resource of a transaction, or of the request where it is another.
pub(super) fn url_of(visit: &Visit<'_>, resource: &Resource) -> String {
    let base = visit.base();
    match resource {
        Resource::TxnRoot(name, path) => base.working("txr", name, path),
        Resource::VtxnRoot(name, path) => base.working("vtxr", name, path),
        Resource::Working(name, path) => base.working("wrk", name, path),
        Resource::Activity(name) => base.named("act", name),
        _ => visit.request.path.clone(),
    }
}
