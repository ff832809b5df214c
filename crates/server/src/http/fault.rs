//! Error responses.
//!
//! An error of Subversion's is sent as XML with the outermost number and message of its chain; everything else is a status with a
//! short HTML page. The whole chain goes to the log with the request's ID, which the page shows as well.

use std::io;

use base::{Code, Error};
use http::StatusCode;
use wire::dav::fault::{XML_TYPE, write_error};
use wire::text::fuzzy;

use super::request::Request;
use super::response_writer::ResponseWriter;
use crate::context::ServerContext;
use crate::log::{OneLine, Origin, is_fault};

/// An error response, and the error behind it.
#[derive(Debug)]
pub(crate) struct Fault {
    pub(crate) status: StatusCode,
    /// The error behind it, if it came from the engine.
    pub(crate) error: Option<Error>,
    /// Only the log shows `error`.
    hidden: bool,
    /// Additional header lines.
    headers: Vec<(&'static str, String)>,
    /// The client has probably gone.
    gone: bool,
}

impl Fault {
    /// Returns a response with a status and no number of Subversion's.
    pub(crate) fn html(status: StatusCode) -> Fault {
        Fault {
            status,
            error: None,
            hidden: false,
            headers: Vec::new(),
            gone: false,
        }
    }

    /// As [`Fault::html`]; `error` goes to the log alone.
    pub(crate) fn hidden(status: StatusCode, error: Error) -> Fault {
        Fault {
            error: Some(error),
            hidden: true,
            ..Fault::html(status)
        }
    }

    /// Returns a response with an error of Subversion's, and with `status` unless the error's number implies another one.
    pub(crate) fn new(status: StatusCode, error: Error) -> Fault {
        Fault {
            error: Some(error.clone()),
            ..Fault::html(status_of(error.code()).unwrap_or(status))
        }
    }

    /// Returns a 400 with an error of Subversion's, whatever its number.
    pub(crate) fn bad_request(error: Error) -> Fault {
        Fault {
            error: Some(error),
            ..Fault::html(StatusCode::BAD_REQUEST)
        }
    }

    /// Returns a 503: too many requests wait for the same resource, and the client may try again.
    pub(crate) fn busy() -> Fault {
        Fault::html(StatusCode::SERVICE_UNAVAILABLE).with("retry-after", "5")
    }

    /// Keeps the error for the log: the client gets the status alone.
    pub(crate) fn hide(&mut self) {
        self.hidden = true;
    }

    /// Adds a header line.
    pub(crate) fn with(mut self, name: &'static str, value: impl Into<String>) -> Fault {
        self.headers.push((name, value.into()));
        self
    }

    /// Logs the error with the request's ID.
    fn log(&self, request: &Request) {
        let Some(error) = &self.error else { return };
        let (id, peer, status) = (
            &request.id,
            request.peer.address.ip().to_canonical(),
            self.status.as_u16(),
        );
        // A 403 with a hidden reason: access rules that cannot be read, or another user's lock.
        let unreadable = self.hidden
            && self.status == StatusCode::FORBIDDEN
            && error.code() != Code::FS_LOCK_OWNER_MISMATCH;
        let is_ours = self.status.is_server_error() && self.status != StatusCode::NOT_IMPLEMENTED;
        // A repository that is not there is an error of the system too.
        let is_damage = is_fault(error) && self.status != StatusCode::NOT_FOUND;
        match is_ours || unreadable || is_damage {
            true => tracing::error!(request = %id, %peer, status, "{}", OneLine(error)),
            false => tracing::debug!(request = %id, %peer, status, "{}", OneLine(error)),
        }
    }

