//! A cluster in the place of one server: `$SVEN_INTEROP_CLUSTER` lets each of Sven's servers in a test be three nodes with a proxy
//! before them, which spreads the requests of a client.
//!
//! The repositories below the server's root are imported into a cluster of their own when the server starts. Their directories stay where they are,
//! for the test:
//!
//! - What a test writes to `conf/` and `hooks/` there reaches the nodes: the proxy compares these files before it passes a request on, and
//!   pushes them into the cluster if they have changed.
//! - What the cluster has committed is written there by [`ServedStorage::bring_back`], for programs that read the files of a repository.
//!
//! The nodes write to the same log files.

use std::collections::BTreeMap;
use std::fs;
use std::net::{SocketAddr, TcpStream};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tempfile::TempDir;

use super::transport::Transport;
use super::{TestServer, free_port};
use crate::engines::{cluster_table, engines, write_secret_key};
use crate::normalize::mask_transactions;
use crate::spreading_proxy::SpreadingProxy;
use crate::tool::{Side, Tool, scratch, sven_binary, tool_link};

/// True if servers of Sven are to be clusters.
pub fn is_chosen() -> bool {
    std::env::var_os("SVEN_INTEROP_CLUSTER").is_some()
}

/// Returns outputs of two sides without what differs if one of them is a cluster: the names of transactions tell their node.
pub fn comparable(outputs: [&str; 2]) -> [String; 2] {
    outputs.map(|output| match is_chosen() {
        true => mask_transactions(output),
        false => output.to_owned(),
    })
}

/// Where the repositories of a server are: in their directories, or in a cluster.
#[derive(Clone, Debug)]
pub struct ServedStorage(Option<Arc<SharedFolder>>);

/// Three nodes and the proxy before them.
#[derive(Debug)]
pub(super) struct TestCluster {
    nodes: Vec<Child>,
    proxy: SpreadingProxy,
    shared: Arc<SharedFolder>,
}

/// What is served, and with which settings.
pub(super) struct ClusterSite<'a> {
    /// How clients connect.
    pub(super) transport: Transport,
    /// The directory of the repositories, or a repository.
    pub(super) root: &'a Path,
    /// The configuration without `[listen]` and `[cluster]`. In it `@ROOT` stands for the root of a node.
    pub(super) configuration: &'a str,
    /// More arguments for `sven serve`.
    pub(super) args: &'a [&'a str],
}

/// The directory of the nodes, and the repositories.
#[derive(Debug)]
struct SharedFolder {
    dir: TempDir,
    /// The root of the test, and those of the nodes.
    root: PathBuf,
    node_roots: Vec<PathBuf>,
    repositories: Mutex<Vec<ServedRepository>>,
}

/// A repository of the cluster.
#[derive(Debug)]
struct ServedRepository {
    name: String,
    path: PathBuf,
    /// The state of `conf/` and `hooks/` that the nodes have.
    pushed: FileStates,
}

/// Time of change, length, mode and inode of each file.
type FileStates = BTreeMap<PathBuf, (i64, i64, u64, u32, u64)>;

impl TestServer {
    /// Starts a cluster in the place of a server.
    pub(super) fn cluster(site: &ClusterSite<'_>, dir: Option<TempDir>) -> TestServer {
        let mut cluster = TestCluster::start(site);
        let first = cluster.nodes.remove(0);
        TestServer {
            child: first,
            port: cluster.proxy.port(),
            dir,
            cluster: Some(cluster),
        }
    }

    /// Returns where the repositories are that this server serves.
    pub fn storage(&self) -> ServedStorage {
        ServedStorage(self.cluster.as_ref().map(|cluster| cluster.shared.clone()))
    }
}

impl ServedStorage {
    /// Serves a repository that was made below the server's root.
    pub fn add(&self, path: &Path) {
        if let Some(shared) = &self.0 {
            shared.add(path);
        }
    }

    /// Serves a repository no longer. Its directory is the caller's.
    pub fn forget(&self, path: &Path) {
        let Some(shared) = &self.0 else { return };
        let mut repositories = shared.repositories.lock();
        if let Some(at) = repositories.iter().position(|known| known.path == path) {
            let gone = repositories.remove(at);
            shared.cluster_command("drop").args(["--force", &gone.name]).ok();
        }
    }

