//! The connection of a session: buffers, whole messages, limits.
//!
//! Output gathers in a buffer. It is sent when it is large enough, or when the session is about to wait for its peer. Input is
//! read in pieces of the expected size, but not much longer than what has arrived: an announced length alone costs no memory.
//! An idle connection has no buffers.
//!
//! After an error of the byte stream itself (the peer has gone, stalls, sends malformed messages or exceeds a limit) the connection
//! is *lost*: every further call fails with the same error, and nothing more is sent.

use std::io;
use std::time::Duration;

use base::{Code, Error, Result};
use wire::sasl::layer::Layer;
use wire::svn::handshake::AuthRequest;
use wire::svn::response::Response;
use wire::svn::{Item, MessageSink, Scanner, Writer};

use crate::config::Options;
use crate::net::QuotaShare;
use crate::net::Stream;
use crate::net::{FAST_NETWORK, PeerSpeed};

/// Input up to this size, in bytes, is not counted as memory. A parsed message may need a few times its bytes.
const UNCOUNTED: usize = 64 << 10;
const FACTOR: u64 = 4;
/// Output of this size, in bytes, is sent.
const FLUSH_AT: usize = 64 << 10;
/// Larger buffers, in bytes, are freed between commands.
const KEEP: usize = 256 << 10;
/// The sizes of one read, in bytes. The largest only for a message of which as much has arrived.
const READ: std::ops::Range<usize> = (16 << 10)..(1 << 20);
/// The largest read for a message of which less has arrived.
const UNSEEN: usize = 128 << 10;

/// The stream of a session with its buffers.
pub(crate) struct SvnConnection {
    stream: Stream,
    speed: PeerSpeed,
    /// Received bytes. Those before `start` have been consumed.
    input: Vec<u8>,
    start: usize,
    scanner: Scanner,
    /// The length of the message at `start`, if all of it has arrived.
    whole: Option<usize>,
    output: Vec<u8>,
    /// Bytes sent since the command began.
    sent: u64,
    /// Bytes received since the last [`SvnConnection::take_counts`].
    received: u64,
    max_request: u64,
    /// As `max_request`, for the next message.
    max_next: Option<u64>,
    max_response: u64,
    /// Protects all bytes in both directions, once the peers have agreed on it.
    layer: Option<Box<Layer>>,
    /// The share of the memory for requests that `input` takes.
    memory: QuotaShare,
    lost: Option<Error>,
}

impl SvnConnection {
    /// Returns a connection without buffers.
    pub(crate) fn new(stream: Stream, options: &Options, memory: QuotaShare) -> SvnConnection {
        let limit = |bytes| if bytes == 0 { u64::MAX } else { bytes };
        let (max_request, max_response) = (options.max_request, options.max_response);
        // Behind a tunnel is a network, however fast our end of the tunnel reads.
        let is_slow = options.always_compress || !stream.is_tcp();
        SvnConnection {
            stream,
            speed: PeerSpeed::new(is_slow, FAST_NETWORK),
            input: Vec::new(),
            start: 0,
            scanner: Scanner::default(),
            whole: None,
            output: Vec::new(),
            sent: 0,
            received: 0,
            max_request: limit(max_request),
            max_next: None,
            max_response: limit(max_response),
            layer: None,
            memory,
            lost: None,
        }
    }

    /// Returns the stream.
    pub(crate) fn stream(&self) -> &Stream {
        &self.stream
    }

    /// Sends the output, then protects everything that follows in both directions.
    ///
    /// # Errors
    /// If the connection is lost, also by bytes without protection that have arrived already.
    pub(crate) fn protect(&mut self, layer: Box<Layer>) -> Result<()> {
        self.flush()?;
        self.layer = Some(layer);
        self.whole = None;
        self.scanner = Scanner::default();
        self.open_input(self.start)
    }

    /// Replaces protected bytes, from byte `start` of the input on, by their text.
    fn open_input(&mut self, start: usize) -> Result<()> {
        match &mut self.layer {
            None => Ok(()),
            Some(layer) => layer.open_input(&mut self.input, start).map_err(|_| {
                let message = "The peer sent bytes that are not protected as agreed by SASL";
                self.lose(Error::new(Code::RA_SVN_MALFORMED_DATA, message))
            }),
        }
    }

    /// Limits the length of the next message.
    pub(crate) fn limit_next_message(&mut self, bytes: u64) {
        self.max_next = Some(bytes.min(self.max_request));
    }

    /// Returns how many bytes were received since the last call, and how many the command has written so far.
    pub(crate) fn take_counts(&mut self) -> (u64, u64) {
        let sent = self.sent.saturating_add(self.output.len() as u64);
        (std::mem::take(&mut self.received), sent)
    }

