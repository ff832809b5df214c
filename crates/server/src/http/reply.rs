//! The answer to a request: made by blocking code, sent while it is made.
//!
//! A handler sets status and header lines, then writes the body. The first piece is held back until it is large, or
//! flushed, or the handler is done: short answers go out whole and with their length, and what fails early still becomes
//! a proper status. Once something was sent a failure can only break the connection off.

mod keeping;

use std::collections::VecDeque;
use std::io::{self, Write};

use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use http::header::{CACHE_CONTROL, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, ETAG, VARY};
use http::{HeaderMap, HeaderName, HeaderValue, Response, StatusCode};
use repos::read_mode;
use tokio::sync::{mpsc, oneshot};

use self::keeping::Keeping;
use super::body::{Patience, ReplyBody};

/// Size of the pieces that are sent.
const PIECE: usize = 64 << 10;
/// Pieces that may wait for the client.
const WAITING: usize = 4;
/// Bytes of the longest body that is made at once.
pub(crate) const AT_ONCE: u64 = 256 << 10;
/// Shorter bodies are not worth compressing.
const SMALL: usize = 512;

/// An answer in the making.
pub(crate) struct Reply {
    status: StatusCode,
    headers: HeaderMap,
    buffer: Vec<u8>,
    /// A body that came as a whole.
    whole: VecDeque<Bytes>,
    /// What was sent so far, if it is to be kept.
    kept: Option<Keeping>,
    way: Way,
    pieces: Option<mpsc::Sender<io::Result<Bytes>>>,
    /// The method was HEAD: header lines only.
    bodiless: bool,
    /// Bytes of the body so far, as they are sent.
    pub(crate) sent: u64,
    patience: Patience,
    /// The client takes it compressed, at this level.
    gzip: Option<u32>,
    /// What compresses it.
    encoder: Option<GzEncoder<Vec<u8>>>,
    /// What is on its way shows by itself whether it is whole.
    is_xml: bool,
    end: End,
}

/// What became of an answer that had begun.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    /// Nothing went wrong so far.
    Whole,
    /// It could not be made any further.
    Broken,
    /// The client did not wait for all of it.
    Unheard,
}

/// Where the head of an answer goes.
enum Way {
    /// To the connection, which waits for it.
    Channel(oneshot::Sender<Response<ReplyBody>>),
    /// Nowhere before all of the answer is there: its pieces so far.
    Memory(VecDeque<Bytes>),
    /// All of it is there.
    Made(Response<ReplyBody>),
    /// It has gone, or nobody waits for it any more.
    Gone,
}

impl Reply {
    /// An answer that is sent while it is made.
    pub(super) fn new(
        head: oneshot::Sender<Response<ReplyBody>>,
        bodiless: bool,
        patience: Patience,
        gzip: Option<u32>,
    ) -> Reply {
        Reply::on(Way::Channel(head), bodiless, patience, gzip)
    }

    /// A short answer that is made at once, as a whole; what becomes long, or has to be compressed, takes time
    /// ([`read_mode::check_may_wait`]).
    pub(super) fn at_once(bodiless: bool, patience: Patience, gzip: Option<u32>) -> Reply {
        Reply::on(Way::Memory(VecDeque::new()), bodiless, patience, gzip)
    }

    fn on(way: Way, bodiless: bool, patience: Patience, gzip: Option<u32>) -> Reply {
        Reply {
            status: StatusCode::OK,
            headers: HeaderMap::new(),
            buffer: Vec::new(),
            whole: VecDeque::new(),
            kept: None,
            way,
            pieces: None,
            bodiless,
            sent: 0,
            patience,
            gzip: gzip.filter(|_| !bodiless),
            encoder: None,
            is_xml: false,
            end: End::Whole,
        }
    }

    /// How the thread that makes this answer waits.
    pub(super) fn patience(&self) -> &Patience {
        &self.patience
    }

    /// Adds a header line as another server has sent it.
    pub(crate) fn header_named(&mut self, name: HeaderName, value: HeaderValue) -> &mut Self {
        self.headers.append(name, value);
        self
    }

    /// Sets the status; 200 if it is not called.
    pub(crate) fn status(&mut self, status: StatusCode) -> &mut Self {
        self.status = status;
        self
    }

