//! A TCP proxy whose faults are commanded: those of a network, and for HTTP those of an object store.
//!
//! A stalled connection does not lose what was sent on it: it arrives when the fault ends, also if its sender has given up and closed
//! the connection. So a server may get a request long after its client has taken it for lost, as behind a network that comes back.

use std::collections::{HashMap, HashSet};
use std::io::{self, BufReader, Write as _};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use parking_lot::{Condvar, Mutex};

use crate::accept_loop::AcceptLoop;
use crate::probe::read_some;
use crate::spreading_proxy::{copy_body, field, read_head};

/// What a proxy does with connections.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ProxyFault {
    /// Forwards them.
    #[default]
    None,
    /// Forwards nothing, in either direction, and leaves all connections open.
    Stall,
    /// Closes them, and those that are made.
    Cut,
    /// Forwards each piece so much later.
    Delay(Duration),
    /// Answers each request with this status, and does not pass it on. Only for HTTP.
    Status(u16),
    /// Passes each request that writes on, discards its response, and closes the connection; the same request is served if it comes
    /// again. Only for HTTP.
    LoseResponses,
}

/// What the proxy knows of its connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Framing {
    /// They have bytes.
    Bytes,
    /// They have requests and responses.
    Http,
}

/// A running proxy. It ends with the value.
#[derive(Debug)]
pub struct FaultProxy {
    shared: Arc<Shared>,
    listener: AcceptLoop,
}

#[derive(Debug)]
struct Shared {
    server: SocketAddr,
    state: Mutex<State>,
    changed: Condvar,
    /// Open connections by number: the streams of both sides.
    open: Mutex<HashMap<u64, Vec<TcpStream>>>,
    next: AtomicU64,
    /// Connections and requests that a fault has hit.
    hits: AtomicU64,
}

#[derive(Debug, Default)]
struct State {
    fault: ProxyFault,
    has_ended: bool,
    /// The requests whose response was discarded.
    discarded: HashSet<Vec<u8>>,
}

impl FaultProxy {
    /// Starts a proxy in front of a server.
    ///
    /// # Panics
    /// If no port is free.
    pub fn start(server: SocketAddr, framing: Framing) -> FaultProxy {
        let shared = Arc::new(Shared {
            server,
            state: Mutex::default(),
            changed: Condvar::new(),
            open: Mutex::default(),
            next: AtomicU64::new(0),
            hits: AtomicU64::new(0),
        });
        let accepting = shared.clone();
        let listener = AcceptLoop::start(move |client| {
            let shared = accepting.clone();
            thread::spawn(move || {
                let number = shared.next.fetch_add(1, Ordering::Relaxed);
                // An error ends the connection.
                _ = match framing {
                    Framing::Bytes => shared.serve_bytes(number, client),
                    Framing::Http => shared.serve_http(number, client),
                };
                shared.close(number);
            });
        });
        FaultProxy { shared, listener }
    }

    /// Returns the address.
    pub fn address(&self) -> SocketAddr {
        self.listener.address()
    }

    /// Begins a fault, or ends it. What was held back is forwarded.
    pub fn set(&self, fault: ProxyFault) {
        {
            let mut state = self.shared.state.lock();
            state.fault = fault;
            state.discarded.clear();
        }
        self.shared.changed.notify_all();
        if fault == ProxyFault::Cut {
            self.shared.close_all();
        }
    }

    /// Returns how many connections and requests faults have hit.
    pub fn hits(&self) -> u64 {
        self.shared.hits.load(Ordering::Relaxed)
    }
}

impl Drop for FaultProxy {
    fn drop(&mut self) {
        self.shared.state.lock().has_ended = true;
        self.shared.changed.notify_all();
        self.shared.close_all();
    }
}

impl Shared {
    /// Waits until something may be forwarded. Returns the fault.
    ///
    /// # Errors
    /// If the connection is cut.
    fn pass(&self) -> io::Result<ProxyFault> {
        let fault = {
            let mut state = self.state.lock();
            if state.fault != ProxyFault::None {
                self.hits.fetch_add(1, Ordering::Relaxed);
            }
            while state.fault == ProxyFault::Stall && !state.has_ended {
                self.changed.wait(&mut state);
            }
            if state.has_ended {
                return Err(io::ErrorKind::ConnectionAborted.into());
            }
            state.fault
        };
        match fault {
            ProxyFault::Cut => return Err(io::ErrorKind::ConnectionAborted.into()),
            ProxyFault::Delay(time) => thread::sleep(time),
            _ => {}
        }
        Ok(fault)
    }

    fn serve_bytes(self: &Arc<Self>, number: u64, client: TcpStream) -> io::Result<()> {
        self.add(number, &client)?;
        self.pass()?;
        let server = TcpStream::connect(self.server)?;
        self.add(number, &server)?;
        let (from, to, shared) = (server.try_clone()?, client.try_clone()?, self.clone());
        let back = thread::spawn(move || _ = shared.forward(from, to));
        let forwarded = self.forward(client, server);
        _ = back.join();
        forwarded
    }

