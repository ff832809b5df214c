//! What happens around every answer: a request that nobody should read is refused before a handler sees it, a handler that
//! fails beyond its own account becomes a 500, and what was done is written down.

use std::any::Any;
use std::borrow::Cow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use base::{Code, Error};
use http::{Method, Response, StatusCode, Version};
use repos::read_mode;

use super::body::ReplyBody;
use super::exchange::nothing_said;
use super::reply::Reply;
use super::request::Request;
use super::room::Kind;
use super::status::{is_status, status};
use crate::access_log::Line;
use crate::dav::{self, Fault};
use crate::log::Origin;
use crate::metrics::{Done, Protocol, operation_word};
use crate::service::Service;

/// Answers a request, whatever becomes of it.
pub(super) fn answer(service: &Arc<Service>, kind: Kind, mut request: Request, mut reply: Reply) {
    if let Err(fault) = serve_safely(service, kind, &mut request, &mut reply) {
        fault.tell(service, &request, &mut reply);
    }
    // A client that is still sending what nobody wants would not hear the answer.
    request.body.drain();
    // A client that has gone does not want it.
    _ = reply.finish();
    write_down(service, &request, &reply);
}

/// Answers a request that only needs what is in memory. `None` for any other, which is as it was then but for its body.
pub(super) fn answer_at_once(
    service: &Arc<Service>,
    kind: Kind,
    request: &mut Request,
    mut reply: Reply,
) -> Option<Response<ReplyBody>> {
    let served = read_mode::cached_only(|| {
        serve_safely(service, kind, request, &mut reply)?;
        Ok::<(), Fault>(reply.finish()?)
    });
    match served {
        Some(Ok(())) => {}
        Some(Err(fault)) => {
            fault.tell(service, request, &mut reply);
            _ = reply.finish();
        }
        None => {
            (request.user, request.operation) = (None, None);
            return None;
        }
    }
    write_down(service, request, &reply);
    Some(reply.take().unwrap_or_else(nothing_said))
}

/// Has the request answered; a panic becomes an error.
fn serve_safely(
    service: &Arc<Service>,
    kind: Kind,
    request: &mut Request,
    reply: &mut Reply,
) -> Result<(), Fault> {
    let served = catch_unwind(AssertUnwindSafe(|| serve(service, kind, request, reply)));
    let served = served.unwrap_or_else(|panic| {
        Err(Fault::hidden(
            StatusCode::INTERNAL_SERVER_ERROR,
            panicked(&*panic),
        ))
    });
    if served.is_ok() {
        reply.header("x-request-id", &request.id);
    }
    served
}

fn serve(service: &Arc<Service>, kind: Kind, request: &mut Request, reply: &mut Reply) -> Result<(), Fault> {
    refuse(request)?;
    #[cfg(test)]
    tests::stumble(request, reply);
    match (kind, request.path.as_str()) {
        (Kind::Status, _) => status(service, request, reply),
        (_, path) if is_status(path) && service.http().status => status(service, request, reply),
        (_, "*") => {
            reply.header("allow", "OPTIONS,GET,HEAD,POST").content_length(0);
            Ok(())
        }
        _ => dav::answer(service, request, reply),
    }
}

/// What no handler should see.
fn refuse(request: &Request) -> Result<(), Fault> {
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
    // What is compressed on the way here would have to be bounded on its way out of that; no client does it.
    let encoding = request.header_list("content-encoding");
    if !encoding.is_empty() && !encoding.eq_ignore_ascii_case("identity") {
        return Err(Fault::html(StatusCode::UNSUPPORTED_MEDIA_TYPE));
    }
    Ok(())
}

