//! Requests whose whole response is in the [response cache](crate::response_cache), by their head.
//!
//! A response that was made out of memory is stored as it was sent, under the request's head. When the same head arrives again, it is
//! neither parsed nor answered by a handler: that saves two thirds of what such a request costs.
//!
//! The requester's rights are those by which the connection's last request went, while they hold ([`Handler::cached_auth`]). Clients
//! that are so slow that responses to them are compressed get no stored response. User names and passwords are no part of the key.

use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use http::header::{
    CONNECTION, CONTENT_LENGTH, EXPECT, IF_MATCH, IF_MODIFIED_SINCE, IF_NONE_MATCH, IF_RANGE,
    IF_UNMODIFIED_SINCE, RANGE, REFERER, TRANSFER_ENCODING, UPGRADE, USER_AGENT,
};
use http::{HeaderName, Method, Response, StatusCode, Version};
use repos::{Instance, Repository};

use super::connection::ConnectionShared;
use super::date_line::current_date;
use super::exchange::write_id;
use super::handler::{CachedAuth, Handler};
use super::request::Request;
use super::request_head::RequestHead;
use super::response_body::ResponseBody;
use super::timeouts::Timeouts;
use crate::config::HttpOptions;
use crate::log::AccessLine;
use crate::metrics::{FinishedOperation, Protocol};
use crate::response_cache::{
    CachedResponse, LoggedRequest, RequestKind, Requester, RequiredAccess, ResponseCache, Validators,
};

/// The longest head that is looked up, bytes.
const MAX_HEAD: usize = 8 << 10;

/// What a handler says about a response that may be stored.
pub(crate) struct CacheableResponse {
    pub(crate) instance: Instance,
    pub(crate) validators: Validators,
}

/// Looks up stored responses for one connection.
pub(super) struct CachedRequests<H: Handler> {
    connection: Arc<ConnectionShared<H>>,
    timeouts: Timeouts,
}

/// The requests that have arrived together.
pub(super) struct RequestBatch<'a, H: Handler> {
    cache: Option<&'a CachedRequests<H>>,
    /// The options and rights that hold for the batch; `None` before the first look-up.
    auth: Option<Option<(Arc<HttpOptions>, H::Auth)>>,
    /// When they were read.
    begun: Instant,
    /// The last lines of the head that was sent last.
    tail: String,
    /// A response was sent since [`RequestBatch::pause`].
    has_sent: bool,
}

/// What is known of the first request that waits.
pub(super) enum CacheLookup {
    /// The request has this many bytes, and this response.
    Hit(Arc<CachedResponse>, usize),
    /// There is no stored response. The head has this many bytes, if its response may be stored.
    Miss(Option<usize>),
    /// The end of the head has not arrived.
    Incomplete,
}

/// The request of a head, by the rights of the connection's last request.
struct HeadRequester<'a, A> {
    options: &'a Arc<HttpOptions>,
    auth: &'a A,
    authorization: Option<&'a [u8]>,
}

impl<A: CachedAuth> Requester for HeadRequester<'_, A> {
    fn repository(&self) -> &Repository {
        self.auth.repository()
    }

    fn options(&self) -> &Arc<HttpOptions> {
        self.options
    }

    fn root(&self) -> &str {
        self.auth.root()
    }

    fn may_read(&self, access: &RequiredAccess) -> bool {
        match access {
            RequiredAccess::Path(path) => self.auth.may_read(self.authorization, path),
            RequiredAccess::Everything => false,
        }
    }
}

/// Takes the bytes of responses.
pub(super) trait CachedResponseSink {
    /// Takes bytes of a head.
    fn head(&mut self, bytes: &[u8]);
    /// Takes a piece of a body.
    fn piece(&mut self, piece: &Bytes);
}

impl<H: Handler> CachedRequests<H> {
    pub(super) fn new(connection: Arc<ConnectionShared<H>>, timeouts: Timeouts) -> CachedRequests<H> {
        CachedRequests { connection, timeouts }
    }

    /// Begins a batch; without a cache every look-up is a miss.
    pub(super) fn begin(cache: Option<&CachedRequests<H>>) -> RequestBatch<'_, H> {
        RequestBatch {
            cache,
            auth: None,
            begun: Instant::now(),
            tail: String::new(),
            has_sent: false,
        }
    }

    fn auth(&self) -> Option<(Arc<HttpOptions>, H::Auth)> {
        if self.timeouts.is_slow() {
            return None;
        }
        let options = self.connection.context.http_options();
        let auth = self
            .connection
            .handler
            .cached_auth(&self.connection.state, &options)?;
        Some((options, auth))
    }
}

