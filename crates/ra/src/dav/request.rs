//! Requests, and their bodies: in memory, or in a file that has no name. Each can be sent several times, because a server may
//! demand authentication of any request, and may close a connection that was idle.

use std::fs::File;
use std::io::{self, Write as _};
use std::os::unix::fs::FileExt as _;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};

use base::{Error, Result};
use bytes::Bytes;
use http_body::{Frame, SizeHint};

/// The bytes of a body that are read from a file at a time.
const PIECE: usize = 64 << 10;
/// The bytes of a body that stay in memory; longer ones are written to a file.
const MOST_IN_MEMORY: usize = 256 << 10;

/// A request to the server of a session.
#[derive(Clone, Debug)]
pub(super) struct Request {
    /// The method.
    pub(super) method: &'static str,
    /// The escaped path.
    pub(super) target: String,
    /// Headers besides those of every request.
    pub(super) headers: Vec<(&'static str, String)>,
    /// The body.
    pub(super) body: RequestBody,
}

/// The body of a request.
#[derive(Clone, Debug)]
pub(super) enum RequestBody {
    None,
    Bytes(Bytes),
    File(Arc<File>, u64),
}

impl Request {
    pub(super) fn new(method: &'static str, target: impl Into<String>) -> Request {
        Request {
            method,
            target: target.into(),
            headers: Vec::new(),
            body: RequestBody::None,
        }
    }

    pub(super) fn header(mut self, name: &'static str, value: impl Into<String>) -> Request {
        self.headers.push((name, value.into()));
        self
    }

    /// Adds a body of XML.
    pub(super) fn xml(self, body: impl Into<String>) -> Request {
        let body = body.into();
        self.body("text/xml", RequestBody::Bytes(body.into()))
    }

    pub(super) fn body(self, media: &str, body: RequestBody) -> Request {
        let mut request = self.header("content-type", media);
        request.body = body;
        request
    }
}

/// Collects a body whose length is not known, in memory while it is short.
#[derive(Default)]
pub(super) struct Spool {
    memory: Vec<u8>,
    file: Option<(File, u64)>,
}

impl Spool {
    /// Appends bytes.
    ///
    /// # Errors
    /// Those of the file.
    pub(super) fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.memory.extend_from_slice(bytes);
        match self.memory.len() {
            0..=MOST_IN_MEMORY => Ok(()),
            _ => self.flush(),
        }
    }

    fn flush(&mut self) -> Result<()> {
        let failed = |error: io::Error| Error::os(&error, "Can't write a temporary file");
        if self.file.is_none() {
            self.file = Some((tempfile::tempfile().map_err(failed)?, 0));
        }
        if let Some((file, length)) = &mut self.file {
            file.write_all(&self.memory).map_err(failed)?;
            *length += self.memory.len() as u64;
        }
        self.memory.clear();
        Ok(())
    }

    /// Returns the body.
    ///
    /// # Errors
    /// Those of the file.
    pub(super) fn into_body(mut self) -> Result<RequestBody> {
        if self.file.is_some() {
            self.flush()?;
        }
        Ok(match self.file {
            Some((file, length)) => RequestBody::File(Arc::new(file), length),
            None => RequestBody::Bytes(self.memory.into()),
        })
    }
}

/// A body while it is sent.
pub(super) struct SendBody {
    body: RequestBody,
    sent: u64,
    /// It is sent in chunks, which need no length in advance.
    is_chunked: bool,
    /// Counts pieces: a wait for the server goes on while there is progress.
    progress: Arc<AtomicU64>,
}

impl SendBody {
    pub(super) fn new(body: RequestBody, is_chunked: bool, progress: Arc<AtomicU64>) -> SendBody {
        SendBody {
            body,
            sent: 0,
            is_chunked,
            progress,
        }
    }

    fn left(&self) -> u64 {
        let length = match &self.body {
            RequestBody::None => 0,
            RequestBody::Bytes(bytes) => bytes.len() as u64,
            RequestBody::File(_, length) => *length,
        };
        length - self.sent
    }

    fn piece(&mut self) -> io::Result<Bytes> {
        let wanted = usize::try_from(self.left()).unwrap_or(usize::MAX).min(PIECE);
        let piece = match &self.body {
            RequestBody::None => Bytes::new(),
            RequestBody::Bytes(bytes) => {
                let begin = usize::try_from(self.sent).unwrap_or(usize::MAX);
                bytes.slice(begin..begin + wanted)
            }
            RequestBody::File(file, _) => {
                let mut piece = vec![0; wanted];
                file.read_exact_at(&mut piece, self.sent)?;
                piece.into()
            }
        };
        self.sent += piece.len() as u64;
        Ok(piece)
    }
}

impl http_body::Body for SendBody {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _context: &mut Context<'_>,
    ) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        if self.left() == 0 {
            return Poll::Ready(None);
        }
        self.progress.fetch_add(1, Ordering::Relaxed);
        Poll::Ready(Some(self.piece().map(Frame::data)))
    }

    fn is_end_stream(&self) -> bool {
        self.left() == 0
    }

    fn size_hint(&self) -> SizeHint {
        match self.is_chunked {
            true => SizeHint::default(),
            false => SizeHint::with_exact(self.left()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_bodies_are_in_a_file_and_the_same() {
        for length in [0, 10, MOST_IN_MEMORY, 3 * MOST_IN_MEMORY + 17] {
            let bytes: Vec<u8> = (0..length).map(|at| (at % 251) as u8).collect();
            let mut spool = Spool::default();
            for piece in bytes.chunks(1000) {
                spool.write(piece).expect("a file can be written");
            }
            let body = spool.into_body().expect("a file can be written");
            assert_eq!(matches!(body, RequestBody::File(..)), length > MOST_IN_MEMORY);
            let mut sending = SendBody::new(body, false, Arc::default());
            let mut found = Vec::new();
            while sending.left() > 0 {
                found.extend_from_slice(&sending.piece().expect("it can be read"));
            }
            assert_eq!(found, bytes);
        }
    }
}
