//! The connections of a session: requests in, responses out, with authentication and with connections that are used again.
//!
//! hyper runs on a runtime of the session's own, in the thread that waits for a response. While no call waits, nothing is read:
//! a server that sends faster than the caller reads has to wait.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use base::{Code, Error, Result, Url};
use http::header::{AUTHORIZATION, PROXY_AUTHENTICATE, PROXY_AUTHORIZATION, WWW_AUTHENTICATE};
use http::{HeaderValue, Method, Version};
use hyper::body::Incoming;
use hyper::client::conn::http1::SendRequest;
use hyper::ext::ReasonPhrase;
use parking_lot::Mutex;
use tokio::runtime::{Builder, Runtime};
use tokio::task::JoinHandle;

use super::auth::{Auth, PasswordSource};
use super::request::{Request, SendBody};
use super::response::{Response, ResponseBody};
use super::tls::Tls;
use super::transport_error::{closed, hyper_error, is_reset};
use crate::options::OpenOptions;

/// The time after which a wait looks at the cancellation flag.
const SLICE: Duration = Duration::from_millis(250);
/// The time that a request to begin or to abort a transaction has after the flag was raised.
const GRACE: Duration = Duration::from_secs(1);
/// A connection that was idle for longer may have been closed by the server: its end is looked for before it is used.
const FRESH: Duration = Duration::from_secs(1);
/// The longest body of a refused request that is read, in bytes.
const MOST_REFUSAL: usize = 64 << 10;
/// The most times that one request is sent.
const MOST_SENDS: u32 = 16;

/// Sends requests on one connection.
pub(super) type Sender = SendRequest<SendBody>;

/// The connections to one server. Clones share them.
#[derive(Clone)]
pub(super) struct HttpClient(pub(super) Arc<Core>);

/// What requests, responses and connections share.
pub(super) struct Core {
    runtime: Runtime,
    pub(super) options: OpenOptions,
    pub(super) host: String,
    pub(super) port: u16,
    /// `host` or `host:port`, as URLs have it.
    authority: String,
    user: Option<String>,
    /// Another server has redirected the session to this one.
    is_redirected: bool,
    /// `None` for http.
    pub(super) tls: Option<Tls>,
    idle: Mutex<Vec<(Sender, Instant)>>,
    auth: Mutex<Auth>,
    proxy_auth: Mutex<Auth>,
    progress: Arc<AtomicU64>,
    /// A raised flag ends a wait only after [`GRACE`].
    must_finish: AtomicBool,
    /// The last response was of HTTP/1.1, which has chunks.
    knows_chunks: AtomicBool,
    agent: String,
    /// The time that the last connection took.
    pub(super) latency: Mutex<Option<Duration>>,
}

/// A request that was sent, and whose response was not waited for.
pub(super) struct Exchange {
    request: Request,
    running: JoinHandle<(hyper::Result<http::Response<Incoming>>, Sender)>,
    is_reused: bool,
    /// The generations of both authentications when the request was sent.
    generations: (u64, u64),
    sends: u32,
}

impl HttpClient {
    /// Prepares connections to the server of a URL.
    ///
    /// # Errors
    /// `RA_ILLEGAL_URL` for an invalid port; those of the system.
    pub(super) fn new(url: &Url, options: &OpenOptions, is_redirected: bool) -> Result<HttpClient> {
        let is_tls = url.scheme() == "https";
        let port = url.port_number()?.unwrap_or(if is_tls { 443 } else { 80 });
        let runtime = Builder::new_current_thread().enable_all().build();
        let mut agent = crate::user_agent();
        if let Some(name) = &options.client_name {
            agent = format!("{agent} {name}");
        }
        let authority = url.authority();
        Ok(HttpClient(Arc::new(Core {
            runtime: runtime.map_err(|error| Error::os(&error, "Can't start the HTTP client"))?,
            options: options.clone(),
            host: url.host().to_owned(),
            port,
            authority: authority
                .rsplit_once('@')
                .map_or(authority, |(_, host)| host)
                .to_owned(),
            user: url.user().map(str::to_owned),
            is_redirected,
            latency: Mutex::default(),
            tls: is_tls.then(|| Tls::new(&options.http)),
            idle: Mutex::default(),
            auth: Mutex::default(),
            proxy_auth: Mutex::default(),
            progress: Arc::default(),
            must_finish: AtomicBool::new(false),
            knows_chunks: AtomicBool::new(false),
            agent,
        })))
    }