    /// Returns the error of a lost connection.
    pub(crate) fn lost(&self) -> Option<&Error> {
        self.lost.as_ref()
    }

    /// Marks the connection as lost; returns its first error.
    pub(crate) fn lose(&mut self, error: Error) -> Error {
        self.lost.get_or_insert(error).clone()
    }

    /// Returns the output buffer.
    pub(crate) fn out(&mut self) -> &mut Vec<u8> {
        &mut self.output
    }

    /// Writes the authentication request that asks for nothing: every response begins with one.
    pub(crate) fn write_empty_auth_request(&mut self) {
        AuthRequest::write_trivial(&mut self.output);
    }

    /// Writes a successful response with parameters.
    pub(crate) fn success(&mut self, params: impl FnOnce(&mut Writer<'_>)) {
        let w = &mut Writer(&mut self.output);
        w.open().word("success").open();
        params(w);
        w.close().close();
    }

    /// Ends a command: sends its output and frees a large buffer.
    pub(crate) fn end_command(&mut self) -> Result<()> {
        self.flush()?;
        self.sent = 0;
        self.speed.pause();
        if self.output.capacity() > KEEP {
            self.output = Vec::new();
        }
        Ok(())
    }

    /// Returns whether bytes of another message have been received.
    pub(crate) fn has_input(&self) -> bool {
        self.start < self.input.len()
    }

    /// Sends the output and waits for a whole message or the end. Returns false if the peer sends nothing for `linger`, or only a part
    /// of a message; then the buffers hold no more than that.
    pub(crate) fn await_message(&mut self, linger: Duration) -> Result<bool> {
        while linger < Duration::MAX && !self.scan()? {
            let linger = if self.has_input() { Duration::ZERO } else { linger };
            if !self.wait(linger)? {
                self.shrink();
                return Ok(false);
            }
            if !self.fill(true)? {
                // The next read finds the end again.
                return Ok(true);
            }
        }
        Ok(true)
    }

    /// Frees what the buffers do not need.
    fn shrink(&mut self) {
        self.input.drain(..self.start);
        self.start = 0;
        self.input.shrink_to_fit();
        // The count does not grow, so this cannot fail.
        _ = self.count_input();
        if self.output.is_empty() {
            self.output = Vec::new();
        }
    }

    /// Updates the share of memory that `input` takes.
    fn count_input(&mut self) -> Result<()> {
        let bytes = match self.input.len() {
            0..=UNCOUNTED => 0,
            more => more as u64 * FACTOR,
        };
        if self.memory.set(bytes) {
            return Ok(());
        }
        let message = "Requests hold all the memory that they may: try again later";
        Err(self.lose(Error::new(Code::RA_SVN_REQUEST_SIZE, message)))
    }

    fn wait(&mut self, timeout: Duration) -> Result<bool> {
        self.flush()?;
        let is_readable = self.stream.wait_readable(timeout);
        is_readable.map_err(|e| self.lose(io_error(&e, "Can't poll connection")))
    }

    /// Sends the output.
    pub(crate) fn flush(&mut self) -> Result<()> {
        if let Some(error) = &self.lost {
            return Err(error.clone());
        }
        if self.output.is_empty() {
            return Ok(());
        }
        self.sent = self.sent.saturating_add(self.output.len() as u64);
        if self.sent > self.max_response {
            return Err(self.lose(Error::bare(Code::RA_SVN_RESPONSE_SIZE)));
        }
        if let Some(layer) = &mut self.layer {
            layer.seal_output(&mut self.output);
        }
        self.speed.begin();
        let result = self.stream.write_all(&self.output);
        if let Ok(waited) = result {
            self.speed.sent(self.output.len(), waited);
        }
        self.output.clear();
        match result {
            Ok(_) => Ok(()),
            Err(e) => Err(self.lose(io_error(&e, "Can't write to connection"))),
        }
    }

    /// Sends the output if it is long enough.
    pub(crate) fn spill(&mut self) -> Result<()> {
        if self.output.len() >= FLUSH_AT {
            self.flush()?;
        }
        Ok(())
    }

    /// Receives the next message.
    ///
    /// # Errors
    /// If the connection is lost; `RA_SVN_CONNECTION_CLOSED` if the peer has gone.
    pub(crate) fn receive(&mut self) -> Result<Item<'_>> {
        match self.receive_bytes(false)? {
            Some((start, end)) => self.item(start, end),
            None => Err(self.lose(Error::bare(Code::RA_SVN_CONNECTION_CLOSED))),
        }
    }

