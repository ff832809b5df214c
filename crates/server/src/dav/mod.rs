//! WebDAV and DeltaV as Subversion's clients speak them: each method of HTTP, answered by the engine.
//!
//! A request passes four doors: which repository and which resource its path names (`place`), who sends it and what the
//! rules allow (`access`), then its method's own file. Whatever fails on the way becomes a [`Fault`]: a status and, for what
//! Subversion itself says no to, its number and message in XML.
//!
//! What is absent: sockets and async (`http`), the grammar of bodies (`wire::dav`).

mod access;
mod activity;
mod autoversion;
mod conditions;
mod created;
mod fault;
mod get;
mod known;
mod listing;
mod lock;
mod locked;
mod merge;
mod nowhere;
mod options;
mod place;
mod post;
mod propfind;
mod proppatch;
mod proxy;
mod put;
mod recursion;
mod redirect;
mod report;
mod steps;
mod target;
mod told;
mod transactions;
mod tree;
mod visit;

use std::sync::Arc;

use base::FsPath;
use http::StatusCode;
use repos::read_mode::check_may_wait;
use wire::dav::uri::Resource;

pub(crate) use self::fault::Fault;
pub(crate) use self::known::{Known, Recent, Standing};
use self::place::Found;
pub(crate) use self::place::Place;
pub(crate) use self::told::Told;
pub(crate) use self::transactions::Transactions;
pub(crate) use self::visit::Visit;
use crate::http::{Reply, Request};
use crate::service::Service;
use crate::web;

type Outcome = Result<(), Fault>;

/// Answers a request.
///
/// # Errors
/// What the client is to be told instead.
pub(crate) fn answer(service: &Arc<Service>, request: &mut Request, reply: &mut Reply) -> Outcome {
    let http = service.http();
    request.body.limit(http.limits.body);
    redirect::follow(&http, request)?;
    match place::find(service, &http, request)? {
        Found::Listing(location) => {
            check_may_wait()?;
            listing::listing(service, &http, request, &location, reply)
        }
        Found::NoRepository(missing) => {
            check_may_wait()?;
            nowhere::no_repository(service, request, reply, missing)
        }
        Found::NoResource(place) => {
            // Who may not use the repository does not learn which of its URLs mean something.
            let mut visit = Visit::new(service, http, request, place, Resource::Public(FsPath::root()));
            let admitted = access::admit(&mut visit, reply);
            visit.leave();
            admitted.and(Err(Fault::html(StatusCode::NOT_FOUND)))
        }
        Found::Repository(place, resource) => {
            let mut visit = Visit::new(service, http, request, place, resource);
            let outcome = access::admit(&mut visit, reply).and_then(|()| dispatch(&mut visit, reply));
            visit.leave();
            outcome
        }
    }
}

fn dispatch(visit: &mut Visit<'_>, reply: &mut Reply) -> Outcome {
    recursion::admit(visit)?;
    if proxy::is_wanted(visit) {
        check_may_wait()?;
        return proxy::forward(visit, reply);
    }
    if visit.resource.is_in_transaction() {
        check_may_wait()?;
    }
    if autoversion::is_wanted(visit) {
        return autoversion::autoversion(visit, reply, dispatch);
    }
    match visit.request.method.as_str() {
        "OPTIONS" => options::options(visit, reply),
        "PROPFIND" => propfind::propfind(visit, reply),
        "GET" | "HEAD" if web::wanted(&visit.http, visit.request, &visit.resource) => {
            check_may_wait()?;
            web::page(visit, reply)
        }
        "GET" | "HEAD" => get::get(visit, reply),
        "REPORT" => report::report(visit, reply),
        "POST" => post::post(visit, reply),
        "PUT" => put::put(visit, reply),
        "MKCOL" => tree::mkcol(visit, reply),
        "DELETE" => tree::delete(visit, reply),
        "COPY" => tree::copy(visit, reply),
        "MOVE" => tree::move_(visit, reply),
        "PROPPATCH" => proppatch::proppatch(visit, reply),
        "MERGE" => merge::merge(visit, reply),
        "MKACTIVITY" => activity::mkactivity(visit, reply),
        "CHECKOUT" => activity::checkout(visit, reply),
        "LOCK" => lock::lock(visit, reply),
        "UNLOCK" => lock::unlock(visit, reply),
        _ => Err(Fault::html(StatusCode::METHOD_NOT_ALLOWED)),
    }
}
