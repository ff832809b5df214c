//! A proxy before several servers. It sends each HTTP request to the next of them, also those of one connection of a client; a
//! connection of another protocol goes to the next server as a whole.
//!
//! Over https it ends the client's TLS and begins its own with the servers, as load balancers do: it must see where a request
//! ends.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use parking_lot::Mutex;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, ServerConfig, ServerConnection, StreamOwned};

use crate::accept_loop::AcceptLoop;
use crate::server::transport::{Transport, certificate};

/// How long a client over HTTP may send nothing. A server ends such a connection after five seconds (in tests); the proxy does not see
/// that while it waits for the rest of a request.
const CLIENT_IDLE: Duration = Duration::from_secs(8);

/// A running proxy. It ends with the value.
#[derive(Debug)]
pub struct SpreadingProxy {
    listener: AcceptLoop,
    state: Arc<ProxyState>,
}

struct ProxyState {
    servers: Mutex<Vec<SocketAddr>>,
    next: AtomicUsize,
    /// The first lines of requests, without the version.
    request_lines: Mutex<Vec<String>>,
    transport: Transport,
    tls: Option<Tls>,
    /// Called before a connection or a request is passed on.
    before: Box<dyn Fn() + Send + Sync>,
}

impl std::fmt::Debug for ProxyState {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ProxyState")
            .field("servers", &self.servers)
            .field("transport", &self.transport)
            .finish_non_exhaustive()
    }
}

/// TLS with the certificate of the test servers, on both sides.
struct Tls {
    with_clients: Arc<ServerConfig>,
    with_servers: Arc<ClientConfig>,
}

/// A connection, with TLS or without.
trait Duplex: Read + Write {}
impl<T: Read + Write> Duplex for T {}

impl SpreadingProxy {
    /// Starts a proxy for HTTP before these servers.
    ///
    /// # Panics
    /// If no port is free.
    pub fn start(servers: Vec<SocketAddr>) -> SpreadingProxy {
        SpreadingProxy::start_for(Transport::Http, servers, || ())
    }

    /// As [`SpreadingProxy::start`], for a given protocol. `before` is called before a connection or a request is passed on.
    ///
    /// # Panics
    /// As [`SpreadingProxy::start`].
    pub fn start_for(
        transport: Transport,
        servers: Vec<SocketAddr>,
        before: impl Fn() + Send + Sync + 'static,
    ) -> SpreadingProxy {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("because the loopback has ports left");
        SpreadingProxy::start_on(listener, transport, servers, before)
    }

    /// As [`SpreadingProxy::start_for`], at a given address.
    ///
    /// # Panics
    /// If the socket is not bound.
    pub fn start_on(
        listener: TcpListener,
        transport: Transport,
        servers: Vec<SocketAddr>,
        before: impl Fn() + Send + Sync + 'static,
    ) -> SpreadingProxy {
        let state = Arc::new(ProxyState {
            servers: Mutex::new(servers),
            next: AtomicUsize::new(0),
            request_lines: Mutex::default(),
            transport,
            tls: (transport == Transport::Https).then(Tls::new),
            before: Box::new(before),
        });
        let accepting = Arc::clone(&state);
        let listener = AcceptLoop::start_on(listener, move |client| {
            let state = Arc::clone(&accepting);
            // A client that goes away ends its connection.
            thread::spawn(move || _ = state.serve(client));
        });
        SpreadingProxy { listener, state }
    }

    /// Returns the port on 127.0.0.1.
    pub fn port(&self) -> u16 {
        self.listener.port()
    }

    /// Sends requests to these servers from now on.
    pub fn set_servers(&self, servers: Vec<SocketAddr>) {
        *self.state.servers.lock() = servers;
    }

    /// Returns the methods and paths of the requests that were received.
    pub fn request_lines(&self) -> Vec<String> {
        self.state.request_lines.lock().clone()
    }

    /// Returns how many requests, or connections of another protocol, were passed on.
    pub fn requests(&self) -> usize {
        self.state.next.load(Ordering::SeqCst)
    }
}

