//! Bodies: what a client sends, read by blocking code as it comes; and what we send, as hyper takes it.

use std::collections::VecDeque;
use std::future::Future;
use std::io::{self, Read};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::{Buf as _, Bytes};
use http_body::{Body, Frame, SizeHint};
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use tokio::runtime::Handle;
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::mpsc::{self, Sender};
use tokio::time::timeout;

use super::crew::Crew;
use super::pulse::Busy;
use super::socket::Passing;

/// How long a thread waits for its client before another takes its place.
const SHORT: Duration = Duration::from_millis(500);

/// The longest body that is taken in before anybody asks for it.
const GATHERED: u64 = 16 << 10;
/// How long that may take.
const NEARLY: Duration = Duration::from_millis(20);

/// Most bytes of a body nobody wanted that are read to keep the connection.
const DRAINED: u64 = 1 << 20;

/// How long blocking code waits for a client, and who works meanwhile.
#[derive(Clone)]
pub(crate) struct Patience {
    pub(super) runtime: Handle,
    pub(super) crew: Arc<Crew>,
    /// How long the client may keep silent.
    pub(super) stall: Duration,
}

impl Patience {
    /// Waits for `what`; the thread steps aside if it takes long. `None` is too long.
    pub(super) fn wait<T>(&self, limit: Option<Duration>, what: impl Future<Output = T>) -> Option<T> {
        let mut what = pin!(what);
        let short = async { timeout(SHORT, what.as_mut()).await };
        if let Ok(done) = self.runtime.block_on(short) {
            return Some(done);
        }
        let _aside = self.crew.step_aside();
        match limit {
            Some(limit) => self.runtime.block_on(async { timeout(limit, what).await.ok() }),
            None => Some(self.runtime.block_on(what)),
        }
    }

    /// Gives a piece to the connection. How long that may take is the connection's business.
    pub(super) fn send(&self, to: &Sender<io::Result<Bytes>>, piece: io::Result<Bytes>) -> io::Result<()> {
        let gone = || io::ErrorKind::BrokenPipe.into();
        let piece = match to.try_send(piece) {
            Ok(()) => return Ok(()),
            Err(TrySendError::Full(piece)) => piece,
            Err(TrySendError::Closed(_)) => return Err(gone()),
        };
        match self.wait(None, to.reserve()) {
            Some(Ok(place)) => {
                place.send(piece);
                Ok(())
            }
            _ => Err(gone()),
        }
    }
}

/// The body of a request. Reading waits for the client, on the thread that reads.
pub(crate) struct RequestBody {
    incoming: Option<(Incoming, Patience)>,
    /// What has come before anybody asked for it.
    gathered: VecDeque<Bytes>,
    /// It broke off behind that.
    broken: bool,
    /// Received, not yet read.
    have: Bytes,
    /// Bytes that may still come; more is an error.
    left: u64,
    /// The client sends it only if we ask for it, and nobody has.
    unasked: bool,
    /// Bytes that have come.
    seen: u64,
}

impl RequestBody {
    pub(crate) fn new(incoming: Incoming, patience: Patience, expects: bool) -> RequestBody {
        RequestBody {
            incoming: Some((incoming, patience)),
            unasked: expects,
            ..RequestBody::empty()
        }
    }

    /// A body without bytes.
    pub(crate) fn empty() -> RequestBody {
        RequestBody {
            incoming: None,
            gathered: VecDeque::new(),
            broken: false,
            have: Bytes::new(),
            left: u64::MAX,
            unasked: false,
            seen: 0,
        }
    }

    /// Takes a short body in, if it is there already or nearly.
    pub(super) async fn gather(&mut self) {
        let Some((incoming, _)) = &mut self.incoming else {
            return;
        };
        if self.unasked
            || incoming
                .size_hint()
                .exact()
                .is_none_or(|length| length > GATHERED)
        {
            return;
        }
        let gathered = &mut self.gathered;
        let all = async {
            loop {
                match incoming.frame().await {
                    None => return true,
                    Some(Err(_)) => return false,
                    // Trailers say nothing to us.
                    Some(Ok(frame)) => gathered.extend(frame.into_data().ok()),
                }
            }
        };
        if let Ok(whole) = timeout(NEARLY, all).await {
            self.incoming = None;
            self.broken = !whole;
        }
    }

    /// The same body for another reader, if all of it is here and nothing was read yet.
    pub(super) fn copy(&self) -> Option<RequestBody> {
        let is_here = self.incoming.is_none() && !self.broken && self.seen == 0;
        is_here.then(|| RequestBody {
            gathered: self.gathered.clone(),
            ..RequestBody::empty()
        })
    }

    /// Makes reading fail behind so many bytes (0 is no limit).
    pub(crate) fn limit(&mut self, bytes: u64) {
        if bytes > 0 {
            self.left = bytes;
        }
    }

    /// How many bytes have come.
    pub(crate) fn seen(&self) -> u64 {
        self.seen
    }

