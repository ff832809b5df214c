//! The response to a request: made by blocking code, sent while it is made.
//!
//! A handler sets status and header lines, then writes the body. The first piece is held until it is large, or flushed, or
//! the handler has finished: short responses are sent whole and with their length, and an early failure still becomes a proper
//! status. Once bytes were sent, a failure can only end the connection.

mod recording;

use std::collections::VecDeque;
use std::io::{self, Write};

use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use http::header::{CACHE_CONTROL, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, ETAG, VARY};
use http::{HeaderMap, HeaderName, HeaderValue, Response, StatusCode};
use repos::prompt;
use tokio::sync::{mpsc, oneshot};

use self::recording::BodyRecording;
use super::client_wait::ClientWait;
use super::response_body::ResponseBody;

/// Size of the pieces that are sent, bytes.
const PIECE: usize = 64 << 10;
/// How many pieces may wait for the client.
const QUEUE: usize = 4;
/// The longest body of a response that is made inline, bytes.
pub(crate) const MAX_INLINE_BODY: u64 = 256 << 10;
/// Shorter bodies are not compressed, bytes.
const MIN_COMPRESSED: usize = 512;

/// A response in the making.
pub(crate) struct ResponseWriter {
    status: StatusCode,
    headers: HeaderMap,
    buffer: Vec<u8>,
    /// A body that was set as a whole.
    whole: VecDeque<Bytes>,
    /// A copy of what was sent, if one was asked for.
    recording: Option<BodyRecording>,
    head: HeadState,
    pieces: Option<mpsc::Sender<io::Result<Bytes>>>,
    /// The method is HEAD: only header lines are sent.
    bodiless: bool,
    /// Bytes of the body that were sent, compressed if it is compressed.
    pub(crate) sent: u64,
    wait: ClientWait,
    /// The client accepts gzip; the level to compress with.
    gzip: Option<u32>,
    /// Set once compression has begun.
    encoder: Option<GzEncoder<Vec<u8>>>,
    /// The body is XML: it shows by itself whether it is complete.
    is_xml: bool,
    end: ResponseEnd,
}

/// How a response has ended.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ResponseEnd {
    /// Without an error so far.
    Complete,
    /// By an error of ours, in the middle.
    Broken,
    /// The client has gone.
    ClientGone,
}

/// Where the head of a response is.
enum HeadState {
    /// Not sent; the connection waits for it.
    Awaited(oneshot::Sender<Response<ResponseBody>>),
    /// Not sent before the body is complete; the pieces of the body so far.
    Buffered(VecDeque<Bytes>),
    /// The complete response of a buffered writer.
    Finished(Response<ResponseBody>),
    /// Sent, or the connection has ended.
    Sent,
}

impl ResponseWriter {
    /// Returns a writer whose response is sent to `head` while it is made.
    pub(super) fn streaming(
        head: oneshot::Sender<Response<ResponseBody>>,
        bodiless: bool,
        wait: ClientWait,
        gzip: Option<u32>,
    ) -> ResponseWriter {
        ResponseWriter::new(HeadState::Awaited(head), bodiless, wait, gzip)
    }

    /// Returns a writer that holds the whole response, for inline requests. A response that becomes long, or must be compressed, is
    /// given up ([`prompt::takes_time`]).
    pub(super) fn buffered(bodiless: bool, wait: ClientWait, gzip: Option<u32>) -> ResponseWriter {
        ResponseWriter::new(HeadState::Buffered(VecDeque::new()), bodiless, wait, gzip)
    }

    fn new(head: HeadState, bodiless: bool, wait: ClientWait, gzip: Option<u32>) -> ResponseWriter {
        ResponseWriter {
            status: StatusCode::OK,
            headers: HeaderMap::new(),
            buffer: Vec::new(),
            whole: VecDeque::new(),
            recording: None,
            head,
            pieces: None,
            bodiless,
            sent: 0,
            wait,
            gzip: gzip.filter(|_| !bodiless),
            encoder: None,
            is_xml: false,
            end: ResponseEnd::Complete,
        }
    }

    /// Returns how the thread that makes this response waits.
    pub(super) fn wait(&self) -> &ClientWait {
        &self.wait
    }

    /// Adds a header line that another server has sent.
    pub(crate) fn header_named(&mut self, name: HeaderName, value: HeaderValue) -> &mut Self {
        self.headers.append(name, value);
        self
    }

    /// Sets the status. The default is 200.
    pub(crate) fn status(&mut self, status: StatusCode) -> &mut Self {
        self.status = status;
        self
    }

    /// Returns the current status.
    pub(crate) fn current_status(&self) -> StatusCode {
        self.status
    }

    /// Adds a header line. A line whose value is not valid is left out.
    pub(crate) fn header(&mut self, name: &'static str, value: &str) -> &mut Self {
        if let Ok(value) = HeaderValue::from_bytes(value.as_bytes()) {
            self.headers.append(HeaderName::from_static(name), value);
        }
        self
    }

