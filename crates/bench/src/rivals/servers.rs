//! Starts the compared servers.

use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use super::SvenBinary;
use crate::measure::MeasuredServer;

/// A server and its configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServerKind {
    /// Sven, with a cache of 1024 MiB.
    Sven,
    /// Sven, with a cache of [`SMALL_CACHE`] MiB.
    SvenLean,
    /// Subversion, with threads and a cache of 1024 MiB.
    SubversionTuned,
    /// Subversion as installed: a process for each connection, 16 MiB of cache.
    SubversionInstalled,
}

/// The size of the small cache, in MiB.
pub const SMALL_CACHE: u32 = 64;

/// A running server and the URL of its root.
pub struct StartedServer {
    /// The server process.
    pub server: MeasuredServer,
    /// The address that it listens on.
    pub address: SocketAddr,
    /// The URL of the directory of repositories.
    pub url: String,
}

/// Starts a server for the repositories below `root` and waits until it accepts connections.
///
/// # Errors
/// If it does not within ten seconds.
pub fn start(kind: ServerKind, sven: &SvenBinary, root: &Path) -> Result<StartedServer, String> {
    let mut command = match kind {
        ServerKind::Sven | ServerKind::SvenLean => sven.command("svnserve"),
        ServerKind::SubversionTuned | ServerKind::SubversionInstalled => Command::new("svnserve"),
    };
    match kind {
        ServerKind::Sven | ServerKind::SubversionTuned => _ = command.args(["-T", "-M", "1024"]),
        ServerKind::SvenLean => _ = command.args(["-T", "-M", &SMALL_CACHE.to_string()]),
        ServerKind::SubversionInstalled => {}
    }
    listen(command, root)
}

/// Starts a `svnserve`, which may have arguments already, for the repositories below `root`.
///
/// # Errors
/// If it doesn't listen within ten seconds.
pub fn listen(mut svnserve: Command, root: &Path) -> Result<StartedServer, String> {
    let port = free_port()?;
    let host = "127.0.0.1";
    svnserve.args(["-d", "--foreground", "--listen-host", host, "--listen-port"]);
    svnserve.arg(port.to_string()).arg("-r").arg(root);
    launch(svnserve, port, format!("svn://{host}:{port}"))
}

/// Starts a server and waits until it accepts connections.
///
/// # Errors
/// If it does not within ten seconds.
pub fn launch(mut command: Command, port: u16, url: String) -> Result<StartedServer, String> {
    let child = command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|e| format!("{command:?}: {e}"))?;
    let server = MeasuredServer::new(child);
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let started = Instant::now();
    while TcpStream::connect(address).is_err() {
        if started.elapsed() > Duration::from_secs(10) {
            return Err(format!("{command:?} does not listen"));
        }
        thread::sleep(Duration::from_millis(5));
    }
    Ok(StartedServer { server, address, url })
}

/// Returns a free port.
pub fn free_port() -> Result<u16, String> {
    let listener = TcpListener::bind(("127.0.0.1", 0)).map_err(|e| e.to_string())?;
    listener.local_addr().map(|a| a.port()).map_err(|e| e.to_string())
}
