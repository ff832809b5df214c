//! A proxy that delays what a server answers.
//!
//! Each piece of an answer is passed on a fixed time after it arrived. Pieces do not wait for each other: the proxy adds to the time
//! of a round trip and takes nothing from the rate.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

/// Starts a proxy before `server`, and returns its port. It ends with the process.
///
/// # Errors
/// If there is no port.
pub fn start(server: SocketAddr, delay: Duration) -> Result<u16, String> {
    let listener = TcpListener::bind(("127.0.0.1", 0)).map_err(|e| e.to_string())?;
    let port = listener.local_addr().map_err(|e| e.to_string())?.port();
    thread::spawn(move || {
        while let Ok((client, _)) = listener.accept() {
            // A connection that cannot be served ends, which its client reports.
            if let Ok(upstream) = TcpStream::connect(server) {
                _ = serve(client, upstream, delay);
            }
        }
    });
    Ok(port)
}

fn serve(client: TcpStream, server: TcpStream, delay: Duration) -> std::io::Result<()> {
    client.set_nodelay(true)?;
    server.set_nodelay(true)?;
    let (from_client, to_server) = (client.try_clone()?, server.try_clone()?);
    thread::spawn(move || pass(from_client, to_server));
    let (sender, receiver) = mpsc::channel::<(Instant, Vec<u8>)>();
    thread::spawn(move || {
        let mut client = client;
        for (due, piece) in receiver {
            thread::sleep(due.saturating_duration_since(Instant::now()));
            if client.write_all(&piece).is_err() {
                break;
            }
        }
        _ = client.shutdown(Shutdown::Both);
    });
    thread::spawn(move || {
        let (mut server, mut buffer) = (server, vec![0; BUFFER]);
        while let Ok(length @ 1..) = server.read(&mut buffer) {
            if sender
                .send((Instant::now() + delay, buffer[..length].to_vec()))
                .is_err()
            {
                break;
            }
        }
        _ = server.shutdown(Shutdown::Both);
    });
    Ok(())
}

fn pass(mut from: TcpStream, mut to: TcpStream) {
    let mut buffer = vec![0; BUFFER];
    while let Ok(length @ 1..) = from.read(&mut buffer) {
        if to.write_all(&buffer[..length]).is_err() {
            break;
        }
    }
    _ = to.shutdown(Shutdown::Both);
}

/// Bytes that are read at once.
const BUFFER: usize = 256 << 10;
