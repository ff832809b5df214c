//! Errors of connections and of malformed responses, with the incumbent's numbers: those of its HTTP library.

use base::{Code, Error};

/// The number of the error of a connection that a server has closed.
const ABORTED_CONNECTION: Code = Code(120_108);

/// The number of the error of a response whose head is malformed.
const IMPROPER_RESPONSE: Code = Code(120_105);

/// The number of the error of a body that ends too early.
const TRUNCATED_RESPONSE: Code = Code(120_106);

pub(super) fn closed() -> Error {
    let message = "Error running context: The server unexpectedly closed the connection.";
    Error::new(ABORTED_CONNECTION, message)
}

pub(super) fn is_reset(error: &hyper::Error) -> bool {
    use std::io::ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionReset};
    io_cause(error).is_some_and(|io| matches!(io.kind(), BrokenPipe | ConnectionAborted | ConnectionReset))
}

fn io_cause(error: &hyper::Error) -> Option<&std::io::Error> {
    std::error::Error::source(error)?.downcast_ref()
}

/// Returns the error of a connection that ends or fails in the body of a response.
pub(super) fn body_error(error: &hyper::Error) -> Error {
    let ended = io_cause(error).is_some_and(|io| io.kind() == std::io::ErrorKind::UnexpectedEof);
    match ended || error.is_incomplete_message() {
        true => truncated(),
        false => hyper_error(error),
    }
}

/// Returns the error of a body without its end.
fn truncated() -> Error {
    let message = "ra_serf: The server sent a truncated HTTP response body.";
    Error::new(TRUNCATED_RESPONSE, message)
}

/// Returns the error of a connection.
pub(super) fn hyper_error(error: &hyper::Error) -> Error {
    if error.is_parse() && !error.is_parse_too_large() {
        let message = "Error running context: The server sent an improper HTTP response";
        return Error::new(IMPROPER_RESPONSE, message);
    }
    if error.is_parse_too_large() {
        return Error::new(
            Code::RA_DAV_MALFORMED_DATA,
            format!("Malformed HTTP response: {error}"),
        );
    }
    match io_cause(error) {
        Some(io) if io.get_ref().is_some_and(|inner| inner.is::<rustls::Error>()) => super::tls::broken(),
        Some(io) if !is_reset(error) && io.raw_os_error().is_some() => Error::os(io, "Error running context"),
        _ => closed(),
    }
}
