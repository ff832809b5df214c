//! One connection: encrypted if its listener is, served by hyper, watched by the clock, asked to end when the server stops.

use std::future::{Future, poll_fn};
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use http::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until, timeout};
use tokio_rustls::TlsAcceptor;

use super::again::Again;
use super::body::Sending;
use super::certificate::common_name;
use super::exchange::exchange;
use super::heads::Heads;
use super::intake::{HadFragment, Intake};
use super::pulse::{Pulse, Verdict};
use super::request::Peer;
use super::room::Kind;
use super::socket::Socket;
use crate::dav::Known;
use crate::metrics::Protocol;
use crate::service::Service;
use crate::thread_pool::ThreadPool;

/// What a connection needs to know.
pub(super) struct Connection {
    pub(super) service: Arc<Service>,
    pub(super) pool: Arc<ThreadPool>,
    pub(super) address: SocketAddr,
    pub(super) kind: Kind,
    pub(super) stopping: watch::Receiver<bool>,
}

impl Connection {
    pub(super) async fn serve(self, socket: TcpStream) {
        // If that fails the connection is gone already.
        _ = socket.set_nodelay(true);
        keep_alive(&socket);
        let protocol = match self.kind {
            Kind::Tls => Protocol::Https,
            Kind::Plain | Kind::Status => Protocol::Http,
        };
        let service = self.service.clone();
        let _counted = service.metrics.connected(protocol);
        let limits = service.http().limits;
        let inode = rustix::fs::fstat(&socket).map_or(0, |stat| stat.st_ino);
        let pulse = Pulse::new(limits, inode);
        let peer = Peer {
            address: self.address,
            tls: false,
            certificate: None,
            known: Known::default(),
        };
        self.hold(socket, pulse, peer).await;
    }

    /// Holds the whole conversation.
    async fn hold(self, socket: TcpStream, pulse: Pulse, mut peer: Peer) {
        if self.kind != Kind::Tls {
            return self.talk(socket, pulse, peer).await;
        }
        let Some(tls) = self.service.tls() else {
            return;
        };
        let handshake = TlsAcceptor::from(tls.config()).accept(socket);
        match timeout(self.service.http().limits.header_timeout, handshake).await {
            Ok(Ok(stream)) => {
                peer.tls = true;
                let certificates = stream.get_ref().1.peer_certificates();
                let first = certificates.and_then(<[_]>::first);
                peer.certificate = first.and_then(|certificate| common_name(certificate));
                self.talk(stream, pulse, peer).await;
            }
            // Clients that look whether somebody listens, or do not like our certificate, just go.
            Ok(Err(error)) if error.kind() == std::io::ErrorKind::UnexpectedEof => {
                tracing::debug!(peer = %self.address, "went away in the TLS handshake");
            }
            Ok(Err(error)) => tracing::info!(peer = %self.address, %error, "TLS handshake failed"),
            Err(_) => tracing::info!(peer = %self.address, "TLS handshake took too long"),
        }
    }

    async fn talk<S: AsyncRead + AsyncWrite + Unpin>(self, stream: S, pulse: Pulse, peer: Peer) {
        let Connection {
            service,
            pool,
            kind,
            mut stopping,
            ..
        } = self;
        let limits = service.http().limits;
        let felt = pulse.clone();
        let peer = Arc::new(peer);
        let heads = Heads::new(limits.header_bytes.max(16 << 10));
        let refused = heads.refused();
        let again = Again::new(service.clone(), peer.clone(), pulse.clone());
        let socket = Socket::new(Intake::new(stream, heads), pulse.clone(), Some(again));
        let handler = service_fn(|mut request: Request<Incoming>| {
            if refused.next() {
                request.extensions_mut().insert(HadFragment);
            }
            let sending = Sending {
                passing: socket.passing(),
                busy: felt.busy(),
            };
            let (service, pool, peer) = (service.clone(), pool.clone(), peer.clone());
            exchange(service, pool, kind, peer, sending, socket.take_asked(), request)
        });
        let connection = http1::Builder::new()
            .header_read_timeout(None)
            .max_headers(limits.header_lines)
            .max_buf_size(limits.header_bytes.max(16 << 10))
            .serve_connection(TokioIo::new(socket.clone()), handler);
        let mut connection = pin!(connection);
        let mut armed = deadline_of(&pulse);
        let mut clock = pin!(sleep_until(armed));
        // An error means that nobody is left who could ask.
        let mut stop = pin!(stopping.changed());
        let (mut told, mut over) = (false, false);
        loop {
            let end = poll_fn(|cx| {
                over = over || connection.as_mut().poll(cx).is_ready();
                while !over && socket.has_more() {
                    over = connection.as_mut().poll(cx).is_ready();
                }
                // There is nothing else to do.
                match socket.poll_send(cx) {
                    Poll::Ready(Ok(())) if !over => {}
                    Poll::Pending => {}
                    Poll::Ready(_) => return Poll::Ready(End::Over),
                }
                if !told && stop.as_mut().poll(cx).is_ready() {
                    return Poll::Ready(End::Stop);
                }
                let deadline = deadline_of(&pulse);
                if deadline < armed {
                    armed = deadline;
                    clock.as_mut().reset(deadline);
                }
                clock.as_mut().poll(cx).map(|()| End::Late)
            });
            match end.await {
                End::Over => return,
                End::Stop => {
                    told = true;
                    connection.as_mut().graceful_shutdown();
                }
                End::Late => match pulse.judge() {
                    Verdict::Wait(until) => {
                        armed = until.map_or_else(far, Instant::from_std);
                        clock.as_mut().reset(armed);
                    }
                    Verdict::Idle => {
                        armed = far();
                        clock.as_mut().reset(armed);
                        connection.as_mut().graceful_shutdown();
                    }
                    Verdict::Stalled => return,
                },
            }
        }
    }
}

/// Why the clock or the server has woken us.
enum End {
    Over,
    Stop,
    Late,
}

fn deadline_of(pulse: &Pulse) -> Instant {
    pulse.deadline().map_or_else(far, Instant::from_std)
}

/// As good as never; the clock is set anew when something happens.
fn far() -> Instant {
    Instant::now() + Duration::from_secs(24 * 3600)
}

/// Peers whose machine is gone are noticed.
fn keep_alive(socket: &TcpStream) {
    let keepalive = socket2::TcpKeepalive::new()
        .with_time(Duration::from_secs(300))
        .with_interval(Duration::from_secs(30))
        .with_retries(6);
    // Without it they are noticed later.
    _ = socket2::SockRef::from(socket).set_tcp_keepalive(&keepalive);
}
