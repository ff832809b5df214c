//! Responses: status, headers, and a body that is read as it arrives.

use std::io::{self, BufRead, Read, Write as _};
use std::sync::Arc;

use base::{Error, Result};
use bytes::Bytes;
use flate2::write::MultiGzDecoder;
use http::HeaderMap;
use http_body_util::BodyExt as _;
use hyper::body::Incoming;

use super::http_client::{Core, Sender};
use super::transport_error::body_error;

/// The compressed bytes that are expanded at a time: at most a thousand times as many come out.
pub(super) const COMPRESSED: usize = 4 << 10;

/// A response.
pub(super) struct Response {
    /// The method of the request.
    pub(super) method: &'static str,
    /// The status.
    pub(super) status: u16,
    /// The server's words for the status.
    pub(super) reason: String,
    /// The headers.
    pub(super) headers: HeaderMap,
    /// The body.
    pub(super) body: ResponseBody,
}

impl Response {
    /// Returns a header as text, if it is UTF-8.
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        std::str::from_utf8(self.headers.get(name)?.as_bytes()).ok()
    }
}

/// Expands a body that is compressed with gzip.
pub(super) struct Inflater(Box<MultiGzDecoder<Vec<u8>>>);

impl Inflater {
    pub(super) fn new() -> Inflater {
        Inflater(Box::new(MultiGzDecoder::new(Vec::new())))
    }

    /// Returns what [`COMPRESSED`] bytes or fewer become.
    ///
    /// # Errors
    /// If they are damaged.
    pub(super) fn expand(&mut self, bytes: &[u8]) -> Result<Vec<u8>> {
        let expanded = self.0.write_all(bytes).and_then(|()| self.0.flush());
        self.taken(expanded)
    }

    /// Returns the rest.
    ///
    /// # Errors
    /// If the end is missing or damaged.
    pub(super) fn finish(mut self) -> Result<Vec<u8>> {
        let ended = self.0.try_finish();
        self.taken(ended)
    }

    fn taken(&mut self, outcome: io::Result<()>) -> Result<Vec<u8>> {
        outcome.map_err(|error| Error::os(&error, "Can't decompress the response"))?;
        Ok(std::mem::take(self.0.get_mut()))
    }
}

/// The body of a response. Reading waits for the server; an error is a `base` error in an I/O error. Once it was read to its end, the
/// connection can be used for another request; a body that is dropped before closes the connection.
pub(super) struct ResponseBody {
    core: Arc<Core>,
    incoming: Option<Incoming>,
    sender: Option<Sender>,
    inflate: Option<Inflater>,
    /// Compressed bytes that arrived.
    raw: Bytes,
    /// Expanded bytes; those before `at` were read.
    piece: Bytes,
    at: usize,
}

impl ResponseBody {
    pub(super) fn new(core: Arc<Core>, incoming: Incoming, sender: Sender, is_gzip: bool) -> ResponseBody {
        ResponseBody {
            core,
            incoming: Some(incoming),
            sender: Some(sender),
            inflate: is_gzip.then(Inflater::new),
            raw: Bytes::new(),
            piece: Bytes::new(),
            at: 0,
        }
    }

    /// Returns the next bytes as the server sent them; `None` at the end.
    fn next_frame(&mut self) -> Result<Option<Bytes>> {
        while let Some(incoming) = &mut self.incoming {
            self.core.check_cancelled()?;
            match self.core.wait(incoming.frame())? {
                None => {
                    self.incoming = None;
                    if let Some(sender) = self.sender.take() {
                        self.core.give_back(sender);
                    }
                }
                Some(Err(error)) => {
                    self.incoming = None;
                    self.sender = None;
                    return Err(body_error(&error));
                }
                Some(Ok(frame)) => {
                    if let Ok(data) = frame.into_data()
                        && !data.is_empty()
                    {
                        return Ok(Some(data));
                    }
                }
            }
        }
        Ok(None)
    }

    /// Makes sure that there are bytes to read in `piece`, except at the end.
    fn fill(&mut self) -> Result<()> {
        if self.at < self.piece.len() {
            return Ok(());
        }
        self.at = 0;
        self.piece = Bytes::new();
        while self.piece.is_empty() {
            if self.raw.is_empty() {
                match self.next_frame()? {
                    Some(bytes) => self.raw = bytes,
                    None => return self.finish_inflating(),
                }
            }
            let Some(inflate) = &mut self.inflate else {
                self.piece = std::mem::take(&mut self.raw);
                break;
            };
            let next = self.raw.split_to(self.raw.len().min(COMPRESSED));
            self.piece = inflate.expand(&next)?.into();
        }
        Ok(())
    }

    fn finish_inflating(&mut self) -> Result<()> {
        if let Some(inflate) = self.inflate.take() {
            self.piece = inflate.finish()?.into();
        }
        Ok(())
    }

    /// Returns the next bytes; an empty piece is the end.
    ///
    /// # Errors
    /// Those of the connection.
    pub(super) fn next_piece(&mut self) -> Result<Bytes> {
        self.fill()?;
        let piece = self.piece.split_off(self.at);
        (self.piece, self.at) = (Bytes::new(), 0);
        Ok(piece)
    }

    /// Reads at most `limit` bytes; the rest is read and dropped if it is as short.
    ///
    /// # Errors
    /// Those of the connection.
    pub(super) fn read_up_to(&mut self, limit: usize) -> Result<Vec<u8>> {
        let (mut out, mut seen) = (Vec::new(), 0);
        while seen < 2 * limit {
            let piece = self.next_piece()?;
            if piece.is_empty() {
                break;
            }
            seen += piece.len();
            let wanted = piece.len().min(limit - out.len());
            out.extend_from_slice(&piece[..wanted]);
        }
        Ok(out)
    }
}

impl BufRead for ResponseBody {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.fill().map_err(io::Error::other)?;
        Ok(&self.piece[self.at..])
    }

    fn consume(&mut self, amount: usize) {
        // Splitting the bytes off would count their owners each time.
        self.at += amount;
    }
}

impl Read for ResponseBody {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let have = self.fill_buf()?;
        let length = have.len().min(into.len());
        into[..length].copy_from_slice(&have[..length]);
        self.consume(length);
        Ok(length)
    }
}