/// Methods that WebDAV and DeltaV define. What we do not do of them is not allowed; all others nobody does.
pub(crate) const METHODS: [&str; 36] = [
    "GET",
    "HEAD",
    "POST",
    "PUT",
    "DELETE",
    "OPTIONS",
    "PATCH",
    "PROPFIND",
    "PROPPATCH",
    "MKCOL",
    "COPY",
    "MOVE",
    "LOCK",
    "UNLOCK",
    "REPORT",
    "MERGE",
    "CHECKOUT",
    "CHECKIN",
    "UNCHECKOUT",
    "MKACTIVITY",
    "MKWORKSPACE",
    "VERSION-CONTROL",
    "BASELINE-CONTROL",
    "UPDATE",
    "LABEL",
    "SEARCH",
    "BIND",
    "UNBIND",
    "REBIND",
    "ACL",
    "ORDERPATCH",
    "NOTIFY",
    "POLL",
    "SUBSCRIBE",
    "UNSUBSCRIBE",
    "MKREDIRECTREF",
];

fn panicked(panic: &(dyn Any + Send)) -> Error {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    let message = format!("A handler has panicked: {}", text.unwrap_or("(no text)"));
    Error::new(Code::ASSERTION_FAIL, message)
}

fn write_down(service: &Service, request: &Request, reply: &Reply) {
    let user = request.user.as_ref();
    let status = reply.current_status();
    let words = request
        .operation
        .as_ref()
        .map(|operation| operation.text.as_str());
    if let (Some(log), Some(operation)) = (&service.log, &request.operation) {
        let origin = Origin {
            peer: Some(request.peer.address.ip()),
            user: user.map(String::as_str),
            repository: Some(&operation.repository),
        };
        log.operation(origin, &operation.text);
    }
    if let Some(log) = service.access_log() {
        let target = match &request.query {
            Some(query) => Cow::Owned(format!("{}?{query}", request.path)),
            None => Cow::Borrowed(request.path.as_str()),
        };
        log.add(&Line {
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
    service.metrics.count(&Done {
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
mod tests {
    use std::io::{Read as _, Write as _};
    use std::net::TcpStream;

    use repos::Cache;

    use super::*;
    use crate::{Listener, Options, Server, Stop, Threads};

    /// What a handler with a mistake does: panics before it says anything, or in the middle of it.
    pub(super) fn stumble(request: &Request, reply: &mut Reply) {
        match request.path.as_str() {
            "/early" => panic!("a mistake of ours"),
            "/late" => {
                reply.content_type("text/xml; charset=\"utf-8\"");
                reply.buffer().extend_from_slice(b"<begun>");
                reply.spill().expect("a client that reads");
                std::io::Write::flush(reply).expect("a client that reads");
                panic!("a mistake of ours");
            }
            _ => {}
        }
    }

    #[test]
    fn a_handler_that_panics_costs_an_answer_and_no_more() {
        let service = Service::new(Options::default(), Cache::new(1 << 20), None);
        let listener = Listener::bind(Some("127.0.0.1"), 0, false).expect("a free port");
        let address = listener.address().expect("it is bound");
        let server = Server::new(service, vec![], Threads::default()).with_http(vec![listener]);
        let stop = Stop::new().expect("two sockets");
        let stopped = stop.clone();
        let running = std::thread::spawn(move || server.run(&stopped).expect("it runs"));
        let mut socket = TcpStream::connect(address).expect("it listens");
        // The last one ends the connection.
        for path in ["/late", "*", "/early"] {
            // What is answered at once, as GET is, has said nothing before it is whole.
            let method = match path {
                "*" => "OPTIONS",
                "/late" => "REPORT",
                _ => "GET",
            };
            let request = format!("{method} {path} HTTP/1.1\r\nHost: x\r\n\r\n");
            socket.write_all(request.as_bytes()).expect("it reads");
        }
        let mut said = String::new();
        socket.read_to_string(&mut said).expect("it answers in text");
        let answers: Vec<&str> = said.split("HTTP/1.1 ").skip(1).collect();
        assert_eq!(answers.len(), 3, "{said}");
        assert!(
            answers[0].starts_with("200 ") && answers[0].contains("<begun>\r\n0\r\n"),
            "{said}"
        );
        assert!(answers[1].starts_with("200 "), "{said}");
        assert!(answers[2].starts_with("500 "), "{said}");
        assert!(
            answers[2].contains("x-request-id: ") && answers[2].contains("<p>Request "),
            "{said}"
        );
        stop.stop();
        running.join().expect("it ends without a panic");
    }
}
