//! The two things a conversation runs over: a TCP connection, or standard input and output.
//!
//! Sockets never block a thread by themselves: what cannot be read or written at once is waited for here. A thread that
//! has waited for a while marks itself as blocked, so that another may run in its place ([`ThreadPool::block`]): peers that are
//! slow cost a thread each, but not the threads of others.
//!
//! A peer *stalls* if it neither says what it began to say nor takes what it is sent for longer than it may. Whether it
//! takes something is seen in what its system acknowledges, which is far finer than what we can write anew: a reader of
//! one byte a second frees space for us once in days, its acknowledgements come with each window that it opens.

use std::io::{self, Read, Write};
use std::net::{IpAddr, Ipv4Addr, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use repos::hooks::HookWait;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::shares::Share;
use crate::thread_pool::{Blocking, ThreadPool};

/// How long a thread waits for its peer before another may take its place.
const SHORT: Duration = Duration::from_millis(50);
/// How long a thread may wait for its peer to read where as many threads as may wait already wait for peers of its network.
/// Clients behind a slow network that read all the time are waited for less.
const READER: Duration = Duration::from_secs(1);
/// The same for a peer to write.
const WRITER: Duration = Duration::from_millis(200);
/// How long a peer may take nothing before we begin to look whether it reads at all.
const SLOW: Duration = Duration::from_secs(60);

/// A peer.
#[derive(Debug)]
pub enum Stream {
    /// A connection.
    Tcp(Tcp),
    /// Standard input and output: started by inetd or through a tunnel.
    Stdio,
}

/// A connection, and what is known about it.
#[derive(Debug)]
pub struct Tcp {
    socket: TcpStream,
    /// Whose it is: once it is broken the system does not know any more.
    peer: Option<IpAddr>,
    /// How long it may stall.
    patience: Option<Duration>,
    /// Whose threads wait for it.
    pool: Weak<ThreadPool>,
    /// As long as it lives the connection counts.
    _counted: Option<(Arc<()>, Share)>,
}

impl Stream {
    /// Wraps an accepted connection: no delay of small packets (we gather them ourselves), dead peers are noticed,
    /// and a peer that stalls for `patience` makes a read or write fail.
    ///
    /// # Errors
    /// The system's.
    pub fn tcp(socket: TcpStream, patience: Option<Duration>) -> io::Result<Stream> {
        socket.set_nodelay(true)?;
        socket.set_nonblocking(true)?;
        let keepalive = socket2::TcpKeepalive::new()
            .with_time(Duration::from_secs(300))
            .with_interval(Duration::from_secs(30))
            .with_retries(6);
        socket2::SockRef::from(&socket).set_tcp_keepalive(&keepalive)?;
        let peer = socket.peer_addr().ok().map(|address| address.ip());
        Ok(Stream::Tcp(Tcp {
            socket,
            peer,
            patience,
            pool: Weak::new(),
            _counted: None,
        }))
    }

    /// Lets `pool` know when its threads wait for this peer, and holds `counted` and `share` as long as the connection lasts.
    pub(crate) fn served_by(mut self, pool: &Arc<ThreadPool>, counted: &Arc<()>, share: Share) -> Stream {
        if let Stream::Tcp(tcp) = &mut self {
            tcp.pool = Arc::downgrade(pool);
            tcp._counted = Some((counted.clone(), share));
        }
        self
    }

    /// The peer's address, for logs.
    pub fn peer(&self) -> Option<IpAddr> {
        match self {
            Stream::Tcp(tcp) => tcp.peer,
            Stream::Stdio => None,
        }
    }

    /// Reads some bytes; 0 is the end.
    pub(crate) fn read(&self, buf: &mut [u8]) -> io::Result<usize> {
        loop {
            let result = match self {
                Stream::Tcp(tcp) => (&tcp.socket).read(buf),
                Stream::Stdio => Ok(rustix::io::read(rustix::stdio::stdin(), &mut *buf)?),
            };
            match (result, self) {
                (Err(e), _) if e.kind() == io::ErrorKind::Interrupted => {}
                (Err(e), Stream::Tcp(tcp)) if e.kind() == io::ErrorKind::WouldBlock => {
                    tcp.wait_until_it_speaks()?;
                }
                (result, _) => return result,
            }
        }
    }

    /// True for a connection of the peer's own, not one that a tunnel hands on.
    pub(crate) fn is_tcp(&self) -> bool {
        matches!(self, Stream::Tcp(_))
    }

    /// Writes all bytes, as long as the peer takes some now and then. Answers how long the peer was waited for.
    pub(crate) fn write_all(&self, mut buf: &[u8]) -> io::Result<Duration> {
        let mut waited = Duration::ZERO;
        while !buf.is_empty() {
            let result = match self {
                Stream::Tcp(tcp) => (&tcp.socket).write(buf),
                Stream::Stdio => rustix::io::write(rustix::stdio::stdout(), buf).map_err(Into::into),
            };
            match (result, self) {
                (Ok(0), _) => return Err(io::ErrorKind::WriteZero.into()),
                (Ok(len), _) => buf = &buf[len..],
                (Err(e), _) if e.kind() == io::ErrorKind::Interrupted => {}
                (Err(e), Stream::Tcp(tcp)) if e.kind() == io::ErrorKind::WouldBlock => {
                    let begun = Instant::now();
                    tcp.wait_until_it_takes()?;
                    waited += begun.elapsed();
                }
                (Err(e), _) => return Err(e),
            }
        }
        Ok(waited)
    }

    /// How the thread that serves this peer waits for the processes of hooks.
    pub(crate) fn hook_waiting(&self) -> HookWait {
        let Stream::Tcp(tcp) = self else {
            return HookWait::default();
        };
        match tcp.pool.upgrade() {
            Some(pool) => pool.hook_waiting(tcp.pooled_address()),
            None => HookWait::default(),
        }
    }

    /// Returns whether other sessions wait for the thread that serves this peer.
    pub(crate) fn is_thread_needed(&self) -> bool {
        match self {
            Stream::Tcp(tcp) => match (tcp.pool.upgrade(), tcp.peer) {
                (Some(pool), Some(peer)) => pool.is_needed(peer),
                _ => false,
            },
            Stream::Stdio => false,
        }
    }

    /// True if something can be read (or the end) within `timeout`.
    pub(crate) fn wait_readable(&self, timeout: Duration) -> io::Result<bool> {
        wait(&self.as_fd(), PollFlags::IN, Some(timeout))
    }
}

impl AsFd for Stream {
    /// What is polled for reading.
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Stream::Tcp(tcp) => tcp.socket.as_fd(),
            Stream::Stdio => rustix::stdio::stdin(),
        }
    }
}