impl<H: Handler> RequestBatch<'_, H> {
    /// Looks up the first request in `waiting`.
    pub(super) fn look_up(&mut self, waiting: &[u8]) -> CacheLookup {
        const GET: &[u8] = b"GET ";
        if !waiting.starts_with(&GET[..waiting.len().min(GET.len())]) {
            return CacheLookup::Miss(None);
        }
        match RequestHead::parse(waiting) {
            Some(head) => match self.find(&head) {
                Some(response) => CacheLookup::Hit(response, head.length),
                None => CacheLookup::Miss(Some(head.length)),
            },
            None if waiting.len() > MAX_HEAD => CacheLookup::Miss(None),
            None => CacheLookup::Incomplete,
        }
    }

    fn find(&mut self, head: &RequestHead<'_>) -> Option<Arc<CachedResponse>> {
        let cache = self.cache?;
        let auth = self.auth.get_or_insert_with(|| {
            self.begun = Instant::now();
            cache.auth()
        });
        let (options, auth) = auth.as_ref()?;
        let requester = HeadRequester {
            options,
            auth,
            authorization: head.authorization,
        };
        let responses = &cache.connection.context.responses;
        let response = responses.get(RequestKind::Head, head.key.as_deref()?, &requester);
        // An error comes again when a handler answers the request.
        response.ok().flatten()
    }

    /// Sends a response again; returns the bytes of its body.
    pub(super) fn send(&mut self, response: &CachedResponse, out: &mut impl CachedResponseSink) -> u64 {
        out.head(&response.head);
        out.head(self.tail().as_bytes());
        response.body.iter().for_each(|piece| out.piece(piece));
        response.body.iter().map(|piece| piece.len() as u64).sum()
    }

    /// Called before the connection waits for more bytes. Returns true if a response was sent since the last call.
    pub(super) fn pause(&mut self) -> bool {
        // By the next request the rules may be others.
        self.auth = None;
        std::mem::take(&mut self.has_sent)
    }

    /// Logs and counts a response that was sent again.
    pub(super) fn record(&mut self, response: &CachedResponse, sent: u64) {
        self.has_sent = true;
        let Some(cache) = self.cache else { return };
        let ConnectionShared { context, peer, .. } = &*cache.connection;
        let took = self.begun.elapsed();
        if let (Some(log), Some(logged)) = (context.access_log(), &response.logged) {
            let auth = self.auth.as_ref().and_then(Option::as_ref);
            log.add(&AccessLine {
                address: peer.address.ip(),
                user: auth.and_then(|(_, auth)| auth.user()),
                method: "GET",
                target: &logged.target,
                version: Version::HTTP_11,
                status: StatusCode::OK,
                bytes: sent,
                referer: logged.referer.as_ref(),
                agent: logged.agent.as_ref(),
                took,
                id: self.id(),
                operation: None,
            });
        }
        context.metrics.count(&FinishedOperation {
            protocol: match peer.tls {
                true => Protocol::Https,
                false => Protocol::Http,
            },
            operation: "GET",
            took,
            received: 0,
            sent,
            failed: false,
        });
    }

    /// Returns the ID of the request that was answered last.
    fn id(&self) -> &str {
        let rest = self.tail.strip_prefix(ID).unwrap_or_default();
        rest.split('\r').next().unwrap_or_default()
    }

    /// Returns the header lines that are new in each response, and the end of the head.
    fn tail(&mut self) -> &str {
        self.tail.clear();
        self.tail.push_str(ID);
        if let Some(cache) = self.cache {
            write_id(&cache.connection.context, &mut self.tail);
        }
        self.tail.push_str("\r\ndate: ");
        self.tail.push_str(current_date().to_str().unwrap_or_default());
        self.tail.push_str("\r\n\r\n");
        &self.tail
    }
}

/// Stores a response that was made out of memory alone, if the handler has marked it as storable.
pub(super) fn store(
    responses: &ResponseCache,
    head: &[u8],
    request: &mut Request,
    response: &Response<ResponseBody>,
) {
    let Some(cacheable) = request.cacheable.take() else {
        return;
    };
    let is_conditional = CONDITIONS.iter().any(|name| request.headers.contains_key(name));
    if is_conditional || request.method != Method::GET || request.version != Version::HTTP_11 {
        return;
    }
    let Some(RequestHead {
        key: Some(key),
        length,
        ..
    }) = RequestHead::parse(head)
    else {
        return;
    };
    let is_plain =
        response.status() == StatusCode::OK && !response.headers().contains_key("authentication-info");
    if !is_plain || length != head.len() {
        return;
    }
    let body: Box<[Bytes]> = match response.body() {
        ResponseBody::Whole(bytes) => bytes.iter().cloned().collect(),
        ResponseBody::Several(pieces) => pieces.iter().cloned().collect(),
        ResponseBody::Pieces { .. } => return,
    };
    let target = match &request.query {
        Some(query) => format!("{}?{query}", request.path),
        None => request.path.clone(),
    };
    let CacheableResponse { instance, validators } = cacheable;
    let stored = CachedResponse {
        validators,
        head: stored_head(response, &body).into(),
        body,
        logged: Some(LoggedRequest {
            target: target.into(),
            referer: request.headers.get(REFERER).cloned(),
            agent: request.headers.get(USER_AGENT).cloned(),
        }),
    };
    responses.insert(instance, RequestKind::Head, &key, stored);
}

/// Returns the head of a response as it is sent, without the lines that differ each time.
fn stored_head(response: &Response<ResponseBody>, body: &[Bytes]) -> Vec<u8> {
    let mut lines = b"HTTP/1.1 200 OK\r\n".to_vec();
    let mut line = |name: &str, value: &[u8]| {
        lines.extend_from_slice(name.as_bytes());
        lines.extend_from_slice(b": ");
        lines.extend_from_slice(value);
        lines.extend_from_slice(b"\r\n");
    };
    for (name, value) in response.headers() {
        if name != "x-request-id" && name != CONTENT_LENGTH {
            line(name.as_str(), value.as_bytes());
        }
    }
    let bytes: usize = body.iter().map(Bytes::len).sum();
    line(CONTENT_LENGTH.as_str(), bytes.to_string().as_bytes());
    lines
}

/// The beginning of the header line with the request's ID.
const ID: &str = "x-request-id: ";

/// Request headers that make the response depend on more than the head, or that control the connection.
const CONDITIONS: [HeaderName; 12] = [
    CONNECTION,
    CONTENT_LENGTH,
    EXPECT,
    HeaderName::from_static("if"),
    IF_MATCH,
    IF_MODIFIED_SINCE,
    IF_NONE_MATCH,
    IF_RANGE,
    IF_UNMODIFIED_SINCE,
    RANGE,
    TRANSFER_ENCODING,
    UPGRADE,
];