    /// Sets a header, in place of all lines with this name.
    pub(crate) fn only_header(&mut self, name: &'static str, value: &str) -> &mut Self {
        self.headers.remove(name);
        self.header(name, value)
    }

    /// Sets the content type.
    pub(crate) fn content_type(&mut self, value: &str) -> &mut Self {
        if let Ok(value) = HeaderValue::from_bytes(value.as_bytes()) {
            self.headers.insert(CONTENT_TYPE, value);
        }
        self
    }

    /// Announces the length of the body: then it is not sent in chunks, and `HEAD` shows it.
    pub(crate) fn content_length(&mut self, bytes: u64) -> &mut Self {
        self.headers.insert(CONTENT_LENGTH, HeaderValue::from(bytes));
        self
    }

    /// Returns whether the head was sent: then the status cannot change any more.
    pub(crate) fn begun(&self) -> bool {
        matches!(self.head, HeadState::Sent)
    }

    /// Returns false once the client is known to have gone before the response has begun.
    pub(crate) fn is_awaited(&self) -> bool {
        !matches!(&self.head, HeadState::Awaited(head) if head.is_closed())
    }

    /// Returns whether the response ended because the client has gone.
    pub(crate) fn is_client_gone(&self) -> bool {
        self.end == ResponseEnd::ClientGone
    }

    /// Returns whether the response ended in the middle, by an error of ours.
    pub(crate) fn is_broken(&self) -> bool {
        self.end == ResponseEnd::Broken
    }

    /// Takes the complete response of a buffered writer.
    pub(super) fn take(&mut self) -> Option<Response<ResponseBody>> {
        match std::mem::replace(&mut self.head, HeadState::Sent) {
            HeadState::Finished(response) => Some(response),
            _ => None,
        }
    }

    /// Drops everything that was not sent yet; an error response takes its place.
    pub(crate) fn start_over(&mut self) {
        if let HeadState::Buffered(pieces) = &mut self.head {
            pieces.clear();
            self.sent = 0;
        }
        self.buffer.clear();
        self.whole.clear();
        self.recording = None;
        self.headers.clear();
        self.status = StatusCode::OK;
    }

    /// Returns whether only header lines are sent.
    pub(crate) fn bodiless(&self) -> bool {
        self.bodiless
    }

    /// Writes bytes without copying them.
    pub(crate) fn pass(&mut self, bytes: Bytes) -> io::Result<()> {
        if self.bodiless {
            return Ok(());
        }
        self.send_buffer()?;
        self.send(bytes)
    }

    /// Sets the whole body, without copying it, if nothing was written before.
    pub(crate) fn whole(&mut self, bytes: impl IntoIterator<Item = Bytes>) {
        self.whole.extend(bytes);
    }

    /// Records what is written from now on, if it does not become too long.
    pub(crate) fn record(&mut self) {
        self.recording = Some(BodyRecording::default());
    }

    /// Takes the recording, up to here; `None` if there is none or it has become too long.
    pub(crate) fn take_recording(&mut self) -> Option<Vec<Bytes>> {
        let mut recording = self.recording.take()?;
        if !self.buffer.is_empty() && !recording.add(&Bytes::copy_from_slice(&self.buffer)) {
            return None;
        }
        Some(recording.take())
    }

    /// Returns the buffer in which a body can be made in place. Call [`ResponseWriter::spill`] regularly.
    pub(crate) fn buffer(&mut self) -> &mut Vec<u8> {
        &mut self.buffer
    }

    /// Sends the buffer if it is long enough.
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
        self.recording.take_if(|recording| !recording.add(&bytes));
        if !self.begun() && self.gzip.is_some_and(|_| self.is_compressible()) {
            takes_time()?;
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
        if let HeadState::Buffered(pieces) = &mut self.head {
            if self.sent > MAX_INLINE_BODY {
                takes_time()?;
            }
            pieces.extend((!bytes.is_empty()).then_some(bytes));
            return Ok(());
        }
        if let HeadState::Awaited(head) = std::mem::replace(&mut self.head, HeadState::Sent) {
            let (pieces, from) = mpsc::channel(QUEUE);
            let kind = self.headers.get(CONTENT_TYPE).map(HeaderValue::as_bytes);
            self.is_xml = kind.is_some_and(|kind| kind.starts_with(b"text/xml"));
            let left = self.headers.get(CONTENT_LENGTH);
            let left = left.and_then(|length| length.to_str().ok()?.parse().ok());
            let response = self.response(ResponseBody::Pieces { from, left });
            if head.send(response).is_err() {
                return Err(self.client_gone());
            }
            self.pieces = Some(pieces);
        }
        let sent = match &self.pieces {
            Some(_) if bytes.is_empty() => Ok(()),
            Some(pieces) => self.wait.send(pieces, Ok(bytes)),
            None => Err(gone()),
        };
        sent.map_err(|_| self.client_gone())
    }

