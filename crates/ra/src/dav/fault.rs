//! Responses that report no success: the server's own error if it sent one, else what its status means.

use base::{Code, Error};
use http::StatusCode;
use wire::dav::client::{PropFailure, property_name, read_fault};
use wire::dav::uri;
use wire::dav::xml::{Element, XmlLimits};

use super::response::Response;

/// What the incumbent's messages have for a location that is not set.
pub(super) const NO_LOCATION: &str = "(null)";

/// The longest error that is read, in bytes.
const MOST: usize = 1 << 20;

/// Returns the error of a response to a request for the escaped path `target`.
pub(super) fn refusal(mut response: Response, target: &str) -> Error {
    let is_xml = response
        .header("content-type")
        .is_some_and(|media| media.to_ascii_lowercase().starts_with("text/xml"));
    let body = match response.body.read_up_to(MOST) {
        Ok(body) => body,
        Err(error) => return error,
    };
    if is_xml
        && let Ok(root) = Element::parse(&body, XmlLimits::default())
        && let Some(fault) = read_fault(&root)
    {
        let code = fault.code.unwrap_or(Code::RA_DAV_REQUEST_FAILED);
        return Error::new(code, fault.message);
    }
    let location = response.header("location").unwrap_or(NO_LOCATION).to_owned();
    of_status(
        response.status,
        &response.reason,
        response.method,
        target,
        &location,
    )
}

/// Returns the meaning of a status. The path is shown as it was requested, escaped.
pub(super) fn of_status(status: u16, reason: &str, method: &str, path: &str, location: &str) -> Error {
    let (code, message) = match status {
        301 => (
            Code::RA_DAV_RELOCATED,
            format!("Repository moved permanently to '{location}'"),
        ),
        302 | 303 | 307 | 308 => (
            Code::RA_DAV_RELOCATED,
            format!("Repository moved temporarily to '{location}'"),
        ),
        403 => (Code::RA_DAV_FORBIDDEN, format!("Access to '{path}' forbidden")),
        404 => (Code::FS_NOT_FOUND, format!("'{path}' path not found")),
        405 => (
            Code::RA_DAV_METHOD_NOT_ALLOWED,
            format!("The HTTP method '{method}' is not allowed on '{path}'"),
        ),
        409 => (Code::FS_CONFLICT, format!("'{path}' conflicts")),
        412 => (
            Code::RA_DAV_PRECONDITION_FAILED,
            format!("Precondition on '{path}' failed"),
        ),
        423 => (
            Code::FS_NO_LOCK_TOKEN,
            format!("'{path}': no lock token available"),
        ),
        411 => (
            Code::RA_DAV_REQUEST_FAILED,
            "DAV request failed: 411 Content length required. The server or an intermediate proxy does not accept chunked \
             encoding. Try setting 'http-chunked-requests' to 'auto' or 'no' in your client configuration."
                .to_owned(),
        ),
        501 => (
            Code::UNSUPPORTED_FEATURE,
            format!("The requested feature is not supported by '{path}'"),
        ),
        201 => (
            Code::RA_DAV_REQUEST_FAILED,
            format!("Path '{path}' unexpectedly created"),
        ),
        204 => (Code::FS_ALREADY_EXISTS, format!("Path '{path}' already exists")),
        // A success of another kind than that of the request.
        200..=299 => (
            Code::RA_DAV_REQUEST_FAILED,
            format!("Unexpected HTTP status {status} '{reason}' on '{method}' request to '{path}'"),
        ),
        _ => {
            let what = if status == 500 { "server error" } else { "HTTP status" };
            (
                Code::RA_DAV_REQUEST_FAILED,
                format!("Unexpected {what} {status} '{reason}' on '{path}'"),
            )
        }
    };
    Error::new(code, message)
}

fn of_property(status: u16, target: &str) -> Error {
    let known = StatusCode::from_u16(status).ok();
    let reason = known
        .and_then(|known| known.canonical_reason())
        .unwrap_or_default();
    of_status(status, reason, "PROPPATCH", target, "")
}

/// Returns the error of the property that made a request fail; those that only failed because of others have status 424.
pub(super) fn of_properties(failures: &[PropFailure], target: &str) -> Option<Error> {
    let failure = failures
        .iter()
        .find(|failure| failure.status != 424)
        .or(failures.first())?;
    let error = match &failure.fault {
        Some(fault) => {
            let code = fault
                .code
                .unwrap_or_else(|| of_property(failure.status, target).code());
            Error::new(code, fault.message.clone())
        }
        None => of_property(failure.status, target),
    };
    Some(match &failure.name {
        Some(name) => {
            let path = uri::decode(target).unwrap_or_else(|| target.to_owned());
            error.context(format!(
                "While handling the '{}' property on '{path}':",
                property_name(name).unwrap_or_else(|| name.local.clone())
            ))
        }
        None => error,
    })
}

/// Returns the error of a response that lacks something.
pub(super) fn malformed(what: impl Into<String>) -> Error {
    Error::new(Code::RA_DAV_MALFORMED_DATA, what.into())
}
