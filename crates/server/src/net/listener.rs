//! Listening sockets.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream, ToSocketAddrs};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use base::{Code, Error, Result};
use rustix::io::Errno;
use socket2::{Domain, Protocol, Socket, Type};

/// How many connections the system holds until they are accepted: a thousand clients may connect at once. The system drops the
/// requests of further clients, which try again after a second.
const BACKLOG: i32 = 4096;

/// A listening socket.
#[derive(Debug)]
pub struct Listener {
    socket: TcpListener,
}

impl Listener {
    /// Listens on `host` (a name or an address; `None` is every address) and `port`. A name with addresses of both
    /// families means the IPv4 one, unless `prefer_ipv6`.
    ///
    /// # Errors
    /// 670002 for an unknown host; the system's.
    pub fn bind(host: Option<&str>, port: u16, prefer_ipv6: bool) -> Result<Listener> {
        let host = host.unwrap_or(if prefer_ipv6 { "::" } else { "0.0.0.0" });
        Self::bind_to(resolve(host, port, prefer_ipv6)?)
    }

    /// Listens on `port` of every address, of both families where the system has both.
    ///
    /// # Errors
    /// The system's.
    pub fn everywhere(port: u16) -> Result<Listener> {
        let all = |host: IpAddr| SocketAddr::new(host, port);
        match Self::bind_to(all(Ipv6Addr::UNSPECIFIED.into())) {
            // The port is in use, in whichever family.
            Err(e) if e.code().0 == Errno::ADDRINUSE.raw_os_error() => Err(e),
            Err(_) => Self::bind_to(all(Ipv4Addr::UNSPECIFIED.into())),
            bound => bound,
        }
    }

    /// Listens on an address.
    ///
    /// # Errors
    /// The system's.
    pub fn bind_to(address: SocketAddr) -> Result<Listener> {
        let can_not = |what: &'static str| move |e: io::Error| Error::os(&e, what);
        let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))
            .map_err(can_not("Can't create server socket"))?;
        if address.ip() == IpAddr::from(Ipv6Addr::UNSPECIFIED) {
            // Whatever the system's default is: `::` includes IPv4 addresses.
            _ = socket.set_only_v6(false);
        }
        // A restarted server must not wait until the connections of its predecessor time out.
        socket
            .set_reuse_address(true)
            .map_err(can_not("Can't set options on server socket"))?;
        socket
            .bind(&address.into())
            .map_err(can_not("Can't bind server socket"))?;
        socket
            .listen(BACKLOG)
            .map_err(can_not("Can't listen on server socket"))?;
        socket
            .set_nonblocking(true)
            .map_err(can_not("Can't set options on server socket"))?;
        Ok(Listener {
            socket: socket.into(),
        })
    }

    /// Uses a socket that listens already.
    ///
    /// # Errors
    /// The system's.
    pub fn inherited(socket: OwnedFd) -> Result<Listener> {
        let socket = TcpListener::from(socket);
        let set = socket.set_nonblocking(true);
        set.map_err(|e| Error::os(&e, "Can't set options on server socket"))?;
        Ok(Listener { socket })
    }

    /// Returns the address, with the port that the system chose for port 0.
    ///
    /// # Errors
    /// The system's.
    pub fn address(&self) -> Result<SocketAddr> {
        self.socket
            .local_addr()
            .map_err(|e| Error::os(&e, "Can't get address of server socket"))
    }

    /// Accepts a connection, if one is there.
    ///
    /// # Errors
    /// The system's; `WouldBlock` if there is none.
    pub(crate) fn accept(&self) -> io::Result<TcpStream> {
        self.socket.accept().map(|(stream, _)| stream)
    }

    /// Returns the same socket for tokio. Must be called within its runtime.
    ///
    /// # Errors
    /// The system's.
    pub(crate) fn into_tokio(self) -> Result<tokio::net::TcpListener> {
        tokio::net::TcpListener::from_std(self.socket)
            .map_err(|e| Error::os(&e, "Can't set options on server socket"))
    }

    /// Waits for one connection.
    ///
    /// # Errors
    /// The system's.
    pub fn accept_one(&self) -> Result<TcpStream> {
        let can_not = |e: io::Error| Error::os(&e, "Can't accept client connection");
        self.socket.set_nonblocking(false).map_err(can_not)?;
        self.accept().map_err(can_not)
    }
}

impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

fn resolve(host: &str, port: u16, prefer_ipv6: bool) -> Result<SocketAddr> {
    if let Ok(address) = host.parse::<IpAddr>() {
        return Ok(SocketAddr::new(address, port));
    }
    let unknown = || Error::new(UNKNOWN_HOST, "Can't get address info: Name or service not known");
    let all: Vec<SocketAddr> = (host, port).to_socket_addrs().map_err(|_| unknown())?.collect();
    let preferred = all.iter().find(|a| a.is_ipv6() == prefer_ipv6);
    preferred.or(all.first()).copied().ok_or_else(unknown)
}

/// The number of APR's error for a host name without an address.
const UNKNOWN_HOST: Code = Code(670_002);