impl Tcp {
    fn wait_until_it_speaks(&self) -> io::Result<()> {
        if wait(&self.socket.as_fd(), PollFlags::IN, Some(self.at_most(SHORT)))? {
            return Ok(());
        }
        let _blocked = match self.block(PollFlags::IN, WRITER)? {
            Blocking::Done(()) => return Ok(()),
            blocked => blocked,
        };
        match wait(&self.socket.as_fd(), PollFlags::IN, self.patience)? {
            true => Ok(()),
            false => Err(io::ErrorKind::TimedOut.into()),
        }
    }

    fn wait_until_it_takes(&self) -> io::Result<()> {
        if wait(&self.socket.as_fd(), PollFlags::OUT, Some(self.at_most(SHORT)))? {
            return Ok(());
        }
        let _blocked = match self.block(PollFlags::OUT, READER)? {
            Blocking::Done(()) => return Ok(()),
            blocked => blocked,
        };
        let slow = self.patience.map(|patience| SLOW.min(patience / 4));
        if wait(&self.socket.as_fd(), PollFlags::OUT, slow)? {
            return Ok(());
        }
        loop {
            let before = unacknowledged(&self.socket);
            if wait(&self.socket.as_fd(), PollFlags::OUT, self.patience)? {
                return Ok(());
            }
            if unacknowledged(&self.socket) == before {
                // What the system still holds for it would else stay as long as the peer's system answers.
                _ = socket2::SockRef::from(&self.socket).set_linger(Some(Duration::ZERO));
                return Err(io::ErrorKind::TimedOut.into());
            }
        }
    }