    /// Writes the response in place of what was not sent yet, and logs the error. A response that has begun is ended early.
    pub(crate) fn send(self, context: &ServerContext, request: &Request, reply: &mut ResponseWriter) {
        if reply.is_client_gone() {
            if let Some(error) = &self.error {
                tracing::debug!(request = %request.id, peer = %request.peer.address.ip().to_canonical(), "the client has gone: {}", OneLine(error));
            }
            return reply.break_off();
        }
        if let (Some(error), Some(log)) = (&self.error, &context.log) {
            log.error(Origin::at(Some(request.peer.address.ip())), error);
        }
        self.log(request);
        match (reply.begun(), self.gone) {
            (false, _) => {}
            (true, true) => return reply.break_off(),
            (true, false) => return reply.cut_short(),
        }
        reply.start_over();
        reply.head.status(self.status);
        for (name, value) in &self.headers {
            reply.head.header(name, value);
        }
        let mut text = String::new();
        match &self.error {
            Some(error) if !self.hidden => {
                reply.head.content_type(XML_TYPE);
                write_error(error.code(), &fuzzy(error.message().as_bytes()), &mut text);
            }
            _ => {
                reply.head.content_type("text/html; charset=utf-8");
                text = page(self.status, &request.id);
            }
        }
        reply.head.header("x-request-id", &request.id);
        let ends = ends_connection(self.status) || request.body.awaits_continue();
        if ends && !self.headers.iter().any(|(name, _)| *name == "connection") {
            reply.head.header("connection", "close");
        }
        *reply.buffer() = text.into_bytes();
    }
}

/// Returns whether the incumbent ends the connection after this status: then the requests behind the failed one are not done.
fn ends_connection(status: StatusCode) -> bool {
    matches!(
        status,
        StatusCode::BAD_REQUEST
            | StatusCode::REQUEST_TIMEOUT
            | StatusCode::LENGTH_REQUIRED
            | StatusCode::PAYLOAD_TOO_LARGE
            | StatusCode::URI_TOO_LONG
            | StatusCode::INTERNAL_SERVER_ERROR
            | StatusCode::NOT_IMPLEMENTED
            | StatusCode::SERVICE_UNAVAILABLE
    )
}

/// Returns the status that an error's number implies in every request.
pub(crate) fn status_of(code: Code) -> Option<StatusCode> {
    match code {
        Code::FS_NOT_FOUND | Code::FS_NO_SUCH_REVISION => Some(StatusCode::NOT_FOUND),
        Code::UNSUPPORTED_FEATURE => Some(StatusCode::NOT_IMPLEMENTED),
        Code::FS_LOCK_OWNER_MISMATCH | Code::FS_PATH_ALREADY_LOCKED => Some(StatusCode::LOCKED),
        Code::FS_PROP_BASEVALUE_MISMATCH => Some(StatusCode::PRECONDITION_FAILED),
        _ => None,
    }
}

fn page(status: StatusCode, id: &str) -> String {
    let reason = status.canonical_reason().unwrap_or("Error");
    let number = status.as_u16();
    format!(
        "<!DOCTYPE html>\n<html><head><title>{number} {reason}</title></head>\n\
         <body><h1>{reason}</h1><p>Request {id}</p></body></html>\n"
    )
}

impl From<Error> for Fault {
    fn from(error: Error) -> Fault {
        Fault::new(StatusCode::INTERNAL_SERVER_ERROR, error)
    }
}

impl From<io::Error> for Fault {
    /// Makes a response of an error of the connection: a body that is too long, or a client that has gone.
    fn from(error: io::Error) -> Fault {
        match error.kind() {
            io::ErrorKind::FileTooLarge => Fault::html(StatusCode::PAYLOAD_TOO_LARGE),
            // The body did not arrive in time.
            io::ErrorKind::TimedOut => Fault::html(StatusCode::REQUEST_TIMEOUT).with("connection", "close"),
            io::ErrorKind::ResourceBusy => Fault::html(StatusCode::SERVICE_UNAVAILABLE)
                .with("retry-after", "10")
                .with("connection", "close"),
            // If the client is still there, its body was malformed.
            _ => Fault {
                gone: true,
                ..Fault::html(StatusCode::BAD_REQUEST).with("connection", "close")
            },
        }
    }
}
