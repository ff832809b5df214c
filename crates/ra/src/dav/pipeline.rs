//! Requests that follow each other on one connection, without waiting for the responses in between.
//!
//! A server handles the requests of a connection one after the other, so their effects have the order of the calls. While it works on
//! one, the next ones have arrived: neither side waits for the other, and the server need not watch the connection in between.
//!
//! Bodies of responses are passed on as they arrive ([`ResponseSink`]), so while the caller does not take them, the server waits.
//!
//! Only requests that may be sent twice belong here. The first one that is refused ends the pipeline, and so does a server that closes the
//! connection, as most do after some number of requests. The caller then sends those requests again that have no response
//! ([`Pipeline::into_unanswered`]): so an error is always that of a request that was sent alone.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::ops::Range;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Instant;

use base::{Code, Error, Result};
use http::header::ACCEPT_ENCODING;
use tokio::io::{AsyncRead as _, AsyncWrite as _, ReadBuf};

use super::connect::BoxedStream;
use super::http_client::Core;
use super::pipeline_response::{ResponseHead, ResponsePart, ResponseReader};
use super::request::{Request, RequestBody};

/// The most requests without a response.
const MOST_UNANSWERED: usize = 32;
/// Requests of this many bytes without a response take no further ones.
const MOST_BYTES: usize = 1 << 20;
/// The bytes of one read. Heads of responses are shorter.
const READ: usize = 64 << 10;

/// A connection with requests under way. `T` is what the caller knows of a request.
pub(super) struct Pipeline<T> {
    stream: BoxedStream,
    output: Vec<u8>,
    /// The bytes of `output` that were sent.
    sent: usize,
    /// [`READ`] bytes, of which those in `filled` have arrived and are not used yet.
    input: Vec<u8>,
    filled: Range<usize>,
    reader: ResponseReader,
    /// The head of the response that is being read.
    head: Option<ResponseHead>,
    /// Requests without a response, the oldest first.
    unanswered: VecDeque<PushedRequest<T>>,
    /// The bytes of the requests in `unanswered`.
    bytes: usize,
    /// The responses that came after a request was refused, with that of the refused one.
    dropped: usize,
    /// After a refusal the responses to all requests are waited for.
    waits_for_all: bool,
    /// True if any request has succeeded.
    has_progress: bool,
    /// How many more requests the server takes on this connection, if it says so.
    left: Option<usize>,
    end: Option<PipelineEnd>,
}

/// Writes the end of a head, and a body in one chunk.
fn write_chunked(out: &mut Vec<u8>, body: &[u8]) {
    out.extend_from_slice(b"transfer-encoding: chunked\r\n\r\n");
    if !body.is_empty() {
        out.extend_from_slice(format!("{:x}\r\n", body.len()).as_bytes());
        out.extend_from_slice(body);
        out.extend_from_slice(b"\r\n");
    }
    out.extend_from_slice(b"0\r\n\r\n");
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
    /// The connection is lost before any response or within one, or the server sent something else than responses.
    Broken,
}

/// Takes the responses, in the order of the requests. Each call answers whether the request is accepted so far; after the first `false` no
/// more calls follow.
pub(super) trait ResponseSink<T> {
    /// The head of the response to a request.
    fn begin(&mut self, known: &T, head: &ResponseHead) -> bool;

    /// Bytes of its body.
    fn push(&mut self, known: &T, bytes: &[u8]) -> bool;

    /// Its end.
    fn end(&mut self, known: &T) -> bool;
}

