//! A relay to a server that keeps what clients send.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

/// What a relay does with requests.
#[derive(Clone, Copy, Debug)]
pub(super) enum RelayMode {
    /// It passes all on.
    Faithful,
    /// It answers those in chunks with status 411.
    RefusesChunks,
    /// From the first request with this method on, it neither passes anything on nor answers.
    SilentAt(&'static str),
}

/// The response of [`RelayMode::RefusesChunks`].
const LENGTH_REQUIRED: &[u8] = b"HTTP/1.1 411 Length Required\r\nContent-Length: 0\r\n\r\n";

/// A relay. Its threads end with the test program.
pub(super) struct Recorder {
    port: u16,
    /// The bytes of each connection.
    sent: Arc<Mutex<Vec<Vec<u8>>>>,
}

impl Recorder {
    /// Relays to a port of this machine.
    pub(super) fn new(server: u16, mode: RelayMode) -> Recorder {
        let listener = TcpListener::bind("127.0.0.1:0").expect("because there are free ports");
        let port = listener.local_addr().expect("because it is bound").port();
        let sent = Arc::new(Mutex::new(Vec::new()));
        let shared = Arc::clone(&sent);
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let server = TcpStream::connect(("127.0.0.1", server)).expect("because the server runs");
                relay(client, server, mode, &shared);
            }
        });
        Recorder { port, sent }
    }

    pub(super) fn port(&self) -> u16 {
        self.port
    }

    /// Returns the number of connections since the last call, and the heads of their requests.
    pub(super) fn take(&self) -> (usize, Vec<String>) {
        let sent = std::mem::take(&mut *self.sent.lock().expect("because no thread panics"));
        let used = sent.iter().filter(|bytes| !bytes.is_empty());
        (
            used.clone().count(),
            used.flat_map(|bytes| heads(bytes)).collect(),
        )
    }
}

/// Returns the heads of requests, in lower case. Bodies have no lines like the first ones of requests.
fn heads(bytes: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(bytes).to_ascii_lowercase();
    let mut heads = Vec::new();
    let mut rest = text.as_str();
    while let Some(at) = rest.find(" http/1.1\r\n") {
        // The body before may end without a line end.
        let path = rest[..at].rfind(' ').unwrap_or(0);
        let is_method = |c: char| c.is_ascii_lowercase();
        let begin = rest[..path].trim_end_matches(is_method).len();
        let end = rest[at..]
            .find("\r\n\r\n")
            .map_or(rest.len(), |length| at + length);
        heads.push(rest[begin..end].to_owned());
        rest = &rest[end..];
    }
    heads
}

fn relay(client: TcpStream, server: TcpStream, mode: RelayMode, sent: &Arc<Mutex<Vec<Vec<u8>>>>) {
    let clone = |stream: &TcpStream| stream.try_clone().expect("because there are descriptors left");
    let mut back = clone(&client);
    let (from_client, from_server) = ((clone(&client), clone(&server)), (server, client));
    let mut connections = sent.lock().expect("because no thread panics");
    let number = connections.len();
    connections.push(Vec::new());
    drop(connections);
    let sent = Arc::clone(sent);
    thread::spawn(move || {
        copy(from_client, &mut |bytes| {
            let mut sent = sent.lock().expect("because no thread panics");
            let Some(connection) = sent.get_mut(number) else {
                return true;
            };
            connection.extend_from_slice(bytes);
            match mode {
                RelayMode::Faithful => true,
                RelayMode::RefusesChunks => {
                    let is_chunked = heads(bytes).iter().any(|head| head.contains("transfer-encoding"));
                    // The client may have gone.
                    _ = back.write_all(if is_chunked { LENGTH_REQUIRED } else { b"" });
                    !is_chunked
                }
                RelayMode::SilentAt(method) => !heads(connection).iter().any(|head| head.starts_with(method)),
            }
        });
    });
    thread::spawn(move || copy(from_server, &mut |_| true));
}

/// Copies a stream to another one: the pieces for which `look` returns true.
fn copy((mut from, mut to): (TcpStream, TcpStream), look: &mut dyn FnMut(&[u8]) -> bool) {
    let mut buffer = vec![0; 64 << 10];
    loop {
        match from.read(&mut buffer) {
            Ok(count) if count > 0 => {
                if look(&buffer[..count]) && to.write_all(&buffer[..count]).is_err() {
                    break;
                }
            }
            _ => break,
        }
    }
    _ = to.shutdown(Shutdown::Write);
}
