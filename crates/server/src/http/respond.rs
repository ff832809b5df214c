//! A request's way through a handler: requests that no handler may see are refused, a panic becomes a 500, and what was done goes
//! to the logs and the metrics.

use std::any::Any;
use std::borrow::Cow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use base::{Code, Error};
use http::{Method, Response, StatusCode, Version};

use super::connection::ConnectionShared;
use super::exchange::no_response;
use super::fault::Fault;
use super::handler::Handler;
use super::node_blocks::{BLOCK_PATH, block};
use super::request::Request;
use super::response_body::ResponseBody;
use super::response_writer::ResponseWriter;
use super::server::ListenerKind;
use super::status_pages::{is_status_page, status_page};
use crate::context::ServerContext;
use crate::log::{AccessLine, Origin};
use crate::metrics::{FinishedOperation, METHODS, Protocol, operation_word};

/// Answers a request on a thread of the pool.
pub(super) fn respond<H: Handler>(
    connection: &Arc<ConnectionShared<H>>,
    mut request: Request,
    mut reply: ResponseWriter,
) {
    let context = &connection.context;
    if let Err(fault) = run_handler(connection, &mut request, &mut reply) {
        fault.send(context, &request, &mut reply);
    }
    request.body.drain();
    // An error means that the client has gone.
    _ = reply.finish();
    record(context, &request, &reply);
}

/// Answers a request, whose read mode is [`CachedOnly`](repos::ReadMode::CachedOnly). Returns `None` if it needs more than memory: it stays as it
/// was, but for its body.
pub(super) fn try_respond_inline<H: Handler>(
    connection: &Arc<ConnectionShared<H>>,
    request: &mut Request,
    mut reply: ResponseWriter,
) -> Option<Response<ResponseBody>> {
    let context = &connection.context;
    let handled = run_handler(connection, request, &mut reply);
    let served = handled.and_then(|()| Ok(reply.finish()?));
    if request.read_mode.has_failed() {
        (request.user, request.operation) = (None, None);
        return None;
    }
    if let Err(fault) = served {
        fault.send(context, request, &mut reply);
        _ = reply.finish();
    }
    record(context, request, &reply);
    Some(reply.take().unwrap_or_else(no_response))
}

/// Runs the handler; a panic becomes an error.
fn run_handler<H: Handler>(
    connection: &ConnectionShared<H>,
    request: &mut Request,
    reply: &mut ResponseWriter,
) -> Result<(), Fault> {
    let handled = catch_unwind(AssertUnwindSafe(|| dispatch(connection, request, reply)));
    let handled = handled.unwrap_or_else(|panic| {
        Err(Fault::hidden(
            StatusCode::INTERNAL_SERVER_ERROR,
            panicked(&*panic),
        ))
    });
    if handled.is_ok() {
        reply.head.header("x-request-id", &request.id);
    }
    handled
}

fn dispatch<H: Handler>(
    connection: &ConnectionShared<H>,
    request: &mut Request,
    reply: &mut ResponseWriter,
) -> Result<(), Fault> {
    check_request(request)?;
    let context = &connection.context;
    match (connection.kind, request.path.as_str()) {
        (ListenerKind::Status, _) => status_page(context, request, reply),
        (_, path) if is_status_page(path) && context.http_options().status => {
            status_page(context, request, reply)
        }
        (_, BLOCK_PATH) if context.storage().is_some() => block(context, request, reply),
        (_, "*") => {
            reply
                .head
                .header("allow", "OPTIONS,GET,HEAD,POST")
                .content_length(0);
            Ok(())
        }
        _ => connection.handler.answer(&connection.state, request, reply),
    }
}

/// Refuses requests that no handler may see.
///
/// # Errors
/// The error response.
fn check_request(request: &Request) -> Result<(), Fault> {
    let bad = || Err(Fault::html(StatusCode::BAD_REQUEST));
    if request.had_fragment {
        return Err(Fault::html(StatusCode::BAD_REQUEST).with("connection", "close"));
    }
    let hosts = request.headers.get_all(http::header::HOST).iter().count();
    if hosts > 1 || (hosts == 0 && request.version == Version::HTTP_11) {
        return bad();
    }
    match (&request.method, request.path.as_str()) {
        (&Method::CONNECT, _) | (&Method::TRACE, _) => {
            return Err(Fault::html(StatusCode::METHOD_NOT_ALLOWED));
        }
        (&Method::OPTIONS, "*") => {}
        (_, path) if !path.starts_with('/') => return bad(),
        _ => {}
    }
    if !METHODS.contains(&request.method.as_str()) {
        return Err(Fault::html(StatusCode::NOT_IMPLEMENTED));
    }
    // A compressed body would need a limit on its decompressed length. No client sends one.
    let encoding = request.header_list("content-encoding");
    if !encoding.is_empty() && !encoding.eq_ignore_ascii_case("identity") {
        return Err(Fault::html(StatusCode::UNSUPPORTED_MEDIA_TYPE));
    }
    Ok(())
}

fn panicked(panic: &(dyn Any + Send)) -> Error {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    let message = format!("A handler has panicked: {}", text.unwrap_or("(no text)"));
    Error::new(Code::ASSERTION_FAIL, message)
}

