//! A request to another server, for blocking code: what a proxy needs.
//!
//! The connection runs on the async runtime. The thread that answers our own client sends the body to it and reads the response
//! from it, piece by piece, so neither is whole in memory.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::uri::Authority;
use http::{Request, response};
use http_body_util::BodyExt as _;
use hyper::client::conn::http1;
use hyper::rt::{Read, Write};
use hyper_util::rt::TokioIo;
use rustls::ClientConfig;
use rustls_pki_types::ServerName;
use tokio::net::TcpStream;
use tokio::sync::mpsc::{self, OwnedPermit, Receiver, Sender};
use tokio::sync::oneshot;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;

use super::client_wait::ClientWait;
use super::response_body::ResponseBody;
use super::response_writer::ResponseWriter;

/// How long it may take to connect to the other server.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(30);
/// How long a response is waited for before the other server's state is asked for again.
const BETWEEN_QUESTIONS: Duration = Duration::from_secs(1);
/// How many pieces may wait in either direction.
const QUEUE: usize = 4;

/// A request that is passed to another server, and its response.
pub(crate) struct Upstream {
    body: Option<UpstreamBody>,
    head: Option<oneshot::Receiver<io::Result<response::Parts>>>,
    pieces: Receiver<io::Result<Bytes>>,
    wait: ClientWait,
}

/// The body of a request that is being sent. One that is dropped before its end ends with an error, so that the other server does not take
/// its part for all of it.
struct UpstreamBody {
    pieces: Sender<io::Result<Bytes>>,
    /// A place in the queue for that error; `None` when the body is whole.
    error: Option<OwnedPermit<io::Result<Bytes>>>,
}

impl UpstreamBody {
    fn new() -> (UpstreamBody, Receiver<io::Result<Bytes>>) {
        let (pieces, from) = mpsc::channel(QUEUE + 1);
        let error = pieces.clone().try_reserve_owned().ok();
        (UpstreamBody { pieces, error }, from)
    }

    fn end(mut self) {
        self.error = None;
    }
}

impl Drop for UpstreamBody {
    fn drop(&mut self) {
        if let Some(place) = self.error.take() {
            place.send(Err(io::ErrorKind::ConnectionAborted.into()));
        }
    }
}

impl Upstream {
    /// Begins to pass a request on, for the client that `reply` answers. Without `tls` it is not encrypted.
    /// `has_body` says that pieces of a body follow.
    pub(crate) fn begin(
        reply: &ResponseWriter,
        tls: Option<Arc<ClientConfig>>,
        authority: Authority,
        request: Request<()>,
        has_body: bool,
    ) -> Upstream {
        let wait = reply.wait().clone();
        let (body, ours) = match has_body {
            true => {
                let (body, from) = UpstreamBody::new();
                (Some(body), ResponseBody::Pieces { from, left: None })
            }
            false => (None, ResponseBody::Whole(None)),
        };
        let (head, answered) = oneshot::channel();
        let (to, pieces) = mpsc::channel(QUEUE);
        let request = request.map(|()| ours);
        wait.runtime.spawn(async move {
            let mut head = Some(head);
            let passed = pass(tls, &authority, request, &mut head, &to).await;
            let Err(error) = passed else { return };
            match head {
                // An error means that the waiting thread has ended.
                Some(head) => _ = head.send(Err(error)),
                None => _ = to.send(Err(error)).await,
            }
        });
        Upstream {
            body,
            head: Some(answered),
            pieces,
            wait,
        }
    }

    /// Sends a piece of the body.
    ///
    /// # Errors
    /// If the other server does not read it: then its response, or the lack of one, says why.
    pub(crate) fn send(&mut self, piece: Bytes) -> io::Result<()> {
        let sent = match &self.body {
            Some(body) => self.wait.send(&body.pieces, Ok(piece)),
            None => Err(io::ErrorKind::BrokenPipe.into()),
        };
        if sent.is_err() {
            // It is not whole any more.
            self.body = None;
        }
        sent
    }

