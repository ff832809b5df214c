//! The connection of a session: the byte stream, its buffers, whole messages, limits.
//!
//! Output gathers in a buffer, which is sent when it is large enough or before the session waits for the server. Input is
//! held only until its message was read; an announced length costs no memory until the bytes arrive.
//!
//! After an error of the byte stream itself (the server has gone, is silent for too long, sends malformed messages) the
//! connection is *lost*: every further call fails with the same error.

use std::io;
use std::net::{TcpStream, ToSocketAddrs as _};
use std::ops::Range;
use std::os::fd::AsFd as _;
use std::time::{Duration, Instant};

use base::{Cancel, Code, Error, Result, Url};
use rustix::event::PollFlags;
use wire::sasl::layer::Layer;
use wire::svn::response::Response;
use wire::svn::{Item, MessageSink, Scanner, Tuple};

use super::tunnel::{self, Tunnel};
use crate::options::{Limits, OpenOptions};
use crate::traffic::Traffic;

/// Output of this size, in bytes, is sent.
const FLUSH_AT: usize = 64 << 10;
/// The sizes of one read, in bytes. The largest only for a message of which as much has arrived.
const READ: Range<usize> = (32 << 10)..(1 << 20);
/// Larger buffers, in bytes, are freed when they are empty.
const MOST_IDLE: usize = 1 << 20;
/// The time after which a wait looks at the cancellation flag.
const SLICE: Duration = Duration::from_millis(250);
/// The most bytes that a tunnel may print before the server's first message.
const MOST_GARBAGE: usize = 1 << 20;

/// The port of svn://.
pub(super) const PORT: u16 = 3690;

/// A connection to a server.
pub(super) struct Connection {
    stream: Stream,
    input: Vec<u8>,
    /// Where the next message begins in `input`.
    start: usize,
    scanner: Scanner,
    output: Vec<u8>,
    /// Protects all bytes in both directions, once the peers have agreed on it.
    layer: Option<Box<Layer>>,
    /// Bytes received so far.
    received: u64,
    limits: Limits,
    cancel: Cancel,
    lost: Option<Error>,
    traffic: Traffic,
    /// When output was sent that the server has not begun to answer.
    asked: Option<Instant>,
}

enum Stream {
    Tcp(TcpStream),
    Tunnel(Tunnel),
}

impl Connection {
    /// Connects to the server of a URL, directly or through a tunnel.
    ///
    /// # Errors
    /// 670002 for an unknown host; the system's; those of [`Tunnel::start`].
    pub(super) fn open(url: &Url, options: &OpenOptions) -> Result<Connection> {
        let is_tunnel = url.scheme() != "svn";
        let stream = match is_tunnel {
            true => Stream::Tunnel(Tunnel::start(url, &options.tunnels)?),
            false => Stream::Tcp(connect(url, options)?),
        };
        let mut connection = Connection {
            stream,
            input: Vec::new(),
            start: 0,
            scanner: Scanner::default(),
            output: Vec::new(),
            layer: None,
            received: 0,
            limits: options.limits,
            cancel: options.cancel.clone(),
            lost: None,
            traffic: options.traffic.clone(),
            asked: None,
        };
        if is_tunnel {
            connection.skip_garbage()?;
        }
        Ok(connection)
    }

    /// Skips what a tunnel prints before the server's first message: up to a parenthesis with whitespace behind it.
    fn skip_garbage(&mut self) -> Result<()> {
        loop {
            let begin = self
                .input
                .windows(2)
                .position(|two| matches!(two, b"( " | b"(\n"));
            if let Some(begin) = begin {
                self.start = begin;
                return Ok(());
            }
            if self.input.len() > MOST_GARBAGE {
                return Err(self.lose(Error::bare(Code::RA_SVN_MALFORMED_DATA)));
            }
            let filled = self.fill(READ.start);
            let hint = "To better debug SSH connection problems, remove the -q option from 'ssh' in the [tunnels] section of \
                        your Subversion configuration file.";
            match filled {
                Ok(0) => return Err(self.closed().context(hint)),
                Ok(_) => {}
                Err(error) => return Err(error.context(hint)),
            }
        }
    }

