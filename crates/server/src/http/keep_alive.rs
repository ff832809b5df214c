//! The header lines that tell a client whether its connection stays open.
//!
//! They are Apache's. A client that asks for an open connection (`Connection: Keep-Alive`) learns how long the connection may be idle: SVNKit
//! up to 1.8.5 otherwise uses connections that are closed already. A response of HTTP/1.0 also says that its connection ends. hyper
//! adds `Connection: close` for HTTP/1.1.

use http::header::{CONNECTION, HeaderMap};
use http::request::Parts;
use http::{HeaderName, HeaderValue, Method, Response, StatusCode, Version};
use http_body::Body as _;

use super::response_body::ResponseBody;
use super::timeouts::BusyGuard;

const KEEP_ALIVE: HeaderName = HeaderName::from_static("keep-alive");

/// What a request says about its connection.
#[derive(Clone, Copy, Debug)]
pub(super) struct ConnectionRequest {
    /// It has `Connection: Keep-Alive`, and not `close`.
    asks_to_keep: bool,
    is_http_10: bool,
    is_head: bool,
}

impl ConnectionRequest {
    /// Returns what a head says.
    pub(super) fn of(head: &Parts) -> ConnectionRequest {
        ConnectionRequest {
            asks_to_keep: has_token(&head.headers, "keep-alive") && !has_token(&head.headers, "close"),
            is_http_10: head.version == Version::HTTP_10,
            is_head: head.method == Method::HEAD,
        }
    }

    /// Adds the header lines to the response.
    pub(super) fn announce(self, response: &mut Response<ResponseBody>, busy: &BusyGuard) {
        if !self.asks_to_keep && !self.is_http_10 {
            return;
        }
        if self.is_http_10 {
            // For a response of HTTP/1.1 hyper would add lines of its own.
            *response.version_mut() = Version::HTTP_10;
        }
        let is_kept = self.asks_to_keep
            && !busy.is_closing()
            && !has_token(response.headers(), "close")
            && (!self.is_http_10 || self.has_end(response));
        if is_kept {
            let value = HeaderValue::from_maybe_shared(format!("timeout={}", busy.idle_timeout().as_secs()));
            // It has no bytes that a header line cannot have.
            response
                .headers_mut()
                .extend(value.map(|value| (KEEP_ALIVE, value)));
            response
                .headers_mut()
                .insert(CONNECTION, HeaderValue::from_static("Keep-Alive"));
        } else if self.is_http_10 {
            response
                .headers_mut()
                .insert(CONNECTION, HeaderValue::from_static("close"));
        }
    }

    /// Returns whether a client of HTTP/1.0, which knows no chunks, finds the end of the response while the connection stays open.
    fn has_end(self, response: &Response<ResponseBody>) -> bool {
        let status = response.status();
        self.is_head
            || status == StatusCode::NO_CONTENT
            || status == StatusCode::NOT_MODIFIED
            || response.body().size_hint().exact().is_some()
    }
}

/// Returns whether a `Connection` line has this token.
fn has_token(headers: &HeaderMap, token: &str) -> bool {
    let lines = headers.get_all(CONNECTION).iter();
    let mut words = lines
        .filter_map(|line| line.to_str().ok())
        .flat_map(|line| line.split(','));
    words.any(|word| word.trim().eq_ignore_ascii_case(token))
}