fn record(context: &ServerContext, request: &Request, reply: &ResponseWriter) {
    let user = request.user.as_ref();
    let status = reply.head.current_status();
    let words = request
        .operation
        .as_ref()
        .map(|operation| operation.text.as_str());
    if let (Some(log), Some(operation)) = (&context.log, &request.operation) {
        let origin = Origin {
            peer: Some(request.peer.address.ip()),
            user: user.map(String::as_str),
            repository: Some(&operation.repository),
        };
        log.operation(origin, &operation.text);
    }
    if let Some(log) = context.access_log() {
        let target = match &request.query {
            Some(query) => Cow::Owned(format!("{}?{query}", request.path)),
            None => Cow::Borrowed(request.path.as_str()),
        };
        log.add(&AccessLine {
            address: request.peer.address.ip(),
            user: user.map(String::as_str),
            method: request.method.as_str(),
            target: &target,
            version: request.version,
            status,
            bytes: reply.sent,
            referer: request.headers.get(http::header::REFERER),
            agent: request.headers.get(http::header::USER_AGENT),
            took: request.begun.elapsed(),
            id: &request.id,
            operation: words,
        });
    }
    context.metrics.count(&FinishedOperation {
        protocol: match request.peer.tls {
            true => Protocol::Https,
            false => Protocol::Http,
        },
        operation: operation_word(words.unwrap_or(request.method.as_str())),
        took: request.begun.elapsed(),
        received: request.body.seen(),
        sent: reply.sent,
        failed: status.is_client_error() || status.is_server_error() || reply.is_broken(),
    });
}

#[cfg(test)]
pub(super) mod tests {
    use std::io::{Read as _, Write as _};
    use std::net::TcpStream;

    use base::FsPath;
    use repos::Repository;

    use super::*;
    use crate::config::{HttpOptions, Options, Threads};
    use crate::http::{CachedAuth, HttpServer};
    use crate::net::{Listener, ThreadPool};
    use crate::response_cache::ResponseCache;

    /// A handler with mistakes: it panics before it writes anything, or in the middle of a response.
    pub(in crate::http) struct PanickingHandler;

    /// Nothing is cached.
    pub(in crate::http) enum NoAuth {}

    impl CachedAuth for NoAuth {
        fn repository(&self) -> &Repository {
            match *self {}
        }

        fn root(&self) -> &str {
            match *self {}
        }

        fn may_read(&self, _: Option<&[u8]>, _: &FsPath) -> bool {
            match *self {}
        }

        fn user(&self) -> Option<&str> {
            match *self {}
        }
    }

    impl Handler for PanickingHandler {
        type Connection = ();
        type Auth = NoAuth;

        fn answer(&self, (): &(), request: &mut Request, reply: &mut ResponseWriter) -> Result<(), Fault> {
            match request.path.as_str() {
                "/early" => panic!("a mistake of ours"),
                _ => {
                    reply.head.content_type("text/xml; charset=\"utf-8\"");
                    reply.buffer().extend_from_slice(b"<begun>");
                    std::io::Write::flush(reply).expect("a client that reads");
                    panic!("a mistake of ours");
                }
            }
        }

        fn cached_auth(&self, (): &(), _: &Arc<HttpOptions>) -> Option<NoAuth> {
            None
        }
    }

    #[test]
    fn a_handler_that_panics_costs_one_response_and_no_more() {
        let context = ServerContext::new(Options::default(), None, ResponseCache::new(0));
        let listener = Listener::bind(Some("127.0.0.1"), 0, false).expect("a free port");
        let address = listener.address().expect("it is bound");
        let listeners = vec![(ListenerKind::Plain, listener)];
        let pool = ThreadPool::new("test", Threads::default(), 1);
        let server = HttpServer::start(&context, &Arc::new(PanickingHandler), &pool, listeners, 100);
        let server = server.expect("threads can be started");
        let mut socket = TcpStream::connect(address).expect("it listens");
        // The last one ends the connection.
        for path in ["/late", "*", "/early"] {
            // GET is answered inline: nothing of its response is sent before the whole.
            let method = match path {
                "*" => "OPTIONS",
                "/late" => "REPORT",
                _ => "GET",
            };
            let request = format!("{method} {path} HTTP/1.1\r\nHost: x\r\n\r\n");
            socket.write_all(request.as_bytes()).expect("it reads");
        }
        let mut received = String::new();
        socket.read_to_string(&mut received).expect("it answers in text");
        let responses: Vec<&str> = received.split("HTTP/1.1 ").skip(1).collect();
        assert_eq!(responses.len(), 3, "{received}");
        assert!(
            responses[0].starts_with("200 ") && responses[0].contains("<begun>\r\n0\r\n"),
            "{received}"
        );
        assert!(responses[1].starts_with("200 "), "{received}");
        assert!(responses[2].starts_with("500 "), "{received}");
        assert!(
            responses[2].contains("x-request-id: ") && responses[2].contains("<p>Request "),
            "{received}"
        );
        server.stop();
    }
}
