//! From hyper's request to a handler's thread, and back.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use http::{HeaderMap, Method, Request as Head, Response, StatusCode};
use http_body::Body as _;
use hyper::body::Incoming;
use tokio::runtime::Handle;
use tokio::sync::oneshot;

use super::body::{ReplyBody, RequestBody};
use super::reply::Reply;
use super::request::{Peer, Request};
use crate::dav;
use crate::service::Service;

/// Answers one request.
pub(super) async fn exchange(
    service: Arc<Service>,
    peer: Peer,
    request: Head<Incoming>,
) -> Result<Response<ReplyBody>, Infallible> {
    let (parts, incoming) = request.into_parts();
    let body = match incoming.is_end_stream() {
        true => RequestBody::empty(),
        false => RequestBody::new(incoming, Handle::current()),
    };
    let request = Request {
        path: parts.uri.path().to_owned(),
        query: parts.uri.query().map(str::to_owned),
        method: parts.method,
        headers: parts.headers,
        peer,
        id: next_id(),
        body,
    };
    let (head, answered) = oneshot::channel();
    let reply = Reply::new(head, request.method == Method::HEAD);
    // Its end is seen by the channels.
    tokio::task::spawn_blocking(move || dav::answer(&service, request, reply));
    Ok(answered.await.unwrap_or_else(|_| nothing_said()))
}

/// A handler that ended without an answer: it has panicked, or the process is ending.
fn nothing_said() -> Response<ReplyBody> {
    let mut response = Response::new(ReplyBody::Whole(None));
    *response.status_mut() = StatusCode::INTERNAL_SERVER_ERROR;
    *response.headers_mut() = HeaderMap::new();
    response
}

/// Different for each request of this process.
fn next_id() -> String {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    format!("{:x}-{count:x}", std::process::id())
}
