//! The head of a response: its status and its header lines.

use http::header::{CACHE_CONTROL, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, ETAG, VARY};
use http::{HeaderMap, HeaderName, HeaderValue, Response, StatusCode};

use crate::http::response_body::ResponseBody;

/// Status and header lines, until they are sent.
#[derive(Default)]
pub(crate) struct ResponseHead {
    status: StatusCode,
    headers: HeaderMap,
}

impl ResponseHead {
    /// Sets the status. The default is 200.
    pub(crate) fn status(&mut self, status: StatusCode) -> &mut Self {
        self.status = status;
        self
    }

    /// Returns the current status.
    pub(crate) fn current_status(&self) -> StatusCode {
        self.status
    }

    /// Adds a header line. A line whose value is not valid is left out.
    pub(crate) fn header(&mut self, name: &'static str, value: &str) -> &mut Self {
        if let Ok(value) = HeaderValue::from_bytes(value.as_bytes()) {
            self.headers.append(HeaderName::from_static(name), value);
        }
        self
    }

    /// Sets a header, in place of all lines with this name.
    pub(crate) fn only_header(&mut self, name: &'static str, value: &str) -> &mut Self {
        self.headers.remove(name);
        self.header(name, value)
    }

    /// Adds a header line that another server has sent.
    pub(crate) fn header_named(&mut self, name: HeaderName, value: HeaderValue) -> &mut Self {
        self.headers.append(name, value);
        self
    }

    /// Sets the content type.
    pub(crate) fn content_type(&mut self, value: &str) -> &mut Self {
        if let Ok(value) = HeaderValue::from_bytes(value.as_bytes()) {
            self.headers.insert(CONTENT_TYPE, value);
        }
        self
    }

    /// Announces the length of the body: then it is not sent in chunks, and `HEAD` shows it.
    pub(crate) fn content_length(&mut self, bytes: u64) -> &mut Self {
        self.headers.insert(CONTENT_LENGTH, HeaderValue::from(bytes));
        self
    }

    /// Returns whether compression makes the body shorter, as far as its type tells.
    pub(super) fn is_compressible(&self) -> bool {
        let text = |name| self.headers.get(name).and_then(|v: &HeaderValue| v.to_str().ok());
        let kind = text(CONTENT_TYPE).unwrap_or_default();
        let kind = kind.split(';').next().unwrap_or_default().trim();
        let is_text = kind.starts_with("text/")
            || [
                "application/xml",
                "application/json",
                "application/javascript",
                "image/svg+xml",
            ]
            .contains(&kind);
        let whole = self.status == StatusCode::OK || self.status == StatusCode::MULTI_STATUS;
        let as_is = text(CACHE_CONTROL).is_some_and(|value| value.contains("no-transform"));
        is_text && whole && !as_is && !self.headers.contains_key(CONTENT_ENCODING)
    }

    /// Changes the header lines to those of a compressed body.
    pub(super) fn set_gzip(&mut self) {
        self.headers.remove(CONTENT_LENGTH);
        self.headers
            .insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
        self.headers
            .append(VARY, HeaderValue::from_static("Accept-Encoding"));
        // Another body needs another tag. This is the form of Apache.
        let tag = self.headers.get(ETAG).and_then(|tag| tag.to_str().ok());
        let tag = tag.and_then(|tag| tag.strip_suffix('"').map(|tag| format!("{tag}-gzip\"")));
        if let Some(tag) = tag.and_then(|tag| HeaderValue::try_from(tag).ok()) {
            self.headers.insert(ETAG, tag);
        }
    }

    /// Returns whether the body is XML: that shows by itself whether it is complete.
    pub(super) fn is_xml(&self) -> bool {
        let kind = self.headers.get(CONTENT_TYPE).map(HeaderValue::as_bytes);
        kind.is_some_and(|kind| kind.starts_with(b"text/xml"))
    }

    /// Returns the announced length of the body.
    pub(super) fn announced_length(&self) -> Option<u64> {
        let length = self.headers.get(CONTENT_LENGTH)?;
        length.to_str().ok()?.parse().ok()
    }

    /// Returns whether a response with this status has no body.
    pub(super) fn is_without_body(&self) -> bool {
        self.status == StatusCode::NO_CONTENT || self.status == StatusCode::NOT_MODIFIED
    }

    /// Makes the response, and takes the header lines.
    pub(super) fn response(&mut self, body: ResponseBody) -> Response<ResponseBody> {
        let mut response = Response::new(body);
        *response.status_mut() = self.status;
        *response.headers_mut() = std::mem::take(&mut self.headers);
        response
    }
}
