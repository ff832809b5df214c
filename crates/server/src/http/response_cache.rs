//! Whole responses that are sent again to requests with the same head.
//!
//! A checkout requests each file by its path and the revision of its last change. The content of such a URL never changes, and every
//! client of the same kind sends the same bytes. Other clients request the path alone, and get the same until the next commit. So
//! a response that was made out of memory is stored as it was sent, under the request's head. When the same head arrives again, it is
//! neither parsed nor answered by a handler: that saves two thirds of what such a request costs.
//!
//! A stored response is sent only while its [`Validators`] hold: the options are the same, the repository at the path is the same,
//! the youngest revision and the shown date are the same where they matter, the user may read the path (by the rules that the
//! connection's last request went by, while they hold: [`Handler::cached_auth`]), and the client is not so slow that responses to
//! it are compressed. Otherwise the request is handled as usual. User names and passwords are no part of the key.
//!
//! Responses are stored in the process's cache, within its budget.

use std::cell::RefCell;
use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Instant;

use base::{Date, FsPath, Revnum};
use bytes::Bytes;
use http::header::{
    CONNECTION, CONTENT_LENGTH, EXPECT, IF_MATCH, IF_MODIFIED_SINCE, IF_NONE_MATCH, IF_RANGE,
    IF_UNMODIFIED_SINCE, RANGE, REFERER, TRANSFER_ENCODING, UPGRADE, USER_AGENT,
};
use http::{HeaderName, HeaderValue, Method, Response, StatusCode, Version};
use repos::{ReadMode, Repository};
use wire::dav::http_date;

use super::connection::ConnectionShared;
use super::exchange::next_number;
use super::handler::{CachedAuth, Handler};
use super::request::Request;
use super::request_head::RequestHead;
use super::response_body::ResponseBody;
use super::timeouts::Timeouts;
use crate::clock::now;
use crate::config::HttpOptions;
use crate::log::AccessLine;
use crate::metrics::{FinishedOperation, Protocol};

/// The longest head that is looked up, bytes.
const MAX_HEAD: usize = 8 << 10;

/// What a handler says about a response that may be stored.
#[derive(Clone)]
pub(crate) struct CacheableResponse {
    pub(crate) repository: Repository,
    /// The path of the repository's URL.
    pub(crate) root: Arc<str>,
    /// Users who may read this path may have the response.
    pub(crate) path: FsPath,
    pub(crate) validators: Validators,
}

/// The facts that must still hold when a stored response is sent again, beside the identity of the repository.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Validators {
    /// This is the youngest revision.
    pub(crate) youngest: Option<Revnum>,
    /// This is the date of that revision.
    pub(crate) date: Option<(Revnum, Option<Date>)>,
}

impl Validators {
    /// Returns whether they hold now, as far as that can be seen without waiting for the disk.
    fn hold(&self, repository: &Repository) -> bool {
        let Validators { youngest, date } = self;
        let date_holds = |(rev, date)| {
            let repository = repository.with_read_mode(&ReadMode::cached_only());
            repository.date(rev).is_ok_and(|now| now == date)
        };
        youngest.is_none_or(|rev| repository.youngest().is_ok_and(|now| now == rev))
            && date.is_none_or(date_holds)
    }
}

/// A stored response.
pub(super) struct CachedResponse {
    /// The options that it was made under.
    options: Arc<HttpOptions>,
    /// The path of the repository's URL.
    root: Arc<str>,
    /// Users who may read this path may have the response.
    path: FsPath,
    validators: Validators,
    /// The head, without the lines that differ each time.
    head: Box<[u8]>,
    body: Box<[Bytes]>,
    /// For the access log, as are the next two.
    target: Box<str>,
    referer: Option<HeaderValue>,
    agent: Option<HeaderValue>,
}

/// Looks up stored responses for one connection.
pub(super) struct ResponseCache<H: Handler> {
    connection: Arc<ConnectionShared<H>>,
    timeouts: Timeouts,
}