    /// Sends a request and waits for the head of its response, whatever its status.
    ///
    /// # Errors
    /// Those of connections and credentials.
    pub(super) fn call(&self, request: Request) -> Result<Response> {
        let exchange = self.start(request)?;
        self.finish(exchange)
    }

    /// Sends a request. It progresses while the session waits for any response.
    ///
    /// # Errors
    /// Those of a new connection.
    pub(super) fn start(&self, request: Request) -> Result<Exchange> {
        self.send(request, 0)
    }

    fn send(&self, request: Request, sends: u32) -> Result<Exchange> {
        if sends >= MOST_SENDS {
            let message = format!("The server did not accept the request after {sends} attempts");
            return Err(Error::new(Code::RA_DAV_REQUEST_FAILED, message));
        }
        let (mut sender, is_reused) = match self.0.idle_connection() {
            Some(sender) => (sender, true),
            None => (self.0.connect()?, false),
        };
        let generations = (self.0.auth.lock().generation, self.0.proxy_auth.lock().generation);
        let built = self.0.build(&request)?;
        let traffic = self.0.options.traffic.clone();
        let running = self.0.runtime.spawn(async move {
            let result = match sender.ready().await {
                Ok(()) => {
                    let sent = Instant::now();
                    let result = sender.send_request(built).await;
                    traffic.add_request(sent.elapsed());
                    result
                }
                Err(error) => Err(error),
            };
            (result, sender)
        });
        Ok(Exchange {
            request,
            running,
            is_reused,
            generations,
            sends: sends + 1,
        })
    }

    /// Waits for the head of a response. Sends the request once more if the server demands authentication, or if it has closed the
    /// connection while that was idle.
    ///
    /// # Errors
    /// Those of connections and credentials.
    pub(super) fn finish(&self, mut exchange: Exchange) -> Result<Response> {
        loop {
            let waited = self.0.wait(&mut exchange.running)?;
            let (result, sender) = waited.map_err(|_| closed())?;
            let response = match result {
                Ok(response) => response,
                Err(error) => {
                    // MERGE makes a revision: it is sent once more only if it was not sent.
                    let was_sent = !error.is_canceled() && !error.is_closed();
                    let is_lost = error.is_incomplete_message() || is_reset(&error) || !was_sent;
                    if exchange.is_reused && is_lost && !(was_sent && exchange.request.method == "MERGE") {
                        exchange = self.send(exchange.request, exchange.sends)?;
                        continue;
                    }
                    return Err(hyper_error(&error));
                }
            };
            let (parts, incoming) = response.into_parts();
            let knows_chunks = parts.version >= Version::HTTP_11;
            self.0.knows_chunks.store(knows_chunks, Ordering::Relaxed);
            let encoding = parts.headers.get(http::header::CONTENT_ENCODING);
            let is_gzip = encoding.is_some_and(|value| value.as_bytes().eq_ignore_ascii_case(b"gzip"));
            let mut response = Response {
                method: exchange.request.method,
                status: parts.status.as_u16(),
                reason: match parts.extensions.get::<ReasonPhrase>() {
                    Some(reason) => String::from_utf8_lossy(reason.as_bytes()).into_owned(),
                    None => parts.status.canonical_reason().unwrap_or_default().to_owned(),
                },
                headers: parts.headers,
                body: ResponseBody::new(self.0.clone(), incoming, sender, is_gzip),
            };
            if self.is_challenge(&exchange, &response)? {
                // The connection is used again if the body is short.
                response.body.read_up_to(MOST_REFUSAL)?;
                exchange = self.send(exchange.request, exchange.sends)?;
                continue;
            }
            self.note_accepted(&response)?;
            return Ok(response);
        }
    }

