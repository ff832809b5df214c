//! Requests that follow each other on one connection, without waiting for the responses in between.
//!
//! A server handles the requests of a connection one after the other, so their effects have the order of the calls. While it works on
//! one, the next ones have arrived: neither side waits for the other, and the server need not watch the connection in between.
//!
//! Only requests that may be sent twice belong here. The first one that is refused ends the pipeline, and so does a server that closes the
//! connection, as most do after some number of requests. The caller then sends those requests again that have no response
//! ([`Pipeline::into_unanswered`]): so an error is always that of a request that was sent alone.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Instant;

use base::{Code, Error, Result};
use http::header::ACCEPT_ENCODING;
use tokio::io::{AsyncRead as _, AsyncWrite as _, ReadBuf};

use super::connect::BoxedStream;
use super::http_client::Core;
use super::pipeline_response::{ShortResponse, parse};
use super::request::{Request, RequestBody};

/// The most requests without a response.
const MOST_UNANSWERED: usize = 32;
/// Requests of this many bytes without a response take no further ones.
const MOST_BYTES: usize = 1 << 20;
/// The bytes of one read.
const READ: usize = 16 << 10;
/// The longest response that is read, in bytes: those to requests that succeed are short.
const MOST_RESPONSE: usize = 64 << 10;

/// A connection with requests under way. `T` is what the caller knows of a request.
pub(super) struct Pipeline<T> {
    stream: BoxedStream,
    output: Vec<u8>,
    /// The bytes of `output` that were sent.
    sent: usize,
    input: Vec<u8>,
    /// Requests without a response, the oldest first.
    unanswered: VecDeque<PushedRequest<T>>,
    /// The bytes of the requests in `unanswered`.
    bytes: usize,
    /// The responses that came after a request was refused, with that of the refused one.
    dropped: usize,
    /// True if any request has succeeded.
    has_progress: bool,
    /// How many more requests the server takes on this connection, if it says so.
    left: Option<usize>,
    end: Option<PipelineEnd>,
}

struct PushedRequest<T> {
    known: T,
    length: usize,
    began: Instant,
}

/// Why a pipeline takes no more requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PipelineEnd {
    /// The server has closed the connection after a response.
    Closed,
    /// A request was refused.
    Refused,
    /// The connection is lost before any response, or the server sent something else than responses.
    Broken,
}

/// Returns whether a response is that of a request that succeeded.
pub(super) type Accept<'a, T> = &'a mut dyn FnMut(&T, &ShortResponse) -> bool;

impl<T> Pipeline<T> {
    pub(super) fn new(stream: BoxedStream) -> Pipeline<T> {
        Pipeline {
            stream,
            output: Vec::new(),
            sent: 0,
            input: Vec::new(),
            unanswered: VecDeque::new(),
            bytes: 0,
            dropped: 0,
            has_progress: false,
            left: None,
            end: None,
        }
    }

    /// Appends a request, which is sent by the next [`Pipeline::exchange`].
    ///
    /// # Errors
    /// If it cannot be written as a request, or if its body is not in memory.
    pub(super) fn push(&mut self, core: &Core, request: &Request, known: T) -> Result<()> {
        let body = match &request.body {
            RequestBody::None => &[],
            RequestBody::Bytes(bytes) => &bytes[..],
            RequestBody::File(..) => {
                let message = "The body of a request in a pipeline is not in memory";
                return Err(Error::new(Code::RA_DAV_CREATING_REQUEST, message));
            }
        };
        let built = core.build(request)?;
        let before = self.output.len();
        let out = &mut self.output;
        out.extend_from_slice(format!("{} {} HTTP/1.1\r\n", request.method, request.target).as_bytes());
        // A short response is not worth compressing.
        for (name, value) in built
            .headers()
            .iter()
            .filter(|(name, _)| *name != ACCEPT_ENCODING)
        {
            for part in [name.as_str().as_bytes(), b": ", value.as_bytes(), b"\r\n"] {
                out.extend_from_slice(part);
            }
        }
        out.extend_from_slice(format!("content-length: {}\r\n\r\n", body.len()).as_bytes());
        out.extend_from_slice(body);
        let length = out.len() - before;
        self.bytes += length;
        self.unanswered.push_back(PushedRequest {
            known,
            length,
            began: Instant::now(),
        });
        Ok(())
    }

    /// Returns why the pipeline takes no more requests.
    pub(super) fn end(&self) -> Option<PipelineEnd> {
        self.end
    }

    /// Gives up the connection. Returns the requests without a response, the oldest first.
    pub(super) fn into_unanswered(self) -> VecDeque<T> {
        self.unanswered.into_iter().map(|pushed| pushed.known).collect()
    }

