//! A connection: bytes in and out, whole messages, limits.
//!
//! Output gathers in a buffer and leaves when it is large enough or when we are about to wait for the peer. Input is read
//! in pieces that fit what is expected, never much more than has come already: what is only announced costs nothing.
//! Neither buffer exists while nothing is said.
//!
//! Once something went wrong with the bytes themselves (the peer is gone, stalls, talks nonsense, or says more than it may)
//! the connection is *lost*: every further call fails with the same error and nothing more is sent.

use std::io;
use std::time::Duration;

use base::{Code, Error, Result};
use wire::svn::response::Response;
use wire::svn::{Item, Outlet, Scanner};

use crate::config::Options;
use crate::net::QuotaShare;
use crate::net::Stream;
use crate::net::{FAST_NETWORK, PeerSpeed};

/// Input up to this size is not counted as memory. Beyond, what is made of a message may need a few times its bytes.
const UNCOUNTED: usize = 64 << 10;
const FACTOR: u64 = 4;
/// Output of this size is sent.
const FLUSH_AT: usize = 64 << 10;
/// Buffers larger than this are not kept from one command to the next.
const KEEP: usize = 256 << 10;
/// Smallest and largest piece that is read at once; the largest only by a message that is as long already.
const READ: std::ops::Range<usize> = (16 << 10)..(1 << 20);
/// The largest piece that is read at once of what is only announced.
const UNSEEN: usize = 128 << 10;

pub(crate) struct SvnConnection {
    stream: Stream,
    pace: PeerSpeed,
    /// Bytes received; those before `start` are done with.
    input: Vec<u8>,
    start: usize,
    scanner: Scanner,
    /// Length of the message at `start`, if all of it is there.
    whole: Option<usize>,
    output: Vec<u8>,
    /// Bytes sent since the command began.
    sent: u64,
    /// Bytes received since somebody asked.
    received: u64,
    max_request: u64,
    /// As `max_request`, for one message.
    max_next: Option<u64>,
    max_response: u64,
    /// What `input` counts of the memory for requests.
    memory: QuotaShare,
    lost: Option<Error>,
}

impl SvnConnection {
    pub(crate) fn new(stream: Stream, options: &Options, memory: QuotaShare) -> SvnConnection {
        let limit = |bytes| if bytes == 0 { u64::MAX } else { bytes };
        let (max_request, max_response) = (options.max_request, options.max_response);
        // What is behind a tunnel is a network, whatever our end of it takes.
        let is_slow = options.always_compress || !stream.is_tcp();
        SvnConnection {
            stream,
            pace: PeerSpeed::new(is_slow, FAST_NETWORK),
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
            memory,
            lost: None,
        }
    }

    pub(crate) fn stream(&self) -> &Stream {
        &self.stream
    }

    /// The next message may have no more than so many bytes.
    pub(crate) fn limit_next_message(&mut self, bytes: u64) {
        self.max_next = Some(bytes.min(self.max_request));
    }

    /// How many bytes were received since this was asked last, and how many the command has made so far.
    pub(crate) fn moved(&mut self) -> (u64, u64) {
        let sent = self.sent.saturating_add(self.output.len() as u64);
        (std::mem::take(&mut self.received), sent)
    }

    /// Why the connection cannot go on, if so.
    pub(crate) fn lost(&self) -> Option<&Error> {
        self.lost.as_ref()
    }

    /// Marks the connection lost.
    pub(crate) fn lose(&mut self, error: Error) -> Error {
        self.lost.get_or_insert(error).clone()
    }

    /// The output buffer.
    pub(crate) fn out(&mut self) -> &mut Vec<u8> {
        &mut self.output
    }

    /// A command has ended: its answer leaves, large buffers are let go.
    pub(crate) fn end_command(&mut self) -> Result<()> {
        self.flush()?;
        self.sent = 0;
        self.pace.pause();
        if self.output.capacity() > KEEP {
            self.output = Vec::new();
        }
        Ok(())
    }

