//! Many svn:// clients in one thread: they say what the stock client says, and count what they hear.
//!
//! A real client costs far more than its server; a thousand of them would measure this machine. These only look for the
//! end of an answer.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use rustix::event::Timespec;
use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};

/// One connection.
struct Peer {
    stream: TcpStream,
    /// The last bytes heard: an answer's end may come in pieces.
    tail: Vec<u8>,
    heard: u64,
}

/// All connections.
pub struct Crowd {
    peers: Vec<Peer>,
    hello: String,
}

/// How a question to everybody went.
#[derive(Clone, Copy, Debug, Default)]
pub struct Answers {
    /// Seconds until the last answer.
    pub wall: f64,
    /// Clients that got theirs.
    pub answered: usize,
    /// Bytes of the shortest and the longest answer.
    pub bytes: (u64, u64),
}

/// What ends the answer to a greeting.
const WELCOME: &str = "mergeinfo ) ) ) ";
/// Asks for the youngest revision.
pub const LATEST: (&str, &str) = ("( get-latest-rev ( ) ) ", "( success ( ( ) 0: ) ) ( success ( ");
/// What ends a tree.
const TREE: &str = "( close-edit ( ) ) ";

impl Crowd {
    /// Connects `count` clients; those that can't are missing.
    pub fn connect(address: SocketAddr, url: &str, count: usize, limit: Duration) -> Crowd {
        let end = Instant::now() + limit;
        let mut peers = Vec::new();
        while peers.len() < count && Instant::now() < end {
            let stream = TcpStream::connect_timeout(&address, Duration::from_secs(30));
            let Ok(stream) = stream.and_then(|s| s.set_nonblocking(true).map(|()| s)) else {
                break;
            };
            peers.push(Peer {
                stream,
                tail: Vec::new(),
                heard: 0,
            });
        }
        let hello = format!(
            "( 2 ( edit-pipeline svndiff1 accepts-svndiff2 absent-entries depth mergeinfo log-revprops ) {}:{url} 10:sven-bench ( ) ) ( ANONYMOUS ( 0: ) ) ",
            url.len()
        );
        Crowd { peers, hello }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.peers.len()
    }

    /// Introduces everybody.
    ///
    /// # Errors
    /// The system's.
    pub fn greet(&mut self, limit: Duration) -> io::Result<Answers> {
        let hello = self.hello.clone();
        self.ask((&hello, WELCOME), limit)
    }

    /// Introduces everybody, who ask at once for the tree at the URL in revision `rev`, as `svn export` does.
    ///
    /// # Errors
    /// The system's.
    pub fn export(&mut self, rev: u32, limit: Duration) -> io::Result<Answers> {
        let all = format!(
            "{}( update ( ( {rev} ) 0: true infinity false ) ) ( set-path ( 0: {rev} true ) ) ( finish-report ( ) ) ",
            self.hello
        );
        self.ask((&all, TREE), limit)
    }

    /// Everybody asks the same; waits until everybody has heard the end of the answer, or hung up, or for `limit`.
    ///
    /// # Errors
    /// The system's.
    pub fn ask(&mut self, question: (&str, &str), limit: Duration) -> io::Result<Answers> {
        let begun = Instant::now();
        let epoll = epoll::create(CreateFlags::CLOEXEC)?;
        for (id, peer) in self.peers.iter_mut().enumerate() {
            peer.tail.clear();
            peer.heard = 0;
            // It fits into the system's buffer; a peer that is gone is noticed by listening.
            _ = peer.stream.write_all(question.0.as_bytes());
            epoll::add(
                &epoll,
                &peer.stream,
                EventData::new_u64(id as u64),
                EventFlags::IN,
            )?;
        }
        let mut answers = Answers::default();
        let mut waiting = self.peers.len();
        let mut events = Vec::with_capacity(256);
        let mut piece = vec![0; 256 << 10];
        let mut sizes = Vec::with_capacity(waiting);
        while waiting > 0 && begun.elapsed() < limit {
            events.clear();
            let pause = Timespec {
                tv_sec: 1,
                tv_nsec: 0,
            };
            // Someone may stop us for a while and let us go on.
            rustix::io::retry_on_intr(|| {
                epoll::wait(&epoll, rustix::buffer::spare_capacity(&mut events), Some(&pause))
            })?;
            for event in &events {
                let peer = &mut self.peers[event.data.u64() as usize];
                match peer.hear(question.1.as_bytes(), &mut piece) {
                    Ok(false) => continue,
                    Ok(true) => sizes.push(peer.heard),
                    Err(_) => {}
                }
                epoll::delete(&epoll, &peer.stream)?;
                waiting -= 1;
            }
        }
        answers.wall = begun.elapsed().as_secs_f64();
        answers.answered = sizes.len();
        let (low, high) = (sizes.iter().min(), sizes.iter().max());
        answers.bytes = (low.copied().unwrap_or(0), high.copied().unwrap_or(0));
        Ok(answers)
    }
}

impl Peer {
    /// Reads what is there; true if `end` has come.
    fn hear(&mut self, end: &[u8], piece: &mut [u8]) -> io::Result<bool> {
        match self.stream.read(piece) {
            Ok(0) => Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(len) => {
                self.heard += len as u64;
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