    /// Gives the repository at `path` the revisions, properties and locks that the cluster has, if it is in one. Its `db` is another one
    /// afterwards.
    pub fn bring_back(&self, path: &Path) {
        let Some(shared) = &self.0 else { return };
        let name = shared.name_of(path);
        let to = shared.dir.path().join(format!("export-{name}"));
        shared.cluster_command("export").args(["-q", &name]).arg(&to).ok();
        fs::remove_dir_all(path.join("db")).expect("because the repository is the test's");
        Tool::new("cp")
            .arg("-a")
            .arg(to.join("db"))
            .arg(path.join("db"))
            .ok();
    }

    /// Returns the directories of the repository at `path` to which Sven's own tools can be applied: one for each node, or the
    /// repository itself.
    pub fn own_directories(&self, path: &Path) -> Vec<PathBuf> {
        let Some(shared) = &self.0 else {
            return vec![path.to_owned()];
        };
        let name = shared.name_of(path);
        (0..NODES)
            .map(|node| shared.node_directory(node, &name))
            .collect()
    }

    /// Replaces the paths of the nodes' directories in a text by those of the repositories.
    pub fn with_own_paths(&self, text: &str) -> String {
        let mut text = text.to_owned();
        if let Some(shared) = &self.0 {
            for repository in &*shared.repositories.lock() {
                for node in 0..NODES {
                    let directory = shared.node_directory(node, &repository.name);
                    let own = repository.path.display().to_string();
                    text = text.replace(&directory.display().to_string(), &own);
                }
            }
        }
        text
    }

    /// Returns a hook of the repository at `path` that does the same where it runs: Sven's programs in place of Subversion's, which do not
    /// know clusters, and the directory of the repository for what it writes beside it.
    pub fn own_hook(&self, text: &str, path: &Path) -> String {
        if self.0.is_none() {
            return text.to_owned();
        }
        let mut text = text.to_owned();
        for (program, name) in [("svnlook", "svnlook"), ("svnadmin", "svnadmin"), ("svn ", "svn")] {
            let own = tool_link(name).display().to_string();
            let rest = &program[name.len()..];
            text = text.replace(&format!("/usr/bin/{program}"), &format!("{own}{rest}"));
        }
        let beside = format!("{}/", path.parent().expect("because it has a name").display());
        text.replace("$1/../", &beside).replace("$R/../", &beside)
    }

    /// Returns a program of `side` with the first of the directories as its last argument: Sven's for a repository in a cluster.
    pub fn tool(&self, side: Side, name: &str, args: &[&str], path: &Path) -> Tool {
        let side = if self.0.is_some() { Side::Ours } else { side };
        side.tool(name).args(args).arg(&self.own_directories(path)[0])
    }

    /// Returns the number of open transactions of the repository at `path`.
    pub fn open_transactions(&self, side: Side, path: &Path) -> usize {
        let side = if self.0.is_some() { Side::Ours } else { side };
        let directories = self.own_directories(path);
        let counts = directories.iter().map(|directory| {
            let listed = side.tool("svnadmin").arg("lstxns").arg(directory).ok();
            listed.out().lines().count()
        });
        counts.sum()
    }
}

// No value behind its locks is left half changed by a panic.
impl std::panic::RefUnwindSafe for TestCluster {}

impl TestCluster {
    fn start(site: &ClusterSite<'_>) -> TestCluster {
        let dir = scratch();
        write_secret_key(dir.path());
        let found = repositories_below(site.root);
        let node_roots: Vec<PathBuf> = (0..NODES)
            .map(|node| node_root(dir.path(), node, site.root, &found))
            .collect();
        let ports: Vec<u16> = (0..2 * NODES).map(|_| free_port()).collect();
        write_configurations(dir.path(), site, &node_roots, &ports);
        let shared = Arc::new(SharedFolder {
            dir,
            root: site.root.to_owned(),
            node_roots,
            repositories: Mutex::default(),
        });
        shared.cluster_command("init").ok();
        for path in found {
            let imported = shared.import(&path);
            shared.repositories.lock().push(imported);
        }
        let mut nodes: Vec<Child> = (0..NODES)
            .map(|node| {
                Tool::new(sven_binary())
                    .args(["serve", "--config"])
                    .arg(config(shared.dir.path(), node))
                    .args(site.args)
                    .command()
                    .stdin(Stdio::null())
                    .stdout(Stdio::null())
                    .stderr(Stdio::inherit())
                    .spawn()
                    .unwrap_or_else(|e| panic!("can't start a node: {e}"))
            })
            .collect();
        for (node, port) in nodes.iter_mut().zip(&ports) {
            wait_until_up(node, *port);
        }
        let addresses = ports[..NODES]
            .iter()
            .map(|port| SocketAddr::from(([127, 0, 0, 1], *port)));
        let pushing = Arc::clone(&shared);
        let proxy = SpreadingProxy::start_for(site.transport, addresses.collect(), move || pushing.push());
        TestCluster { nodes, proxy, shared }
    }