    /// Answers the challenge of a refused request; false if it is none.
    fn is_challenge(&self, exchange: &Exchange, response: &Response) -> Result<bool> {
        let core = &self.0;
        match response.status {
            401 => {
                let scheme = if core.tls.is_some() { "https" } else { "http" };
                // An IPv6 address has no brackets here, as with the incumbent.
                let host = format!("<{scheme}://{}:{}>", core.host, core.port);
                self.answer(exchange.generations.0, response, &host)?;
                Ok(true)
            }
            407 if core.options.http.proxy.is_some() => {
                // Another request may have been answered meanwhile.
                let generation = core.proxy_auth.lock().generation;
                if generation == exchange.generations.1 {
                    core.proxy_challenged(&response.headers)?;
                }
                Ok(true)
            }
            _ => Ok(false),
        }
    }

    fn answer(&self, sent_with: u64, response: &Response, host: &str) -> Result<()> {
        let core = &self.0;
        let source = PasswordSource::Caller {
            credentials: &*core.options.credentials,
            host,
            user: core.user.as_deref(),
            is_redirected: core.is_redirected,
        };
        let mut auth = core.auth.lock();
        if auth.generation == sent_with {
            let mechanisms = &core.options.http.mechanisms;
            auth.challenged(&response.headers, &WWW_AUTHENTICATE, mechanisms, &source)?;
        }
        Ok(())
    }

    fn note_accepted(&self, response: &Response) -> Result<()> {
        // A proxy that refuses says nothing about the server.
        if response.status == 407 {
            return Ok(());
        }
        self.0.proxy_auth.lock().accepted();
        let credentials = &*self.0.options.credentials;
        let accepted = self.0.auth.lock().accepted();
        if let Some((realm, password)) = accepted {
            credentials.accepted(&realm, &password)?;
        }
        match &self.0.tls {
            Some(tls) => tls.accepted(credentials, &self.0.host, self.0.port),
            None => Ok(()),
        }
    }

    /// True if time matters more than bytes: connecting took less than five milliseconds.
    pub(super) fn is_near(&self) -> bool {
        let latency = *self.0.latency.lock();
        latency.is_some_and(|latency| latency < Duration::from_millis(5))
    }

    /// Runs steps that begin or abort a transaction. Without their responses the client does not know what it would leave
    /// behind, so they have a short time to end after the flag was raised.
    pub(super) fn finishing<T>(&self, steps: impl FnOnce() -> T) -> T {
        let before = self.0.must_finish.swap(true, Ordering::Relaxed);
        let outcome = steps();
        self.0.must_finish.store(before, Ordering::Relaxed);
        outcome
    }

    /// Closes the connections that no request uses.
    pub(super) fn close_idle(&self) {
        self.0.idle.lock().clear();
    }

    /// Returns the URL of a path of this server.
    pub(super) fn url_of(&self, target: &str) -> String {
        let scheme = if self.0.tls.is_some() { "https" } else { "http" };
        format!("{scheme}://{}{target}", self.0.authority)
    }
}

impl Core {
    /// Waits for a future, while the session's connections progress.
    ///
    /// # Errors
    /// `CANCELLED`; `RA_DAV_CONN_TIMEOUT` if nothing happened for [`crate::Limits::idle`].
    pub(super) fn wait<F: Future>(&self, future: F) -> Result<F::Output> {
        let idle = self.options.http.timeout.unwrap_or(self.options.limits.idle);
        self.runtime.block_on(async {
            let mut future = pin!(future);
            let mut seen = self.progress.load(Ordering::Relaxed);
            let mut began = Instant::now();
            let mut cancelled = None;
            loop {
                if let Ok(output) = tokio::time::timeout(SLICE, &mut future).await {
                    return Ok(output);
                }
                if self.options.cancel.is_cancelled() {
                    let since = *cancelled.get_or_insert_with(Instant::now);
                    if since.elapsed() >= GRACE {
                        self.options.cancel.check()?;
                    }
                }
                self.check_cancelled()?;
                let now = self.progress.load(Ordering::Relaxed);
                if now != seen {
                    (seen, began) = (now, Instant::now());
                }
                if began.elapsed() >= idle {
                    return Err(Error::bare(Code::RA_DAV_CONN_TIMEOUT));
                }
            }
        })
    }