    /// Returns the error that made the connection unusable.
    pub(super) fn lost(&self) -> Option<&Error> {
        self.lost.as_ref()
    }

    /// Marks the connection as lost; returns its first error.
    pub(super) fn lose(&mut self, error: Error) -> Error {
        self.lost.get_or_insert(error).clone()
    }

    fn closed(&mut self) -> Error {
        self.lose(Error::bare(Code::RA_SVN_CONNECTION_CLOSED))
    }

    /// Returns the output buffer.
    pub(super) fn out(&mut self) -> &mut Vec<u8> {
        &mut self.output
    }

    /// Sends the output, then protects everything that follows in both directions.
    ///
    /// # Errors
    /// If the connection is lost, also by bytes without protection that have arrived already.
    pub(super) fn protect(&mut self, layer: Box<Layer>) -> Result<()> {
        self.flush()?;
        self.layer = Some(layer);
        self.scanner = Scanner::default();
        self.open_input(self.start)
    }

    /// Replaces protected bytes, from byte `start` of the input on, by their text.
    fn open_input(&mut self, start: usize) -> Result<()> {
        match &mut self.layer {
            None => Ok(()),
            Some(layer) => layer.open_input(&mut self.input, start).map_err(|_| {
                let message = "The server sent bytes that are not protected as agreed by SASL";
                self.lose(Error::new(Code::RA_SVN_MALFORMED_DATA, message))
            }),
        }
    }

    /// The number of bytes received so far.
    pub(super) fn received(&self) -> u64 {
        self.received
    }

    /// Sends the output if it is long enough.
    pub(super) fn spill(&mut self) -> Result<()> {
        match self.output.len() {
            0..FLUSH_AT => Ok(()),
            _ => self.flush(),
        }
    }

    /// Sends the output.
    ///
    /// # Errors
    /// If the connection is lost.
    pub(super) fn flush(&mut self) -> Result<()> {
        if let Some(error) = &self.lost {
            return Err(error.clone());
        }
        if let Some(layer) = &mut self.layer {
            layer.seal_output(&mut self.output);
        }
        let mut sent = 0;
        while sent < self.output.len() {
            let began = Instant::now();
            let count = loop {
                match self.stream.write(&self.output[sent..]) {
                    Ok(0) => return Err(self.closed()),
                    Ok(count) => break count,
                    Err(e) if is_wait(&e) => self.keep_waiting(began, "Can't write to connection")?,
                    Err(e) => return Err(self.broken(&e, "Can't write to connection")),
                }
            };
            sent += count;
        }
        if sent > 0 {
            self.stream.acknowledge_at_once();
            self.traffic.add_sent(sent);
            self.asked = Some(Instant::now());
        }
        self.output.clear();
        Ok(())
    }

