//! The byte stream of a session: a TCP connection, or standard input and output.
//!
//! Sockets are non-blocking; waiting happens here. A thread that has waited for a while marks itself as blocked, so that another
//! may run in its place ([`ThreadPool::block`]): slow peers cost a thread each, but not the threads of others.
//!
//! A peer *stalls* if it neither sends the rest of what it began nor reads what it is sent for longer than the limit. Whether it
//! reads is seen in what its system acknowledges. That is far finer than the space that becomes free in our send buffer: a
//! reader of one byte a second frees space once in days, but acknowledges with each window that it opens.

use std::io::{self, Read, Write};
use std::net::{IpAddr, Ipv4Addr, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use repos::hooks::HookWait;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::QuotaShare;
use super::{BlockOutcome, ThreadPool};

/// How long a thread waits for its peer before another may run in its place.
const SHORT: Duration = Duration::from_millis(50);
/// How long a thread may wait for its peer to read when as many threads as may wait already wait for peers of its network.
/// Clients that read all the time over a slow network need less.
const UNCOUNTED_WRITE: Duration = Duration::from_secs(1);
/// The same for a peer to write.
const UNCOUNTED_READ: Duration = Duration::from_millis(200);
/// How long a peer may read nothing before we check whether it reads at all.
const STALL_CHECK: Duration = Duration::from_secs(60);

/// The byte stream between the server and a peer.
#[derive(Debug)]
pub enum Stream {
    /// A TCP connection.
    Tcp(Tcp),
    /// Standard input and output: the process was started by inetd or through a tunnel.
    Stdio,
}

/// A TCP connection.
#[derive(Debug)]
pub struct Tcp {
    socket: TcpStream,
    /// The peer's address; the system forgets it when the connection is lost.
    peer: Option<IpAddr>,
    /// How long the peer may stall; `None` is without limit.
    stall_timeout: Option<Duration>,
    /// The pool whose threads wait for it.
    pool: Weak<ThreadPool>,
    /// Counts the connection while it lives.
    _counted: Option<(Arc<()>, QuotaShare)>,
}

impl Stream {
    /// Wraps an accepted connection: no delay of small packets (we gather them ourselves), dead peers are noticed,
    /// and a peer that stalls for `stall_timeout` makes a read or write fail.
    ///
    /// # Errors
    /// The system's.
    pub fn tcp(socket: TcpStream, stall_timeout: Option<Duration>) -> io::Result<Stream> {
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
            stall_timeout,
            pool: Weak::new(),
            _counted: None,
        }))
    }

    /// Makes `pool` count its threads that wait for this peer, and holds `counted` and `share` until the connection ends.
    pub(crate) fn served_by(
        mut self,
        pool: &Arc<ThreadPool>,
        counted: &Arc<()>,
        share: QuotaShare,
    ) -> Stream {
        if let Stream::Tcp(tcp) = &mut self {
            tcp.pool = Arc::downgrade(pool);
            tcp._counted = Some((counted.clone(), share));
        }
        self
    }

    /// Returns the peer's address, if it has one.
    pub fn peer(&self) -> Option<IpAddr> {
        match self {
            Stream::Tcp(tcp) => tcp.peer,
            Stream::Stdio => None,
        }
    }

    /// Reads bytes; returns 0 at the end.
    pub(crate) fn read(&self, buf: &mut [u8]) -> io::Result<usize> {
        loop {
            let result = match self {
                Stream::Tcp(tcp) => (&tcp.socket).read(buf),
                Stream::Stdio => Ok(rustix::io::read(rustix::stdio::stdin(), &mut *buf)?),
            };
            match (result, self) {
                (Err(e), _) if e.kind() == io::ErrorKind::Interrupted => {}
                (Err(e), Stream::Tcp(tcp)) if e.kind() == io::ErrorKind::WouldBlock => {
                    tcp.wait_until_readable()?;
                }
                (result, _) => return result,
            }
        }
    }

    /// Returns whether this is a TCP connection.
    pub(crate) fn is_tcp(&self) -> bool {
        matches!(self, Stream::Tcp(_))
    }

    /// Writes all bytes, while the peer reads some now and then. Returns how long the thread has waited for the peer.
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
                    tcp.wait_until_writable()?;
                    waited += begun.elapsed();
                }
                (Err(e), _) => return Err(e),
            }
        }
        Ok(waited)
    }

    /// Returns how the thread that serves this peer waits for the processes of hooks.
    pub(crate) fn hook_waiting(&self) -> HookWait {
        let Stream::Tcp(tcp) = self else {
            return HookWait::default();
        };
        match tcp.pool.upgrade() {
            Some(pool) => pool.hook_waiting(tcp.pooled_address()),
            None => HookWait::default(),
        }
    }

    /// Returns whether other jobs wait for the thread that serves this peer.
    pub(crate) fn is_thread_needed(&self) -> bool {
        match self {
            Stream::Tcp(tcp) => match (tcp.pool.upgrade(), tcp.peer) {
                (Some(pool), Some(peer)) => pool.is_needed(peer),
                _ => false,
            },
            Stream::Stdio => false,
        }
    }

    /// Waits at most `timeout` for bytes or the end; returns whether they arrived.
    pub(crate) fn wait_readable(&self, timeout: Duration) -> io::Result<bool> {
        wait(&self.as_fd(), PollFlags::IN, Some(timeout))
    }
}

