//! Redirects for repositories that have moved. They are checked before anything else.

use http::StatusCode;
use wire::dav::uri;

use crate::config::HttpOptions;
use crate::http::{Fault, Request};

/// Redirects a request whose URL has moved.
///
/// # Errors
/// 301 or 302 with the new URL.
pub(crate) fn check(options: &HttpOptions, request: &Request) -> Result<(), Fault> {
    if options.redirects.is_empty() {
        return Ok(());
    }
    let Some((components, slash)) = uri::split(&request.path) else {
        return Ok(());
    };
    let mut found = options
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