    /// As [`SvnConnection::receive`]; waits without limit for the first byte.
    ///
    /// # Errors
    /// If the connection is lost; `RA_SVN_CONNECTION_CLOSED` if the peer has gone.
    pub(crate) fn receive_patiently(&mut self) -> Result<Item<'_>> {
        match self.receive_bytes(true)? {
            Some((start, end)) => self.item(start, end),
            None => Err(self.lose(Error::bare(Code::RA_SVN_CONNECTION_CLOSED))),
        }
    }

    /// As [`SvnConnection::receive_patiently`]; returns `None` if the peer closes the connection before the first byte.
    ///
    /// # Errors
    /// If the connection is lost.
    pub(crate) fn receive_or_end(&mut self) -> Result<Option<Item<'_>>> {
        match self.receive_bytes(true)? {
            Some((start, end)) => self.item(start, end).map(Some),
            None => Ok(None),
        }
    }

    fn item(&self, start: usize, end: usize) -> Result<Item<'_>> {
        // The scanner has found a whole item.
        Item::of_message(&self.input[start..end]).map_err(Error::from)
    }

    fn receive_bytes(&mut self, idle: bool) -> Result<Option<(usize, usize)>> {
        while !self.scan()? {
            self.flush()?;
            if !self.fill(idle)? {
                return match self.has_input() {
                    true => Err(self.lose(Error::bare(Code::RA_SVN_CONNECTION_CLOSED))),
                    false => Ok(None),
                };
            }
        }
        let found = (self.start, self.start + self.whole.take().unwrap_or(0));
        self.start = found.1;
        self.max_next = None;
        Ok(Some(found))
    }

    /// Returns whether a whole message has been received.
    fn scan(&mut self) -> Result<bool> {
        if self.whole.is_some() || !self.has_input() {
            return Ok(self.whole.is_some());
        }
        let pending = &self.input[self.start..];
        let size = match self.scanner.scan(pending) {
            Err(what) => return Err(self.lose(what.into())),
            Ok(whole) => {
                self.whole = whole;
                whole.unwrap_or(pending.len())
            }
        };
        if size as u64 > self.max_next.unwrap_or(self.max_request) {
            return Err(self.lose(Error::bare(Code::RA_SVN_REQUEST_SIZE)));
        }
        Ok(self.whole.is_some())
    }

    /// Reads more bytes; returns false at the end.
    fn fill(&mut self, idle: bool) -> Result<bool> {
        if self.start > 0 {
            self.input.drain(..self.start);
            self.start = 0;
        }
        if self.input.is_empty() && self.input.capacity() > KEEP {
            self.input = Vec::new();
        }
        let wanted = usize::try_from(self.scanner.wanted()).unwrap_or(usize::MAX);
        let have = self.input.len();
        let most = have.clamp(UNSEEN, READ.end);
        self.input.resize(have + wanted.clamp(READ.start, most), 0);
        let result = loop {
            match self.stream.read(&mut self.input[have..]) {
                // Between two commands the peer may be silent.
                Err(e) if idle && have == 0 && is_timeout(&e) => {}
                result => break result,
            }
        };
        let received = *result.as_ref().unwrap_or(&0);
        self.received += received as u64;
        self.input.truncate(have + received);
        self.open_input(have)?;
        self.count_input()?;
        match result {
            Ok(len) => Ok(len > 0),
            Err(e) => Err(self.lose(io_error(&e, "Can't read from connection"))),
        }
    }
}

impl MessageSink for SvnConnection {
    fn buffer(&mut self) -> &mut Vec<u8> {
        &mut self.output
    }

    fn checkpoint(&mut self) -> Result<bool> {
        if self.output.len() < FLUSH_AT {
            return Ok(false);
        }
        self.flush()?;
        if self.has_input() {
            return Ok(true);
        }
        self.stream
            .wait_readable(Duration::ZERO)
            .map_err(|e| self.lose(io_error(&e, "Can't poll connection")))
    }

    fn is_slow(&self) -> bool {
        self.speed.is_slow()
    }

    fn answer(&mut self) -> Result<Result<()>> {
        let made = self.receive()?.list().and_then(Response::parse);
        match made {
            Ok(Response::Success(_)) => Ok(Ok(())),
            Ok(Response::Failure(error)) => Ok(Err(error)),
            Err(what) => Err(self.lose(what.into())),
        }
    }
}

fn is_timeout(e: &io::Error) -> bool {
    matches!(e.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut)
}

fn io_error(e: &io::Error, what: &str) -> Error {
    match e.kind() {
        io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionAborted => {
            Error::bare(Code::RA_SVN_CONNECTION_CLOSED)
        }
        _ if is_timeout(e) => stalled(what),
        _ => Error::os(e, what),
    }
}

/// Returns the error for a peer that neither sends nor reads.
pub(crate) fn stalled(what: &str) -> Error {
    Error::new(Code::RA_SVN_IO_ERROR, format!("{what}: the peer stalls"))
}
