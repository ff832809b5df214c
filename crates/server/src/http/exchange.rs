//! One request and its response: from hyper to a thread of the pool, and back.

use std::convert::Infallible;
use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Instant;

use http::header::DATE;
use http::request::Parts;
use http::{Method, Request as Head, Response, StatusCode};
use http_body::Body as _;
use hyper::body::Incoming;
use repos::ReadMode;
use tokio::runtime::Handle;
use tokio::sync::oneshot;

use super::cached_requests;
use super::client_wait::ClientWait;
use super::connection::ConnectionShared;
use super::date_line::current_date;
use super::handler::Handler;
use super::keep_alive::ConnectionRequest;
use super::request::Request;
use super::request_body::{RequestBody, SHORT_BODY};
use super::request_reader::HadFragment;
use super::respond::{respond, try_respond_inline};
use super::response_body::{DeliveredBody, ResponseBody, ResponseDelivery};
use super::response_writer::ResponseWriter;
use crate::config::XML_FACTOR;
use crate::context::ServerContext;
use crate::net::QuotaShare;

/// Answers one request. `head` is the request's head as it was sent, if that is known: then the response may be cached.
/// The connection is busy until the response has been sent.
pub(super) async fn exchange<H: Handler>(
    connection: Arc<ConnectionShared<H>>,
    delivery: ResponseDelivery,
    head: Option<Box<[u8]>>,
    request: Head<Incoming>,
) -> Result<Response<DeliveredBody>, Infallible> {
    let (parts, incoming) = request.into_parts();
    let asked = ConnectionRequest::of(&parts);
    let options = connection.context.http_options();
    let address = connection.peer.address.ip();
    let wait = ClientWait::new(
        Handle::current(),
        connection.pool.clone(),
        address,
        &options.limits,
    );
    let mut body = match incoming.is_end_stream() {
        true => RequestBody::empty(),
        false => {
            let expects = parts.headers.contains_key(http::header::EXPECT);
            RequestBody::new(incoming, wait.clone(), expects, delivery.busy.unfinished_body())
        }
    };
    let mut memory = connection.context.limits.request_memory.of(Some(address));
    // A client that sends its body slowly must not hold a thread. A text may be long: if it is, or is sent only when the server asks for it,
    // a thread reads it as it arrives.
    match parts.method {
        Method::PUT if body.may_be_short() => body.gather(SHORT_BODY, 1, &mut memory).await,
        Method::PUT => {}
        // A parsed document needs more memory than its bytes.
        _ => {
            body.gather(options.limits.xml_body, XML_FACTOR, &mut memory)
                .await
        }
    }
    let mut request = request_of(&connection, parts, body, memory, wait.clone());
    // Subversion's clients accept gzip and are slowed down by it, unless their network slows them down even more.
    let gzip = options
        .gzip
        .filter(|_| delivery.busy.is_slow() || !request.is_svn_client());
    let gzip = request.takes_gzip(gzip);
    if let Some(response) = answer_inline(&connection, &mut request, gzip, head.as_deref()) {
        return Ok(deliver(response, asked, delivery));
    }
    if let Some(response) = answer_in_place(&connection, &mut request) {
        return Ok(deliver(response, asked, delivery));
    }
    let (sender, answered) = oneshot::channel();
    let reply = ResponseWriter::streaming(sender, request.method == Method::HEAD, wait, gzip);
    let pool = connection.pool.clone();
    // The channels show when the job has ended.
    pool.submit(address, move || respond(&connection, request, reply));
    let response = answered.await.unwrap_or_else(|_| no_response());
    Ok(deliver(response, asked, delivery))
}

/// Adds the date and the lines about the connection, and hands the response to hyper. Hyper's own date never goes back, though the clock may.
fn deliver(
    mut response: Response<ResponseBody>,
    asked: ConnectionRequest,
    delivery: ResponseDelivery,
) -> Response<DeliveredBody> {
    response.headers_mut().insert(DATE, current_date());
    asked.announce(&mut response, &delivery.busy);
    response.map(|body| DeliveredBody { body, delivery })
}

