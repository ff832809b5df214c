//! `/-/health`, `/-/ready`, `/-/metrics`: what programs that watch servers ask.
//!
//! They stand on listeners of their own, or on all by an option: they tell nothing of what repositories hold, but do tell how
//! busy the server is.

use std::sync::atomic::Ordering;

use http::{Method, StatusCode};

use super::options::Source;
use super::reply::Reply;
use super::request::Request;
use crate::dav::Fault;
use crate::service::Service;

/// Whether a path is one of these.
pub(super) fn is_status(path: &str) -> bool {
    path.strip_prefix("/-/").is_some_and(|name| NAMES.contains(&name))
}

const NAMES: [&str; 3] = ["health", "ready", "metrics"];

/// Answers one of these.
///
/// # Errors
/// 404, 405.
pub(super) fn status(service: &Service, request: &Request, reply: &mut Reply) -> Result<(), Fault> {
    if request.method != Method::GET && request.method != Method::HEAD {
        let refused = Fault::html(StatusCode::METHOD_NOT_ALLOWED);
        return Err(refused.with("allow", "GET,HEAD"));
    }
    let (kind, text) = match request.path.as_str() {
        // Whoever answers is alive.
        "/-/health" => ("text/plain", "ok\n".to_owned()),
        "/-/ready" => match obstacle(service) {
            None => ("text/plain", "ready\n".to_owned()),
            Some(why) => {
                reply.status(StatusCode::SERVICE_UNAVAILABLE);
                ("text/plain", format!("not ready: {why}\n"))
            }
        },
        "/-/metrics" => (
            "application/openmetrics-text; version=1.0.0; charset=utf-8",
            service.metrics_text(),
        ),
        _ => return Err(Fault::html(StatusCode::NOT_FOUND)),
    };
    reply.content_type(kind).header("cache-control", "no-store");
    *reply.buffer() = text.into_bytes();
    Ok(())
}

/// Why clients should go elsewhere.
fn obstacle(service: &Service) -> Option<&'static str> {
    if service.stopping.load(Ordering::Relaxed) {
        return Some("the server stops");
    }
    let http = service.http();
    let is_there = |source: &Source| match source {
        Source::Repository(path) => repos::Repository::is_repository(path),
        Source::Parent(path) => path.is_dir(),
    };
    let all = http.locations.iter().all(|location| is_there(&location.source));
    (!all).then_some("repositories are not where they should be")
}
