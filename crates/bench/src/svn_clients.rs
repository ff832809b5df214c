//! Many svn:// clients in one thread. They send what the stock client sends, and count the received bytes.
//!
//! A stock client needs more processor time than the server; a thousand of them would measure the machine. These
//! clients only look for the end of a response.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use rustix::event::Timespec;
use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};

/// One connection.
struct SvnClient {
    stream: TcpStream,
    /// The last received bytes, because the end of a response may arrive in pieces.
    tail: Vec<u8>,
    received: u64,
}

/// All clients.
pub struct SvnClients {
    clients: Vec<SvnClient>,
    hello: String,
}

/// The result of a request by all clients.
#[derive(Clone, Copy, Debug, Default)]
pub struct ResponseTotals {
    /// The seconds until the last response is complete.
    pub wall: f64,
    /// The number of clients with a complete response.
    pub completed: usize,
    /// The bytes of the shortest and the longest response.
    pub bytes: (u64, u64),
}

/// The end of the response to a greeting.
const WELCOME: &str = "mergeinfo ) ) ) ";
/// A request for the youngest revision, and the end of its response.
pub const LATEST: (&str, &str) = ("( get-latest-rev ( ) ) ", "( success ( ( ) 0: ) ) ( success ( ");
/// The end of an edit.
const TREE: &str = "( close-edit ( ) ) ";

impl SvnClients {
    /// Connects up to `count` clients, as many as possible within `limit`.
    pub fn connect(address: SocketAddr, url: &str, count: usize, limit: Duration) -> SvnClients {
        let end = Instant::now() + limit;
        let mut clients = Vec::new();
        while clients.len() < count && Instant::now() < end {
            let stream = TcpStream::connect_timeout(&address, Duration::from_secs(30));
            let Ok(stream) = stream.and_then(|s| s.set_nonblocking(true).map(|()| s)) else {
                break;
            };
            clients.push(SvnClient {
                stream,
                tail: Vec::new(),
                received: 0,
            });
        }
        let hello = format!(
            "( 2 ( edit-pipeline svndiff1 accepts-svndiff2 absent-entries depth mergeinfo log-revprops ) {}:{url} 10:sven-bench ( ) ) ( ANONYMOUS ( 0: ) ) ",
            url.len()
        );
        SvnClients { clients, hello }
    }

    /// Returns the number of clients.
    pub fn len(&self) -> usize {
        self.clients.len()
    }

    /// Sends the greeting and login of all clients.
    ///
    /// # Errors
    /// Errors of epoll.
    pub fn log_in(&mut self, limit: Duration) -> io::Result<ResponseTotals> {
        let hello = self.hello.clone();
        self.request((&hello, WELCOME), limit)
    }

    /// Logs in all clients, which at the same time request the tree at the URL in revision `rev`, as `svn export`
    /// does.
    ///
    /// # Errors
    /// Errors of epoll.
    pub fn export(&mut self, rev: u32, limit: Duration) -> io::Result<ResponseTotals> {
        let all = format!(
            "{}( update ( ( {rev} ) 0: true infinity false ) ) ( set-path ( 0: {rev} true ) ) ( finish-report ( ) ) ",
            self.hello
        );
        self.request((&all, TREE), limit)
    }

    /// Sends the same request from all clients. Waits until each has the end of the response or is disconnected, at
    /// most for `limit`.
    ///
    /// # Errors
    /// Errors of epoll.
    pub fn request(&mut self, request: (&str, &str), limit: Duration) -> io::Result<ResponseTotals> {
        let begun = Instant::now();
        let epoll = epoll::create(CreateFlags::CLOEXEC)?;
        for (id, client) in self.clients.iter_mut().enumerate() {
            client.tail.clear();
            client.received = 0;
            // The request fits into the send buffer. A closed connection is noticed when reading.
            _ = client.stream.write_all(request.0.as_bytes());
            epoll::add(
                &epoll,
                &client.stream,
                EventData::new_u64(id as u64),
                EventFlags::IN,
            )?;
        }
        let mut totals = ResponseTotals::default();
        let mut waiting = self.clients.len();
        let mut events = Vec::with_capacity(256);
        let mut piece = vec![0; 256 << 10];
        let mut sizes = Vec::with_capacity(waiting);
        while waiting > 0 && begun.elapsed() < limit {
            events.clear();
            let pause = Timespec {
                tv_sec: 1,
                tv_nsec: 0,
            };
            // The process may be stopped and continued.
            rustix::io::retry_on_intr(|| {
                epoll::wait(&epoll, rustix::buffer::spare_capacity(&mut events), Some(&pause))
            })?;
            for event in &events {
                let client = &mut self.clients[event.data.u64() as usize];
                match client.read_response(request.1.as_bytes(), &mut piece) {
                    Ok(false) => continue,
                    Ok(true) => sizes.push(client.received),
                    Err(_) => {}
                }
                epoll::delete(&epoll, &client.stream)?;
                waiting -= 1;
            }
        }
        totals.wall = begun.elapsed().as_secs_f64();
        totals.completed = sizes.len();
        let (low, high) = (sizes.iter().min(), sizes.iter().max());
        totals.bytes = (low.copied().unwrap_or(0), high.copied().unwrap_or(0));
        Ok(totals)
    }
}

impl SvnClient {
    /// Reads available bytes; true if `end` has arrived.
    fn read_response(&mut self, end: &[u8], piece: &mut [u8]) -> io::Result<bool> {
        match self.stream.read(piece) {
            Ok(0) => Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(len) => {
                self.received += len as u64;
                self.tail.extend_from_slice(&piece[..len]);
                let keep = self.tail.len().min(4 * end.len());
                self.tail.drain(..self.tail.len() - keep);
                Ok(self.tail.windows(end.len()).any(|w| w == end))
            }
            Err(e) if matches!(e.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => Ok(false),
            Err(e) => Err(e),
        }
    }
}