impl<T> Pipeline<T> {
    /// Returns a pipeline without requests. With `waits_for_all`, the server has finished with all of them after a refusal.
    pub(super) fn new(stream: BoxedStream, waits_for_all: bool) -> Pipeline<T> {
        Pipeline {
            stream,
            output: Vec::new(),
            sent: 0,
            input: vec![0; READ],
            filled: 0..0,
            reader: ResponseReader::default(),
            head: None,
            unanswered: VecDeque::new(),
            bytes: 0,
            dropped: 0,
            waits_for_all,
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
        let is_left_out = |name| request.method != "GET" && name == ACCEPT_ENCODING;
        for (name, value) in built.headers().iter().filter(|(name, _)| !is_left_out(*name)) {
            for part in [name.as_str().as_bytes(), b": ", value.as_bytes(), b"\r\n"] {
                out.extend_from_slice(part);
            }
        }
        match request.method {
            "GET" => out.extend_from_slice(b"\r\n"),
            _ if core.sends_chunks() => write_chunked(out, body),
            _ => {
                out.extend_from_slice(format!("content-length: {}\r\n\r\n", body.len()).as_bytes());
                out.extend_from_slice(body);
            }
        }
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
    pub(super) fn exchange(&mut self, core: &Core, sink: &mut dyn ResponseSink<T>) -> Result<()> {
        let most = self
            .left
            .map_or(MOST_UNANSWERED, |left| left.min(MOST_UNANSWERED));
        let is_full = self.unanswered.len() >= most || self.bytes >= MOST_BYTES;
        // A wait for half of them: the threads of both sides are woken less often.
        let most = if is_full { most / 2 } else { most };
        self.settle(core, most, sink)
    }

    /// Sends requests, and waits until at most `most` are without a response, or the pipeline has ended. After a refusal the
    /// server has finished with all requests.
    ///
    /// # Errors
    /// `CANCELLED`, `RA_DAV_CONN_TIMEOUT`.
    pub(super) fn settle(&mut self, core: &Core, most: usize, sink: &mut dyn ResponseSink<T>) -> Result<()> {
        core.wait(poll_fn(|context| self.poll_settle(core, most, sink, context)))
    }

    fn poll_settle(
        &mut self,
        core: &Core,
        most: usize,
        sink: &mut dyn ResponseSink<T>,
        context: &mut Context<'_>,
    ) -> Poll<()> {
        loop {
            self.poll_write(core, context);
            self.take_responses(core, sink);
            let is_settled = match self.end {
                None => self.unanswered.len() <= most,
                Some(PipelineEnd::Refused) => !self.waits_for_all || self.dropped >= self.whole_sent(),
                Some(_) => true,
            };
            if is_settled {
                return Poll::Ready(());
            }
            ready!(self.poll_read(core, context));
        }
    }

    /// Sends what the connection takes. After a refusal nothing more is sent.
    fn poll_write(&mut self, core: &Core, context: &mut Context<'_>) {
        while self.end.is_none() && self.sent < self.output.len() {
            let stream = Pin::new(&mut self.stream);
            match stream.poll_write(context, &self.output[self.sent..]) {
                Poll::Ready(Ok(count)) if count > 0 => {
                    self.sent += count;
                    core.note_progress();
                }
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

    fn poll_read(&mut self, core: &Core, context: &mut Context<'_>) -> Poll<()> {
        // What is left is the beginning of a head, or of a line between chunks.
        self.input.copy_within(self.filled.clone(), 0);
        let have = self.filled.len();
        let mut buffer = ReadBuf::new(&mut self.input[have..]);
        let outcome = ready!(Pin::new(&mut self.stream).poll_read(context, &mut buffer));
        let count = buffer.filled().len();
        self.filled = 0..have + count;
        if outcome.is_err() || count == 0 {
            let is_between = self.reader.is_between() && self.head.is_none() && have == 0;
            let end = match self.has_progress && is_between {
                true => PipelineEnd::Closed,
                false => PipelineEnd::Broken,
            };
            self.end = Some(end);
        } else {
            core.note_progress();
        }
        Poll::Ready(())
    }

    fn take_responses(&mut self, core: &Core, sink: &mut dyn ResponseSink<T>) {
        let input = std::mem::take(&mut self.input);
        while !matches!(self.end, Some(PipelineEnd::Closed | PipelineEnd::Broken)) {
            match self.reader.next(&input[self.filled.clone()]) {
                Ok((part, length)) => {
                    self.filled.start += length;
                    match part {
                        Some(part) => self.take_part(core, part, sink),
                        None => break,
                    }
                }
                Err(_) => self.end = Some(PipelineEnd::Broken),
            }
        }
        self.input = input;
    }

    fn take_part(&mut self, core: &Core, part: ResponsePart<'_>, sink: &mut dyn ResponseSink<T>) {
        let is_over = self.end == Some(PipelineEnd::Refused);
        let is_accepted = match (part, self.unanswered.front()) {
            (ResponsePart::Head(head), _) if head.status < 200 => {
                // Another head follows the end of this one.
                self.head = None;
                return;
            }
            (ResponsePart::Head(head), Some(first)) => {
                let is_accepted = is_over || {
                    core.options.traffic.add_request(first.began.elapsed());
                    sink.begin(&first.known, &head)
                };
                self.head = Some(head);
                is_accepted
            }
            (ResponsePart::Body(bytes), Some(first)) => is_over || sink.push(&first.known, bytes),
            (ResponsePart::End, Some(first)) => {
                let Some(head) = self.head.take() else {
                    return;
                };
                let is_accepted = is_over || sink.end(&first.known);
                self.end_response(&head, is_over, is_accepted);
                is_accepted
            }
            (_, None) => {
                self.end = Some(PipelineEnd::Broken);
                return;
            }
        };
        if !is_accepted {
            self.end.get_or_insert(PipelineEnd::Refused);
        }
    }

    fn end_response(&mut self, head: &ResponseHead, is_over: bool, is_accepted: bool) {
        if is_over || !is_accepted {
            self.dropped += 1;
        } else if let Some(first) = self.unanswered.pop_front() {
            self.bytes -= first.length;
            self.has_progress = true;
            self.left = head.left;
        }
        if head.closes {
            // The server reads nothing behind it.
            let end = match is_accepted {
                true => PipelineEnd::Closed,
                false => PipelineEnd::Refused,
            };
            self.end.get_or_insert(end);
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
