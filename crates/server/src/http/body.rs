//! Bodies: what a client sends, read by blocking code as it comes; and what we send, as hyper takes it.

use std::collections::VecDeque;
use std::future::Future;
use std::io::{self, Read};
use std::net::IpAddr;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use bytes::{Buf as _, Bytes};
use http_body::{Body, Frame, SizeHint};
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use repos::hooks::HookWait;
use tokio::runtime::Handle;
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::mpsc::{self, Sender};
use tokio::time::{sleep, timeout, timeout_at};

use super::options::{Limits, XML_FACTOR};
use super::pulse::Busy;
use super::socket::Passing;
use crate::shares::Share;
use crate::thread_pool::{Blocking, ThreadPool};

/// How long a thread waits for its client before another may take its place.
const SHORT: Duration = Duration::from_millis(50);

/// How long a thread may wait for its client where as many threads as may wait already wait for clients of its network.
const UNCOUNTED: Duration = Duration::from_millis(500);

/// Bodies up to this length are not counted as memory, and may be answered at once.
const SHORT_BODY: u64 = 16 << 10;

/// How long a request waits for memory that others hold, and how often it looks.
const MEMORY_WAIT: Duration = Duration::from_secs(20);
const MEMORY_LOOK: Duration = Duration::from_millis(100);

/// Most bytes of an unwanted body that are read to keep the connection, and how long that may take.
const DRAINED: u64 = 1 << 20;
const DRAIN_TIME: Duration = Duration::from_secs(2);

/// How long blocking code waits for a client, and who works meanwhile.
#[derive(Clone)]
pub(crate) struct Patience {
    pub(super) runtime: Handle,
    pub(super) pool: Arc<ThreadPool>,
    /// Whose client it is.
    pub(super) address: IpAddr,
    /// How long a peer may neither send nor take anything.
    stall: Duration,
    /// How long the client may be silent within the body of its request.
    silence: Duration,
    /// How long a body may take, besides the time that its bytes need at `rate` a second.
    body: Duration,
    rate: u64,
}

impl Patience {
    pub(super) fn new(runtime: Handle, pool: Arc<ThreadPool>, address: IpAddr, limits: &Limits) -> Patience {
        Patience {
            runtime,
            pool,
            address,
            stall: limits.stall,
            silence: limits.body_silence.min(limits.stall),
            body: limits.body_timeout,
            rate: limits.body_rate,
        }
    }

    /// How long a client may keep silent.
    pub(super) fn stall(&self) -> Duration {
        self.stall
    }

    /// How long we may have waited for a body of which so many bytes have come.
    fn for_body(&self, bytes: u64) -> Duration {
        match bytes.checked_div(self.rate) {
            Some(seconds) => self.body.saturating_add(Duration::from_secs(seconds)),
            None => LONG,
        }
    }

    /// Waits for `what`; another thread may run if it takes long. `None` is too long, or too many of the client's network.
    pub(super) fn wait<T>(&self, limit: Option<Duration>, what: impl Future<Output = T>) -> Option<T> {
        let mut what = pin!(what);
        let mut wait_at_most = |limit| {
            self.runtime
                .block_on(async { timeout(limit, what.as_mut()).await })
        };
        if let Ok(done) = wait_at_most(SHORT) {
            return Some(done);
        }
        let moment = || wait_at_most(UNCOUNTED).ok();
        let _blocked = match self.pool.block_or(self.address, moment)? {
            Blocking::Done(done) => return Some(done),
            blocked => blocked,
        };
        match limit {
            Some(limit) => self.runtime.block_on(async { timeout(limit, what).await.ok() }),
            None => Some(self.runtime.block_on(what)),
        }
    }

    /// Runs `wait`, which blocks until another request or another server has done something. The thread does not count meanwhile.
    pub(crate) fn while_blocked<T>(&self, wait: impl FnOnce() -> T) -> T {
        let _blocked = self.pool.block(self.address);
        wait()
    }

