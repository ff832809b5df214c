//! WebDAV and DeltaV as Subversion's clients use them: one file for each method, or for a group of methods.
//!
//! [`DavHandler`] answers the requests of the HTTP server. `site` finds the repository and the user; then the request's method is
//! carried out. A failure becomes a [`Fault`]: a status and, for errors of Subversion, the number and message in XML.
//!
//! This module knows no sockets and no async code (`http`), no passwords and no access files (`site`, `auth`), and not the syntax
//! of bodies (`wire::dav`).

mod activity;
mod autoversion;
mod copies;
mod created;
mod get;
mod if_header;
mod lock;
mod merge;
mod node_routing;
mod options;
mod post;
mod preconditions;
mod propfind;
mod proppatch;
mod proxy;
mod put;
mod recursion;
mod report;
mod repository_list;
mod resource_kind;
mod revision_query;
mod tree_changes;
mod txn_step;

use std::sync::Arc;

use base::FsPath;
use http::StatusCode;
use wire::dav::uri::Resource;

use crate::config::HttpOptions;
use crate::http::{Fault, Handler, Request, ResponseWriter};
use crate::site::mount::{self, MountLookup};
use crate::site::{ConnectionAuth, ConnectionCache, RequestContext, Site, access, no_repository, redirect};
use crate::web;

/// The outcome of a method.
type Outcome = Result<(), Fault>;

/// Answers the requests of the HTTP server.
pub(crate) struct DavHandler {
    site: Arc<Site>,
}

impl DavHandler {
    pub(crate) fn new(site: Arc<Site>) -> DavHandler {
        DavHandler { site }
    }
}

impl Handler for DavHandler {
    type Connection = ConnectionCache;
    type Auth = ConnectionAuth;

    fn answer(
        &self,
        connection: &ConnectionCache,
        request: &mut Request,
        reply: &mut ResponseWriter,
    ) -> Outcome {
        answer(&self.site, connection, request, reply)
    }

    fn cached_auth(
        &self,
        connection: &ConnectionCache,
        options: &Arc<HttpOptions>,
    ) -> Option<ConnectionAuth> {
        connection.auth(&self.site.recent, options)
    }
}

fn answer(
    site: &Arc<Site>,
    connection: &ConnectionCache,
    request: &mut Request,
    reply: &mut ResponseWriter,
) -> Outcome {
    let options = site.service.context.http_options();
    request.body.limit(options.limits.body);
    redirect::check(&options, request)?;
    match mount::find(site, &options, connection, request)? {
        MountLookup::Listing(location) => {
            request.check_may_wait()?;
            repository_list::send(site, &options, connection, request, &location, reply)
        }
        MountLookup::Missing(missing) => {
            request.check_may_wait()?;
            no_repository::refuse(&site.service, request, reply, missing)
        }
        MountLookup::NoResource(mount) => {
            // A user without access to the repository must not learn which of its URLs are valid.
            let root = Resource::Public(FsPath::root());
            let mut context = RequestContext::new(site, options, connection, request, mount, root);
            let authorized = authorize(&mut context, reply);
            context.finish();
            authorized.and(Err(Fault::html(StatusCode::NOT_FOUND)))
        }
        MountLookup::Repository(mount, resource) => {
            let mut context = RequestContext::new(site, options, connection, request, mount, resource);
            let outcome = authorize(&mut context, reply).and_then(|()| dispatch(&mut context, reply));
            let outcome = outcome.map_err(|fault| options::with_allowed_methods(fault, &mut context));
            context.finish();
            outcome
        }
    }
}

/// Authorizes a request, and then checks its `If` header, whatever the method makes of it.
fn authorize(context: &mut RequestContext<'_>, reply: &mut ResponseWriter) -> Outcome {
    access::authorize(context, reply)?;
    context.if_header()?;
    Ok(())
}

fn dispatch(context: &mut RequestContext<'_>, reply: &mut ResponseWriter) -> Outcome {
    recursion::check_method(context)?;
    if let Some(other) = node_routing::other_node(context)? {
        return node_routing::forward(context, reply, &other);
    }
    if proxy::is_wanted(context) {
        context.request.check_may_wait()?;
        return proxy::forward(context, reply);
    }
    if context.resource.is_in_transaction() {
        context.request.check_may_wait()?;
    }
    if !matches!(context.request.method.as_str(), "GET" | "HEAD" | "MERGE") {
        revision_query::apply(context)?;
    }
    if autoversion::is_wanted(context) {
        return autoversion::autoversion(context, reply, dispatch);
    }
    match context.request.method.as_str() {
        "OPTIONS" => options::options(context, reply),
        "PROPFIND" => propfind::propfind(context, reply),
        "GET" | "HEAD" if web::wanted(&context.options, context.request, &context.resource) => {
            context.request.check_may_wait()?;
            web::page(context, reply)
        }
        "GET" | "HEAD" => get::get(context, reply),
        "REPORT" => report::report(context, reply),
        "POST" => post::post(context, reply),
        "PUT" => put::put(context, reply),
        "MKCOL" => tree_changes::mkcol(context, reply),
        "DELETE" => tree_changes::delete(context, reply),
        "COPY" => copies::copy(context, reply),
        "MOVE" => copies::move_(context, reply),
        "PROPPATCH" => proppatch::proppatch(context, reply),
        "MERGE" => merge::merge(context, reply),
        "MKACTIVITY" => activity::mkactivity(context, reply),
        "CHECKOUT" => activity::checkout(context, reply),
        "LOCK" => lock::lock(context, reply),
        "UNLOCK" => lock::unlock(context, reply),
        _ => Err(Fault::html(StatusCode::METHOD_NOT_ALLOWED)),
    }
}
