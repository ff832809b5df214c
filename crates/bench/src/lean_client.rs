//! The lean client: an HTTP client that sends prepared requests and discards the responses.
//!
//! For cached responses the stock client needs more time than the server, and so does `curl`. With these clients no
//! server can be twice as fast as another. The lean client is one thread that sends the next request of a list on any
//! connection whose response is complete. All servers get the same list. It is a process of its own (`bench
//! send-requests`), so that the clients of a server are always other processes.
//!
//! A response that reports no success, or a connection that ends, is an error: a server must not be fast because it
//! refuses.

use std::fs;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};

/// The server and the requests.
#[derive(Args)]
pub struct LeanClientOptions {
    /// The server
    address: SocketAddr,
    /// The requests, each behind a line with its length in bytes
    requests: PathBuf,
    /// How many connections share the requests
    #[arg(long, default_value_t = 1)]
    connections: usize,
    /// How often the whole list is sent
    #[arg(long, default_value_t = 1)]
    rounds: usize,
}

/// A list of encoded requests.
#[derive(Default)]
pub struct RequestList(Vec<Vec<u8>>);

impl RequestList {
    /// Adds a request.
    pub fn add(&mut self, method: &str, host: SocketAddr, path: &str, headers: &str, body: &str) {
        let length = match body.len() {
            0 => String::new(),
            length => format!("Content-Length: {length}\r\n"),
        };
        let text = format!("{method} {path} HTTP/1.1\r\nHost: {host}\r\n{headers}{length}\r\n{body}");
        self.0.push(text.into_bytes());
    }

    /// Returns the list as a file for `bench send-requests`.
    pub fn file(&self) -> Vec<u8> {
        let mut file = Vec::new();
        for request in &self.0 {
            file.extend_from_slice(format!("{}\n", request.len()).as_bytes());
            file.extend_from_slice(request);
        }
        file
    }

    fn read(mut file: &[u8]) -> Option<RequestList> {
        let mut requests = RequestList::default();
        while !file.is_empty() {
            let end = file.iter().position(|b| *b == b'\n')?;
            let length = std::str::from_utf8(&file[..end]).ok()?.parse().ok()?;
            let (request, rest) = file[end + 1..].split_at_checked(length)?;
            requests.0.push(request.to_vec());
            file = rest;
        }
        Some(requests)
    }
}

/// Sends all requests and prints the number and the size of the responses.
///
/// # Errors
/// Errors of files and connections; a response that reports no success.
pub fn main(options: &LeanClientOptions) -> Result<(), String> {
    let named = |e: &dyn std::fmt::Display| format!("{}: {e}", options.requests.display());
    let file = fs::read(&options.requests).map_err(|e| named(&e))?;
    let requests = RequestList::read(&file).ok_or_else(|| named(&"not a list of requests"))?;
    let mut list = requests.0.iter().cycle();
    let all = requests.0.len() * options.rounds;
    let (responses, bytes) = send_all(options, list.by_ref().take(all).map(Vec::as_slice))?;
    println!("{responses} responses, {bytes} bytes");
    Ok(())
}

fn send_all<'a>(
    options: &LeanClientOptions,
    mut requests: impl Iterator<Item = &'a [u8]>,
) -> Result<(usize, u64), String> {
    let failed = |e: io::Error| format!("{}: {e}", options.address);
    let epoll = epoll::create(CreateFlags::CLOEXEC).map_err(|e| failed(e.into()))?;
    let mut connections = Vec::new();
    for id in 0..options.connections {
        let stream = TcpStream::connect_timeout(&options.address, Duration::from_secs(30)).map_err(failed)?;
        stream.set_nodelay(true).map_err(failed)?;
        stream.set_nonblocking(true).map_err(failed)?;
        epoll::add(&epoll, &stream, EventData::new_u64(id as u64), EventFlags::IN)
            .map_err(|e| failed(e.into()))?;
        connections.push(LeanConnection {
            stream,
            response: ResponseState::new(),
            bytes: 0,
        });
    }
    let mut waiting = 0;
    for connection in &mut connections {
        waiting += usize::from(connection.send(requests.next()).map_err(failed)?);
    }
    let (mut responses, mut events) = (0, Vec::with_capacity(256));
    let mut piece = vec![0; 256 << 10];
    while waiting > 0 {
        events.clear();
        rustix::io::retry_on_intr(|| epoll::wait(&epoll, rustix::buffer::spare_capacity(&mut events), None))
            .map_err(|e| failed(e.into()))?;
        for event in &events {
            let connection = &mut connections[event.data.u64() as usize];
            if !connection.read_response(&mut piece).map_err(failed)? {
                continue;
            }
            responses += 1;
            waiting -= usize::from(!connection.send(requests.next()).map_err(failed)?);
        }
    }
    Ok((
        responses,
        connections.iter().map(|connection| connection.bytes).sum(),
    ))
}

/// A connection.
struct LeanConnection {
    stream: TcpStream,
    response: ResponseState,
    bytes: u64,
}

impl LeanConnection {
    /// Sends a request, if there is another.
    fn send(&mut self, request: Option<&[u8]>) -> io::Result<bool> {
        let Some(request) = request else {
            return Ok(false);
        };
        // Requests are short and the one before is complete, so the send buffer has room.
        (&self.stream).write_all(request)?;
        Ok(true)
    }