    /// The next piece, as it came; `None` at the end.
    pub(crate) fn next_piece(&mut self) -> io::Result<Option<Bytes>> {
        if !self.have.is_empty() {
            return Ok(Some(std::mem::take(&mut self.have)));
        }
        if let Some(data) = self.gathered.pop_front() {
            self.count(&data)?;
            return Ok(Some(data));
        }
        if std::mem::take(&mut self.broken) {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let Some((incoming, patience)) = &mut self.incoming else {
            return Ok(None);
        };
        self.unasked = false;
        loop {
            let frame = match patience.wait(Some(patience.stall), incoming.frame()) {
                Some(None) => {
                    self.incoming = None;
                    return Ok(None);
                }
                Some(Some(Err(e))) => {
                    self.incoming = None;
                    return Err(io::Error::new(io::ErrorKind::UnexpectedEof, e));
                }
                None => {
                    self.incoming = None;
                    return Err(io::ErrorKind::TimedOut.into());
                }
                Some(Some(Ok(frame))) => frame,
            };
            // Trailers say nothing to us.
            let Ok(data) = frame.into_data() else { continue };
            if data.is_empty() {
                continue;
            }
            self.count(&data)?;
            return Ok(Some(data));
        }
    }

    fn count(&mut self, data: &Bytes) -> io::Result<()> {
        self.seen += data.len() as u64;
        match self.left.checked_sub(data.len() as u64) {
            Some(left) => {
                self.left = left;
                Ok(())
            }
            None => {
                self.incoming = None;
                self.gathered.clear();
                Err(io::Error::new(
                    io::ErrorKind::FileTooLarge,
                    "the body is too long",
                ))
            }
        }
    }

    /// Everything that is left, if it is no more than `most` bytes.
    ///
    /// # Errors
    /// `FileTooLarge`; those of the connection.
    pub(crate) fn read_all(&mut self, most: u64) -> io::Result<Vec<u8>> {
        let mut all = Vec::new();
        while let Some(piece) = self.next_piece()? {
            if (all.len() + piece.len()) as u64 > most {
                return Err(io::Error::new(
                    io::ErrorKind::FileTooLarge,
                    "the body is too long",
                ));
            }
            all.extend_from_slice(&piece);
        }
        Ok(all)
    }

    /// Reads what nobody wanted, as long as it is little: then the connection can go on.
    pub(crate) fn drain(&mut self) {
        if self.unasked {
            return;
        }
        let mut seen = 0;
        while let Ok(Some(piece)) = self.next_piece() {
            seen += piece.len() as u64;
            if seen > DRAINED {
                return;
            }
        }
    }
}

impl Read for RequestBody {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        if self.have.is_empty() {
            match self.next_piece()? {
                Some(piece) => self.have = piece,
                None => return Ok(0),
            }
        }
        let len = buf.len().min(self.have.len());
        self.have.copy_to_slice(&mut buf[..len]);
        Ok(len)
    }
}

/// The body of an answer.
pub(crate) enum ReplyBody {
    /// All of it.
    Whole(Option<Bytes>),
    /// All of it, in pieces.
    Several(VecDeque<Bytes>),
    /// In pieces, while they are made; an error breaks the connection off.
    Pieces {
        from: mpsc::Receiver<io::Result<Bytes>>,
        /// Bytes in all, if that was said.
        left: Option<u64>,
    },
}

impl Body for ReplyBody {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        match self.get_mut() {
            ReplyBody::Whole(bytes) => Poll::Ready(bytes.take().map(|bytes| Ok(Frame::data(bytes)))),
            ReplyBody::Several(pieces) => Poll::Ready(pieces.pop_front().map(|piece| Ok(Frame::data(piece)))),
            ReplyBody::Pieces { from, left } => {
                let piece = std::task::ready!(from.poll_recv(cx));
                if let (Some(Ok(bytes)), Some(left)) = (&piece, left) {
                    *left = left.saturating_sub(bytes.len() as u64);
                }
                Poll::Ready(piece.map(|piece| piece.map(Frame::data)))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            ReplyBody::Whole(bytes) => bytes.is_none(),
            ReplyBody::Several(pieces) => pieces.is_empty(),
            ReplyBody::Pieces { .. } => false,
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            ReplyBody::Whole(bytes) => SizeHint::with_exact(bytes.as_ref().map_or(0, |b| b.len() as u64)),
            ReplyBody::Several(pieces) => SizeHint::with_exact(pieces.iter().map(|b| b.len() as u64).sum()),
            ReplyBody::Pieces { left: Some(left), .. } => SizeHint::with_exact(*left),
            ReplyBody::Pieces { left: None, .. } => SizeHint::default(),
        }
    }
}

/// The body of an answer on its way; when it is dropped the connection is idle.
pub(crate) struct SentBody {
    pub(super) body: ReplyBody,
    pub(super) sending: Sending,
}

/// What the connection knows of an answer on its way.
pub(super) struct Sending {
    pub(super) passing: Passing,
    pub(super) busy: Busy,
}

impl Body for SentBody {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        let SentBody { body, sending } = self.get_mut();
        let polled = Pin::new(body).poll_frame(cx);
        if let Poll::Ready(Some(Ok(frame))) = &polled
            && let Some(piece) = frame.data_ref()
        {
            sending.passing.note(piece);
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