    /// Lets another thread run while the calling one waits for `events`; `Done` if they came, within `limit`, while no other could.
    ///
    /// # Errors
    /// `TimedOut` if too many threads wait for peers of this network: the connection ends.
    fn block(&self, events: PollFlags, limit: Duration) -> io::Result<Blocking<()>> {
        let Some(pool) = self.pool.upgrade() else {
            return Ok(Blocking::Uncounted);
        };
        let address = self.pooled_address();
        let moment = || match wait(&self.socket.as_fd(), events, Some(self.at_most(limit))) {
            Ok(false) => None,
            came => Some(came),
        };
        match pool.block_or(address, moment) {
            Some(Blocking::Done(came)) => came.map(|_| Blocking::Done(())),
            Some(Blocking::Blocked(blocked)) => Ok(Blocking::Blocked(blocked)),
            Some(Blocking::Uncounted) => Ok(Blocking::Uncounted),
            None => Err(io::ErrorKind::TimedOut.into()),
        }
    }

    /// The address that the peer's jobs are counted for.
    fn pooled_address(&self) -> IpAddr {
        self.peer.unwrap_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED))
    }

    fn at_most(&self, limit: Duration) -> Duration {
        self.patience.map_or(limit, |patience| limit.min(patience))
    }
}

/// Waits until one of `events` (or the end) is there; false if it is not within `limit`.
fn wait(fd: &BorrowedFd<'_>, events: PollFlags, limit: Option<Duration>) -> io::Result<bool> {
    let limit = limit
        .map(Timespec::try_from)
        .transpose()
        .map_err(|_| io::ErrorKind::InvalidInput)?;
    loop {
        match poll(&mut [PollFd::new(fd, events)], limit.as_ref()) {
            Ok(count) => return Ok(count > 0),
            // Signals have a thread of their own: this is as good as never.
            Err(rustix::io::Errno::INTR) => {}
            Err(e) => return Err(e.into()),
        }
    }
}

/// How many bytes the peer's system has not acknowledged, if ours tells.
fn unacknowledged(socket: &TcpStream) -> Option<u64> {
    unacknowledged_of(rustix::fs::fstat(socket).ok()?.st_ino)
}

/// As [`unacknowledged`], of the socket with this inode.
pub(crate) fn unacknowledged_of(inode: u64) -> Option<u64> {
    let inode = inode.to_string();
    ["/proc/self/net/tcp", "/proc/self/net/tcp6"]
        .iter()
        .find_map(|table| {
            let table = std::fs::read_to_string(table).ok()?;
            table.lines().find_map(|line| {
                let mut words = line.split_ascii_whitespace().skip(4);
                let queues = words.next()?;
                // Between the queues and the inode: timer, retransmissions, user, timeout.
                (words.nth(4)? == inode)
                    .then(|| u64::from_str_radix(queues.split(':').next()?, 16).ok())
                    .flatten()
            })
        })
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn what_a_peer_has_not_taken_is_counted() {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("because the loopback is there");
        let address = listener.local_addr().expect("because it is bound");
        let mut client = TcpStream::connect(address).expect("because it listens");
        let (server, _) = listener.accept().expect("because a client came");
        assert_eq!(unacknowledged(&server), Some(0));
        server.set_nonblocking(true).expect("because it is a socket");
        let mut sent = 0;
        while let Ok(len) = (&server).write(&[0; 65536]) {
            sent += len;
        }
        let held = unacknowledged(&server).expect("because this system tells");
        assert!(held > 0 && held <= sent as u64, "{held} of {sent}");
        let mut piece = vec![0; sent];
        client.read_exact(&mut piece).expect("because it was sent");
        for _ in 0..500 {
            if unacknowledged(&server) == Some(0) {
                return;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        panic!("it is never acknowledged");
    }
}