/// The requests that have arrived together.
pub(super) struct RequestBatch<'a, H: Handler> {
    cache: Option<&'a ResponseCache<H>>,
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

/// Takes the bytes of responses.
pub(super) trait ResponseSink {
    /// Takes bytes of a head.
    fn head(&mut self, bytes: &[u8]);
    /// Takes a piece of a body.
    fn piece(&mut self, piece: &Bytes);
}

impl<H: Handler> ResponseCache<H> {
    pub(super) fn new(connection: Arc<ConnectionShared<H>>, timeouts: Timeouts) -> ResponseCache<H> {
        ResponseCache { connection, timeouts }
    }

    /// Begins a batch; without a cache every look-up is a miss.
    pub(super) fn begin(cache: Option<&ResponseCache<H>>) -> RequestBatch<'_, H> {
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
        let key = head.key.as_deref()?;
        let repository = auth.repository();
        let response = repository.cached_response(key)?;
        let response = response.downcast::<CachedResponse>().ok()?;
        let is_same = Arc::ptr_eq(&response.options, options) && *response.root == *auth.root();
        let may_have = is_same && auth.may_read(head.authorization, &response.path);
        (may_have && response.validators.hold(repository)).then_some(response)
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
        if let Some(log) = context.access_log() {
            let auth = self.auth.as_ref().and_then(Option::as_ref);
            log.add(&AccessLine {
                address: peer.address.ip(),
                user: auth.and_then(|(_, auth)| auth.user()),
                method: "GET",
                target: &response.target,
                version: Version::HTTP_11,
                status: StatusCode::OK,
                bytes: sent,
                referer: response.referer.as_ref(),
                agent: response.agent.as_ref(),
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
        let (process, count) = next_number();
        self.tail.clear();
        // Writing to a string cannot fail.
        _ = write!(self.tail, "{ID}{process:x}-{count:x}\r\ndate: ");
        with_date(|date| self.tail.push_str(date));
        self.tail.push_str("\r\n\r\n");
        &self.tail
    }
}

impl CachedResponse {
    /// Sends the response again; returns the bytes of its body.
    pub(super) fn send<H: Handler>(
        &self,
        batch: &mut RequestBatch<'_, H>,
        out: &mut impl ResponseSink,
    ) -> u64 {
        out.head(&self.head);
        out.head(batch.tail().as_bytes());
        self.body.iter().for_each(|piece| out.piece(piece));
        self.body.iter().map(|piece| piece.len() as u64).sum()
    }

    /// Returns about how many bytes it takes in memory.
    fn weight(&self) -> usize {
        let body: usize = self.body.iter().map(Bytes::len).sum();
        size_of::<CachedResponse>()
            + self.root.len()
            + self.path.as_str().len()
            + self.head.len()
            + self.target.len()
            + body
    }
}

/// Stores a response that was made out of memory alone, if the handler has said that it may be stored.
pub(super) fn store(
    head: &[u8],
    options: &Arc<HttpOptions>,
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
    let CacheableResponse {
        repository,
        root,
        path,
        validators,
    } = cacheable;
    let stored = CachedResponse {
        options: options.clone(),
        root,
        path,
        validators,
        head: stored_head(response, &body).into(),
        body,
        target: target.into(),
        referer: request.headers.get(REFERER).cloned(),
        agent: request.headers.get(USER_AGENT).cloned(),
    };
    let weight = stored.weight();
    repository.cache_response(&key, Arc::new(stored), weight);
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

/// Calls `lend` with the current date in the form of header lines. Each thread formats it once in a second.
fn with_date(lend: impl FnOnce(&str)) {
    thread_local! {
        static NOW: RefCell<(i64, String)> = const { RefCell::new((i64::MIN, String::new())) };
    }
    let now = now() / 1_000_000;
    NOW.with_borrow_mut(|(second, date)| {
        if *second != now {
            *date = http_date::format(Date(now * 1_000_000));
            *second = now;
        }
        lend(date);
    });
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
