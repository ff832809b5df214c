//! One connection: TLS if its listener has it, hyper's protocol loop, timeouts, and a clean end when the server stops.

use std::convert::Infallible;
use std::future::{Future, poll_fn};
use std::net::SocketAddr;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use http::{Request, Response};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service, service_fn};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until, timeout};
use tokio_rustls::TlsAcceptor;

use super::buffered_socket::BufferedSocket;
use super::cached_requests::CachedRequests;
use super::exchange::exchange;
use super::handler::Handler;
use super::request::Peer;
use super::request_framing::RequestFraming;
use super::request_reader::{HadFragment, RequestReader};
use super::response_body::{DeliveredBody, ResponseDelivery};
use super::server::ListenerKind;
use super::timeouts::{TimeoutVerdict, Timeouts};
use crate::context::ServerContext;
use crate::metrics::Protocol;
use crate::net::ThreadPool;
use crate::net::tls::certificate::common_name;

/// An accepted connection, before its first byte.
pub(super) struct Connection<H> {
    pub(super) context: Arc<ServerContext>,
    pub(super) handler: Arc<H>,
    pub(super) pool: Arc<ThreadPool>,
    pub(super) address: SocketAddr,
    pub(super) kind: ListenerKind,
    pub(super) stopping: watch::Receiver<bool>,
}

/// What the requests of a connection share.
pub(super) struct ConnectionShared<H: Handler> {
    pub(super) context: Arc<ServerContext>,
    pub(super) handler: Arc<H>,
    pub(super) pool: Arc<ThreadPool>,
    pub(super) kind: ListenerKind,
    pub(super) peer: Arc<Peer>,
    /// The handler's own part.
    pub(super) state: H::Connection,
}

impl<H: Handler> Connection<H> {
    /// Serves the connection until it ends.
    pub(super) async fn serve(self, socket: TcpStream) {
        // If that fails the connection is gone already.
        _ = socket.set_nodelay(true);
        enable_keepalive(&socket);
        let protocol = match self.kind {
            ListenerKind::Tls => Protocol::Https,
            ListenerKind::Plain | ListenerKind::Status => Protocol::Http,
        };
        let context = self.context.clone();
        let _counted = context.metrics.connected(protocol);
        let limits = context.http_options().limits;
        let inode = rustix::fs::fstat(&socket).map_or(0, |stat| stat.st_ino);
        let timeouts = Timeouts::new(limits, inode);
        let peer = Peer {
            address: self.address,
            tls: false,
            certificate: None,
        };
        match self.kind {
            ListenerKind::Tls => self.serve_tls(socket, timeouts, peer).await,
            ListenerKind::Plain | ListenerKind::Status => self.serve_http(socket, timeouts, peer).await,
        }
    }

    async fn serve_tls(self, socket: TcpStream, timeouts: Timeouts, mut peer: Peer) {
        let Some(tls) = self.context.tls() else {
            return;
        };
        let handshake = TlsAcceptor::from(tls.config()).accept(socket);
        match timeout(self.context.http_options().limits.header_timeout, handshake).await {
            Ok(Ok(stream)) => {
                peer.tls = true;
                let certificates = stream.get_ref().1.peer_certificates();
                let first = certificates.and_then(<[_]>::first);
                peer.certificate = first.and_then(|certificate| common_name(certificate));
                self.serve_http(stream, timeouts, peer).await;
            }
            // Port checks, and clients that refuse our certificate, just close the connection.
            Ok(Err(error)) if error.kind() == std::io::ErrorKind::UnexpectedEof => {
                tracing::debug!(peer = %self.address, "went away in the TLS handshake");
            }
            Ok(Err(error)) => tracing::info!(peer = %self.address, %error, "TLS handshake failed"),
            Err(_) => tracing::info!(peer = %self.address, "TLS handshake took too long"),
        }
    }

    async fn serve_http<S>(self, stream: S, timeouts: Timeouts, peer: Peer)
    where
        S: AsyncRead + AsyncWrite + Unpin,
    {
        let stopping = self.stopping;
        let shared = Arc::new(ConnectionShared {
            context: self.context,
            handler: self.handler,
            pool: self.pool,
            kind: self.kind,
            peer: Arc::new(peer),
            state: H::Connection::default(),
        });
        let limits = shared.context.http_options().limits;
        let framing = RequestFraming::new(limits.header_bytes.max(16 << 10));
        let refused = framing.refused();
        let cache = CachedRequests::new(shared.clone(), timeouts.clone());
        let reader = RequestReader::new(stream, framing);
        let socket = BufferedSocket::new(reader, timeouts.clone(), Some(cache));
        let busy = timeouts.clone();
        let handler = service_fn(|mut request: Request<Incoming>| {
            if refused.next() {
                request.extensions_mut().insert(HadFragment);
            }
            let delivery = ResponseDelivery {
                pieces: socket.pending_pieces(),
                busy: busy.busy(),
            };
            exchange(shared.clone(), delivery, socket.take_head(), request)
        });
        let connection = http1::Builder::new()
            .header_read_timeout(None)
            .max_headers(limits.header_lines)
            .max_buf_size(limits.header_bytes.max(16 << 10))
            .serve_connection(TokioIo::new(socket.clone()), handler);
        drive(pin!(connection), &socket, &timeouts, stopping).await;
    }
}