impl AsFd for Stream {
    /// Returns the descriptor that is polled for reading.
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Stream::Tcp(tcp) => tcp.socket.as_fd(),
            Stream::Stdio => rustix::stdio::stdin(),
        }
    }
}

impl Tcp {
    fn wait_until_readable(&self) -> io::Result<()> {
        if wait(&self.socket.as_fd(), PollFlags::IN, Some(self.at_most(SHORT)))? {
            return Ok(());
        }
        let _blocked = match self.block(PollFlags::IN, UNCOUNTED_READ)? {
            BlockOutcome::Done(()) => return Ok(()),
            blocked => blocked,
        };
        match wait(&self.socket.as_fd(), PollFlags::IN, self.stall_timeout)? {
            true => Ok(()),
            false => Err(io::ErrorKind::TimedOut.into()),
        }
    }

    fn wait_until_writable(&self) -> io::Result<()> {
        if wait(&self.socket.as_fd(), PollFlags::OUT, Some(self.at_most(SHORT)))? {
            return Ok(());
        }
        let _blocked = match self.block(PollFlags::OUT, UNCOUNTED_WRITE)? {
            BlockOutcome::Done(()) => return Ok(()),
            blocked => blocked,
        };
        let slow = self.stall_timeout.map(|limit| STALL_CHECK.min(limit / 4));
        if wait(&self.socket.as_fd(), PollFlags::OUT, slow)? {
            return Ok(());
        }
        loop {
            let before = unacknowledged(&self.socket);
            if wait(&self.socket.as_fd(), PollFlags::OUT, self.stall_timeout)? {
                return Ok(());
            }
            if unacknowledged(&self.socket) == before {
                // Without this the unsent bytes would stay in memory while the peer's system answers.
                _ = socket2::SockRef::from(&self.socket).set_linger(Some(Duration::ZERO));
                return Err(io::ErrorKind::TimedOut.into());
            }
        }
    }

    /// Lets another thread run while the calling one waits for `events`. Returns `Done` if that is not possible and they have arrived
    /// within `limit`.
    ///
    /// # Errors
    /// `TimedOut` if too many threads wait for peers of this network: the connection ends.
    fn block(&self, events: PollFlags, limit: Duration) -> io::Result<BlockOutcome<()>> {
        let Some(pool) = self.pool.upgrade() else {
            return Ok(BlockOutcome::Uncounted);
        };
        let address = self.pooled_address();
        let wait_briefly = || match wait(&self.socket.as_fd(), events, Some(self.at_most(limit))) {
            Ok(false) => None,
            came => Some(came),
        };
        match pool.block_or(address, wait_briefly) {
            Some(BlockOutcome::Done(came)) => came.map(|_| BlockOutcome::Done(())),
            Some(BlockOutcome::Blocked(blocked)) => Ok(BlockOutcome::Blocked(blocked)),
            Some(BlockOutcome::Uncounted) => Ok(BlockOutcome::Uncounted),
            None => Err(io::ErrorKind::TimedOut.into()),
        }
    }

    /// Returns the address that the peer's jobs are counted for.
    fn pooled_address(&self) -> IpAddr {
        self.peer.unwrap_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED))
    }

    fn at_most(&self, limit: Duration) -> Duration {
        self.stall_timeout.map_or(limit, |stall| limit.min(stall))
    }
}

/// Waits at most `limit` for one of `events` or the end of the connection; returns whether it arrived.
fn wait(fd: &BorrowedFd<'_>, events: PollFlags, limit: Option<Duration>) -> io::Result<bool> {
    let limit = limit
        .map(Timespec::try_from)
        .transpose()
        .map_err(|_| io::ErrorKind::InvalidInput)?;
    loop {
        match poll(&mut [PollFd::new(fd, events)], limit.as_ref()) {
            Ok(count) => return Ok(count > 0),
            // Signals have a thread of their own, so this hardly happens.
            Err(rustix::io::Errno::INTR) => {}
            Err(e) => return Err(e.into()),
        }
    }
}

/// Returns how many bytes the peer's system has not acknowledged, if our system tells.
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
    fn unacknowledged_bytes_are_counted() {
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
        panic!("the bytes are never acknowledged");
    }
}