    /// Sends the output and receives the next message.
    ///
    /// # Errors
    /// If the connection is lost; `RA_SVN_CONNECTION_CLOSED` if the server has gone.
    pub(super) fn receive(&mut self) -> Result<Item<'_>> {
        let message = self.receive_message()?;
        match Item::of_message(&self.input[message]) {
            Ok(item) => Ok(item),
            Err(what) => Err(self.lost.get_or_insert(what.into()).clone()),
        }
    }

    /// As [`Connection::receive`], for a message that is a list.
    ///
    /// # Errors
    /// As of [`Connection::receive`]; other messages are malformed.
    pub(super) fn receive_list(&mut self) -> Result<Tuple<'_>> {
        let message = self.receive_message()?;
        match Item::of_message(&self.input[message]).and_then(Item::list) {
            Ok(list) => Ok(list),
            Err(what) => Err(self.lost.get_or_insert(what.into()).clone()),
        }
    }

    /// Reads the next message with `read` if it is a list and all of it has been received. Returns `None` otherwise, and if `read` fails:
    /// then [`Connection::receive`] waits for the rest, or tells what is wrong.
    pub(super) fn read_received<T>(&mut self, read: impl FnOnce(&mut Tuple<'_>) -> Result<T>) -> Option<T> {
        if self.lost.is_some() {
            return None;
        }
        let (value, length) = Item::read_list(&self.input[self.start..], read)?;
        self.start += length;
        Some(value)
    }

    /// Returns where the next message is in `input`.
    fn receive_message(&mut self) -> Result<Range<usize>> {
        if let Some(error) = &self.lost {
            return Err(error.clone());
        }
        let length = loop {
            match self.scanner.scan(&self.input[self.start..]) {
                Ok(Some(length)) => break length,
                Ok(None) => {}
                Err(what) => return Err(self.lose(what.into())),
            }
            if self.input.len() - self.start > self.limits.message {
                let message = format!(
                    "A message of the server is longer than {} bytes",
                    self.limits.message
                );
                return Err(self.lose(Error::new(Code::RA_SVN_RESPONSE_SIZE, message)));
            }
            self.flush()?;
            let wanted = usize::try_from(self.scanner.wanted()).unwrap_or(usize::MAX);
            if self.fill(wanted)? == 0 {
                return Err(self.closed());
            }
        };
        let message = self.start..self.start + length;
        self.start = message.end;
        Ok(message)
    }

    /// Reads more bytes, and returns how many; 0 at the end.
    fn fill(&mut self, wanted: usize) -> Result<usize> {
        if let Some(error) = &self.lost {
            return Err(error.clone());
        }
        if self.start > 0 {
            self.input.drain(..self.start);
            self.start = 0;
        }
        if self.input.is_empty() && self.input.capacity() > MOST_IDLE {
            self.input = Vec::new();
        }
        let have = self.input.len();
        let most = have.clamp(READ.start, READ.end);
        self.input.resize(have + wanted.clamp(READ.start, most), 0);
        let began = Instant::now();
        let result = loop {
            match self.stream.read(&mut self.input[have..]) {
                Err(e) if is_wait(&e) => {
                    if let Err(error) = self.keep_waiting(began, "Can't read from connection") {
                        self.input.truncate(have);
                        return Err(error);
                    }
                }
                result => break result,
            }
        };
        let count = *result.as_ref().unwrap_or(&0);
        self.input.truncate(have + count);
        self.open_input(have)?;
        self.received += count as u64;
        self.traffic.add_received(count);
        if let Some(asked) = self.asked.take() {
            self.traffic.add_request(asked.elapsed());
        }
        match result {
            Ok(count) => Ok(count),
            Err(e) => Err(self.broken(&e, "Can't read from connection")),
        }
    }

    /// Returns an error if a wait that began at `began` must end.
    fn keep_waiting(&mut self, began: Instant, what: &str) -> Result<()> {
        if let Err(error) = self.cancel.check() {
            return Err(self.lose(error));
        }
        if began.elapsed() < self.limits.idle {
            return Ok(());
        }
        let seconds = self.limits.idle.as_secs();
        let message = format!("{what}: the server did not respond for {seconds} seconds");
        Err(self.lose(Error::new(Code::RA_SVN_IO_ERROR, message)))
    }

    fn broken(&mut self, e: &io::Error, what: &str) -> Error {
        let error = match e.kind() {
            io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionAborted => {
                Error::bare(Code::RA_SVN_CONNECTION_CLOSED)
            }
            _ => Error::os(e, what),
        };
        self.lose(error)
    }
}

impl MessageSink for Connection {
    fn buffer(&mut self) -> &mut Vec<u8> {
        &mut self.output
    }