/// Lets hyper serve a connection until the connection ends or a deadline passes. When the server stops, the current request is
/// answered first.
async fn drive<S, H, F>(
    mut connection: Pin<&mut http1::Connection<TokioIo<BufferedSocket<S, H>>, F>>,
    socket: &BufferedSocket<S, H>,
    timeouts: &Timeouts,
    mut stopping: watch::Receiver<bool>,
) where
    S: AsyncRead + AsyncWrite + Unpin,
    H: Handler,
    F: Service<Request<Incoming>, Response = Response<DeliveredBody>, Error = Infallible>,
{
    let mut armed = deadline_of(timeouts);
    let mut clock = pin!(sleep_until(armed));
    let mut stop = pin!(stopping.changed());
    let (mut is_stopping, mut is_over) = (false, false);
    loop {
        let reason = poll_fn(|cx| {
            loop {
                // An error means that the client has gone.
                is_over = is_over || connection.as_mut().poll(cx).is_ready();
                while !is_over && socket.has_more() {
                    is_over = connection.as_mut().poll(cx).is_ready();
                }
                // The task is about to sleep: what is held leaves now.
                match socket.poll_send(cx) {
                    Poll::Ready(Ok(())) if !is_over && socket.has_postponed() => {}
                    Poll::Ready(Ok(())) if !is_over => break,
                    Poll::Pending => break,
                    Poll::Ready(_) => return Poll::Ready(WakeReason::Over),
                }
            }
            if !is_stopping && stop.as_mut().poll(cx).is_ready() {
                return Poll::Ready(WakeReason::Stop);
            }
            let deadline = deadline_of(timeouts);
            if deadline < armed {
                armed = deadline;
                clock.as_mut().reset(deadline);
            }
            clock.as_mut().poll(cx).map(|()| WakeReason::Deadline)
        });
        match reason.await {
            WakeReason::Over => return,
            WakeReason::Stop => {
                is_stopping = true;
                timeouts.mark_closing();
                connection.as_mut().graceful_shutdown();
            }
            WakeReason::Deadline => {
                match timeouts.judge() {
                    TimeoutVerdict::Wait => {}
                    TimeoutVerdict::Idle => connection.as_mut().graceful_shutdown(),
                    TimeoutVerdict::Stalled => return,
                }
                // Each verdict has moved the deadline: the loop never turns without a pause.
                armed = deadline_of(timeouts);
                clock.as_mut().reset(armed);
            }
        }
    }
}

/// Why the loop of a connection has something to do.
enum WakeReason {
    /// The connection has ended.
    Over,
    /// The server stops.
    Stop,
    /// A deadline has passed.
    Deadline,
}

fn deadline_of(timeouts: &Timeouts) -> Instant {
    timeouts.deadline().map_or_else(far_future, Instant::from_std)
}

/// Returns a time that stands for "never": the clock is set again when something happens.
fn far_future() -> Instant {
    Instant::now() + Duration::from_secs(24 * 3600)
}

