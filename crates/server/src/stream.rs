//! The two things a conversation runs over: a TCP connection, or standard input and output.

use std::io::{self, Read, Write};
use std::net::{IpAddr, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};

/// A peer.
#[derive(Clone, Debug)]
pub enum Stream {
    /// A connection, and whose it is: once it is broken the system does not know any more.
    Tcp(Arc<TcpStream>, Option<IpAddr>),
    /// Standard input and output: started by inetd or through a tunnel.
    Stdio,
}

impl Stream {
    /// Wraps an accepted connection: no delay of small packets (we gather them ourselves), dead peers are noticed,
    /// and a peer that stalls for `timeout` makes a read or write fail.
    ///
    /// # Errors
    /// The system's.
    pub fn tcp(socket: TcpStream, timeout: Option<Duration>) -> io::Result<Stream> {
        socket.set_nodelay(true)?;
        socket.set_read_timeout(timeout)?;
        socket.set_write_timeout(timeout)?;
        let keepalive = socket2::TcpKeepalive::new()
            .with_time(Duration::from_secs(300))
            .with_interval(Duration::from_secs(30))
            .with_retries(6);
        socket2::SockRef::from(&socket).set_tcp_keepalive(&keepalive)?;
        let peer = socket.peer_addr().ok().map(|address| address.ip());
        Ok(Stream::Tcp(Arc::new(socket), peer))
    }

    /// The peer's address, for logs.
    pub fn peer(&self) -> Option<IpAddr> {
        match self {
            Stream::Tcp(_, peer) => *peer,
            Stream::Stdio => None,
        }
    }

    /// Reads some bytes; 0 is the end.
    pub(crate) fn read(&self, buf: &mut [u8]) -> io::Result<usize> {
        loop {
            let result = match self {
                Stream::Tcp(socket, _) => (&**socket).read(buf),
                Stream::Stdio => Ok(rustix::io::read(rustix::stdio::stdin(), &mut *buf)?),
            };
            match result {
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                result => return result,
            }
        }
    }

    /// Writes all bytes. Every write that gets anything off starts the peer's time again.
    pub(crate) fn write_all(&self, mut buf: &[u8]) -> io::Result<()> {
        while !buf.is_empty() {
            let result = match self {
                Stream::Tcp(socket, _) => (&**socket).write(buf),
                Stream::Stdio => rustix::io::write(rustix::stdio::stdout(), buf).map_err(Into::into),
            };
            match result {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(len) => buf = &buf[len..],
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
        Ok(())
    }

    /// True if something can be read (or the end) within `timeout`.
    pub(crate) fn wait_readable(&self, timeout: Duration) -> io::Result<bool> {
        let limit = Timespec::try_from(timeout).map_err(|_| io::ErrorKind::InvalidInput)?;
        let fd = self.as_fd();
        let mut fds = [PollFd::new(&fd, PollFlags::IN)];
        match poll(&mut fds, Some(&limit)) {
            Ok(count) => Ok(count > 0),
            Err(rustix::io::Errno::INTR) => Ok(false),
            Err(e) => Err(e.into()),
        }
    }
}

impl AsFd for Stream {
    /// What is polled for reading.
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Stream::Tcp(socket, _) => socket.as_fd(),
            Stream::Stdio => rustix::stdio::stdin(),
        }
    }
}