    /// Forwards one direction of a connection.
    fn forward(&self, mut from: TcpStream, mut to: TcpStream) -> io::Result<()> {
        let mut piece = [0; 16384];
        loop {
            let count = read_some(&mut from, &mut piece).unwrap_or(0);
            let written = self.pass().and_then(|_| match count {
                0 => to.shutdown(Shutdown::Write),
                _ => to.write_all(&piece[..count]),
            });
            if count == 0 || written.is_err() {
                if written.is_err() {
                    _ = to.shutdown(Shutdown::Both);
                    _ = from.shutdown(Shutdown::Both);
                }
                return written;
            }
        }
    }

    fn serve_http(&self, number: u64, mut client: TcpStream) -> io::Result<()> {
        self.add(number, &client)?;
        let mut from_client = BufReader::new(client.try_clone()?);
        loop {
            let head = read_head(&mut from_client)?;
            let mut request = head.clone();
            copy_body(&head, &mut from_client, &mut request)?;
            let length: usize = field(&head, "content-length")
                .map_or(Ok(0), |text| text.parse().map_err(io::Error::other))?;
            if request.len() < head.len() + length {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            if let ProxyFault::Status(status) = self.pass()? {
                let answer = format!("HTTP/1.1 {status} Fault\r\nContent-Length: 0\r\n\r\n");
                client.write_all(answer.as_bytes())?;
                continue;
            }
            let mut to_server = TcpStream::connect(self.server)?;
            to_server.set_nodelay(true)?;
            to_server.write_all(&request)?;
            let mut from_server = BufReader::new(to_server);
            let answer = read_head(&mut from_server)?;
            let mut response = answer.clone();
            let status = answer.get(9..12).unwrap_or_default();
            if !head.starts_with(b"HEAD ") && status != b"204" && status != b"304" {
                copy_body(&answer, &mut from_server, &mut response)?;
            }
            let fault = self.pass()?;
            let reads = head.starts_with(b"GET ") || head.starts_with(b"HEAD ");
            let first_line = head.split(|byte| *byte == b'\r').next().unwrap_or_default();
            if fault == ProxyFault::LoseResponses
                && !reads
                && self.state.lock().discarded.insert(first_line.to_vec())
            {
                return Ok(());
            }
            client.write_all(&response)?;
        }
    }

    fn add(&self, number: u64, stream: &TcpStream) -> io::Result<()> {
        stream.set_nodelay(true)?;
        let copy = stream.try_clone()?;
        self.open.lock().entry(number).or_default().push(copy);
        Ok(())
    }

    fn close(&self, number: u64) {
        for stream in self.open.lock().remove(&number).into_iter().flatten() {
            _ = stream.shutdown(Shutdown::Both);
        }
    }

    fn close_all(&self) {
        for stream in self.open.lock().values().flatten() {
            _ = stream.shutdown(Shutdown::Both);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;
    use std::net::TcpListener;
    use std::sync::mpsc;

    use super::*;

    /// A server that passes what it reads from each connection on, up to its end.
    fn server() -> (SocketAddr, mpsc::Receiver<Vec<u8>>) {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("because the loopback has ports left");
        let address = listener.local_addr().expect("because it is bound");
        let (sender, receiver) = mpsc::channel();
        thread::spawn(move || {
            while let Ok((mut client, _)) = listener.accept() {
                let sender = sender.clone();
                thread::spawn(move || {
                    _ = client.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
                    let mut read = Vec::new();
                    _ = client.read_to_end(&mut read);
                    _ = sender.send(read);
                });
            }
        });
        (address, receiver)
    }

    #[test]
    fn what_was_sent_during_a_stall_arrives_afterwards() {
        let (address, received) = server();
        let proxy = FaultProxy::start(address, Framing::Bytes);
        proxy.set(ProxyFault::Stall);
        let mut client = TcpStream::connect(proxy.address()).expect("because the proxy listens");
        client.write_all(b"late").expect("because the proxy reads");
        drop(client);
        assert!(received.try_recv().is_err());
        proxy.set(ProxyFault::None);
        assert_eq!(received.recv().ok(), Some(b"late".to_vec()));
        proxy.set(ProxyFault::Cut);
        let mut client = TcpStream::connect(proxy.address()).expect("because the proxy listens");
        assert_eq!(client.read(&mut [0; 9]).unwrap_or(0), 0);
    }

    #[test]
    fn a_lost_response_is_that_of_the_first_attempt() {
        let (address, received) = server();
        let proxy = FaultProxy::start(address, Framing::Http);
        let request = b"PUT /a HTTP/1.1\r\nContent-Length: 2\r\n\r\nab";
        let response = || {
            let mut client = TcpStream::connect(proxy.address()).expect("because the proxy listens");
            client.write_all(request).expect("because the proxy reads");
            let mut read = vec![0; 12];
            let count = read_some(&mut client, &mut read).unwrap_or(0);
            read.truncate(count);
            String::from_utf8_lossy(&read).into_owned()
        };
        proxy.set(ProxyFault::Status(503));
        assert_eq!(response(), "HTTP/1.1 503");
        assert!(received.try_recv().is_err());
        proxy.set(ProxyFault::LoseResponses);
        assert_eq!(response(), "");
        assert_eq!(received.recv().ok(), Some(request.to_vec()));
        assert_eq!(response(), "HTTP/1.1 200");
    }
}