/// Makes the system notice peers whose machine is gone.
fn enable_keepalive(socket: &TcpStream) {
    let keepalive = socket2::TcpKeepalive::new()
        .with_time(Duration::from_secs(300))
        .with_interval(Duration::from_secs(30))
        .with_retries(6);
    // Without it they are noticed later.
    _ = socket2::SockRef::from(socket).set_tcp_keepalive(&keepalive);
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use http::StatusCode;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::TcpListener;

    use super::super::request::Request as HandledRequest;
    use super::super::respond::tests::NoAuth;
    use super::super::response_writer::ResponseWriter;
    use super::*;
    use crate::config::{HttpOptions, Limits, Options, Threads};
    use crate::http::Fault;
    use crate::response_cache::ResponseCache;

    /// Refuses all requests.
    struct RefusingHandler;

    impl Handler for RefusingHandler {
        type Connection = ();
        type Auth = NoAuth;

        fn answer(&self, (): &(), _: &mut HandledRequest, _: &mut ResponseWriter) -> Result<(), Fault> {
            Err(Fault::html(StatusCode::NOT_FOUND))
        }

        fn cached_auth(&self, (): &(), _: &Arc<HttpOptions>) -> Option<NoAuth> {
            None
        }
    }

    const KEEP_ALIVE: Duration = Duration::from_millis(200);

    /// Returns the connection of a client that has sent `request`, the client's end, and what stops the server.
    async fn connect(
        limits: Limits,
        request: &[u8],
    ) -> (
        Connection<RefusingHandler>,
        TcpStream,
        TcpStream,
        watch::Sender<bool>,
    ) {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("it is bound");
        let mut client = TcpStream::connect(address).await.expect("it listens");
        client.write_all(request).await.expect("the socket buffers it");
        let (socket, address) = listener.accept().await.expect("a client connects");
        let context = ServerContext::new(Options::default(), None, ResponseCache::new(0));
        context.set_http_options(HttpOptions {
            limits,
            ..HttpOptions::default()
        });
        let (stop, stopping) = watch::channel(false);
        let connection = Connection {
            context,
            handler: Arc::new(RefusingHandler),
            pool: ThreadPool::new("test", Threads::default(), 1),
            address,
            kind: ListenerKind::Plain,
            stopping,
        };
        (connection, socket, client, stop)
    }

    /// Returns how often the task of a connection ran until the connection ended.
    async fn polls_of(connection: Connection<RefusingHandler>, socket: TcpStream) -> u32 {
        let polls = AtomicU32::new(0);
        let mut serving = pin!(connection.serve(socket));
        poll_fn(|cx| {
            polls.fetch_add(1, Ordering::Relaxed);
            serving.as_mut().poll(cx)
        })
        .await;
        polls.into_inner()
    }

    fn run<T>(test: impl Future<Output = T>) -> T {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()
            .expect("threads can be started");
        runtime.block_on(test)
    }

    #[test]
    fn a_connection_without_the_body_of_its_refused_request_sleeps() {
        let limits = Limits {
            keep_alive: KEEP_ALIVE,
            body_silence: KEEP_ALIVE * 3,
            ..Limits::default()
        };
        let request = b"PUT /x HTTP/1.1\r\nHost: x\r\nContent-Length: 100000000\r\n\r\n";
        run(async {
            let (connection, socket, mut client, _stop) = connect(limits, request).await;
            let answer = async {
                let mut answer = Vec::new();
                client.read_to_end(&mut answer).await.expect("the server closes");
                answer
            };
            let (polls, answer) = tokio::join!(polls_of(connection, socket), answer);
            assert!(answer.starts_with(b"HTTP/1.1 404 "));
            assert!(polls < 30, "{polls} polls");
        });
    }

    #[test]
    fn a_refused_text_may_arrive_for_longer_than_a_connection_may_be_idle() {
        let limits = Limits {
            keep_alive: KEEP_ALIVE,
            header_timeout: KEEP_ALIVE / 2,
            ..Limits::default()
        };
        let request = b"PUT /x HTTP/1.1\r\nHost: x\r\nContent-Length: 80000\r\n\r\n";
        run(async {
            let (connection, socket, mut client, _stop) = connect(limits, request).await;
            let talk = async {
                for _ in 0..8 {
                    tokio::time::sleep(KEEP_ALIVE / 4).await;
                    client.write_all(&[b'~'; 10_000]).await.expect("the server reads");
                }
                let end = b"GET /x HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
                client.write_all(end).await.expect("the server reads");
                let mut answers = String::new();
                client
                    .read_to_string(&mut answers)
                    .await
                    .expect("the server closes");
                assert_eq!(answers.matches("HTTP/1.1 404 ").count(), 2, "{answers}");
            };
            tokio::join!(polls_of(connection, socket), talk);
        });
    }

    #[test]
    fn a_connection_is_idle_after_the_body_of_its_refused_request() {
        let limits = Limits {
            keep_alive: KEEP_ALIVE,
            ..Limits::default()
        };
        let request = b"PUT /x HTTP/1.1\r\nHost: x\r\nContent-Length: 100001\r\n\r\n";
        run(async {
            let (connection, socket, mut client, _stop) = connect(limits, request).await;
            let talk = async {
                tokio::time::sleep(KEEP_ALIVE / 4).await;
                client
                    .write_all(&[b'~'; 100_001])
                    .await
                    .expect("the server reads");
                let mut answer = Vec::new();
                client.read_to_end(&mut answer).await.expect("the server closes");
            };
            let both = async { tokio::join!(polls_of(connection, socket), talk) };
            let ended = timeout(Duration::from_secs(5), both).await;
            assert!(ended.is_ok(), "the connection has stayed open");
        });
    }
}
