//! The cluster under test: two engines, three nodes, and proxies between them.
//!
//! Each node reaches PostgreSQL and the object store through proxies of its own, and the others reach it through another one.

use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use tempfile::TempDir;
use testkit::engines::{Engines, cluster_table, write_secret_key};
use testkit::fault_proxy::{FaultProxy, Framing};
use testkit::server::{TestServer, free_port};
use testkit::spreading_proxy::SpreadingProxy;
use testkit::tool::sven_binary;
use testkit::{Output, Side, Tool, scratch};

/// How many nodes there are.
pub const NODES: usize = 3;

/// Milliseconds after which a silent node counts as dead.
pub const LEASE_MS: u64 = 1000;

/// Milliseconds for which a node uses revision properties and locks without asking whether they have changed.
pub const STALENESS_MS: u64 = 20;

/// Milliseconds for which a node waits for an engine that does not answer.
const PATIENCE_MS: u64 = 2000;

/// The only user, and the password.
pub const USER: (&str, &str) = ("u", "secret");

/// Files that users lock: `lock0`, `lock1` and so on.
pub const LOCKED_FILES: usize = 4;

/// Files that all users change: `shared0`, `shared1` and so on.
pub const SHARED_FILES: usize = 4;

/// The cluster, with a repository `r`.
pub struct TestNodes {
    /// The nodes.
    pub nodes: Vec<Node>,
    /// The engines.
    pub engines: Engines,
    entrance: SpreadingProxy,
    dir: TempDir,
}

/// A node.
pub struct Node {
    /// Between it and PostgreSQL.
    pub database: FaultProxy,
    /// Between it and the object store.
    pub objects: FaultProxy,
    /// Between the other nodes and it.
    pub others: FaultProxy,
    /// The process; `None` while it is dead.
    server: Option<TestServer>,
    config: PathBuf,
    directory: PathBuf,
    svn_port: u16,
    http_port: u16,
}

/// URLs at which clients reach the repository.
#[derive(Clone, Debug)]
pub struct Targets {
    /// `svn://` at each node.
    pub svn: Vec<String>,
    /// `http://` at each node.
    pub http: Vec<String>,
    /// `http://` with each request at another node.
    pub spread: String,
}

impl TestNodes {
    /// Starts everything. The repository has the first contents.
    pub fn start() -> TestNodes {
        let (dir, engines) = (scratch(), Engines::start());
        write_secret_key(dir.path());
        let (database, objects) = (engines.new_database(), engines.new_prefix());
        let name = database.rsplit('/').next().unwrap();
        let name = name.split('?').next().unwrap();
        let make = |number| {
            let (svn_port, http_port) = (free_port(), free_port());
            let node = Node {
                database: FaultProxy::start(engines.postgres_address(), Framing::Bytes),
                objects: FaultProxy::start(engines.objects_address(), Framing::Http),
                others: FaultProxy::start(SocketAddr::from(([127, 0, 0, 1], http_port)), Framing::Http),
                server: None,
                config: dir.path().join(format!("node{number}.toml")),
                directory: dir.path().join(format!("node{number}")),
                svn_port,
                http_port,
            };
            let table = cluster_table(
                &engines.database_at(name, node.database.address().port()),
                &objects,
                &format!("http://{}", node.objects.address()),
                &format!("node{number}"),
            );
            let text = format!(
                "[listen]\nsvn = '127.0.0.1:{svn_port}'\nhttp = '127.0.0.1:{http_port}'\n\
                 [log]\nerror = 'node{number}.log'\n{table}url = 'http://{}'\n\
                 lease = '{LEASE_MS}ms'\nstaleness = '{STALENESS_MS}ms'\npatience = '{PATIENCE_MS}ms'\n",
                node.others.address(),
            );
            std::fs::write(&node.config, text).unwrap();
            node
        };
        let mut test = TestNodes {
            nodes: (0..NODES).map(make).collect(),
            entrance: SpreadingProxy::start(Vec::new()),
            engines,
            dir,
        };
        test.cluster("init", &[]).expect_ok();
        let first = first_repository(test.dir.path());
        test.cluster("import", &["-q", &first.to_string_lossy(), "r"])
            .expect_ok();
        (0..NODES).for_each(|node| test.start_node(node));
        test
    }

    /// Starts a node that is dead.
    pub fn start_node(&mut self, node: usize) {
        let node = &mut self.nodes[node];
        node.server = Some(TestServer::sven_serve_on(&node.config, node.svn_port));
        self.spread();
    }

    /// Kills a node. With `wipe`, its directory is removed.
    pub fn kill_node(&mut self, node: usize, wipe: bool) {
        let node = &mut self.nodes[node];
        node.server = None;
        if wipe {
            std::fs::remove_dir_all(&node.directory).unwrap();
        }
    }