    /// Ends the body, which is whole, and waits for the head of the response, as long as `is_alive` says of the other server; it is asked once a
    /// second.
    ///
    /// # Errors
    /// Those of the connection; `NotConnected` if there was none, so that the other server has got nothing; `TimedOut`.
    pub(crate) fn response(&mut self, is_alive: &dyn Fn() -> bool) -> io::Result<response::Parts> {
        if let Some(body) = self.body.take() {
            body.end();
        }
        let gone = || io::Error::from(io::ErrorKind::UnexpectedEof);
        let mut head = self.head.take().ok_or_else(gone)?;
        // One wait, so that its limits hold for all of it.
        let expected = async {
            loop {
                match timeout(BETWEEN_QUESTIONS, &mut head).await {
                    Ok(head) => return head.unwrap_or_else(|_| Err(gone())),
                    Err(_) if !is_alive() => return Err(io::ErrorKind::TimedOut.into()),
                    Err(_) => {}
                }
            }
        };
        let waited = self.wait.wait(Some(self.wait.stall()), expected);
        waited.unwrap_or_else(|| Err(io::ErrorKind::TimedOut.into()))
    }

    /// Returns the next piece of the response's body; `None` at its end.
    ///
    /// # Errors
    /// Those of the connection.
    pub(crate) fn next_piece(&mut self) -> io::Result<Option<Bytes>> {
        let next = self.wait.wait(Some(self.wait.stall()), self.pieces.recv());
        next.ok_or(io::ErrorKind::TimedOut)?.transpose()
    }
}

async fn pass(
    tls: Option<Arc<ClientConfig>>,
    authority: &Authority,
    request: Request<ResponseBody>,
    head: &mut Option<oneshot::Sender<io::Result<response::Parts>>>,
    pieces: &Sender<io::Result<Bytes>>,
) -> io::Result<()> {
    let host = authority.host().trim_matches(['[', ']']);
    let port = authority
        .port_u16()
        .unwrap_or(if tls.is_some() { 443 } else { 80 });
    let late = |_| io::Error::from(io::ErrorKind::NotConnected);
    let failed = |e| io::Error::new(io::ErrorKind::NotConnected, e);
    let socket = timeout(CONNECT_TIMEOUT, TcpStream::connect((host, port)))
        .await
        .map_err(late)?
        .map_err(failed)?;
    socket.set_nodelay(true)?;
    let Some(config) = tls else {
        return exchange(TokioIo::new(socket), request, head, pieces).await;
    };
    let name =
        ServerName::try_from(host.to_owned()).map_err(|e| io::Error::new(io::ErrorKind::InvalidInput, e))?;
    let encrypted = TlsConnector::from(config).connect(name, socket);
    let encrypted = timeout(CONNECT_TIMEOUT, encrypted)
        .await
        .map_err(late)?
        .map_err(failed)?;
    exchange(TokioIo::new(encrypted), request, head, pieces).await
}

async fn exchange(
    stream: impl Read + Write + Unpin + Send + 'static,
    request: Request<ResponseBody>,
    head: &mut Option<oneshot::Sender<io::Result<response::Parts>>>,
    pieces: &Sender<io::Result<Bytes>>,
) -> io::Result<()> {
    let (mut sender, connection) = http1::handshake(stream).await.map_err(io::Error::other)?;
    let running = tokio::spawn(connection);
    let answer = sender.send_request(request).await.map_err(io::Error::other)?;
    let (parts, mut body) = answer.into_parts();
    if let Some(head) = head.take() {
        // An error means that the waiting thread has ended.
        _ = head.send(Ok(parts));
    }
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(io::Error::other)?;
        if let Ok(data) = frame.into_data()
            && pieces.send(Ok(data)).await.is_err()
        {
            break;
        }
    }
    drop(sender);
    running.abort();
    Ok(())
}