    /// # Errors
    /// `CANCELLED` once the flag is raised, except within [`HttpClient::finishing`].
    pub(super) fn check_cancelled(&self) -> Result<()> {
        match self.must_finish.load(Ordering::Relaxed) {
            true => Ok(()),
            false => self.options.cancel.check(),
        }
    }

    /// True if bodies of requests are sent in chunks: the options say so, and the server has shown that it knows them.
    pub(super) fn sends_chunks(&self) -> bool {
        self.options.http.chunked_requests && self.knows_chunks.load(Ordering::Relaxed)
    }

    /// Lets a wait go on: bytes were sent or received.
    pub(super) fn note_progress(&self) {
        self.progress.fetch_add(1, Ordering::Relaxed);
    }

    /// Keeps a connection for the next request.
    pub(super) fn give_back(&self, sender: Sender) {
        if !sender.is_closed() {
            self.idle.lock().push((sender, Instant::now()));
        }
    }

    fn idle_connection(&self) -> Option<Sender> {
        loop {
            let (sender, since) = self.idle.lock().pop()?;
            if since.elapsed() > FRESH {
                // Lets the runtime read the end of the connection, if there is one.
                self.runtime
                    .block_on(async { tokio::time::sleep(Duration::from_millis(1)).await });
            }
            if !sender.is_closed() {
                return Some(sender);
            }
        }
    }

    /// Makes a request as hyper takes it.
    pub(super) fn build(&self, request: &Request) -> Result<http::Request<SendBody>> {
        let bad = |what: String| Error::new(Code::RA_DAV_CREATING_REQUEST, what);
        let method = Method::from_bytes(request.method.as_bytes()).map_err(|error| bad(error.to_string()))?;
        // A proxy gets the whole URL of a request that it passes on.
        let is_relayed = self.options.http.proxy.is_some() && self.tls.is_none();
        let uri = match is_relayed {
            true => format!("http://{}{}", self.authority, request.target),
            false => request.target.clone(),
        };
        let proxy_answer = match is_relayed {
            true => self.proxy_header(request.method, &uri),
            false => None,
        };
        let body = SendBody::new(request.body.clone(), self.sends_chunks(), self.progress.clone());
        let mut built = http::Request::builder()
            .method(method)
            .uri(uri)
            .header("host", &self.authority)
            .header("user-agent", &self.agent);
        if self.options.http.compression
            && !request.headers.iter().any(|(name, _)| *name == "accept-encoding")
        {
            built = built.header("accept-encoding", "gzip");
        }
        if !["GET", "HEAD", "PROPFIND"].contains(&request.method) {
            for capability in ["depth", "mergeinfo", "log-revprops"] {
                built = built.header(
                    "dav",
                    format!("http://subversion.tigris.org/xmlns/dav/svn/{capability}"),
                );
            }
        }
        for (name, value) in &request.headers {
            let value = HeaderValue::from_bytes(value.as_bytes()).map_err(|error| bad(error.to_string()))?;
            built = built.header(*name, value);
        }
        if let Some(value) = self.auth.lock().header(request.method, &request.target) {
            built = built.header(AUTHORIZATION, value);
        }
        if let Some(value) = proxy_answer {
            built = built.header(PROXY_AUTHORIZATION, value);
        }
        built.body(body).map_err(|error| bad(error.to_string()))
    }

    /// Returns the header that authenticates a request at the proxy.
    pub(super) fn proxy_header(&self, method: &str, target: &str) -> Option<String> {
        self.proxy_auth.lock().header(method, target)
    }

    /// Answers the challenge of a proxy that refused a tunnel.
    ///
    /// # Errors
    /// `AUTHN_FAILED`.
    pub(super) fn proxy_challenged(&self, headers: &http::HeaderMap) -> Result<()> {
        let password = self
            .options
            .http
            .proxy
            .as_ref()
            .and_then(|proxy| proxy.password.clone());
        let source = PasswordSource::Fixed(password);
        let mechanisms = &self.options.http.mechanisms;
        self.proxy_auth
            .lock()
            .challenged(headers, &PROXY_AUTHENTICATE, mechanisms, &source)
    }
}

/// Returns a host as URLs have it.
pub(super) fn bracketed(host: &str) -> String {
    match host.contains(':') {
        true => format!("[{host}]"),
        false => host.to_owned(),
    }
}
