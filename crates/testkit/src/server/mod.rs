//! A server process, of Subversion or of Sven, on a port of its own. It is stopped when the value is dropped.

pub mod certified_hosts;
pub mod cluster;
pub mod http;
mod svnserve_options;
pub mod transport;

use std::net::{SocketAddr, TcpListener, TcpStream};
use std::ops::Range;
use std::path::Path;
use std::process::{Child, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::tool::{Side, Tool, sven_binary};

/// A running server.
#[derive(Debug)]
pub struct TestServer {
    child: Child,
    port: u16,
    /// The directory with its configuration and logs.
    dir: Option<TempDir>,
    /// The other nodes and the proxy, if it is a cluster. The process is that of the first node, the port that of the proxy.
    cluster: Option<cluster::TestCluster>,
}

impl TestServer {
    /// Starts `svnserve` in the foreground with virtual root `root` and more arguments (`-T`, `-M 1024`, …). Waits
    /// until it accepts connections.
    ///
    /// Sven's is a cluster if the environment says so ([`cluster::is_chosen`]).
    pub fn svnserve(side: Side, root: &Path, args: &[&str]) -> TestServer {
        if side == Side::Ours && cluster::is_chosen() {
            let site = cluster::ClusterSite {
                transport: transport::Transport::Svn,
                root,
                configuration: &svnserve_options::svnserve_configuration(args),
                args: &[],
            };
            return TestServer::cluster(&site, None);
        }
        TestServer::svnserve_by(side, root, args, |tool| tool)
    }

    /// As [`TestServer::svnserve`], bound by the permissions of files ([`Tool::bound_by_permissions`]).
    pub fn svnserve_bound_by_permissions(side: Side, root: &Path, args: &[&str]) -> TestServer {
        TestServer::svnserve_by(side, root, args, Tool::bound_by_permissions)
    }

    fn svnserve_by(side: Side, root: &Path, args: &[&str], how: fn(Tool) -> Tool) -> TestServer {
        TestServer::start(&format!("{side:?} svnserve"), |port| {
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

    /// Starts the program that `prepare` returns for a port, and waits until it accepts connections there.
    fn start(what: &str, prepare: impl Fn(u16) -> (Tool, Option<TempDir>)) -> TestServer {
        // Another process may take the free port before the server binds it. Then try another port.
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
            let mut server = TestServer {
                child,
                port,
                dir,
                cluster: None,
            };
            if server.wait_until_up() {
                return server;
            }
        }
        panic!("{what} does not come up");
    }

    /// Starts `sven serve` with this configuration file, which says that it listens on `port`.
    pub fn sven_serve_on(config: &Path, port: u16) -> TestServer {
        TestServer::sven_serve_with(config, port, &[])
    }

    /// As [`TestServer::sven_serve_on`], with variables in its environment.
    pub fn sven_serve_with(config: &Path, port: u16, variables: &[(&str, String)]) -> TestServer {
        let tool = Tool::new(sven_binary()).args(["serve", "--config"]).arg(config);
        let tool = variables
            .iter()
            .fold(tool, |tool, (name, value)| tool.env(name, value));
        let child = tool
            .command()
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::inherit())
            .spawn()
            .unwrap_or_else(|e| panic!("can't start sven serve: {e}"));
        let mut server = TestServer {
            child,
            port,
            dir: None,
            cluster: None,
        };
        assert!(server.wait_until_up(), "sven serve does not come up");
        server
    }

    /// Returns the port on 127.0.0.1.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Returns the address that it listens on.
    pub fn addr(&self) -> SocketAddr {
        SocketAddr::from(([127, 0, 0, 1], self.port))
    }

    /// Returns the URL of a path below the virtual root (without leading slash, percent-encoded).
    pub fn url(&self, path: &str) -> String {
        format!("svn://127.0.0.1:{}/{path}", self.port)
    }

    /// Returns the process ID, to read memory and processor time.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// True while the process is running.
    pub fn is_alive(&mut self) -> bool {
        let others = self
            .cluster
            .as_mut()
            .is_none_or(cluster::TestCluster::others_are_alive);
        others && matches!(self.child.try_wait(), Ok(None))
    }

    /// Sends SIGTERM and returns the exit status; `None` if the process does not end within ten seconds.
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

impl Drop for TestServer {
    fn drop(&mut self) {
        // The process may have ended already, so errors are ignored.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// Returns a free port on the loopback interface, another one each time.
///
/// The system chooses ports of clients above [`PORTS`]: one that it gave could be taken by a connection, or be given to another test, before
/// the server binds it, and a test would talk to the wrong server.
pub fn free_port() -> u16 {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let count = u32::from(PORTS.end - PORTS.start);
    // Test programs that run side by side begin at different ports.
    let first = std::process::id().wrapping_mul(97) % count;
    for _ in 0..count {
        let port = (first + NEXT.fetch_add(1, Ordering::Relaxed)) % count;
        let port = PORTS.start + u16::try_from(port).expect("because it is below the number of ports");
        if TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return port;
        }
    }
    panic!("no port is free");
}

/// The ports of servers in tests.
const PORTS: Range<u16> = 10_000..32_000;
