//! A cheap HTTP client: it sends requests that were written beforehand, and discards the responses.
//!
//! Most of the time of a cached response is the stock client's own, and `curl` spends more on a request than the servers do: with
//! them no server can look twice as fast as another. This client is a thread that sends the next request of a list on any
//! connection whose response is complete, and counts. All servers get the same list. The client is a process of its own (`bench
//! ask`), so that the clients of a server are always other processes.
//!
//! A response without success, or a connection that ends, is an error: a server must not be fast by refusing.

use std::fs;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};

/// What to ask, and whom.
#[derive(Args)]
pub struct Options {
    /// The server
    address: SocketAddr,
    /// The requests, each behind a line with its length in bytes
    questions: PathBuf,
    /// How many connections share them
    #[arg(long, default_value_t = 1)]
    connections: usize,
    /// How often the whole list is asked
    #[arg(long, default_value_t = 1)]
    rounds: usize,
}

/// Requests, each as it goes over the wire.
#[derive(Default)]
pub struct Questions(Vec<Vec<u8>>);

impl Questions {
    /// Adds one of `method` for `path` at `host`, with `headers` and a body.
    pub fn add(&mut self, method: &str, host: SocketAddr, path: &str, headers: &str, body: &str) {
        let length = match body.len() {
            0 => String::new(),
            length => format!("Content-Length: {length}\r\n"),
        };
        let text = format!("{method} {path} HTTP/1.1\r\nHost: {host}\r\n{headers}{length}\r\n{body}");
        self.0.push(text.into_bytes());
    }

    /// As a file that `bench ask` reads.
    pub fn file(&self) -> Vec<u8> {
        let mut file = Vec::new();
        for question in &self.0 {
            file.extend_from_slice(format!("{}\n", question.len()).as_bytes());
            file.extend_from_slice(question);
        }
        file
    }

    fn read(mut file: &[u8]) -> Option<Questions> {
        let mut questions = Questions::default();
        while !file.is_empty() {
            let end = file.iter().position(|b| *b == b'\n')?;
            let length = std::str::from_utf8(&file[..end]).ok()?.parse().ok()?;
            let (question, rest) = file[end + 1..].split_at_checked(length)?;
            questions.0.push(question.to_vec());
            file = rest;
        }
        Some(questions)
    }
}

/// Asks everything and prints how many answers came and how long they were.
///
/// # Errors
/// The system's; an answer that is no success.
pub fn main(options: &Options) -> Result<(), String> {
    let named = |e: &dyn std::fmt::Display| format!("{}: {e}", options.questions.display());
    let file = fs::read(&options.questions).map_err(|e| named(&e))?;
    let questions = Questions::read(&file).ok_or_else(|| named(&"not a list of questions"))?;
    let mut list = questions.0.iter().cycle();
    let all = questions.0.len() * options.rounds;
    let (answers, bytes) = ask(options, list.by_ref().take(all).map(Vec::as_slice))?;
    println!("{answers} answers, {bytes} bytes");
    Ok(())
}

fn ask<'a>(options: &Options, mut questions: impl Iterator<Item = &'a [u8]>) -> Result<(usize, u64), String> {
    let failed = |e: io::Error| format!("{}: {e}", options.address);
    let epoll = epoll::create(CreateFlags::CLOEXEC).map_err(|e| failed(e.into()))?;
    let mut peers = Vec::new();
    for id in 0..options.connections {
        let stream = TcpStream::connect_timeout(&options.address, Duration::from_secs(30)).map_err(failed)?;
        stream.set_nodelay(true).map_err(failed)?;
        stream.set_nonblocking(true).map_err(failed)?;
        epoll::add(&epoll, &stream, EventData::new_u64(id as u64), EventFlags::IN)
            .map_err(|e| failed(e.into()))?;
        peers.push(Peer {
            stream,
            answer: Answer::new(),
            bytes: 0,
        });
    }
    let mut waiting = 0;
    for peer in &mut peers {
        waiting += usize::from(peer.ask(questions.next()).map_err(failed)?);
    }
    let (mut answers, mut events) = (0, Vec::with_capacity(256));
    let mut piece = vec![0; 256 << 10];
    while waiting > 0 {
        events.clear();
        rustix::io::retry_on_intr(|| epoll::wait(&epoll, rustix::buffer::spare_capacity(&mut events), None))
            .map_err(|e| failed(e.into()))?;
        for event in &events {
            let peer = &mut peers[event.data.u64() as usize];
            if !peer.hear(&mut piece).map_err(failed)? {
                continue;
            }
            answers += 1;
            waiting -= usize::from(!peer.ask(questions.next()).map_err(failed)?);
        }
    }
    Ok((answers, peers.iter().map(|peer| peer.bytes).sum()))
}