    /// How the thread waits for the processes of hooks.
    pub(crate) fn hook_waiting(&self) -> HookWait {
        self.pool.hook_waiting(self.address)
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
    /// What has come before a thread was taken.
    gathered: Bytes,
    /// It broke off behind that.
    broken: Option<io::ErrorKind>,
    /// Received, not yet read.
    have: Bytes,
    /// Bytes that may still come; more is an error.
    left: u64,
    /// The client sends it only if we ask for it, and nobody has.
    unasked: bool,
    /// Bytes that have come.
    seen: u64,
    /// How long a thread has waited for them.
    waited: Duration,
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
            gathered: Bytes::new(),
            broken: None,
            have: Bytes::new(),
            left: u64::MAX,
            unasked: false,
            seen: 0,
            waited: Duration::ZERO,
        }
    }

    /// Takes the body in before a thread is taken for the request, or the beginning of a body of more than `most` bytes. A body
    /// that takes too long, or for which `memory` has nothing left, has an error at its end.
    pub(super) async fn gather(&mut self, most: u64, memory: &mut Share) {
        let Some((incoming, patience)) = &mut self.incoming else {
            return;
        };
        self.unasked = false;
        let begun = tokio::time::Instant::now();
        let length = incoming.size_hint().exact().unwrap_or(0);
        let mut gathered = Vec::with_capacity(usize::try_from(length.min(SHORT_BODY)).unwrap_or(0));
        let end = loop {
            if gathered.len() as u64 > most {
                self.gathered = gathered.into();
                return;
            }
            let silent = tokio::time::Instant::now() + patience.silence;
            let limit = begun + patience.for_body(gathered.len() as u64);
            match timeout_at(limit.min(silent), incoming.frame()).await {
                Err(_) => break Some(io::ErrorKind::TimedOut),
                Ok(None) => break None,
                Ok(Some(Err(_))) => break Some(io::ErrorKind::UnexpectedEof),
                Ok(Some(Ok(frame))) => {
                    // Trailers say nothing to us. Pieces may be short and hold long buffers: they are copied.
                    let data = frame.into_data().unwrap_or_default();
                    gathered.extend_from_slice(&data);
                }
            }
            if !hold(memory, gathered.capacity() as u64).await {
                break Some(io::ErrorKind::ResourceBusy);
            }
        };
        self.incoming = None;
        // What is made of it needs more than its bytes.
        let end = match end {
            None if !hold(memory, gathered.len() as u64 * XML_FACTOR).await => {
                Some(io::ErrorKind::ResourceBusy)
            }
            end => end,
        };
        self.broken = end;
        if end.is_none() {
            self.gathered = gathered.into();
        }
    }

    /// Its length, if all of it is here and nothing was read yet.
    pub(crate) fn length(&self) -> Option<u64> {
        let is_here = self.incoming.is_none() && self.broken.is_none() && self.seen == 0;
        is_here.then_some(self.gathered.len() as u64)
    }

    /// The same body for another reader, if it is short, all of it is here and nothing was read yet.
    pub(super) fn copy(&self) -> Option<RequestBody> {
        self.length().filter(|length| *length <= SHORT_BODY)?;
        Some(RequestBody {
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
        if !self.gathered.is_empty() {
            let data = std::mem::take(&mut self.gathered);
            self.count(&data)?;
            return Ok(Some(data));
        }
        if let Some(kind) = self.broken.take() {
            return Err(kind.into());
        }
        let Some((incoming, patience)) = &mut self.incoming else {
            return Ok(None);
        };
        self.unasked = false;
        loop {
            let allowed = patience.for_body(self.seen).saturating_sub(self.waited);
            let begun = Instant::now();
            let waited = patience.wait(Some(patience.silence.min(allowed)), incoming.frame());
            self.waited += begun.elapsed();
            let frame = match waited {
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
                self.gathered = Bytes::new();
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

    /// Reads what is left, if it is little and comes soon: then the connection can go on.
    pub(crate) fn drain(&mut self) {
        if self.unasked {
            return;
        }
        let end = Instant::now() + DRAIN_TIME;
        let mut seen = 0;
        while seen <= DRAINED {
            if let Some((_, patience)) = &mut self.incoming {
                patience.silence = end
                    .saturating_duration_since(Instant::now())
                    .min(patience.silence);
            }
            match self.next_piece() {
                Ok(Some(piece)) => seen += piece.len() as u64,
                Ok(None) | Err(_) => return,
            }
        }
    }
}

/// As good as for ever.
const LONG: Duration = Duration::from_secs(30 * 365 * 24 * 3600);

/// Counts so many bytes as `memory`; false if others hold what there is for long.
async fn hold(memory: &mut Share, bytes: u64) -> bool {
    if bytes <= SHORT_BODY {
        return true;
    }
    let mut waited = Duration::ZERO;
    while !memory.set(bytes) {
        if waited >= MEMORY_WAIT {
            return false;
        }
        sleep(MEMORY_LOOK).await;
        waited += MEMORY_LOOK;
    }
    true
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
