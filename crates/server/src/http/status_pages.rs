//! `/-/health`, `/-/ready`, `/-/metrics`: pages for programs that watch servers.
//!
//! They have listeners of their own, or are on all listeners by an option. They tell nothing about the contents of repositories,
//! but show how busy the server is.

use std::sync::atomic::Ordering;

use http::{Method, StatusCode};

use super::fault::Fault;
use super::request::Request;
use super::response_writer::ResponseWriter;
use crate::config::Source;
use crate::context::ServerContext;

/// Returns whether a path is that of a status page.
pub(super) fn is_status_page(path: &str) -> bool {
    path.strip_prefix("/-/").is_some_and(|name| NAMES.contains(&name))
}

const NAMES: [&str; 3] = ["health", "ready", "metrics"];

/// Writes a status page.
///
/// # Errors
/// 404, 405.
pub(super) fn status_page(
    context: &ServerContext,
    request: &Request,
    reply: &mut ResponseWriter,
) -> Result<(), Fault> {
    if request.method != Method::GET && request.method != Method::HEAD {
        let refused = Fault::html(StatusCode::METHOD_NOT_ALLOWED);
        return Err(refused.with("allow", "GET,HEAD"));
    }
    let (kind, text) = match request.path.as_str() {
        // A server that answers is alive.
        "/-/health" => ("text/plain", "ok\n".to_owned()),
        "/-/ready" => match not_ready(context) {
            None => ("text/plain", "ready\n".to_owned()),
            Some(why) => {
                reply.head.status(StatusCode::SERVICE_UNAVAILABLE);
                ("text/plain", format!("not ready: {why}\n"))
            }
        },
        "/-/metrics" => (
            "application/openmetrics-text; version=1.0.0; charset=utf-8",
            context.metrics.text(),
        ),
        _ => return Err(Fault::html(StatusCode::NOT_FOUND)),
    };
    reply.head.content_type(kind).header("cache-control", "no-store");
    *reply.buffer() = text.into_bytes();
    Ok(())
}

/// Returns why the server is not ready for clients; `None` if it is.
fn not_ready(context: &ServerContext) -> Option<String> {
    if context.stopping.load(Ordering::Relaxed) {
        return Some("the server stops".to_owned());
    }
    if let Some(why) = context.storage_not_ready() {
        return Some(why);
    }
    let options = context.http_options();
    let is_there = |source: &Source| match source {
        Source::Repository(path) => repos::Repository::is_repository(path),
        Source::Parent(path) => path.is_dir(),
    };
    let mut all = options.locations.iter();
    // The root is what svn:// serves; it is `/` where svn:// is not served.
    let all = context.options().root.is_dir() && all.all(|location| is_there(&location.source));
    (!all).then(|| "repositories are not where they should be".to_owned())
}
