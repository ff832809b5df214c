//! The body of a request: read by blocking code as it arrives, or gathered before a thread is taken.

use std::io::{self, Read};
use std::time::{Duration, Instant};

use bytes::{Buf as _, Bytes};
use http_body::Body as _;
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use tokio::time::{sleep, timeout, timeout_at};

use super::client_wait::ClientWait;
use super::timeouts::UnfinishedBody;
use crate::net::QuotaShare;

/// Bodies up to this length, in bytes, are not counted as memory, and their requests may be answered inline.
pub(super) const SHORT_BODY: u64 = 16 << 10;

/// How long a request waits for memory that others hold, and the interval between attempts.
const MEMORY_WAIT: Duration = Duration::from_secs(20);
const MEMORY_RETRY: Duration = Duration::from_millis(100);

/// Bytes of an unwanted body that are read. A body without an end must not keep its connection.
const MAX_UNWANTED: u64 = 1 << 30;

/// The body of a request. Reading blocks the reading thread until the client sends.
pub(crate) struct RequestBody {
    incoming: Option<(Incoming, ClientWait, UnfinishedBody)>,
    /// The bytes that arrived before a thread was taken.
    gathered: Bytes,
    /// The error behind those bytes.
    broken: Option<io::ErrorKind>,
    /// The rest of the piece that [`Read`] reads from.
    current: Bytes,
    /// Bytes that may still arrive; more is an error.
    left: u64,
    /// The client waits for `100 Continue` before it sends the body, and nothing has been read yet.
    awaits_continue: bool,
    /// Bytes that were read.
    seen: u64,
    /// How long a thread has waited for the body.
    waited: Duration,
}

impl RequestBody {
    /// Returns the body behind `incoming`. `expects` says that the client waits for `100 Continue`. The body keeps
    /// `unfinished` until its end has arrived.
    pub(super) fn new(
        incoming: Incoming,
        wait: ClientWait,
        expects: bool,
        unfinished: UnfinishedBody,
    ) -> RequestBody {
        RequestBody {
            incoming: Some((incoming, wait, unfinished)),
            awaits_continue: expects,
            ..RequestBody::empty()
        }
    }

    /// Returns an empty body.
    pub(crate) fn empty() -> RequestBody {
        RequestBody {
            incoming: None,
            gathered: Bytes::new(),
            broken: None,
            current: Bytes::new(),
            left: u64::MAX,
            awaits_continue: false,
            seen: 0,
            waited: Duration::ZERO,
        }
    }

    /// Reads the body before a thread is taken for the request; of a body with more than `max` bytes, the beginning. A body that
    /// takes too long, or for which `memory` has no bytes left, ends with an error. It needs `factor` times its bytes when it is read.
    pub(super) async fn gather(&mut self, max: u64, factor: u64, memory: &mut QuotaShare) {
        let Some((incoming, wait, _)) = &mut self.incoming else {
            return;
        };
        self.awaits_continue = false;
        let begun = tokio::time::Instant::now();
        let length = incoming.size_hint().exact().unwrap_or(0);
        let mut gathered = Vec::with_capacity(usize::try_from(length.min(SHORT_BODY)).unwrap_or(0));
        let end = loop {
            let silent = tokio::time::Instant::now() + wait.silence;
            let limit = begun + wait.for_body(gathered.len() as u64);
            match timeout_at(limit.min(silent), incoming.frame()).await {
                Err(_) => break Some(io::ErrorKind::TimedOut),
                Ok(None) => break None,
                Ok(Some(Err(_))) => break Some(io::ErrorKind::UnexpectedEof),
                Ok(Some(Ok(frame))) => {
                    // Trailers are ignored. Pieces are copied: a short one may hold a long buffer.
                    let data = frame.into_data().unwrap_or_default();
                    gathered.extend_from_slice(&data);
                }
            }
            if gathered.len() as u64 > max {
                // The rest is read as it arrives; a text needs no memory of its own.
                self.gathered = gathered.into();
                return;
            }
            let is_short = gathered.len() as u64 <= SHORT_BODY;
            if !is_short && !reserve(memory, gathered.capacity() as u64).await {
                break Some(io::ErrorKind::ResourceBusy);
            }
        };
        self.incoming = None;
        let end = match end {
            None if !reserve(memory, gathered.len() as u64 * factor).await => {
                Some(io::ErrorKind::ResourceBusy)
            }
            end => end,
        };
        self.broken = end;
        if end.is_none() {
            self.gathered = gathered.into();
        }
    }

    /// True if the body may have at most [`SHORT_BODY`] bytes, and the client sends it without being asked.
    pub(super) fn may_be_short(&self) -> bool {
        let length = self
            .incoming
            .as_ref()
            .and_then(|(incoming, ..)| incoming.size_hint().exact());
        !self.awaits_continue && length.is_none_or(|length| length <= SHORT_BODY)
    }

    /// Returns the length if the whole body has been gathered and nothing was read.
    pub(crate) fn length(&self) -> Option<u64> {
        let is_gathered = self.incoming.is_none() && self.broken.is_none() && self.seen == 0;
        is_gathered.then_some(self.gathered.len() as u64)
    }