    /// Reads available bytes; true if a response is complete.
    fn read_response(&mut self, piece: &mut [u8]) -> io::Result<bool> {
        match self.stream.read(piece) {
            Ok(0) => Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(length) => {
                self.bytes += length as u64;
                let ended = self.response.take(&piece[..length]);
                ended.map_err(|what| io::Error::new(io::ErrorKind::InvalidData, what))
            }
            Err(e) if matches!(e.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => Ok(false),
            Err(e) => Err(e),
        }
    }
}

/// The position in a response.
enum ResponseState {
    /// In the head; the bytes so far.
    Head(Vec<u8>),
    /// In a body of known length; the number of missing bytes.
    Body(u64),
    /// Before or in the size line of a chunk; the bytes so far.
    Size(Vec<u8>),
    /// In a chunk; the number of missing bytes, including its line end.
    Chunk(u64),
    /// In the empty line after the last chunk.
    Last(usize),
}

impl ResponseState {
    fn new() -> ResponseState {
        ResponseState::Head(Vec::new())
    }

    /// Processes received bytes; true if they complete a response.
    fn take(&mut self, mut bytes: &[u8]) -> Result<bool, String> {
        while !bytes.is_empty() {
            let (used, next) = match self {
                ResponseState::Head(head) => {
                    let before = head.len();
                    head.extend_from_slice(bytes);
                    let Some((length, next)) = read_head(head)? else {
                        return Ok(false);
                    };
                    (length - before, next)
                }
                ResponseState::Body(left) => {
                    let used = (*left).min(bytes.len() as u64);
                    (used as usize, ResponseState::Body(*left - used))
                }
                ResponseState::Size(line) => {
                    let before = line.len();
                    line.extend_from_slice(bytes);
                    match httparse::parse_chunk_size(line) {
                        Ok(httparse::Status::Partial) => return Ok(false),
                        Ok(httparse::Status::Complete((used, 0))) => (used - before, ResponseState::Last(2)),
                        Ok(httparse::Status::Complete((used, length))) => {
                            (used - before, ResponseState::Chunk(length + 2))
                        }
                        Err(_) => return Err("a chunk without a length".to_owned()),
                    }
                }
                ResponseState::Chunk(left) => {
                    let used = (*left).min(bytes.len() as u64);
                    let next = match *left - used {
                        0 => ResponseState::Size(Vec::new()),
                        left => ResponseState::Chunk(left),
                    };
                    (used as usize, next)
                }
                ResponseState::Last(left) => {
                    let used = (*left).min(bytes.len());
                    (used, ResponseState::Last(*left - used))
                }
            };
            *self = next;
            bytes = &bytes[used..];
            if matches!(self, ResponseState::Body(0) | ResponseState::Last(0)) {
                *self = ResponseState::new();
                // A server does not respond to a request that was not sent.
                return match bytes {
                    [] => Ok(true),
                    _ => Err("a response continues after its end".to_owned()),
                };
            }
        }
        Ok(false)
    }
}

/// Returns the length of a head and the state after it; `None` if the head is not complete.
fn read_head(bytes: &[u8]) -> Result<Option<(usize, ResponseState)>, String> {
    let mut lines = [httparse::EMPTY_HEADER; 64];
    let mut head = httparse::Response::new(&mut lines);
    let httparse::Status::Complete(length) =
        head.parse(bytes).map_err(|e| format!("a response's head: {e}"))?
    else {
        return Ok(None);
    };
    let code = head.code.unwrap_or(0);
    if !(200..300).contains(&code) {
        return Err(format!("answered with {code}"));
    }
    let value = |name: &str| {
        let line = head
            .headers
            .iter()
            .find(|line| line.name.eq_ignore_ascii_case(name));
        line.and_then(|line| std::str::from_utf8(line.value).ok())
    };
    if value("transfer-encoding").is_some() {
        return Ok(Some((length, ResponseState::Size(Vec::new()))));
    }
    match value("content-length").and_then(|text| text.parse().ok()) {
        Some(body) => Ok(Some((length, ResponseState::Body(body)))),
        None => Err("a response without a length".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the number of responses that end in `bytes`, received in pieces of `size`.
    fn count(bytes: &[u8], size: usize) -> Result<usize, String> {
        let mut response = ResponseState::new();
        let ends = bytes.chunks(size).map(|piece| response.take(piece));
        ends.map(|end| end.map(usize::from)).sum()
    }

    #[test]
    fn answers_end_where_they_say() {
        let whole = b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc";
        let chunks = b"HTTP/1.1 207 Multi\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n10;x=y\r\n0123456789abcdef\r\n0\r\n\r\n";
        let empty = b"HTTP/1.1 204 No\r\ncontent-length: 0\r\n\r\n";
        for bytes in [&whole[..], chunks, empty] {
            for size in 1..=bytes.len() {
                assert_eq!(count(bytes, size), Ok(1), "{size}");
                let less = &bytes[..bytes.len() - 1];
                assert_eq!(count(less, size), Ok(0), "{size}");
            }
        }
        let both = [&whole[..], chunks, empty].concat();
        assert_eq!(count(&both, 1), Ok(3));
        assert!(count(&both, 1000).is_err());
        assert!(count(b"HTTP/1.1 404 No\r\nContent-Length: 0\r\n\r\n", 100).is_err());
        assert!(count(b"HTTP/1.1 200 OK\r\n\r\n", 100).is_err());
    }

    #[test]
    fn questions_survive_their_file() {
        let mut requests = RequestList::default();
        let host = SocketAddr::from(([127, 0, 0, 1], 80));
        requests.add("GET", host, "/a", "", "");
        requests.add("REPORT", host, "/b", "X: y\r\n", "two\nlines");
        let again = RequestList::read(&requests.file()).map(|read| read.0);
        assert_eq!(again, Some(requests.0));
        assert!(RequestList::read(b"9\nabc").is_none());
    }
}
