//! The answer to a request: made by blocking code, sent while it is made.
//!
//! A handler sets status and header lines, then writes the body. The first piece is held back until it is large, or
//! flushed, or the handler is done: short answers go out whole and with their length, and what fails early still becomes
//! a proper status. Once something was sent a failure can only break the connection off.

use std::io::{self, Write};

use bytes::Bytes;
use http::header::{CONTENT_LENGTH, CONTENT_TYPE};
use http::{HeaderMap, HeaderName, HeaderValue, Response, StatusCode};
use tokio::sync::{mpsc, oneshot};

use super::body::ReplyBody;

/// Size of the pieces that are sent.
const PIECE: usize = 64 << 10;
/// Pieces that may wait for the client.
const WAITING: usize = 4;

/// An answer in the making.
pub(crate) struct Reply {
    status: StatusCode,
    headers: HeaderMap,
    buffer: Vec<u8>,
    head: Option<oneshot::Sender<Response<ReplyBody>>>,
    pieces: Option<mpsc::Sender<io::Result<Bytes>>>,
    /// The method was HEAD: header lines only.
    bodiless: bool,
    /// Bytes of the body so far.
    pub(crate) sent: u64,
}

impl Reply {
    pub(crate) fn new(head: oneshot::Sender<Response<ReplyBody>>, bodiless: bool) -> Reply {
        Reply {
            status: StatusCode::OK,
            headers: HeaderMap::new(),
            buffer: Vec::new(),
            head: Some(head),
            pieces: None,
            bodiless,
            sent: 0,
        }
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
        self.head.is_none()
    }

    /// Forgets everything that was not sent yet, for an error in its place.
    pub(crate) fn start_over(&mut self) {
        self.buffer.clear();
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
        self.sent += bytes.len() as u64;
        if let Some(head) = self.head.take() {
            let (pieces, from) = mpsc::channel(WAITING);
            let left = self.headers.get(CONTENT_LENGTH);
            let left = left.and_then(|length| length.to_str().ok()?.parse().ok());
            let response = self.response(ReplyBody::Pieces { from, left });
            head.send(response).map_err(|_| gone())?;
            self.pieces = Some(pieces);
        }
        match &self.pieces {
            Some(pieces) => pieces.blocking_send(Ok(bytes)).map_err(|_| gone()),
            None => Err(gone()),
        }
    }

    fn response(&mut self, body: ReplyBody) -> Response<ReplyBody> {
        let mut response = Response::new(body);
        *response.status_mut() = self.status;
        *response.headers_mut() = std::mem::take(&mut self.headers);
        response
    }

    /// Ends the answer: everything was said.
    pub(crate) fn finish(&mut self) -> io::Result<()> {
        let Some(head) = self.head.take() else {
            self.send_buffer()?;
            // Without its sender the body has ended.
            self.pieces = None;
            return Ok(());
        };
        let whole = std::mem::take(&mut self.buffer);
        self.sent = whole.len() as u64;
        let empty =
            self.bodiless || self.status == StatusCode::NO_CONTENT || self.status == StatusCode::NOT_MODIFIED;
        let body = match empty {
            true => None,
            false => Some(Bytes::from(whole)),
        };
        let response = self.response(ReplyBody::Whole(body));
        head.send(response).map_err(|_| gone())
    }

    /// Ends the answer in the middle: the client must see that it is not whole.
    pub(crate) fn break_off(&mut self) {
        self.head = None;
        if let Some(pieces) = self.pieces.take() {
            _ = pieces.blocking_send(Err(io::ErrorKind::ConnectionAborted.into()));
        }
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
        self.send_buffer()
    }
}

fn gone() -> io::Error {
    io::ErrorKind::BrokenPipe.into()
}
