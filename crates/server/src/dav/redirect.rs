//! Requests for what has moved: a status and the new URL, before anything else is looked at.

use http::StatusCode;
use wire::dav::uri;

use super::fault::Fault;
use crate::http::{HttpOptions, Request};

/// Sends the client to the new place of what it asks for, if it has moved.
///
/// # Errors
/// 301 or 302, for what has moved.
pub(super) fn follow(http: &HttpOptions, request: &Request) -> Result<(), Fault> {
    if http.redirects.is_empty() {
        return Ok(());
    }
    let Some((components, slash)) = uri::split(&request.path) else {
        return Ok(());
    };
    let mut found = http
        .redirects
        .iter()
        .filter_map(|redirect| Some((redirect, redirect.target(&components, slash)?)));
    let Some((redirect, mut url)) = found.next() else {
        return Ok(());
    };
    if url.starts_with('/') {
        url.insert_str(0, &request.origin());
    }
    if let Some(query) = &request.query {
        url.push('?');
        url.push_str(query);
    }
    let status = match redirect.is_permanent() {
        true => StatusCode::MOVED_PERMANENTLY,
        false => StatusCode::FOUND,
    };
    Err(Fault::html(status).with("location", url))
}
