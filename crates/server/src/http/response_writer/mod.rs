//! The response to a request: made by blocking code, sent while it is made.
//!
//! A handler sets status and header lines, then writes the body. The first piece is held until it is large, or flushed, or
//! the handler has finished: short responses are sent whole and with their length, and an early failure still becomes a proper
//! status. Once bytes were sent, a failure can only end the connection.

mod compression;
mod head;

use std::collections::VecDeque;
use std::io::{self, Write};

use bytes::Bytes;
use http::Response;
use repos::ReadMode;
use tokio::sync::{mpsc, oneshot};

use self::compression::BodyCompression;
use self::head::ResponseHead;
use super::client_wait::ClientWait;
use super::response_body::ResponseBody;

use crate::response_cache::BodyRecording;

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
    pub(crate) head: ResponseHead,
    buffer: Vec<u8>,
    /// A body that was set as a whole.
    whole: VecDeque<Bytes>,
    /// A copy of what was sent, if one was asked for.
    recording: Option<BodyRecording>,
    state: HeadState,
    pieces: Option<mpsc::Sender<io::Result<Bytes>>>,
    /// The method is HEAD: only header lines are sent.
    bodiless: bool,
    /// Bytes of the body that were sent, compressed if it is compressed.
    pub(crate) sent: u64,
    wait: ClientWait,
    compression: BodyCompression,
    /// The body is XML: it shows by itself whether it is complete.
    is_xml: bool,
    end: ResponseEnd,
    read_mode: ReadMode,
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
    /// given up ([`ReadMode::check_may_wait`] of `read_mode`).
    pub(super) fn buffered(
        bodiless: bool,
        wait: ClientWait,
        gzip: Option<u32>,
        read_mode: ReadMode,
    ) -> ResponseWriter {
        let state = HeadState::Buffered(VecDeque::new());
        let mut writer = ResponseWriter::new(state, bodiless, wait, gzip);
        writer.read_mode = read_mode;
        writer
    }

    fn new(state: HeadState, bodiless: bool, wait: ClientWait, gzip: Option<u32>) -> ResponseWriter {
        ResponseWriter {
            head: ResponseHead::default(),
            buffer: Vec::new(),
            whole: VecDeque::new(),
            recording: None,
            state,
            pieces: None,
            bodiless,
            sent: 0,
            wait,
            compression: BodyCompression::new(gzip.filter(|_| !bodiless)),
            is_xml: false,
            end: ResponseEnd::Complete,
            read_mode: ReadMode::MayWait,
        }
    }

    /// As [`ReadMode::check_may_wait`].
    fn check_may_wait(&self) -> io::Result<()> {
        self.read_mode.check_may_wait().map_err(io::Error::other)
    }

    /// Returns how the thread that makes this response waits.
    pub(super) fn wait(&self) -> &ClientWait {
        &self.wait
    }

    /// Returns whether the head was sent: then the status cannot change any more.
    pub(crate) fn begun(&self) -> bool {
        matches!(self.state, HeadState::Sent)
    }

    /// Returns false once the client is known to have gone before the response has begun.
    pub(crate) fn is_awaited(&self) -> bool {
        !matches!(&self.state, HeadState::Awaited(head) if head.is_closed())
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
        match std::mem::replace(&mut self.state, HeadState::Sent) {
            HeadState::Finished(response) => Some(response),
            _ => None,
        }
    }

    /// Drops everything that was not sent yet; an error response takes its place.
    pub(crate) fn start_over(&mut self) {
        if let HeadState::Buffered(pieces) = &mut self.state {
            pieces.clear();
            self.sent = 0;
        }
        self.buffer.clear();
        self.whole.clear();
        self.recording = None;
        self.head = ResponseHead::default();
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
    pub(crate) fn record(&mut self, recording: BodyRecording) {
        self.recording = Some(recording);
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
        if !self.begun() && self.compression.is_wanted(&self.head) {
            self.check_may_wait()?;
            self.compression.begin(&mut self.head);
        }
        let bytes = self.compression.compress(bytes)?;
        self.send_compressed(bytes)
    }

    fn send_compressed(&mut self, bytes: Bytes) -> io::Result<()> {
        self.sent += bytes.len() as u64;
        if let HeadState::Buffered(pieces) = &mut self.state {
            if self.sent > MAX_INLINE_BODY {
                self.read_mode.check_may_wait().map_err(io::Error::other)?;
            }
            pieces.extend((!bytes.is_empty()).then_some(bytes));
            return Ok(());
        }
        if let HeadState::Awaited(head) = std::mem::replace(&mut self.state, HeadState::Sent) {
            let (pieces, from) = mpsc::channel(QUEUE);
            self.is_xml = self.head.is_xml();
            let left = self.head.announced_length();
            let response = self.head.response(ResponseBody::Pieces { from, left });
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

    /// Ends a complete response.
    pub(crate) fn finish(&mut self) -> io::Result<()> {
        if self.begun() {
            self.send_buffer()?;
            if let Some(rest) = self.compression.finish()? {
                self.send_compressed(rest)?;
            }
            // Without its sender the body has ended.
            self.pieces = None;
            return Ok(());
        }
        if matches!(&self.state, HeadState::Buffered(pieces) if !pieces.is_empty()) {
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
        if whole.len() >= MIN_COMPRESSED && self.compression.is_wanted(&self.head) {
            self.check_may_wait()?;
            whole = self.compression.compress_whole(&mut self.head, &whole)?;
        }
        let is_empty = self.bodiless || self.head.is_without_body();
        let body = match is_empty {
            true => None,
            false => Some(whole),
        };
        self.sent = body.as_ref().map_or(0, |body| body.len() as u64);
        let response = self.head.response(ResponseBody::Whole(body));
        self.hand_over(response)
    }

    /// Ends a response whose body was set as a whole, in several pieces.
    fn finish_several(&mut self) -> io::Result<()> {
        let pieces = std::mem::take(&mut self.whole);
        if self.compression.is_wanted(&self.head) {
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
        let response = self.head.response(body);
        self.hand_over(response)
    }

    fn hand_over(&mut self, response: Response<ResponseBody>) -> io::Result<()> {
        match std::mem::replace(&mut self.state, HeadState::Sent) {
            HeadState::Awaited(head) => head.send(response).map_err(|_| gone()),
            _ => {
                self.state = HeadState::Finished(response);
                Ok(())
            }
        }
    }

    /// Ends the response of a buffered writer with a body in several pieces.
    fn finish_buffered(&mut self) -> io::Result<()> {
        let HeadState::Buffered(pieces) = std::mem::replace(&mut self.state, HeadState::Sent) else {
            return Err(gone());
        };
        self.state = HeadState::Finished(self.head.response(ResponseBody::Several(pieces)));
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
        if !matches!(self.state, HeadState::Finished(_)) {
            self.state = HeadState::Sent;
        }
        self.compression.cancel();
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
        if let Some(bytes) = self.compression.flush()? {
            self.send_compressed(bytes)?;
        }
        Ok(())
    }
}

fn gone() -> io::Error {
    io::ErrorKind::BrokenPipe.into()
}
