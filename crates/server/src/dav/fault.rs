//! What goes wrong, as a client of HTTP hears it.
//!
//! Subversion's own errors travel as XML with one number and one message, the outermost; everything else is a status with
//! a few words for people. The whole chain goes to the log, under the request's id, which the few words name as well.

use std::io;

use base::{Code, Error};
use http::StatusCode;
use wire::dav::fault::{XML_TYPE, write_error};
use wire::dav::xml::{self, Malformed};

use crate::http::{Reply, Request};
use crate::log::{OneLine, Origin};
use crate::service::Service;

/// Why a request was not done.
#[derive(Debug)]
pub(crate) struct Fault {
    pub(crate) status: StatusCode,
    /// What the engine said, if it was asked.
    pub(crate) error: Option<Error>,
    /// Only the log hears of `error`.
    hidden: bool,
    /// Further header lines.
    headers: Vec<(&'static str, String)>,
    /// There is probably nobody to tell.
    gone: bool,
}

impl Fault {
    /// A status without any number of Subversion's.
    pub(crate) fn html(status: StatusCode) -> Fault {
        Fault {
            status,
            error: None,
            hidden: false,
            headers: Vec::new(),
            gone: false,
        }
    }

    /// As [`Fault::html`]; `error` goes to the log.
    pub(crate) fn hidden(status: StatusCode, error: Error) -> Fault {
        Fault {
            error: Some(error),
            hidden: true,
            ..Fault::html(status)
        }
    }

    /// An error of Subversion's, with `status` unless its number means one by itself.
    pub(crate) fn new(status: StatusCode, error: Error) -> Fault {
        Fault {
            error: Some(error.clone()),
            ..Fault::html(status_of(error.code()).unwrap_or(status))
        }
    }

    /// An error of Subversion's that is the client's fault, whatever its number.
    pub(crate) fn bad_request(error: Error) -> Fault {
        Fault {
            error: Some(error),
            ..Fault::html(StatusCode::BAD_REQUEST)
        }
    }

    /// Too many others wait for what the request needs; the client may try again later.
    pub(crate) fn busy() -> Fault {
        Fault::html(StatusCode::SERVICE_UNAVAILABLE).with("retry-after", "5")
    }

    /// The client hears of the status alone.
    pub(crate) fn hide(&mut self) {
        self.hidden = true;
    }

    /// Adds a header line.
    pub(crate) fn with(mut self, name: &'static str, value: impl Into<String>) -> Fault {
        self.headers.push((name, value.into()));
        self
    }

    /// Tells the error log what went wrong with us, under the id that the client has been told.
    fn explain(&self, request: &Request) {
        let Some(error) = &self.error else { return };
        let (id, peer, status) = (&request.id, request.peer.address.ip(), self.status.as_u16());
        // A 403 whose reason is kept back is one of rules that cannot be read, or of somebody else's lock.
        let unreadable = self.hidden
            && self.status == StatusCode::FORBIDDEN
            && error.code() != Code::FS_LOCK_OWNER_MISMATCH;
        let ours = self.status.is_server_error() || unreadable;
        match ours && self.status != StatusCode::NOT_IMPLEMENTED {
            true => tracing::error!(request = %id, %peer, status, "{}", OneLine(error)),
            false => tracing::debug!(request = %id, %peer, status, "{}", OneLine(error)),
        }
    }

    /// Sends what can be said to the client, and logs the rest.
    pub(crate) fn tell(self, service: &Service, request: &Request, reply: &mut Reply) {
        if reply.is_unheard() {
            if let Some(error) = &self.error {
                tracing::debug!(request = %request.id, peer = %request.peer.address.ip(), "the client has gone: {}", OneLine(error));
            }
            return reply.break_off();
        }
        if let (Some(error), Some(log)) = (&self.error, &service.log) {
            log.error(Origin::at(Some(request.peer.address.ip())), error);
        }
        self.explain(request);
        match (reply.begun(), self.gone) {
            (false, _) => {}
            (true, true) => return reply.break_off(),
            (true, false) => return reply.cut_short(),
        }
        reply.start_over();
        reply.status(self.status);
        for (name, value) in &self.headers {
            reply.header(name, value);
        }
        let mut text = String::new();
        match &self.error {
            Some(error) if !self.hidden => {
                reply.content_type(XML_TYPE);
                write_error(error.code(), &xml::fuzzy(error.message().as_bytes()), &mut text);
            }
            _ => {
                reply.content_type("text/html; charset=utf-8");
                text = page(self.status, &request.id);
            }
        }
        reply.header("x-request-id", &request.id);
        if ends_connection(self.status) && !self.headers.iter().any(|(name, _)| *name == "connection") {
            reply.header("connection", "close");
        }
        *reply.buffer() = text.into_bytes();
    }
}

/// True for the statuses after which the incumbent ends the connection: requests that were sent behind the one that failed are not
/// done.
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

/// The status that a number means, wherever it comes from.
pub(super) fn status_of(code: Code) -> Option<StatusCode> {
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
    /// Of a connection: of bodies that are too long, or of clients that have gone.
    fn from(error: io::Error) -> Fault {
        match error.kind() {
            io::ErrorKind::FileTooLarge => Fault::html(StatusCode::PAYLOAD_TOO_LARGE),
            // What was promised did not come.
            io::ErrorKind::TimedOut => Fault::html(StatusCode::REQUEST_TIMEOUT).with("connection", "close"),
            io::ErrorKind::ResourceBusy => Fault::html(StatusCode::SERVICE_UNAVAILABLE)
                .with("retry-after", "10")
                .with("connection", "close"),
            // Of a client that is still there the body was no body.
            _ => Fault {
                gone: true,
                ..Fault::html(StatusCode::BAD_REQUEST).with("connection", "close")
            },
        }
    }
}

impl From<Malformed> for Fault {
    fn from(what: Malformed) -> Fault {
        Fault::hidden(StatusCode::BAD_REQUEST, Error::new(Code::XML_MALFORMED, what.0))
    }
}
