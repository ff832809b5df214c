//! The client's half: bodies of requests, and the XML of responses.
//!
//! Short responses are read as a whole, or by child of the root ([`super::stream`]); [`XmlEvents`] reads responses that are
//! nested and long. Values are bytes: base64 where XML cannot hold them.

mod bodies;
mod events;
mod responses;

pub use bodies::{
    ALLPROP, OPTIONS, PropertyChange, ReportBody, checkout, create_txn, is_property_name, lock, lock_tokens,
    merge, propfind, proppatch,
};
pub use events::{XmlEvent, XmlEvents};
pub use responses::{
    PropFailure, PropResponse, ServerFault, decode_base64, property_name, read_fault, value,
};

use base::{Code, Error};

use super::stream::StreamFault;
use super::xml::MalformedXml;

/// Returns the error of a response that is not the XML it should be. Errors of the source that are `base` errors come out as they are.
pub fn fault_error(fault: StreamFault) -> Error {
    match fault {
        StreamFault::Malformed(what) => malformed(&what),
        StreamFault::Io(error) => source_error(&error),
    }
}

fn malformed(what: &MalformedXml) -> Error {
    Error::new(Code::XML_MALFORMED, what.0.clone())
        .wrap(Code::XML_MALFORMED, "The XML response contains invalid XML")
}

/// Finds a `base` error in an error of a source, in which the parser wraps it.
fn source_error(error: &std::io::Error) -> Error {
    let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(error);
    // Each round is one level of wrapping; the parser adds two.
    for _ in 0..8 {
        let Some(current) = cause else { break };
        if let Some(found) = current.downcast_ref::<Error>() {
            return found.clone();
        }
        let inner = match current.downcast_ref::<std::io::Error>() {
            Some(io) => io
                .get_ref()
                .map(|inner| inner as &(dyn std::error::Error + 'static)),
            None => match current.downcast_ref::<std::sync::Arc<std::io::Error>>() {
                Some(shared) => Some(&**shared as &(dyn std::error::Error + 'static)),
                None => current.source(),
            },
        };
        cause = inner;
    }
    match error.kind() {
        std::io::ErrorKind::FileTooLarge => Error::new(Code::XML_MALFORMED, error.to_string())
            .wrap(Code::XML_MALFORMED, "The XML response contains invalid XML"),
        _ => Error::os(error, "Can't read the response"),
    }
}
