//! New connections: directly, through a proxy, with TLS.

use std::io;

use base::{Code, Error, Result};
use bytes::Bytes;
use http::Method;
use http::header::PROXY_AUTHORIZATION;
use http_body_util::Empty;
use hyper::client::conn::http1;
use hyper::rt::{Read, Write};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::http_client::{Core, Sender, bracketed};
use super::tls::TlsOutcome;
use super::transport_error::hyper_error;
use crate::traffic::CountedStream;

/// The most lines of headers that a response may have.
const MOST_HEADERS: usize = 256;
/// The most bytes of the headers of a response, and of what is read before the caller asks for it.
const MOST_BUFFERED: usize = 256 << 10;
/// The most times that a tunnel is requested of a proxy, and that TLS is begun: each has a question to the caller in between.
const MOST_ROUNDS: u32 = 8;
/// The number of APR's error for a host name without an address.
const UNKNOWN_HOST: Code = Code(670_002);

/// A connection to the server, with everything that is between.
pub(super) type BoxedStream = Box<dyn AsyncStream>;

/// A connection of any kind.
pub(super) trait AsyncStream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<S: AsyncRead + AsyncWrite + Send + Unpin> AsyncStream for S {}

impl Core {
    /// Makes a new connection.
    ///
    /// # Errors
    /// 670002 for an unknown host; `BAD_CONFIG_VALUE` for certificates of authorities; the system's; `RA_SERF_SSL_CERT_UNTRUSTED`; those of
    /// the proxy.
    pub(super) fn connect(&self) -> Result<Sender> {
        let stream = self.stream()?;
        self.handshake(TokioIo::new(stream))
    }

    /// As [`Core::connect`], without the codec of HTTP.
    ///
    /// # Errors
    /// As of [`Core::connect`].
    pub(super) fn stream(&self) -> Result<BoxedStream> {
        for _ in 0..MOST_ROUNDS {
            let Some(tls) = &self.tls else {
                return Ok(Box::new(self.reach(self.address())?));
            };
            let begun = match self.options.http.proxy {
                Some(_) => {
                    let tunnel = self.tunnel()?;
                    let stream = TokioIo::new(tunnel);
                    self.begin_tls(stream)?
                }
                None => {
                    let stream = self.reach(self.address())?;
                    self.begin_tls(stream)?
                }
            };
            if let Some(stream) = begun {
                return Ok(stream);
            }
            tls.ask(&*self.options.credentials, &self.host, self.port)?;
        }
        Err(Error::bare(Code::RA_SERF_SSL_CERT_UNTRUSTED))
    }

    /// The address to connect to: the proxy's, or the server's.
    fn address(&self) -> (&str, u16) {
        match &self.options.http.proxy {
            Some(proxy) => (&proxy.host, proxy.port),
            None => (&self.host, self.port),
        }
    }

    /// Connects to the first address of the host that accepts.
    fn reach(&self, (host, port): (&str, u16)) -> Result<CountedStream> {
        let unknown = || {
            let message = match self.options.http.proxy {
                Some(_) => format!("Could not resolve proxy server '{host}': Name or service not known"),
                None => "Name or service not known".to_owned(),
            };
            Error::new(UNKNOWN_HOST, message)
        };
        if host.is_empty() {
            return Err(unknown());
        }
        let addresses = self
            .wait(tokio::net::lookup_host((host, port)))?
            .map_err(|_| unknown())?;
        if let Some(tls) = &self.tls {
            tls.check_authorities()?;
        }
        let mut failed = unknown();
        for address in addresses {
            let began = std::time::Instant::now();
            let limit = self.options.limits.connect;
            let connected = match self.wait(async { timeout(limit, TcpStream::connect(address)).await })? {
                Ok(connected) => connected,
                Err(_) => Err(io::ErrorKind::TimedOut.into()),
            };
            match connected.and_then(|stream| stream.set_nodelay(true).map(|()| stream)) {
                Ok(stream) => {
                    *self.latency.lock() = Some(began.elapsed());
                    return Ok(CountedStream::new(stream, &self.options.traffic));
                }
                Err(error) => failed = Error::os(&error, "Error running context"),
            }
        }
        Err(failed)
    }

    /// Requests a tunnel of the proxy.
    fn tunnel(&self) -> Result<hyper::upgrade::Upgraded> {
        let target = format!("{}:{}", bracketed(&self.host), self.port);
        for _ in 0..MOST_ROUNDS {
            let stream = self.reach(self.address())?;
            let mut built = http::Request::builder()
                .method(Method::CONNECT)
                .uri(&target)
                .header("host", &target);
            if let Some(value) = self.proxy_header("CONNECT", &target) {
                built = built.header(PROXY_AUTHORIZATION, value);
            }
            let request = built
                .body(Empty::<Bytes>::new())
                .map_err(|error| Error::new(Code::RA_DAV_CREATING_REQUEST, error.to_string()))?;
            let response = self.wait(async move {
                let (mut sender, connection) = builder().handshake(TokioIo::new(stream)).await?;
                tokio::spawn(connection.with_upgrades());
                sender.send_request(request).await
            })?;
            let response = response.map_err(|error| hyper_error(&error))?;
            match response.status().as_u16() {
                407 => self.proxy_challenged(response.headers())?,
                200..300 => {
                    let upgraded = self.wait(hyper::upgrade::on(response))?;
                    return upgraded.map_err(|error| hyper_error(&error));
                }
                status => {
                    let message = format!("The proxy refused a connection to '{target}' (status {status})");
                    return Err(Error::new(Code::RA_DAV_REQUEST_FAILED, message));
                }
            }
        }
        Err(Error::new(
            Code::AUTHN_FAILED,
            "Authentication at the proxy failed",
        ))
    }

    /// Begins TLS; `None` if the caller has to be asked, for the server's certificate or for one of its own.
    fn begin_tls<S: AsyncRead + AsyncWrite + Send + Unpin + 'static>(
        &self,
        stream: S,
    ) -> Result<Option<BoxedStream>> {
        let Some(tls) = &self.tls else {
            return Ok(None);
        };
        let connecting = tls.connect(&self.host, stream)?;
        let limit = self.options.limits.connect;
        let begun = self.wait(async { timeout(limit, connecting).await })?;
        let begun = begun.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()));
        match tls.outcome(begun)? {
            TlsOutcome::Connected(stream) => Ok(Some(stream)),
            TlsOutcome::MustAsk => Ok(None),
        }
    }

    fn handshake<S: Read + Write + Send + Unpin + 'static>(&self, stream: S) -> Result<Sender> {
        let begun = self.wait(async move {
            let (sender, connection) = builder().handshake(stream).await?;
            // Its errors come out of the requests.
            tokio::spawn(connection);
            Ok(sender)
        })?;
        begun.map_err(|error: hyper::Error| hyper_error(&error))
    }
}

fn builder() -> http1::Builder {
    let mut builder = http1::Builder::new();
    builder.max_headers(MOST_HEADERS).max_buf_size(MOST_BUFFERED);
    builder
}
