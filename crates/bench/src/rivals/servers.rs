//! Starts the servers that are compared.

use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use super::Sven;
use crate::measure::Server;

/// How a server is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Ours, with a cache of 1024 MiB.
    Sven,
    /// Ours, with a cache of [`LEAN`] MiB.
    SvenLean,
    /// Subversion's with threads and a cache of 1024 MiB.
    SubversionTuned,
    /// Subversion's as installed: a process for each connection, 16 MiB of cache.
    SubversionInstalled,
}

/// MiB of cache of a server that is to show how little memory it needs.
pub const LEAN: u32 = 64;

/// A running server and the URL of its root.
pub struct Running {
    /// The process.
    pub server: Server,
    /// Where it listens.
    pub address: SocketAddr,
    /// The URL below which the repositories are.
    pub url: String,
}

/// Starts a server for the repositories below `root` and waits until it answers.
///
/// # Errors
/// If it doesn't within ten seconds.
pub fn start(kind: Kind, sven: &Sven, root: &Path) -> Result<Running, String> {
    let mut command = match kind {
        Kind::Sven | Kind::SvenLean => sven.command("svnserve"),
        Kind::SubversionTuned | Kind::SubversionInstalled => Command::new("svnserve"),
    };
    match kind {
        Kind::Sven | Kind::SubversionTuned => _ = command.args(["-T", "-M", "1024"]),
        Kind::SvenLean => _ = command.args(["-T", "-M", &LEAN.to_string()]),
        Kind::SubversionInstalled => {}
    }
    listen(command, root)
}

/// Starts a `svnserve` with whatever arguments it has already for what is below `root`.
///
/// # Errors
/// If it doesn't listen within ten seconds.
pub fn listen(mut svnserve: Command, root: &Path) -> Result<Running, String> {
    let port = free_port()?;
    let host = "127.0.0.1";
    svnserve.args(["-d", "--foreground", "--listen-host", host, "--listen-port"]);
    svnserve.arg(port.to_string()).arg("-r").arg(root);
    launch(svnserve, port, format!("svn://{host}:{port}"))
}

/// Starts a server and waits until it takes connections.
///
/// # Errors
/// If it doesn't within ten seconds.
pub fn launch(mut command: Command, port: u16, url: String) -> Result<Running, String> {
    let child = command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|e| format!("{command:?}: {e}"))?;
    let server = Server::new(child);
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let started = Instant::now();
    while TcpStream::connect(address).is_err() {
        if started.elapsed() > Duration::from_secs(10) {
            return Err(format!("{command:?} does not listen"));
        }
        thread::sleep(Duration::from_millis(5));
    }
    Ok(Running { server, address, url })
}

/// A free port.
pub(super) fn free_port() -> Result<u16, String> {
    let listener = TcpListener::bind(("127.0.0.1", 0)).map_err(|e| e.to_string())?;
    listener.local_addr().map(|a| a.port()).map_err(|e| e.to_string())
}