/// A connection.
struct Peer {
    stream: TcpStream,
    answer: Answer,
    bytes: u64,
}

impl Peer {
    /// Sends a question, if there is another.
    fn ask(&mut self, question: Option<&[u8]>) -> io::Result<bool> {
        let Some(question) = question else {
            return Ok(false);
        };
        // Questions are short and the one before has been answered: the system's buffer holds it.
        (&self.stream).write_all(question)?;
        Ok(true)
    }

    /// Reads what is there; true if that ended an answer.
    fn hear(&mut self, piece: &mut [u8]) -> io::Result<bool> {
        match self.stream.read(piece) {
            Ok(0) => Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(length) => {
                self.bytes += length as u64;
                let ended = self.answer.take(&piece[..length]);
                ended.map_err(|what| io::Error::new(io::ErrorKind::InvalidData, what))
            }
            Err(e) if matches!(e.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => Ok(false),
            Err(e) => Err(e),
        }
    }
}

/// Where in an answer a connection is.
enum Answer {
    /// In its head, of which this has come.
    Head(Vec<u8>),
    /// In a body of known length: so many bytes are missing.
    Body(u64),
    /// Before or in the line that says how long the next chunk is.
    Size(Vec<u8>),
    /// In a chunk: so many bytes are missing, its line end among them.
    Chunk(u64),
    /// In the empty line behind the last chunk.
    Last(usize),
}

impl Answer {
    fn new() -> Answer {
        Answer::Head(Vec::new())
    }

    /// Goes on by what has come; true if an answer has ended with it.
    fn take(&mut self, mut bytes: &[u8]) -> Result<bool, String> {
        while !bytes.is_empty() {
            let (used, next) = match self {
                Answer::Head(head) => {
                    let before = head.len();
                    head.extend_from_slice(bytes);
                    let Some((length, next)) = read_head(head)? else {
                        return Ok(false);
                    };
                    (length - before, next)
                }
                Answer::Body(left) => {
                    let used = (*left).min(bytes.len() as u64);
                    (used as usize, Answer::Body(*left - used))
                }
                Answer::Size(line) => {
                    let before = line.len();
                    line.extend_from_slice(bytes);
                    match httparse::parse_chunk_size(line) {
                        Ok(httparse::Status::Partial) => return Ok(false),
                        Ok(httparse::Status::Complete((used, 0))) => (used - before, Answer::Last(2)),
                        Ok(httparse::Status::Complete((used, length))) => {
                            (used - before, Answer::Chunk(length + 2))
                        }
                        Err(_) => return Err("a chunk without a length".to_owned()),
                    }
                }
                Answer::Chunk(left) => {
                    let used = (*left).min(bytes.len() as u64);
                    let next = match *left - used {
                        0 => Answer::Size(Vec::new()),
                        left => Answer::Chunk(left),
                    };
                    (used as usize, next)
                }
                Answer::Last(left) => {
                    let used = (*left).min(bytes.len());
                    (used, Answer::Last(*left - used))
                }
            };
            *self = next;
            bytes = &bytes[used..];
            if matches!(self, Answer::Body(0) | Answer::Last(0)) {
                *self = Answer::new();
                // A server does not respond to a request that was not sent.
                return match bytes {
                    [] => Ok(true),
                    _ => Err("an answer goes on behind its end".to_owned()),
                };
            }
        }
        Ok(false)
    }
}

/// The length of a head and what comes behind it; none if it has not come whole.
fn read_head(bytes: &[u8]) -> Result<Option<(usize, Answer)>, String> {
    let mut lines = [httparse::EMPTY_HEADER; 64];
    let mut head = httparse::Response::new(&mut lines);
    let httparse::Status::Complete(length) =
        head.parse(bytes).map_err(|e| format!("an answer's head: {e}"))?
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
        return Ok(Some((length, Answer::Size(Vec::new()))));
    }
    match value("content-length").and_then(|text| text.parse().ok()) {
        Some(body) => Ok(Some((length, Answer::Body(body)))),
        None => Err("an answer without a length".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many answers end in `bytes` that come in pieces of `size`.
    fn count(bytes: &[u8], size: usize) -> Result<usize, String> {
        let mut answer = Answer::new();
        let ends = bytes.chunks(size).map(|piece| answer.take(piece));
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
        let mut questions = Questions::default();
        let host = SocketAddr::from(([127, 0, 0, 1], 80));
        questions.add("GET", host, "/a", "", "");
        questions.add("REPORT", host, "/b", "X: y\r\n", "two\nlines");
        let again = Questions::read(&questions.file()).map(|read| read.0);
        assert_eq!(again, Some(questions.0));
        assert!(Questions::read(b"9\nabc").is_none());
    }
}