    /// Notes that the client has gone, and returns the error for the handler.
    fn client_gone(&mut self) -> io::Error {
        if self.end == ResponseEnd::Complete {
            self.end = ResponseEnd::ClientGone;
        }
        gone()
    }

    /// Returns whether compression makes the body shorter, as far as its type tells.
    fn is_compressible(&self) -> bool {
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

    /// Sets the header lines of a compressed body.
    fn begin_gzip(&mut self, level: u32) -> GzEncoder<Vec<u8>> {
        self.headers.remove(CONTENT_LENGTH);
        self.headers
            .insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
        self.headers
            .append(VARY, HeaderValue::from_static("Accept-Encoding"));
        // Another body needs another tag. This is the form of Apache.
        let tag = self.headers.get(ETAG).and_then(|tag| tag.to_str().ok());
        let tag = tag.and_then(|tag| tag.strip_suffix('"').map(|tag| format!("{tag}-gzip\"")));
        if let Some(tag) = tag.and_then(|tag| HeaderValue::try_from(tag).ok()) {
            self.headers.insert(ETAG, tag);
        }
        GzEncoder::new(Vec::with_capacity(PIECE), Compression::new(level.min(9)))
    }

    fn response(&mut self, body: ResponseBody) -> Response<ResponseBody> {
        let mut response = Response::new(body);
        *response.status_mut() = self.status;
        *response.headers_mut() = std::mem::take(&mut self.headers);
        response
    }

    /// Ends a complete response.
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
        if matches!(&self.head, HeadState::Buffered(pieces) if !pieces.is_empty()) {
            self.send_buffer()?;
            if let Some(last) = self.whole.pop_front() {
                self.send(last)?;
            }
            return self.finish_buffered();
        }
        if self.whole.len() > 1 {
            return self.finish_several();
        }
        let mut whole = match self.whole.pop_front() {
            Some(whole) if self.buffer.is_empty() => whole,
            _ => std::mem::take(&mut self.buffer).into(),
        };
        if let Some(level) = self.gzip
            && whole.len() >= MIN_COMPRESSED
            && self.is_compressible()
        {
            takes_time()?;
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
        let response = self.response(ResponseBody::Whole(body));
        self.hand_over(response)
    }

    /// Ends a response whose body was set as a whole, in several pieces.
    fn finish_several(&mut self) -> io::Result<()> {
        let pieces = std::mem::take(&mut self.whole);
        if self.gzip.is_some_and(|_| self.is_compressible()) {
            for piece in pieces {
                self.send(piece)?;
            }
            return self.finish();
        }
        self.sent = pieces.iter().map(|piece| piece.len() as u64).sum();
        let body = match self.bodiless {
            true => ResponseBody::Whole(None),
            false => ResponseBody::Several(pieces),
        };
        let response = self.response(body);
        self.hand_over(response)
    }

    fn hand_over(&mut self, response: Response<ResponseBody>) -> io::Result<()> {
        match std::mem::replace(&mut self.head, HeadState::Sent) {
            HeadState::Awaited(head) => head.send(response).map_err(|_| gone()),
            _ => {
                self.head = HeadState::Finished(response);
                Ok(())
            }
        }
    }

    /// Ends the response of a buffered writer with a body in several pieces.
    fn finish_buffered(&mut self) -> io::Result<()> {
        let HeadState::Buffered(pieces) = std::mem::replace(&mut self.head, HeadState::Sent) else {
            return Err(gone());
        };
        self.head = HeadState::Finished(self.response(ResponseBody::Several(pieces)));
        Ok(())
    }

    /// Ends a response that cannot be completed. XML is ended as if it were complete: its open elements show clients that it is not,
    /// while after a lost connection they would repeat the request forever. For everything else the connection is ended.
    pub(crate) fn cut_short(&mut self) {
        self.end = ResponseEnd::Broken;
        if !self.is_xml || self.pieces.is_none() || self.finish().is_err() {
            self.break_off();
        }
    }

    /// Ends the response in the middle, so that the client sees that it is incomplete.
    pub(crate) fn break_off(&mut self) {
        if !matches!(self.head, HeadState::Finished(_)) {
            self.head = HeadState::Sent;
        }
        self.encoder = None;
        self.buffer.clear();
        if let Some(pieces) = self.pieces.take() {
            // An error means that the client has gone.
            _ = self
                .wait
                .send(&pieces, Err(io::ErrorKind::ConnectionAborted.into()));
        }
    }
}

impl Drop for ResponseWriter {
    /// Ends an unfinished response visibly: after a panic it must not look complete.
    fn drop(&mut self) {
        self.break_off();
    }
}

impl Write for ResponseWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.buffer.extend_from_slice(bytes);
        self.spill()?;
        Ok(bytes.len())
    }

    /// Sends the buffer, however short: the client waits for it.
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

/// As [`prompt::takes_time`].
fn takes_time() -> io::Result<()> {
    prompt::takes_time().map_err(io::Error::other)
}

fn gone() -> io::Error {
    io::ErrorKind::BrokenPipe.into()
}
