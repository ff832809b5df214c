//! A proxy that sends each HTTP request to the next of several servers, also those of one connection of a client.

use std::io::{self, BufRead as _, BufReader, Read as _, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use parking_lot::Mutex;

/// A running proxy. It ends with the value.
#[derive(Debug)]
pub struct SpreadingProxy {
    port: u16,
    state: Arc<ProxyState>,
}

#[derive(Debug)]
struct ProxyState {
    servers: Mutex<Vec<SocketAddr>>,
    next: AtomicUsize,
    has_ended: AtomicBool,
}

impl SpreadingProxy {
    /// Starts a proxy before these servers.
    ///
    /// # Panics
    /// If no port is free.
    pub fn start(servers: Vec<SocketAddr>) -> SpreadingProxy {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("because the loopback has ports left");
        let port = listener.local_addr().expect("because it is bound").port();
        let state = Arc::new(ProxyState {
            servers: Mutex::new(servers),
            next: AtomicUsize::new(0),
            has_ended: AtomicBool::new(false),
        });
        let accepting = Arc::clone(&state);
        thread::spawn(move || {
            while let Ok((client, _)) = listener.accept() {
                if accepting.has_ended.load(Ordering::SeqCst) {
                    return;
                }
                let state = Arc::clone(&accepting);
                // A client that goes away ends its connection.
                thread::spawn(move || _ = state.serve(client));
            }
        });
        SpreadingProxy { port, state }
    }

    /// Returns the port on 127.0.0.1.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Sends requests to these servers from now on.
    pub fn set_servers(&self, servers: Vec<SocketAddr>) {
        *self.state.servers.lock() = servers;
    }

    /// Returns how many requests were passed on.
    pub fn requests(&self) -> usize {
        self.state.next.load(Ordering::SeqCst)
    }
}

impl Drop for SpreadingProxy {
    fn drop(&mut self) {
        self.state.has_ended.store(true, Ordering::SeqCst);
        // Ends the wait for a connection.
        drop(TcpStream::connect(("127.0.0.1", self.port)));
    }
}

impl ProxyState {
    /// Serves one connection of a client.
    fn serve(&self, client: TcpStream) -> io::Result<()> {
        client.set_nodelay(true)?;
        let mut to_client = client.try_clone()?;
        let mut from_client = BufReader::new(client);
        loop {
            let head = read_head(&mut from_client)?;
            let server = {
                let servers = self.servers.lock();
                servers[self.next.fetch_add(1, Ordering::SeqCst) % servers.len()]
            };
            let mut to_server = TcpStream::connect(server)?;
            to_server.set_nodelay(true)?;
            let mut from_server = BufReader::new(to_server.try_clone()?);
            to_server.write_all(&head)?;
            if field(&head, "expect").is_some() {
                to_client.write_all(&read_head(&mut from_server)?)?;
            }
            copy_body(&head, &mut from_client, &mut to_server)?;
            let answer = read_head(&mut from_server)?;
            to_client.write_all(&answer)?;
            let status = answer.get(9..12).unwrap_or_default();
            if !head.starts_with(b"HEAD ") && status != b"204" && status != b"304" {
                copy_body(&answer, &mut from_server, &mut to_client)?;
            }
        }
    }
}

/// Reads the head of a request or of a response, with the empty line behind it.
pub(crate) fn read_head(from: &mut BufReader<TcpStream>) -> io::Result<Vec<u8>> {
    let mut head = Vec::new();
    loop {
        let start = head.len();
        if from.read_until(b'\n', &mut head)? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        if head[start..] == b"\r\n"[..] {
            return Ok(head);
        }
    }
}

/// Copies the body that belongs to a head.
pub(crate) fn copy_body(head: &[u8], from: &mut BufReader<TcpStream>, to: &mut impl Write) -> io::Result<()> {
    if field(head, "transfer-encoding").is_some() {
        loop {
            let mut line = Vec::new();
            from.read_until(b'\n', &mut line)?;
            to.write_all(&line)?;
            let text = String::from_utf8_lossy(&line);
            let digits = text.split([';', '\r']).next().unwrap_or_default();
            let length = u64::from_str_radix(digits.trim(), 16).map_err(io::Error::other)?;
            io::copy(&mut from.take(length + 2), to)?;
            if length == 0 {
                return Ok(());
            }
        }
    }
    let length = field(head, "content-length").and_then(|text| text.parse().ok());
    io::copy(&mut from.take(length.unwrap_or(0)), to).map(drop)
}

/// Returns the value of a header line.
pub(crate) fn field(head: &[u8], name: &str) -> Option<String> {
    let text = String::from_utf8_lossy(head);
    text.lines().find_map(|line| {
        let (key, value) = line.split_once(':')?;
        key.eq_ignore_ascii_case(name).then(|| value.trim().to_owned())
    })
}