    /// The status as it stands.
    pub(crate) fn current_status(&self) -> StatusCode {
        self.status
    }

    /// Adds a header line. A value that cannot stand in one is left out.
    pub(crate) fn header(&mut self, name: &'static str, value: &str) -> &mut Self {
        if let Ok(value) = HeaderValue::from_bytes(value.as_bytes()) {
            self.headers.append(HeaderName::from_static(name), value);
        }
        self
    }

    /// Adds a header in the place of those of this name.
    pub(crate) fn only_header(&mut self, name: &'static str, value: &str) -> &mut Self {
        self.headers.remove(name);
        self.header(name, value)
    }

    /// Sets the type of the body.
    pub(crate) fn content_type(&mut self, value: &str) -> &mut Self {
        if let Ok(value) = HeaderValue::from_bytes(value.as_bytes()) {
            self.headers.insert(CONTENT_TYPE, value);
        }
        self
    }

    /// Says how long the body will be: then it is not sent in chunks, and `HEAD` shows it.
    pub(crate) fn content_length(&mut self, bytes: u64) -> &mut Self {
        self.headers.insert(CONTENT_LENGTH, HeaderValue::from(bytes));
        self
    }

    /// Something is on its way to the client: the status cannot change any more.
    pub(crate) fn begun(&self) -> bool {
        matches!(self.way, Way::Gone)
    }

    /// False once it is known that the client does not wait for an answer that has not begun.
    pub(crate) fn is_awaited(&self) -> bool {
        !matches!(&self.way, Way::Channel(head) if head.is_closed())
    }

    /// The client has gone: what could not be said any more is nobody's fault.
    pub(crate) fn is_unheard(&self) -> bool {
        self.end == End::Unheard
    }

    /// It ends in the middle, because of something that went wrong with us.
    pub(crate) fn is_broken(&self) -> bool {
        self.end == End::Broken
    }

    /// The answer that was made at once.
    pub(super) fn take(&mut self) -> Option<Response<ReplyBody>> {
        match std::mem::replace(&mut self.way, Way::Gone) {
            Way::Made(response) => Some(response),
            _ => None,
        }
    }

    /// Forgets everything that was not sent yet, for an error in its place.
    pub(crate) fn start_over(&mut self) {
        if let Way::Memory(pieces) = &mut self.way {
            pieces.clear();
            self.sent = 0;
        }
        self.buffer.clear();
        self.whole.clear();
        self.kept = None;
        self.headers.clear();
        self.status = StatusCode::OK;
    }

    /// The client wants the header lines alone.
    pub(crate) fn bodiless(&self) -> bool {
        self.bodiless
    }

    /// Passes bytes on without copying them.
    pub(crate) fn pass(&mut self, bytes: Bytes) -> io::Result<()> {
        if self.bodiless {
            return Ok(());
        }
        self.send_buffer()?;
        self.send(bytes)
    }

    /// The whole body, without copying it, if nothing was written before.
    pub(crate) fn whole(&mut self, bytes: impl IntoIterator<Item = Bytes>) {
        self.whole.extend(bytes);
    }

    /// Keeps what is sent from now on, if it does not become too long.
    pub(crate) fn keep(&mut self) {
        self.kept = Some(Keeping::default());
    }

    /// What was kept, up to here.
    pub(crate) fn take_kept(&mut self) -> Option<Vec<Bytes>> {
        let mut kept = self.kept.take()?;
        if !self.buffer.is_empty() && !kept.add(&Bytes::copy_from_slice(&self.buffer)) {
            return None;
        }
        Some(kept.take())
    }

    /// Where a body is made in place; call [`Reply::spill`] now and then.
    pub(crate) fn buffer(&mut self) -> &mut Vec<u8> {
        &mut self.buffer
    }

    /// Sends what has gathered if it is enough.
    pub(crate) fn spill(&mut self) -> io::Result<()> {
        if self.buffer.len() >= PIECE {
            self.send_buffer()?;
        }
        Ok(())
    }

    fn send_buffer(&mut self) -> io::Result<()> {
        if self.buffer.is_empty() {
            return Ok(());
        }
        let full = std::mem::replace(&mut self.buffer, Vec::with_capacity(PIECE + PIECE / 4));
        match self.bodiless {
            true => Ok(()),
            false => self.send(full.into()),
        }
    }