    /// Sends a signal to the process of a node.
    pub fn signal_node(&mut self, node: usize, signal: &str) {
        let server = self.nodes[node].server.as_ref().unwrap();
        Tool::new("kill")
            .args(["-s", signal, &server.pid().to_string()])
            .ok();
    }

    /// Returns the files in the cache of a node.
    pub fn cached_files(&self, node: usize) -> Vec<PathBuf> {
        let mut files = Vec::new();
        let mut dirs = vec![self.nodes[node].directory.join("cache")];
        while let Some(dir) = dirs.pop() {
            for entry in std::fs::read_dir(dir).into_iter().flatten().flatten() {
                match entry.path().is_dir() {
                    true => dirs.push(entry.path()),
                    false => files.push(entry.path()),
                }
            }
        }
        files.sort();
        files
    }

    /// Returns where clients reach the repository.
    pub fn targets(&self) -> Targets {
        let urls = |scheme: &str, port: fn(&Node) -> u16| -> Vec<String> {
            let ports = self.nodes.iter().map(port);
            ports
                .map(|port| format!("{scheme}://127.0.0.1:{port}/r"))
                .collect()
        };
        Targets {
            svn: urls("svn", |node| node.svn_port),
            http: urls("http", |node| node.http_port),
            spread: format!("http://127.0.0.1:{}/r", self.entrance.port()),
        }
    }

    /// Runs `sven cluster` with the settings of the first node.
    pub fn cluster(&self, command: &str, args: &[&str]) -> Output {
        Tool::new(sven_binary())
            .args(["cluster", command, "--config"])
            .arg(&self.nodes[0].config)
            .args(args)
            .run()
    }

    /// Exports the repository, and checks that Subversion verifies it, that each node shows the same, and that no object is missing.
    pub fn verified_export(&self) -> PathBuf {
        let to = self.dir.path().join("exported");
        self.cluster("export", &["-q", "r", &to.to_string_lossy()])
            .expect_ok();
        Tool::new("svnadmin").args(["verify", "-q"]).arg(&to).ok();
        let dump = |side: Side, repository: &Path| {
            let tool = side.tool("svnadmin").args(["dump", "-q"]);
            tool.arg(repository).ok().stdout
        };
        let expected = dump(Side::Theirs, &to);
        for (number, node) in self.nodes.iter().enumerate() {
            let shown = dump(Side::Ours, &node.directory.join("repositories/r"));
            assert!(shown == expected, "node {number} shows another history");
        }
        self.cluster("fsck", &[]).expect_ok();
        to
    }

    /// Returns the end of the log of each node, for a message.
    pub fn logs(&self) -> String {
        let mut text = String::new();
        for (number, node) in self.nodes.iter().enumerate() {
            let log = std::fs::read_to_string(node.config.with_extension("log")).unwrap_or_default();
            let lines: Vec<&str> = log.lines().collect();
            text += &format!("node {number}:\n");
            for line in &lines[lines.len().saturating_sub(SHOWN_LINES)..] {
                text += &format!("  {line}\n");
            }
        }
        text
    }

    /// Returns how many connections and requests faults of proxies have hit.
    pub fn hits(&self) -> u64 {
        let proxies = |node: &Node| [node.database.hits(), node.objects.hits(), node.others.hits()];
        self.nodes.iter().flat_map(proxies).sum()
    }

    fn spread(&self) {
        let address = |node: &Node| SocketAddr::from(([127, 0, 0, 1], node.http_port));
        self.entrance
            .set_servers(self.nodes.iter().map(address).collect());
    }
}

/// Makes the repository that is imported: its configuration reaches a node whose directory was removed.
fn first_repository(parent: &Path) -> PathBuf {
    let repository = parent.join("first");
    Tool::new("svnadmin").arg("create").arg(&repository).ok();
    let (user, password) = USER;
    let write = |name: &str, text: &str| std::fs::write(repository.join(name), text).unwrap();
    write(
        "conf/svnserve.conf",
        "[general]\nanon-access = none\nauth-access = write\npassword-db = passwd\n",
    );
    write("conf/passwd", &format!("[users]\n{user} = {password}\n"));
    write("hooks/pre-revprop-change", "#!/bin/sh\nexit 0\n");
    let executable = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(repository.join("hooks/pre-revprop-change"), executable).unwrap();
    let url = format!("file://{}", repository.display());
    let mut actions = Vec::new();
    for name in (0..LOCKED_FILES)
        .map(|file| format!("lock{file}"))
        .chain((0..SHARED_FILES).map(|file| format!("shared{file}")))
    {
        actions.extend(["put".to_owned(), "/dev/null".to_owned(), name]);
    }
    Tool::new("svnmucc")
        .args(["-m", "first", "-U", &url])
        .args(actions)
        .ok();
    repository
}

/// Lines of a log in a message.
const SHOWN_LINES: usize = 30;