    /// Returns the methods and paths of the requests of clients.
    pub(super) fn request_lines(&self) -> Vec<String> {
        self.proxy.request_lines()
    }

    /// True while the nodes besides the first are running.
    pub(super) fn others_are_alive(&mut self) -> bool {
        self.nodes
            .iter_mut()
            .all(|node| matches!(node.try_wait(), Ok(None)))
    }
}

impl Drop for TestCluster {
    fn drop(&mut self) {
        for node in &mut self.nodes {
            // It may have ended already, so errors are ignored.
            drop(node.kill());
            drop(node.wait());
        }
    }
}

impl SharedFolder {
    fn cluster_command(&self, command: &str) -> Tool {
        Tool::new(sven_binary())
            .args(["cluster", command, "--config"])
            .arg(config(self.dir.path(), 0))
    }

    /// Imports a repository.
    fn import(&self, path: &Path) -> ServedRepository {
        let below = path
            .strip_prefix(&self.root)
            .expect("because it is below the root");
        let name = match below.to_str().expect("because names in clusters are UTF-8") {
            "" => "r".to_owned(),
            below => below.replace('/', "__"),
        };
        let pushed = states_of(path);
        let source = importable(path, self.dir.path());
        self.cluster_command("import")
            .arg("-q")
            .arg(&source)
            .arg(&name)
            .ok();
        ServedRepository {
            name,
            path: path.to_owned(),
            pushed,
        }
    }

    /// Imports a repository while the nodes serve.
    fn add(&self, path: &Path) {
        let imported = self.import(path);
        for node in 0..NODES {
            let directory = self.node_directory(node, &imported.name);
            wait_for("the directory of a repository", || {
                directory.join("format").exists()
            });
            let shown =
                self.node_roots[node].join(path.strip_prefix(&self.root).expect("because it is below"));
            assert!(shown.exists(), "{} is too deep", path.display());
        }
        self.repositories.lock().push(imported);
    }

    fn name_of(&self, path: &Path) -> String {
        let canonical = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let repositories = self.repositories.lock();
        let found = repositories
            .iter()
            .find(|known| canonical(&known.path) == canonical(path));
        found
            .unwrap_or_else(|| panic!("'{}' is not served", path.display()))
            .name
            .clone()
    }

    fn node_directory(&self, node: usize, name: &str) -> PathBuf {
        self.dir.path().join(format!("node{node}/repositories/{name}"))
    }

    /// Pushes configuration and hooks that have changed, and waits until all nodes have them.
    fn push(&self) {
        for repository in &mut *self.repositories.lock() {
            let states = states_of(&repository.path);
            if repository.pushed == states {
                continue;
            }
            self.cluster_command("push")
                .arg(&repository.name)
                .arg(&repository.path)
                .ok();
            let listed = self.cluster_command("files").arg(&repository.name).ok().out();
            let version = listed
                .lines()
                .next()
                .and_then(|line| line.strip_prefix("version "))
                .expect("because the list begins with the version");
            for node in 0..NODES {
                let file = self.node_directory(node, &repository.name).join("db/sven-files");
                wait_for("the files of a node", || {
                    fs::read_to_string(&file).is_ok_and(|text| text.lines().next() == Some(version))
                });
            }
            repository.pushed = states;
        }
    }
}

/// Writes the configuration of each node, in a database and a prefix of the bucket of their own.
fn write_configurations(dir: &Path, site: &ClusterSite<'_>, node_roots: &[PathBuf], ports: &[u16]) {
    let (database, objects) = (engines().new_database(), engines().new_prefix());
    for (node, root) in node_roots.iter().enumerate() {
        let configuration = site.configuration.replace("@ROOT", &root.display().to_string());
        let (port, own) = (ports[node], ports[NODES + node]);
        // Nodes talk to each other over HTTP, on another port if clients do not use it.
        let (listen, own) = match site.transport {
            Transport::Svn => (format!("svn = '127.0.0.1:{port}'\nhttp = '127.0.0.1:{own}'"), own),
            Transport::Https => (
                format!("https = '127.0.0.1:{port}'\nhttp = '127.0.0.1:{own}'"),
                own,
            ),
            Transport::Http | Transport::HttpV1 => (format!("http = '127.0.0.1:{port}'"), port),
        };
        let table = cluster_table(&database, &objects, &engines().endpoint(), &format!("node{node}"));
        let text = format!("[listen]\n{listen}\n{table}url = 'http://127.0.0.1:{own}'\n{configuration}");
        fs::write(config(dir, node), text).expect("because the folder is ours");
    }
}

