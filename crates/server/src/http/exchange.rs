//! From hyper's request to a handler's thread, and back.

use std::convert::Infallible;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::Instant;

use http::{Method, Request as Head, Response, StatusCode};
use http_body::Body as _;
use hyper::body::Incoming;
use tokio::runtime::Handle;
use tokio::sync::oneshot;

use super::again;
use super::answer::{answer, answer_at_once};
use super::body::{Patience, ReplyBody, RequestBody, Sending, SentBody};
use super::intake::HadFragment;
use super::reply::Reply;
use super::request::{Peer, Request};
use super::room::Kind;
use crate::service::Service;
use crate::thread_pool::ThreadPool;

/// Answers one request, whose head is `asked` if that is known; the connection is busy until the answer has gone out.
pub(super) async fn exchange(
    service: Arc<Service>,
    pool: Arc<ThreadPool>,
    kind: Kind,
    peer: Arc<Peer>,
    sending: Sending,
    asked: Option<Box<[u8]>>,
    request: Head<Incoming>,
) -> Result<Response<SentBody>, Infallible> {
    let (parts, incoming) = request.into_parts();
    let http = service.http();
    let address = peer.address.ip();
    let patience = Patience::new(Handle::current(), pool.clone(), address, &http.limits);
    let mut body = match incoming.is_end_stream() {
        true => RequestBody::empty(),
        false => {
            let expects = parts.headers.contains_key(http::header::EXPECT);
            RequestBody::new(incoming, patience.clone(), expects)
        }
    };
    let in_hurry = may_be_prompt(&parts.method);
    let mut memory = service.request_memory.of(Some(address));
    if parts.method != Method::PUT {
        // A client that is slow in sending it must not hold a thread.
        body.gather(http.limits.xml_body, &mut memory).await;
    }
    let mut request = Request {
        path: parts.uri.path().to_owned(),
        query: parts.uri.query().map(str::to_owned),
        method: parts.method,
        version: parts.version,
        headers: parts.headers,
        peer,
        id: next_id(),
        begun: Instant::now(),
        had_fragment: parts.extensions.get::<HadFragment>().is_some(),
        user: None,
        operation: None,
        lasting: None,
        body,
        _memory: memory,
        patience: patience.clone(),
    };
    let bodiless = request.method == Method::HEAD;
    // Subversion's clients take gzip and are held up by it, unless their network holds them up even more.
    let gzip = http
        .gzip
        .filter(|_| sending.busy.is_slow() || !request.is_svn_client());
    let gzip = request.takes_gzip(gzip);
    if in_hurry
        && let Some(body) = request.body.copy()
        && let Some(_permit) = pool.permit()
    {
        let reply = Reply::at_once(bodiless, patience.clone(), gzip);
        if let Some(response) = answer_at_once(&service, kind, &mut request, reply) {
            if let Some(asked) = asked {
                again::keep(&asked, &http, &mut request, &response);
            }
            return Ok(response.map(|body| SentBody { body, sending }));
        }
        (request.body, request.lasting) = (body, None);
    }
    let (head, answered) = oneshot::channel();
    let reply = Reply::new(head, bodiless, patience, gzip);
    // Its end is seen by the channels.
    pool.submit(address, move || answer(&service, kind, request, reply));
    let response = answered.await.unwrap_or_else(|_| nothing_said());
    Ok(response.map(|body| SentBody { body, sending }))
}

/// What only looks may be answered on the connection's own thread, as long as it needs nothing but memory.
fn may_be_prompt(method: &Method) -> bool {
    matches!(method.as_str(), "GET" | "HEAD" | "PROPFIND" | "OPTIONS")
}

/// A handler that ended without an answer: it has panicked, or the process is ending.
pub(super) fn nothing_said() -> Response<ReplyBody> {
    let mut response = Response::new(ReplyBody::Whole(None));
    *response.status_mut() = StatusCode::INTERNAL_SERVER_ERROR;
    response
}

/// Different for each request of this process, and unlikely to be another process's.
fn next_id() -> String {
    let (process, count) = next_number();
    format!("{process:x}-{count:x}")
}

/// What the name of a request is made of.
pub(super) fn next_number() -> (u32, u64) {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    static PROCESS: LazyLock<u32> = LazyLock::new(std::process::id);
    (*PROCESS, COUNT.fetch_add(1, Ordering::Relaxed))
}