    /// True if part of another message has been received already.
    pub(crate) fn has_input(&self) -> bool {
        self.start < self.input.len()
    }

    /// Sends everything and waits for a whole message (or the end); false if the peer says nothing for `patience`, or not
    /// yet all. Then the buffers hold no more than what has come.
    pub(crate) fn await_message(&mut self, patience: Duration) -> Result<bool> {
        while patience < Duration::MAX && !self.scan()? {
            let patience = if self.has_input() {
                Duration::ZERO
            } else {
                patience
            };
            if !self.wait(patience)? {
                self.rest();
                return Ok(false);
            }
            if !self.fill(true)? {
                // Whoever reads the message finds the same.
                return Ok(true);
            }
        }
        Ok(true)
    }

    fn rest(&mut self) {
        self.input.drain(..self.start);
        self.start = 0;
        self.input.shrink_to_fit();
        // It is not more than before.
        _ = self.count_input();
        if self.output.is_empty() {
            self.output = Vec::new();
        }
    }

    /// Counts what `input` holds of the memory for requests.
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

    fn wait(&mut self, patience: Duration) -> Result<bool> {
        self.flush()?;
        let heard = self.stream.wait_readable(patience);
        heard.map_err(|e| self.lose(io_error(&e, "Can't poll connection")))
    }

    /// Sends everything.
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
        self.pace.begin();
        let result = self.stream.write_all(&self.output);
        if let Ok(waited) = result {
            self.pace.sent(self.output.len(), waited);
        }
        self.output.clear();
        match result {
            Ok(_) => Ok(()),
            Err(e) => Err(self.lose(io_error(&e, "Can't write to connection"))),
        }
    }

    /// Sends what has gathered if it is enough.
    pub(crate) fn spill(&mut self) -> Result<()> {
        if self.output.len() >= FLUSH_AT {
            self.flush()?;
        }
        Ok(())
    }

    /// The next message, whose bytes stay until the next call.
    ///
    /// # Errors
    /// If the connection is lost; `RA_SVN_CONNECTION_CLOSED` if the peer has gone.
    pub(crate) fn receive(&mut self) -> Result<Item<'_>> {
        match self.receive_bytes(false)? {
            Some((start, end)) => self.item(start, end),
            None => Err(self.lose(Error::bare(Code::RA_SVN_CONNECTION_CLOSED))),
        }
    }

    /// The next message, however long it takes the peer to begin with it.
    ///
    /// # Errors
    /// If the connection is lost; `RA_SVN_CONNECTION_CLOSED` if the peer has gone.
    pub(crate) fn receive_patiently(&mut self) -> Result<Item<'_>> {
        match self.receive_bytes(true)? {
            Some((start, end)) => self.item(start, end),
            None => Err(self.lose(Error::bare(Code::RA_SVN_CONNECTION_CLOSED))),
        }
    }

    /// The next message, or `None` if the peer has gone before its first byte. Waits as long as it takes.
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
        // What the scanner has passed parses.
        Item::parse(&self.input[start..end]).map_err(Error::from)
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

    /// True if a whole message is there.
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

    /// Reads some more bytes; false at the end.
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
                // The peer has nothing to say between two commands; that is its right.
                Err(e) if idle && have == 0 && is_timeout(&e) => {}
                result => break result,
            }
        };
        let came = *result.as_ref().unwrap_or(&0);
        self.received += came as u64;
        self.input.truncate(have + came);
        self.count_input()?;
        match result {
            Ok(len) => Ok(len > 0),
            Err(e) => Err(self.lose(io_error(&e, "Can't read from connection"))),
        }
    }
}

impl Outlet for SvnConnection {
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
        self.pace.is_slow()
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

/// The peer neither says nor takes what it should.
pub(crate) fn stalled(what: &str) -> Error {
    Error::new(Code::RA_SVN_IO_ERROR, format!("{what}: the peer stalls"))
}