    fn send(&mut self, bytes: Bytes) -> io::Result<()> {
        self.kept.take_if(|kept| !kept.add(&bytes));
        if !self.begun() && self.gzip.is_some_and(|_| self.is_worth_it()) {
            check_may_wait()?;
            self.encoder = self.gzip.map(|level| self.begin_gzip(level));
        }
        let bytes = match &mut self.encoder {
            None => bytes,
            Some(encoder) => {
                encoder.write_all(&bytes)?;
                std::mem::take(encoder.get_mut()).into()
            }
        };
        self.send_as_it_is(bytes)
    }

    fn send_as_it_is(&mut self, bytes: Bytes) -> io::Result<()> {
        self.sent += bytes.len() as u64;
        if let Way::Memory(pieces) = &mut self.way {
            if self.sent > AT_ONCE {
                check_may_wait()?;
            }
            pieces.extend((!bytes.is_empty()).then_some(bytes));
            return Ok(());
        }
        if let Way::Channel(head) = std::mem::replace(&mut self.way, Way::Gone) {
            let (pieces, from) = mpsc::channel(WAITING);
            let kind = self.headers.get(CONTENT_TYPE).map(HeaderValue::as_bytes);
            self.is_xml = kind.is_some_and(|kind| kind.starts_with(b"text/xml"));
            let left = self.headers.get(CONTENT_LENGTH);
            let left = left.and_then(|length| length.to_str().ok()?.parse().ok());
            let response = self.response(ReplyBody::Pieces { from, left });
            if head.send(response).is_err() {
                return Err(self.unheard());
            }
            self.pieces = Some(pieces);
        }
        let sent = match &self.pieces {
            Some(_) if bytes.is_empty() => Ok(()),
            Some(pieces) => self.patience.send(pieces, Ok(bytes)),
            None => Err(gone()),
        };
        sent.map_err(|_| self.unheard())
    }

    /// Nobody listens any more.
    fn unheard(&mut self) -> io::Error {
        if self.end == End::Whole {
            self.end = End::Unheard;
        }
        gone()
    }

    /// Whether the body becomes shorter by being compressed, as far as its type tells.
    fn is_worth_it(&self) -> bool {
        let text = |name| self.headers.get(name).and_then(|v: &HeaderValue| v.to_str().ok());
        let kind = text(CONTENT_TYPE).unwrap_or_default();
        let kind = kind.split(';').next().unwrap_or_default().trim();
        let is_text = kind.starts_with("text/")
            || [
                "application/xml",
                "application/json",
                "application/javascript",
                "image/svg+xml",
            ]
            .contains(&kind);
        let whole = self.status == StatusCode::OK || self.status == StatusCode::MULTI_STATUS;
        let as_is = text(CACHE_CONTROL).is_some_and(|value| value.contains("no-transform"));
        is_text && whole && !as_is && !self.headers.contains_key(CONTENT_ENCODING)
    }

    /// Says that the body comes compressed.
    fn begin_gzip(&mut self, level: u32) -> GzEncoder<Vec<u8>> {
        self.headers.remove(CONTENT_LENGTH);
        self.headers
            .insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
        self.headers
            .append(VARY, HeaderValue::from_static("Accept-Encoding"));
        // Another body needs another tag; this is the one that Apache makes.
        let tag = self.headers.get(ETAG).and_then(|tag| tag.to_str().ok());
        let tag = tag.and_then(|tag| tag.strip_suffix('"').map(|tag| format!("{tag}-gzip\"")));
        if let Some(tag) = tag.and_then(|tag| HeaderValue::try_from(tag).ok()) {
            self.headers.insert(ETAG, tag);
        }
        GzEncoder::new(Vec::with_capacity(PIECE), Compression::new(level.min(9)))
    }

    fn response(&mut self, body: ReplyBody) -> Response<ReplyBody> {
        let mut response = Response::new(body);
        *response.status_mut() = self.status;
        *response.headers_mut() = std::mem::take(&mut self.headers);
        response
    }