impl Tls {
    fn new() -> Tls {
        let pair = certificate();
        let chain = || -> Vec<CertificateDer<'static>> {
            let read = CertificateDer::pem_file_iter(&pair.certificate).expect("because it was made");
            read.map(|one| one.expect("because it was made")).collect()
        };
        let key = PrivateKeyDer::from_pem_file(&pair.key).expect("because it was made");
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let mut roots = RootCertStore::empty();
        roots.add_parsable_certificates(chain());
        let with_clients = ServerConfig::builder_with_provider(provider.clone())
            .with_safe_default_protocol_versions()
            .expect("because the provider has them")
            .with_no_client_auth()
            .with_single_cert(chain(), key)
            .expect("because key and certificate belong together");
        let with_servers = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("because the provider has them")
            .with_root_certificates(roots)
            .with_no_client_auth();
        Tls {
            with_clients: Arc::new(with_clients),
            with_servers: Arc::new(with_servers),
        }
    }
}

impl ProxyState {
    /// Serves one connection of a client.
    fn serve(&self, client: TcpStream) -> io::Result<()> {
        client.set_nodelay(true)?;
        if self.transport != Transport::Svn {
            client.set_read_timeout(Some(CLIENT_IDLE))?;
        }
        match (self.transport, &self.tls) {
            (Transport::Svn, _) => self.pass_connection(client),
            (_, None) => self.serve_requests(client),
            (_, Some(tls)) => {
                let connection = ServerConnection::new(tls.with_clients.clone()).map_err(io::Error::other)?;
                self.serve_requests(StreamOwned::new(connection, client))
            }
        }
    }

    /// Connects to the next server that accepts a connection.
    fn connect(&self) -> io::Result<TcpStream> {
        (self.before)();
        let servers = self.servers.lock().clone();
        let first = self.next.fetch_add(1, Ordering::SeqCst);
        let mut outcome = Err(io::ErrorKind::NotConnected.into());
        for at in 0..servers.len() {
            outcome = TcpStream::connect(servers[(first + at) % servers.len()]);
            if outcome.is_ok() {
                break;
            }
        }
        let server = outcome?;
        server.set_nodelay(true)?;
        Ok(server)
    }

    fn connect_for_request(&self) -> io::Result<Box<dyn Duplex>> {
        let server = self.connect()?;
        let Some(tls) = &self.tls else {
            return Ok(Box::new(server));
        };
        let name = ServerName::try_from(Transport::Https.host()).map_err(io::Error::other)?;
        let connection = ClientConnection::new(tls.with_servers.clone(), name).map_err(io::Error::other)?;
        Ok(Box::new(StreamOwned::new(connection, server)))
    }

    fn pass_connection(&self, client: TcpStream) -> io::Result<()> {
        let server = self.connect()?;
        let (mut from_server, mut to_client) = (server.try_clone()?, client.try_clone()?);
        thread::spawn(move || {
            _ = io::copy(&mut from_server, &mut to_client);
            _ = to_client.shutdown(Shutdown::Write);
        });
        let (mut from_client, mut to_server) = (client, server);
        let copied = io::copy(&mut from_client, &mut to_server).map(drop);
        _ = to_server.shutdown(Shutdown::Write);
        copied
    }

    fn note(&self, head: &[u8]) {
        let line = String::from_utf8_lossy(head);
        let line = line.lines().next().unwrap_or_default();
        let request = line.rsplit_once(' ').map_or(line, |(request, _)| request);
        self.request_lines.lock().push(request.to_owned());
    }