/// Finds the repositories below a directory, which may be one itself.
fn repositories_below(root: &Path) -> Vec<PathBuf> {
    let is_repository = |path: &Path| path.join("db/fs-type").exists();
    if is_repository(root) {
        return vec![root.to_owned()];
    }
    let mut found = Vec::new();
    let mut dirs = vec![root.to_owned()];
    while let Some(dir) = dirs.pop() {
        for entry in fs::read_dir(&dir).into_iter().flatten().flatten() {
            let path = entry.path();
            let below = path.strip_prefix(root).expect("because it is below");
            if is_repository(&path) {
                found.push(path);
            } else if path.is_dir() && below.components().count() < DEPTH {
                dirs.push(path);
            }
        }
    }
    found
}

/// Makes the root of a node, with the same names as the root of the test.
fn node_root(dir: &Path, node: usize, root: &Path, repositories: &[PathBuf]) -> PathBuf {
    let directories = dir.join(format!("node{node}/repositories"));
    if repositories == [root] {
        return directories.join("r");
    }
    if repositories.iter().all(|path| path.parent() == Some(root)) {
        return directories;
    }
    let node_root = dir.join(format!("root{node}"));
    for path in repositories {
        let below = path.strip_prefix(root).expect("because it is below");
        let name = below.to_string_lossy().replace('/', "__");
        let link = node_root.join(below);
        fs::create_dir_all(link.parent().expect("because it is below")).expect("because the folder is ours");
        std::os::unix::fs::symlink(directories.join(name), link).expect("because the folder is ours");
    }
    node_root
}

/// Returns a repository that can be imported: an upgraded copy of one of formats 1 and 2, which clusters do not have.
fn importable(path: &Path, dir: &Path) -> PathBuf {
    let format = fs::read_to_string(path.join("db/format")).unwrap_or_else(|_| "1".to_owned());
    let is_old = format
        .lines()
        .next()
        .is_none_or(|line| line == "1" || line == "2");
    if !is_old {
        return path.to_owned();
    }
    let copy = dir.join("upgraded");
    _ = fs::remove_dir_all(&copy);
    Tool::new("cp").arg("-aL").arg(path).arg(&copy).ok();
    Tool::new("svnadmin").arg("upgrade").arg(&copy).ok();
    copy
}

/// Returns the state of `conf/` and `hooks/` of a repository.
fn states_of(repository: &Path) -> FileStates {
    let mut states = FileStates::new();
    for dir in ["conf", "hooks"] {
        collect_states(&repository.join(dir), &mut states);
    }
    states
}

fn collect_states(dir: &Path, states: &mut FileStates) {
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        let path = entry.path();
        let Ok(meta) = fs::metadata(&path) else { continue };
        if meta.is_dir() {
            collect_states(&path, states);
        } else {
            let state = (
                meta.mtime(),
                meta.mtime_nsec(),
                meta.len(),
                meta.mode(),
                meta.ino(),
            );
            states.insert(path, state);
        }
    }
}

fn config(dir: &Path, node: usize) -> PathBuf {
    dir.join(format!("node{node}.toml"))
}

fn wait_until_up(node: &mut Child, port: u16) {
    wait_for("a node", || {
        assert!(matches!(node.try_wait(), Ok(None)), "a node does not come up");
        TcpStream::connect(("127.0.0.1", port)).is_ok()
    });
}

fn wait_for(what: &str, mut is_there: impl FnMut() -> bool) {
    let end = Instant::now() + Duration::from_secs(30);
    while !is_there() {
        assert!(Instant::now() < end, "{what}: not there after 30 seconds");
        std::thread::sleep(Duration::from_millis(5));
    }
}

const NODES: usize = 3;

/// Directories between the root and a repository, at most.
const DEPTH: usize = 4;