    /// Ends the answer: everything was said.
    pub(crate) fn finish(&mut self) -> io::Result<()> {
        if self.begun() {
            self.send_buffer()?;
            if let Some(encoder) = self.encoder.take() {
                self.send_as_it_is(encoder.finish()?.into())?;
            }
            // Without its sender the body has ended.
            self.pieces = None;
            return Ok(());
        }
        if matches!(&self.way, Way::Memory(pieces) if !pieces.is_empty()) {
            self.send_buffer()?;
            if let Some(last) = self.whole.pop_front() {
                self.send(last)?;
            }
            return self.make();
        }
        if self.whole.len() > 1 {
            return self.finish_several();
        }
        let mut whole = match self.whole.pop_front() {
            Some(whole) if self.buffer.is_empty() => whole,
            _ => std::mem::take(&mut self.buffer).into(),
        };
        if let Some(level) = self.gzip
            && whole.len() >= SMALL
            && self.is_worth_it()
        {
            check_may_wait()?;
            let mut encoder = self.begin_gzip(level);
            encoder.write_all(&whole)?;
            whole = encoder.finish()?.into();
        }
        let empty =
            self.bodiless || self.status == StatusCode::NO_CONTENT || self.status == StatusCode::NOT_MODIFIED;
        let body = match empty {
            true => None,
            false => Some(whole),
        };
        self.sent = body.as_ref().map_or(0, |body| body.len() as u64);
        let response = self.response(ReplyBody::Whole(body));
        self.hand_over(response)
    }

    /// Ends an answer whose body came as a whole, in several pieces.
    fn finish_several(&mut self) -> io::Result<()> {
        let pieces = std::mem::take(&mut self.whole);
        if self.gzip.is_some_and(|_| self.is_worth_it()) {
            for piece in pieces {
                self.send(piece)?;
            }
            return self.finish();
        }
        self.sent = pieces.iter().map(|piece| piece.len() as u64).sum();
        let body = match self.bodiless {
            true => ReplyBody::Whole(None),
            false => ReplyBody::Several(pieces),
        };
        let response = self.response(body);
        self.hand_over(response)
    }

    fn hand_over(&mut self, response: Response<ReplyBody>) -> io::Result<()> {
        match std::mem::replace(&mut self.way, Way::Gone) {
            Way::Channel(head) => head.send(response).map_err(|_| gone()),
            _ => {
                self.way = Way::Made(response);
                Ok(())
            }
        }
    }

    /// Ends an answer that has gathered in several pieces.
    fn make(&mut self) -> io::Result<()> {
        let Way::Memory(pieces) = std::mem::replace(&mut self.way, Way::Gone) else {
            return Err(gone());
        };
        self.way = Way::Made(self.response(ReplyBody::Several(pieces)));
        Ok(())
    }

    /// Ends an answer that cannot be made any further. XML whose elements stay open is no answer, and says so to clients that
    /// would ask again, for ever, after a connection that was lost; everything else is broken off.
    pub(crate) fn cut_short(&mut self) {
        self.end = End::Broken;
        if !self.is_xml || self.pieces.is_none() || self.finish().is_err() {
            self.break_off();
        }
    }

    /// Ends the answer in the middle: the client must see that it is not whole.
    pub(crate) fn break_off(&mut self) {
        if !matches!(self.way, Way::Made(_)) {
            self.way = Way::Gone;
        }
        self.encoder = None;
        self.buffer.clear();
        if let Some(pieces) = self.pieces.take() {
            // A client that has gone does not want to know.
            _ = self
                .patience
                .send(&pieces, Err(io::ErrorKind::ConnectionAborted.into()));
        }
    }
}

impl Drop for Reply {
    /// Whoever forgets an answer, or panics in the middle, must not make it look whole.
    fn drop(&mut self) {
        self.break_off();
    }
}

impl Write for Reply {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.buffer.extend_from_slice(bytes);
        self.spill()?;
        Ok(bytes.len())
    }

    /// Sends what there is, however little: the client waits for it.
    fn flush(&mut self) -> io::Result<()> {
        self.send_buffer()?;
        if let Some(encoder) = &mut self.encoder {
            encoder.flush()?;
            let bytes = std::mem::take(encoder.get_mut());
            self.send_as_it_is(bytes.into())?;
        }
        Ok(())
    }
}

/// As [`read_mode::check_may_wait`].
fn check_may_wait() -> io::Result<()> {
    read_mode::check_may_wait().map_err(io::Error::other)
}

fn gone() -> io::Error {
    io::ErrorKind::BrokenPipe.into()
}