    /// Returns a copy for another reader if the body is short, has been gathered, and nothing was read.
    pub(super) fn copy(&self) -> Option<RequestBody> {
        self.length().filter(|length| *length <= SHORT_BODY)?;
        Some(RequestBody {
            gathered: self.gathered.clone(),
            ..RequestBody::empty()
        })
    }

    /// Makes reading fail after `bytes` bytes; 0 is no limit.
    pub(crate) fn limit(&mut self, bytes: u64) {
        if bytes > 0 {
            self.left = bytes;
        }
    }

    /// Returns whether the client waits for `100 Continue`. If it was not sent, the connection ends with the response: the client may
    /// send the body or not.
    pub(super) fn awaits_continue(&self) -> bool {
        self.awaits_continue
    }

    /// Returns how many bytes were read.
    pub(crate) fn seen(&self) -> u64 {
        self.seen
    }

    /// Returns the next piece as it arrived; `None` at the end.
    ///
    /// # Errors
    /// `TimedOut`, `FileTooLarge`, `ResourceBusy`; `UnexpectedEof` if the connection is lost.
    pub(crate) fn next_piece(&mut self) -> io::Result<Option<Bytes>> {
        if !self.current.is_empty() {
            return Ok(Some(std::mem::take(&mut self.current)));
        }
        if !self.gathered.is_empty() {
            let data = std::mem::take(&mut self.gathered);
            self.count(&data)?;
            return Ok(Some(data));
        }
        if let Some(kind) = self.broken.take() {
            return Err(kind.into());
        }
        let Some((incoming, wait, _)) = &mut self.incoming else {
            return Ok(None);
        };
        self.awaits_continue = false;
        loop {
            let allowed = wait.for_body(self.seen).saturating_sub(self.waited);
            let begun = Instant::now();
            let waited = wait.wait(Some(wait.silence.min(allowed)), incoming.frame());
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
            // Trailers are ignored.
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
                self.gathered = Bytes::new();
                Err(io::Error::new(
                    io::ErrorKind::FileTooLarge,
                    "the body is too long",
                ))
            }
        }
    }

    /// Puts back what [`RequestBody::read_all`] has returned, to be read once more.
    pub(crate) fn put_back(&mut self, whole: Vec<u8>) {
        self.current = whole.into();
    }

    /// Returns all that is left, at most `max` bytes.
    ///
    /// # Errors
    /// `FileTooLarge`; those of the connection.
    pub(crate) fn read_all(&mut self, max: u64) -> io::Result<Vec<u8>> {
        let mut all = Vec::new();
        while let Some(piece) = self.next_piece()? {
            if (all.len() + piece.len()) as u64 > max {
                return Err(io::Error::new(
                    io::ErrorKind::FileTooLarge,
                    "the body is too long",
                ));
            }
            all.extend_from_slice(&piece);
        }
        Ok(all)
    }

    /// Lets a task read and drop what is left, while the response is sent. A connection that is closed while the client still sends takes the
    /// response with it; and some clients do not read it before they have sent all. The limits on time hold for that, too. The connection
    /// is busy meanwhile.
    pub(crate) fn drain(&mut self) {
        if self.awaits_continue {
            return;
        }
        let left = self.incoming.take().filter(|(body, ..)| !body.is_end_stream());
        let Some((mut incoming, limits, unfinished)) = left else {
            return;
        };
        let (mut seen, waited) = (self.seen, self.waited);
        let runtime = limits.runtime.clone();
        runtime.spawn(async move {
            let _unfinished = unfinished;
            let (begun, end) = (Instant::now(), seen.saturating_add(MAX_UNWANTED));
            // hyper may report the end only with the next request.
            while seen < end && !incoming.is_end_stream() {
                let allowed = limits.for_body(seen).saturating_sub(waited + begun.elapsed());
                match timeout(allowed.min(limits.silence), incoming.frame()).await {
                    Ok(Some(Ok(frame))) => seen += frame.data_ref().map_or(0, |data| data.len() as u64),
                    // The end, a client that is gone, or one that is too slow.
                    _ => return,
                }
            }
        });
    }
}

/// Sets the request's share of memory to `bytes`. Returns false if others hold the memory for too long.
async fn reserve(memory: &mut QuotaShare, bytes: u64) -> bool {
    if bytes <= SHORT_BODY {
        return true;
    }
    let mut waited = Duration::ZERO;
    while !memory.set(bytes) {
        if waited >= MEMORY_WAIT {
            return false;
        }
        sleep(MEMORY_RETRY).await;
        waited += MEMORY_RETRY;
    }
    true
}

impl Read for RequestBody {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        if self.current.is_empty() {
            match self.next_piece()? {
                Some(piece) => self.current = piece,
                None => return Ok(0),
            }
        }
        let len = buf.len().min(self.current.len());
        self.current.copy_to_slice(&mut buf[..len]);
        Ok(len)
    }
}