    /// Sends requests, and waits for responses if too many are missing.
    ///
    /// # Errors
    /// `CANCELLED`, `RA_DAV_CONN_TIMEOUT`.
    pub(super) fn exchange(&mut self, core: &Core, accept: Accept<'_, T>) -> Result<()> {
        let most = self
            .left
            .map_or(MOST_UNANSWERED, |left| left.min(MOST_UNANSWERED));
        let is_full = self.unanswered.len() >= most || self.bytes >= MOST_BYTES;
        // A wait for half of them: the threads of both sides are woken less often.
        let most = if is_full { most / 2 } else { most };
        self.settle(core, most, accept)
    }

    /// Sends requests, and waits until at most `most` are without a response, or the pipeline has ended. After a refusal the
    /// server has finished with all requests.
    ///
    /// # Errors
    /// `CANCELLED`, `RA_DAV_CONN_TIMEOUT`.
    pub(super) fn settle(&mut self, core: &Core, most: usize, accept: Accept<'_, T>) -> Result<()> {
        core.wait(poll_fn(|context| {
            let before = (self.sent, self.unanswered.len());
            let outcome = self.poll_settle(core, most, accept, context);
            if before != (self.sent, self.unanswered.len()) {
                core.note_progress();
            }
            outcome
        }))
    }

    fn poll_settle(
        &mut self,
        core: &Core,
        most: usize,
        accept: Accept<'_, T>,
        context: &mut Context<'_>,
    ) -> Poll<()> {
        loop {
            self.poll_write(context);
            self.take_responses(core, accept);
            let is_settled = match self.end {
                None => self.unanswered.len() <= most,
                Some(PipelineEnd::Refused) => self.dropped >= self.whole_sent(),
                Some(_) => true,
            };
            if is_settled {
                return Poll::Ready(());
            }
            ready!(self.poll_read(context));
        }
    }

    /// Sends what the connection takes. After a refusal nothing more is sent.
    fn poll_write(&mut self, context: &mut Context<'_>) {
        while self.end.is_none() && self.sent < self.output.len() {
            let stream = Pin::new(&mut self.stream);
            match stream.poll_write(context, &self.output[self.sent..]) {
                Poll::Ready(Ok(count)) if count > 0 => self.sent += count,
                // A response that was on its way is read yet: it may say why.
                Poll::Ready(_) => break,
                Poll::Pending => return,
            }
        }
        if self.end.is_none() && self.sent == self.output.len() {
            self.output.clear();
            self.sent = 0;
            _ = Pin::new(&mut self.stream).poll_flush(context);
        }
    }

    fn poll_read(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let have = self.input.len();
        self.input.resize(have + READ, 0);
        let mut buffer = ReadBuf::new(&mut self.input[have..]);
        let outcome = Pin::new(&mut self.stream).poll_read(context, &mut buffer);
        let count = buffer.filled().len();
        self.input.truncate(have + count);
        match outcome {
            Poll::Pending => Poll::Pending,
            Poll::Ready(Ok(())) if count > 0 && have + count <= MOST_RESPONSE => Poll::Ready(()),
            Poll::Ready(_) => {
                let end = match self.has_progress && have == 0 && count == 0 {
                    true => PipelineEnd::Closed,
                    false => PipelineEnd::Broken,
                };
                self.end = Some(end);
                Poll::Ready(())
            }
        }
    }

    fn take_responses(&mut self, core: &Core, accept: Accept<'_, T>) {
        let mut at = 0;
        while !matches!(self.end, Some(PipelineEnd::Closed | PipelineEnd::Broken)) {
            let (response, length) = match parse(&self.input[at..]) {
                Ok(Some(found)) => found,
                Ok(None) => break,
                Err(_) => {
                    self.end = Some(PipelineEnd::Broken);
                    break;
                }
            };
            at += length;
            if response.status >= 200 {
                self.take_response(core, &response, accept);
            }
        }
        self.input.drain(..at);
    }

    fn take_response(&mut self, core: &Core, response: &ShortResponse, accept: Accept<'_, T>) {
        if self.end == Some(PipelineEnd::Refused) {
            self.dropped += 1;
        } else if let Some(first) = self.unanswered.front() {
            core.options.traffic.add_request(first.began.elapsed());
            if accept(&first.known, response) {
                self.bytes -= first.length;
                self.unanswered.pop_front();
                self.has_progress = true;
                self.left = response.left;
            } else {
                self.dropped = 1;
                self.end = Some(PipelineEnd::Refused);
            }
        } else {
            self.end = Some(PipelineEnd::Broken);
        }
        if response.closes {
            // The server reads nothing behind it.
            self.end.get_or_insert(PipelineEnd::Closed);
            self.dropped = usize::MAX;
        }
    }

    /// The number of unanswered requests of which every byte was sent.
    fn whole_sent(&self) -> usize {
        let mut sent = self.bytes - (self.output.len() - self.sent);
        let is_whole = |pushed: &&PushedRequest<T>| {
            let is_whole = pushed.length <= sent;
            sent = sent.saturating_sub(pushed.length);
            is_whole
        };
        self.unanswered.iter().take_while(is_whole).count()
    }
}