    fn serve_requests(&self, client: impl Duplex) -> io::Result<()> {
        let mut client = BufReader::new(client);
        loop {
            let head = read_head(&mut client)?;
            self.note(&head);
            let mut server = BufReader::new(self.connect_for_request()?);
            server.get_mut().write_all(&head)?;
            server.get_mut().flush()?;
            let early = match field(&head, "expect") {
                Some(_) => next_head(&mut server, &mut client, true)?,
                None => None,
            };
            let (answer, is_sent) = match early {
                // The body is not wanted.
                Some(answer) => (answer, false),
                None => {
                    let sent = copy_body(&head, &mut client, server.get_mut());
                    if let Err(e) = &sent
                        && e.kind() == io::ErrorKind::UnexpectedEof
                    {
                        // The client has gone, or sends nothing: so does the proxy.
                        return sent;
                    }
                    _ = server.get_mut().flush();
                    let answer = next_head(&mut server, &mut client, false)?;
                    (answer.ok_or(io::ErrorKind::InvalidData)?, sent.is_ok())
                }
            };
            client.get_mut().write_all(&answer)?;
            let has_body = !head.starts_with(b"HEAD ") && !matches!(status(&answer), b"204" | b"304");
            let has_end =
                field(&answer, "transfer-encoding").is_some() || field(&answer, "content-length").is_some();
            match (has_body, has_end) {
                (true, true) => copy_body(&answer, &mut server, client.get_mut())?,
                (true, false) => _ = io::copy(&mut server, client.get_mut()),
                (false, _) => {}
            }
            client.get_mut().flush()?;
            if !is_sent || (has_body && !has_end) || ends_connection(&head) || ends_connection(&answer) {
                return Ok(());
            }
        }
    }
}

/// Passes interim responses on, and returns the head of the final one; `None` after an interim one if `is_one_enough`.
fn next_head(
    server: &mut impl BufRead,
    client: &mut BufReader<impl Duplex>,
    is_one_enough: bool,
) -> io::Result<Option<Vec<u8>>> {
    loop {
        let head = read_head(server)?;
        if !status(&head).starts_with(b"1") {
            return Ok(Some(head));
        }
        client.get_mut().write_all(&head)?;
        client.get_mut().flush()?;
        if is_one_enough {
            return Ok(None);
        }
    }
}

fn status(head: &[u8]) -> &[u8] {
    head.get(9..12).unwrap_or_default()
}

fn ends_connection(head: &[u8]) -> bool {
    field(head, "connection").is_some_and(|value| value.eq_ignore_ascii_case("close"))
}

/// Reads the head of a request or of a response, with the empty line behind it.
pub(crate) fn read_head(from: &mut impl BufRead) -> io::Result<Vec<u8>> {
    let mut head = Vec::new();
    loop {
        let start = head.len();
        if from.read_until(b'\n', &mut head)? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        if head[start..] == b"\r\n"[..] {
            return Ok(head);
        }
    }
}

/// Copies the body that belongs to a head.
///
/// # Errors
/// `UnexpectedEof` if the sender fails or ends before its end; those of writing.
pub(crate) fn copy_body(head: &[u8], from: &mut impl BufRead, to: &mut impl Write) -> io::Result<()> {
    if field(head, "transfer-encoding").is_some() {
        loop {
            let mut line = Vec::new();
            from.read_until(b'\n', &mut line)
                .map_err(|_| io::ErrorKind::UnexpectedEof)?;
            if !line.ends_with(b"\n") {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            to.write_all(&line)?;
            let text = String::from_utf8_lossy(&line);
            let digits = text.split([';', '\r']).next().unwrap_or_default();
            let length = u64::from_str_radix(digits.trim(), 16).map_err(io::Error::other)?;
            copy_exactly(from, length + 2, to)?;
            if length == 0 {
                return Ok(());
            }
        }
    }
    let length = field(head, "content-length").and_then(|text| text.parse().ok());
    copy_exactly(from, length.unwrap_or(0), to)
}

fn copy_exactly(from: &mut impl BufRead, length: u64, to: &mut impl Write) -> io::Result<()> {
    let mut left = length;
    while left > 0 {
        let piece = from.fill_buf().map_err(|_| io::ErrorKind::UnexpectedEof)?;
        let count = piece.len().min(usize::try_from(left).unwrap_or(usize::MAX));
        if count == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        to.write_all(&piece[..count])?;
        from.consume(count);
        left -= count as u64;
    }
    Ok(())
}

/// Returns the value of a header line.
pub(crate) fn field(head: &[u8], name: &str) -> Option<String> {
    let text = String::from_utf8_lossy(head);
    text.lines().find_map(|line| {
        let (key, value) = line.split_once(':')?;
        key.eq_ignore_ascii_case(name).then(|| value.trim().to_owned())
    })
}
