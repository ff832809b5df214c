//! The response of all methods that create a resource.

use http::StatusCode;
use wire::dav::uri::Resource;
use wire::dav::xml;

use crate::http::ResponseWriter;
use crate::site::RequestContext;

/// Writes a 201 for the resource of the request.
pub(super) fn created(context: &RequestContext<'_>, reply: &mut ResponseWriter) {
    let url = url_of(context, &context.resource);
    created_at(context, reply, &url);
}

/// Writes a 201 for the resource at the path `url`.
pub(super) fn created_at(context: &RequestContext<'_>, reply: &mut ResponseWriter, url: &str) {
    reply.head.status(StatusCode::CREATED);
    reply
        .head
        .header("location", &format!("{}{url}", context.request.origin()));
    reply.head.content_type("text/html; charset=utf-8");
    let mut page = String::from(
        "<!DOCTYPE html>\n<html><head><title>201 Created</title></head>\n<body><h1>Created</h1><p>",
    );
    xml::escape_text(url, &mut page);
    page.push_str("</p></body></html>\n");
    *reply.buffer() = page.into_bytes();
}

/// Returns the URL of a resource in a transaction; for other resources the request's own path.
pub(super) fn url_of(context: &RequestContext<'_>, resource: &Resource) -> String {
    let base = context.base();
    match resource {
        Resource::TxnRoot(name, path) => base.working("txr", name, path),
        Resource::VtxnRoot(name, path) => base.working("vtxr", name, path),
        Resource::Working(name, path) => base.working("wrk", name, path),
        Resource::Activity(name) => base.named("act", name),
        _ => context.request.path.clone(),
    }
}
