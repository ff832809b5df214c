//! A server in the background, theirs or ours, on a port of its own; dropped means stopped.

pub mod http;
pub mod transport;

use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::tool::{Side, Tool};

/// A running server.
#[derive(Debug)]
pub struct Server {
    child: Child,
    port: u16,
    /// Files that it needs while it runs.
    dir: Option<TempDir>,
}

impl Server {
    /// Starts `svnserve` in the foreground with virtual root `root` and more arguments (`-T`, `-M 1024`, …). Waits until it
    /// answers.
    pub fn svnserve(side: Side, root: &Path, args: &[&str]) -> Server {
        Server::svnserve_by(side, root, args, |tool| tool)
    }

    /// As [`Server::svnserve`], bound by the permissions of files ([`Tool::bound_by_permissions`]).
    pub fn svnserve_bound_by_permissions(side: Side, root: &Path, args: &[&str]) -> Server {
        Server::svnserve_by(side, root, args, Tool::bound_by_permissions)
    }

    fn svnserve_by(side: Side, root: &Path, args: &[&str], how: fn(Tool) -> Tool) -> Server {
        Server::started(&format!("{side:?} svnserve"), |port| {
            let tool = side
                .tool("svnserve")
                .args([
                    "-d",
                    "--foreground",
                    "--listen-host",
                    "127.0.0.1",
                    "--listen-port",
                ])
                .arg(port.to_string())
                .arg("-r")
                .arg(root)
                .args(args);
            (how(tool), None)
        })
    }

    /// Starts what `prepare` says for a port, and waits until it answers there.
    fn started(what: &str, prepare: impl Fn(u16) -> (Tool, Option<TempDir>)) -> Server {
        // The port found free may be taken by someone else before the server binds it: try again then.
        for _ in 0..5 {
            let port = free_port();
            let (tool, dir) = prepare(port);
            let child = tool
                .command()
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(Stdio::inherit())
                .spawn()
                .unwrap_or_else(|e| panic!("can't start {what}: {e}"));
            let mut server = Server { child, port, dir };
            if server.wait_until_up() {
                return server;
            }
        }
        panic!("{what} does not come up");
    }

    /// Port on 127.0.0.1.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Where it listens.
    pub fn addr(&self) -> SocketAddr {
        SocketAddr::from(([127, 0, 0, 1], self.port))
    }

    /// URL of a path below the virtual root (no leading slash; percent-encoded already).
    pub fn url(&self, path: &str) -> String {
        format!("svn://127.0.0.1:{}/{path}", self.port)
    }

    /// Process id, to read its memory and processor time.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// True while the process lives.
    pub fn is_alive(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }

    /// Asks it to stop (SIGTERM) and returns how it ended; `None` if it did not within ten seconds.
    pub fn terminate(mut self) -> Option<ExitStatus> {
        Tool::new("kill")
            .args(["-TERM", &self.child.id().to_string()])
            .run();
        let end = Instant::now() + Duration::from_secs(10);
        while Instant::now() < end {
            if let Ok(Some(status)) = self.child.try_wait() {
                return Some(status);
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        None
    }

    fn wait_until_up(&mut self) -> bool {
        let end = Instant::now() + Duration::from_secs(10);
        while Instant::now() < end && self.is_alive() {
            if TcpStream::connect(self.addr()).is_ok() {
                return true;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        false
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may be gone already, which is as good.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// A free port on the loopback interface.
pub fn free_port() -> u16 {
    let listener = TcpListener::bind(("127.0.0.1", 0)).expect("because the loopback has ports left");
    listener.local_addr().expect("because it is bound").port()
}