    fn checkpoint(&mut self) -> Result<bool> {
        if self.output.len() < FLUSH_AT {
            return Ok(false);
        }
        self.flush()?;
        self.cancel.check()?;
        if self.start < self.input.len() {
            return Ok(true);
        }
        match self.stream.wait_readable(Duration::ZERO) {
            Ok(is_readable) => Ok(is_readable),
            Err(e) => Err(self.broken(&e, "Can't poll connection")),
        }
    }

    fn answer(&mut self) -> Result<Result<()>> {
        match self.receive()?.list().and_then(Response::parse) {
            Ok(Response::Success(_)) => Ok(Ok(())),
            Ok(Response::Failure(error)) => Ok(Err(error)),
            Err(what) => Err(self.lose(what.into())),
        }
    }
}

impl Stream {
    /// Reads; fails with `WouldBlock` after a while without bytes.
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Stream::Tcp(tcp) => io::Read::read(tcp, buffer),
            Stream::Tunnel(tunnel) => match tunnel.read(buffer) {
                Err(e) if e.kind() == io::ErrorKind::WouldBlock && tunnel.wait_readable(SLICE)? => {
                    tunnel.read(buffer)
                }
                result => result,
            },
        }
    }

    /// Writes; fails with `WouldBlock` after a while without progress.
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Stream::Tcp(tcp) => io::Write::write(tcp, bytes),
            Stream::Tunnel(tunnel) => match tunnel.write(bytes) {
                Err(e) if e.kind() == io::ErrorKind::WouldBlock && tunnel.wait_writable(SLICE)? => {
                    tunnel.write(bytes)
                }
                result => result,
            },
        }
    }

    /// Lets the system acknowledge what arrives when it was read. A server that writes small pieces, as Subversion's does, has its next one
    /// wait for that, and after a request the system delays it by 40 milliseconds otherwise.
    fn acknowledge_at_once(&self) {
        #[cfg(any(target_os = "linux", target_os = "android"))]
        if let Stream::Tcp(tcp) = self {
            // Without it the connection works too.
            _ = rustix::net::sockopt::set_tcp_quickack(tcp, true);
        }
    }

    fn wait_readable(&self, timeout: Duration) -> io::Result<bool> {
        match self {
            Stream::Tcp(tcp) => tunnel::wait(tcp.as_fd(), PollFlags::IN, timeout),
            Stream::Tunnel(tunnel) => tunnel.wait_readable(timeout),
        }
    }
}

/// Connects to the first address of the host that accepts.
fn connect(url: &Url, options: &OpenOptions) -> Result<TcpStream> {
    let host = url.host();
    let port = url.port_number()?.unwrap_or(PORT);
    let unknown = || Error::new(UNKNOWN_HOST, format!("Unknown hostname '{host}'"));
    if host.is_empty() {
        return Err(unknown());
    }
    let addresses = (host, port).to_socket_addrs().map_err(|_| unknown())?;
    let mut failed = unknown();
    for address in addresses {
        options.cancel.check()?;
        let connected = TcpStream::connect_timeout(&address, options.limits.connect).and_then(|tcp| {
            tcp.set_nodelay(true)?;
            tcp.set_read_timeout(Some(SLICE))?;
            tcp.set_write_timeout(Some(SLICE))?;
            socket2::SockRef::from(&tcp).set_keepalive(true)?;
            Ok(tcp)
        });
        match connected {
            Ok(tcp) => return Ok(tcp),
            Err(e) => failed = Error::os(&e, &format!("Can't connect to host '{host}'")),
        }
    }
    Err(failed)
}

/// The number of APR's error for a host name without an address.
const UNKNOWN_HOST: Code = Code(670_002);

fn is_wait(e: &io::Error) -> bool {
    use io::ErrorKind::{Interrupted, TimedOut, WouldBlock};
    matches!(e.kind(), Interrupted | TimedOut | WouldBlock)
}
