//! A cluster of three nodes to try, with its own PostgreSQL and S3 server, behind one port. `./dev cluster` builds and runs it.
//!
//! Everything is on loopback and in temporary directories. It ends with Ctrl-C, and leaves nothing.

#![expect(clippy::print_stdout, reason = "a program, not a library")]

use std::fs;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use signal_hook::consts::{SIGCHLD, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use testkit::engines::{Engines, cluster_table, write_secret_key};
use testkit::server::free_port;
use testkit::server::transport::Transport;
use testkit::spreading_proxy::SpreadingProxy;
use testkit::tool::{Side, Tool, sven_binary};

/// The history of the demonstration.
const DEMO: &[u8] = include_bytes!("../../../cli/data/demo.dump");

const NODES: usize = 3;

/// The port of the proxy, if it is free.
const PORT: u16 = 8080;

fn main() {
    // From here on, so that an early Ctrl-C ends the demonstration in order as well.
    let mut signals = Signals::new([SIGINT, SIGTERM, SIGCHLD]).expect("because these signals can be handled");
    println!("starting PostgreSQL and an S3 server ...");
    let demo = Demo::start();
    println!("{}", demo.text());
    let mut nodes = demo.nodes;
    for signal in &mut signals {
        if signal != SIGCHLD {
            break;
        }
        for node in &mut nodes {
            node.report_end();
        }
    }
    println!("stopping ...");
}

/// A running cluster. It ends with the value.
struct Demo {
    nodes: Vec<DemoNode>,
    proxy: SpreadingProxy,
    dir: tempfile::TempDir,
    _engines: Engines,
}

struct DemoNode {
    child: Child,
    config: PathBuf,
    name: String,
    has_ended: bool,
}

impl Demo {
    fn start() -> Demo {
        let engines = Engines::start();
        let dir = tempfile::Builder::new()
            .prefix("sven-cluster-")
            .tempdir()
            .expect("because there is room for temporary files");
        write_secret_key(dir.path());
        let ports: Vec<u16> = (0..NODES).map(|_| free_port()).collect();
        let (database, objects) = (engines.new_database(), engines.new_prefix());
        let configs: Vec<PathBuf> = ports
            .iter()
            .zip(1..)
            .map(|(port, number)| {
                let name = format!("node{number}");
                let table = cluster_table(&database, &objects, &engines.endpoint(), &name);
                let text = format!(
                    "[listen]\nhttp = '127.0.0.1:{port}'\n\n{table}url = 'http://127.0.0.1:{port}'\nlease = '3s'\n"
                );
                let path = dir.path().join(format!("node{number}.toml"));
                fs::write(&path, text).expect("because the directory is ours");
                path
            })
            .collect();
        cluster(&configs[0], &["init"]);
        let repository = demo_repository(dir.path());
        cluster(
            &configs[0],
            &["import", "-q", &repository.to_string_lossy(), "demo"],
        );
        let mut nodes: Vec<DemoNode> = configs.iter().zip(1..).map(start_node).collect();
        for (node, port) in nodes.iter_mut().zip(&ports) {
            node.wait_until_up(*port);
        }
        let addresses = ports.iter().map(|port| SocketAddr::from(([127, 0, 0, 1], *port)));
        let listener =
            TcpListener::bind(("127.0.0.1", PORT)).or_else(|_| TcpListener::bind(("127.0.0.1", 0)));
        let listener = listener.expect("because the loopback has ports left");
        let proxy = SpreadingProxy::start_on(listener, Transport::Http, addresses.collect(), || ());
        Demo {
            nodes,
            proxy,
            dir,
            _engines: engines,
        }
    }

    fn text(&self) -> String {
        let url = format!("http://127.0.0.1:{}/demo", self.proxy.port());
        let sven = sven_binary().display().to_string();
        let config = self.dir.path().join("node1.toml").display().to_string();
        let mut text = format!(
            "\nThree nodes serve one repository until you press Ctrl-C. Each request goes to another node: {url}\n\n"
        );
        for node in &self.nodes {
            text += &format!("    {}  process {}\n", node.name, node.child.id());
        }
        text += &format!(
            "\nTry, in another terminal:\n\n\
             \x20   svn checkout {url}/trunk sven-cluster-demo\n\
             \x20   cd sven-cluster-demo; echo more >> README.txt; svn commit -m 'Through all nodes'\n\
             \x20   {sven} cluster status --config {config}\n\n\
             Kill a node and go on; what is acknowledged stays:\n\n\
             \x20   kill -9 {}\n\
             \x20   echo still >> README.txt; svn commit -m 'With two nodes'; svn update; svn log -q\n\
             \x20   {sven} cluster nodes --config {config}\n\n\
             A new one with an empty disk serves at once:\n\n\
             \x20   rm -r {}; {sven} serve --config {}\n",
            self.nodes[1].child.id(),
            self.dir.path().join("node2").display(),
            self.nodes[1].config.display()
        );
        text
    }
}

impl DemoNode {
    fn wait_until_up(&mut self, port: u16) {
        let end = Instant::now() + Duration::from_secs(30);
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            assert!(
                Instant::now() < end && matches!(self.child.try_wait(), Ok(None)),
                "{} does not come up",
                self.name
            );
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Prints once that the process has ended.
    fn report_end(&mut self) {
        if !self.has_ended && matches!(self.child.try_wait(), Ok(Some(_))) {
            self.has_ended = true;
            println!("{} has ended", self.name);
        }
    }
}

impl Drop for DemoNode {
    fn drop(&mut self) {
        // It may have ended already, so errors are ignored.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

fn start_node((config, number): (&PathBuf, i32)) -> DemoNode {
    let child = Tool::new(sven_binary())
        .args(["serve", "--config"])
        .arg(config)
        .command()
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap_or_else(|e| panic!("can't start a node: {e}"));
    DemoNode {
        child,
        config: config.clone(),
        name: format!("node{number}"),
        has_ended: false,
    }
}

fn cluster(config: &Path, args: &[&str]) {
    Tool::new(sven_binary())
        .args(["cluster", args[0], "--config"])
        .arg(config)
        .args(&args[1..])
        .ok();
}

/// Makes a repository of files that everyone may write.
fn demo_repository(dir: &Path) -> PathBuf {
    let path = dir.join("demo");
    let admin = |command: &str| Side::Ours.tool("svnadmin").arg(command);
    admin("create").arg(&path).ok();
    admin("load").arg("-q").arg(&path).stdin(DEMO).ok();
    fs::write(
        path.join("conf/svnserve.conf"),
        "[general]\nanon-access = write\n",
    )
    .expect("because the directory is ours");
    path
}
