//! Another server, to which a request is passed on: the client's half of an exchange, for blocking code.
//!
//! The connection lives in the room's runtime; the thread that answers our own client feeds it the body and takes the answer from
//! it, piece by piece, so nothing is ever whole in memory.

use std::io;
use std::path::Path;
use std::sync::{Arc, LazyLock};
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
use tokio::sync::mpsc::{self, Receiver, Sender};
use tokio::sync::oneshot;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;

use super::body::{Patience, ReplyBody};
use super::reply::Reply;
use crate::trust;

/// How long the other server may take to be reached.
const PATIENCE: Duration = Duration::from_secs(30);
/// Pieces that may wait on either way.
const WAITING: usize = 4;
/// Whom we believe, as distributions keep it.
const ROOTS: &str = "/etc/ssl/certs/ca-certificates.crt";

/// A request on its way to another server, and its answer on its way back.
pub(crate) struct Upstream {
    body: Option<Sender<io::Result<Bytes>>>,
    head: Option<oneshot::Receiver<io::Result<response::Parts>>>,
    pieces: Receiver<io::Result<Bytes>>,
    patience: Patience,
}

impl Upstream {
    /// Passes a request on, for the client that `reply` answers. `has_body` if pieces of a body follow.
    pub(crate) fn begin(
        reply: &Reply,
        is_tls: bool,
        authority: Authority,
        request: Request<()>,
        has_body: bool,
    ) -> Upstream {
        let patience = reply.patience().clone();
        let (body, ours) = match has_body {
            true => {
                let (to, from) = mpsc::channel(WAITING);
                (Some(to), ReplyBody::Pieces { from, left: None })
            }
            false => (None, ReplyBody::Whole(None)),
        };
        let (head, answered) = oneshot::channel();
        let (to, pieces) = mpsc::channel(WAITING);
        let request = request.map(|()| ours);
        patience.runtime.spawn(async move {
            let mut head = Some(head);
            let passed = pass(is_tls, &authority, request, &mut head, &to).await;
            let Err(error) = passed else { return };
            match head {
                // Whoever waits for it may have gone.
                Some(head) => _ = head.send(Err(error)),
                None => _ = to.send(Err(error)).await,
            }
        });
        Upstream {
            body,
            head: Some(answered),
            pieces,
            patience,
        }
    }

    /// Sends a piece of the body.
    ///
    /// # Errors
    /// If the other server does not take it: then its answer says why, or that there is none.
    pub(crate) fn send(&self, piece: Bytes) -> io::Result<()> {
        match &self.body {
            Some(to) => self.patience.send(to, Ok(piece)),
            None => Err(io::ErrorKind::BrokenPipe.into()),
        }
    }

    /// Ends the body and waits for the answer's head.
    ///
    /// # Errors
    /// Those of the connection.
    pub(crate) fn answer(&mut self) -> io::Result<response::Parts> {
        self.body = None;
        let gone = || io::Error::from(io::ErrorKind::UnexpectedEof);
        let head = self.head.take().ok_or_else(gone)?;
        let waited = self.patience.wait(Some(self.patience.stall()), head);
        waited.ok_or(io::ErrorKind::TimedOut)?.map_err(|_| gone())?
    }

    /// The next piece of the answer's body; `None` at its end.
    ///
    /// # Errors
    /// Those of the connection.
    pub(crate) fn next_piece(&mut self) -> io::Result<Option<Bytes>> {
        let next = self
            .patience
            .wait(Some(self.patience.stall()), self.pieces.recv());
        next.ok_or(io::ErrorKind::TimedOut)?.transpose()
    }
}

async fn pass(
    is_tls: bool,
    authority: &Authority,
    request: Request<ReplyBody>,
    head: &mut Option<oneshot::Sender<io::Result<response::Parts>>>,
    pieces: &Sender<io::Result<Bytes>>,
) -> io::Result<()> {
    let host = authority.host().trim_matches(['[', ']']);
    let port = authority.port_u16().unwrap_or(if is_tls { 443 } else { 80 });
    let late = |_| io::Error::from(io::ErrorKind::TimedOut);
    let socket = timeout(PATIENCE, TcpStream::connect((host, port)))
        .await
        .map_err(late)??;
    socket.set_nodelay(true)?;
    if !is_tls {
        return converse(TokioIo::new(socket), request, head, pieces).await;
    }
    let name =
        ServerName::try_from(host.to_owned()).map_err(|e| io::Error::new(io::ErrorKind::InvalidInput, e))?;
    let config = CONFIG.clone().map_err(io::Error::other)?;
    let encrypted = TlsConnector::from(config).connect(name, socket);
    let encrypted = timeout(PATIENCE, encrypted).await.map_err(late)??;
    converse(TokioIo::new(encrypted), request, head, pieces).await
}

async fn converse(
    stream: impl Read + Write + Unpin + Send + 'static,
    request: Request<ReplyBody>,
    head: &mut Option<oneshot::Sender<io::Result<response::Parts>>>,
    pieces: &Sender<io::Result<Bytes>>,
) -> io::Result<()> {
    let (mut sender, connection) = http1::handshake(stream).await.map_err(io::Error::other)?;
    let running = tokio::spawn(connection);
    let answer = sender.send_request(request).await.map_err(io::Error::other)?;
    let (parts, mut body) = answer.into_parts();
    if let Some(head) = head.take() {
        // Whoever waits for it may have gone.
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

/// How other servers are recognised; read when the first is.
static CONFIG: LazyLock<Result<Arc<ClientConfig>, String>> =
    LazyLock::new(|| trust::in_authorities_of(Path::new(ROOTS)));