/// Returns the request for the handler.
fn request_of<H: Handler>(
    connection: &ConnectionShared<H>,
    parts: Parts,
    body: RequestBody,
    memory: QuotaShare,
    wait: ClientWait,
) -> Request {
    let mut id = String::new();
    write_id(&connection.context, &mut id);
    Request {
        path: parts.uri.path().to_owned(),
        query: parts.uri.query().map(str::to_owned),
        method: parts.method,
        version: parts.version,
        headers: parts.headers,
        peer: connection.peer.clone(),
        id,
        begun: Instant::now(),
        had_fragment: parts.extensions.get::<HadFragment>().is_some(),
        user: None,
        operation: None,
        cacheable: None,
        body,
        _memory: memory,
        wait,
        read_mode: ReadMode::MayWait,
    }
}

/// Answers a request on the connection's own thread, and stores the response for requests with the same `head`. Returns `None` if that
/// would have to wait for something; `request` is as it was then.
fn answer_inline<H: Handler>(
    connection: &Arc<ConnectionShared<H>>,
    request: &mut Request,
    gzip: Option<u32>,
    head: Option<&[u8]>,
) -> Option<Response<ResponseBody>> {
    if !is_read_method(&request.method) {
        return None;
    }
    let body = request.body.copy()?;
    let _permit = connection.pool.try_inline()?;
    request.read_mode = ReadMode::cached_only();
    let is_head = request.method == Method::HEAD;
    let reply = ResponseWriter::buffered(is_head, request.wait.clone(), gzip, request.read_mode.clone());
    let response = try_respond_inline(connection, request, reply);
    match (&response, head) {
        (Some(response), Some(head)) => {
            cached_requests::store(&connection.context.responses, head, request, response);
        }
        (Some(_), None) => {}
        (None, _) => (request.body, request.cacheable, request.read_mode) = (body, None, ReadMode::MayWait),
    }
    response
}

/// Answers a short request that changes a transaction on the connection's own thread, while another thread takes over what that one does for
/// other connections. An import is thousands of such requests: the threads' waking each other would take longer than the work. Returns `None` if
/// it is another request, or if as many are answered so already.
fn answer_in_place<H: Handler>(
    connection: &Arc<ConnectionShared<H>>,
    request: &mut Request,
) -> Option<Response<ResponseBody>> {
    let is_short = request.body.length().is_some_and(|length| length <= SHORT_BODY);
    if !is_short || !changes_transactions(&request.method) {
        return None;
    }
    let _permit = connection.pool.try_inline()?;
    let reply = ResponseWriter::buffered(false, request.wait.clone(), None, ReadMode::MayWait);
    tokio::task::block_in_place(|| try_respond_inline(connection, request, reply))
}

/// Returns whether requests with this method change a transaction. Their responses are short. They run no hooks, unless they commit
/// automatic versions.
fn changes_transactions(method: &Method) -> bool {
    matches!(
        method.as_str(),
        "PUT" | "PROPPATCH" | "MKCOL" | "COPY" | "DELETE" | "CHECKOUT"
    )
}

/// Returns whether requests with this method only read, so that they may be answered on the connection's own thread as long as they
/// need nothing but memory.
fn is_read_method(method: &Method) -> bool {
    matches!(method.as_str(), "GET" | "HEAD" | "PROPFIND" | "OPTIONS")
}

/// Returns the response for a job that ended without one: it panicked, or the process ends.
pub(super) fn no_response() -> Response<ResponseBody> {
    let mut response = Response::new(ResponseBody::Whole(None));
    *response.status_mut() = StatusCode::INTERNAL_SERVER_ERROR;
    response
}

/// Appends a request ID: unique in this process, and unlikely to be one of another process.
pub(super) fn write_id(context: &ServerContext, id: &mut String) {
    let (process, count) = context.next_request();
    // Writing to a string cannot fail.
    _ = write!(id, "{process:x}-{count:x}");
}
