//! PostgreSQL and an S3 server, for tests of clusters.
//!
//! [`engines`] starts both once for each test program. A test takes a database ([`Engines::new_database`]) and a prefix in the
//! bucket ([`Engines::new_prefix`]) of its own. A test that stops an engine starts its own pair ([`Engines::start`]).
//!
//! The engines end with the test program, however it ends: a shell in a session of its own reads from a pipe that the program
//! holds. When the pipe is closed, the shell stops the engine and removes its files.
//!
//! Debian's PostgreSQL refuses to run as root, so a test program of root runs it as the user `postgres`. The S3 server is versitygw
//! over a directory. `./dev deps` installs both.

use std::fs::{self, Permissions};
use std::io::Write as _;
use std::net::{SocketAddr, TcpStream};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::server::free_port;
use crate::tool::Tool;

/// The access key of the S3 server.
pub const ACCESS_KEY: &str = "sven";

/// The secret key of the S3 server.
pub const SECRET_KEY: &str = "sven-secret";

/// The version of versitygw that `./dev deps` installs.
const VERSITYGW: &str = "versitygw-v1.8.0";

/// A running pair of engines.
#[derive(Debug)]
pub struct Engines {
    postgres: Engine,
    objects: Engine,
}

/// One engine: a process with a port, and a directory of its own.
#[derive(Debug)]
struct Engine {
    name: &'static str,
    /// What the supervising shell runs.
    program: Vec<String>,
    port: u16,
    dir: TempDir,
    /// The supervising shell, while the engine runs.
    shell: Option<Child>,
    /// The signal that stops the engine.
    stop: &'static str,
}

/// Returns the engines of this test program.
///
/// # Panics
/// If one of them is not installed or does not start.
pub fn engines() -> &'static Engines {
    static ENGINES: OnceLock<Engines> = OnceLock::new();
    ENGINES.get_or_init(Engines::start)
}

impl Engines {
    /// Starts a pair of engines.
    ///
    /// # Panics
    /// As [`engines`].
    pub fn start() -> Engines {
        Engines::start_in(&std::env::temp_dir(), Durability::Off)
    }

    /// Starts a pair of engines whose files are below `parent`, for measurements with `Durability::On`.
    ///
    /// # Panics
    /// As [`engines`].
    pub fn start_in(parent: &Path, durability: Durability) -> Engines {
        let dir = || tempfile::tempdir_in(parent).expect("because there is room for temporary files");
        Engines {
            postgres: start_postgres(dir(), durability),
            objects: start_objects(dir()),
        }
    }

    /// Makes an empty database, and returns its URL.
    pub fn new_database(&self) -> String {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let name = format!("test_{}", COUNT.fetch_add(1, Ordering::Relaxed));
        let port = self.postgres.port.to_string();
        Tool::new(postgres_bin().join("createdb"))
            .args(["-h", "127.0.0.1", "-U", "sven", "-p", &port, &name])
            .ok();
        self.database_at(&name, self.postgres.port)
    }

    /// The URL of a database by way of another port, for a proxy in between.
    pub fn database_at(&self, name: &str, port: u16) -> String {
        format!("postgresql://sven@127.0.0.1:{port}/{name}?sslmode=disable")
    }

    /// Returns a URL of objects that no other test uses.
    pub fn new_prefix(&self) -> String {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        format!("s3://{BUCKET}/test-{count}")
    }

    /// The URL of the S3 server.
    pub fn endpoint(&self) -> String {
        format!("http://127.0.0.1:{}", self.objects.port)
    }

    /// The directory in which the S3 server keeps the objects of the bucket.
    pub fn bucket_dir(&self) -> PathBuf {
        self.objects.dir.path().join("data").join(BUCKET)
    }

    /// The address of PostgreSQL.
    pub fn postgres_address(&self) -> SocketAddr {
        SocketAddr::from(([127, 0, 0, 1], self.postgres.port))
    }

    /// The address of the S3 server.
    pub fn objects_address(&self) -> SocketAddr {
        SocketAddr::from(([127, 0, 0, 1], self.objects.port))
    }

    /// Stops PostgreSQL at once, as a crash does.
    pub fn stop_postgres(&mut self) {
        self.postgres.stop();
    }

    /// Shuts PostgreSQL down: it ends its sessions and writes what it has in memory.
    pub fn shut_postgres_down(&mut self) {
        self.postgres.stop_with("INT");
    }

    /// Starts PostgreSQL again, with the same data and port.
    pub fn start_postgres(&mut self) {
        self.postgres.start();
        self.postgres.wait_until_ready();
    }

    /// Stops the S3 server.
    pub fn stop_objects(&mut self) {
        self.objects.stop();
    }

    /// Starts the S3 server again, with the same data and port.
    pub fn start_objects(&mut self) {
        self.objects.start();
    }
}

/// Runs a statement in a database, and returns what it prints.
pub fn sql(database: &str, statement: &str) -> String {
    let output = Tool::new(postgres_bin().join("psql"))
        .args([
            "-X",
            "-q",
            "-A",
            "-t",
            "-v",
            "ON_ERROR_STOP=1",
            "-d",
            database,
            "-c",
            statement,
        ])
        .ok();
    String::from_utf8_lossy(&output.stdout).trim_end().to_owned()
}

/// Writes the secret key of the S3 server to the file `secret` in a directory with configurations of nodes.
///
/// # Panics
/// If the file cannot be written.
pub fn write_secret_key(dir: &Path) {
    fs::write(dir.join("secret"), SECRET_KEY).expect("because the directory is ours");
}

/// Returns the table `[cluster]` of a node's configuration; more keys can follow. The directory of the node has its name and is beside
/// the configuration, as is the file of [`write_secret_key`].
pub fn cluster_table(database: &str, objects: &str, endpoint: &str, node: &str) -> String {
    format!(
        "[cluster]\ndatabase = '{database}'\nobjects = '{objects}'\nendpoint = '{endpoint}'\nregion = 'us-east-1'\n\
         access-key = '{ACCESS_KEY}'\nsecret-key-file = 'secret'\ndirectory = '{node}'\nnode = '{node}'\n"
    )
}

/// Whether PostgreSQL waits for its disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durability {
    /// It waits.
    On,
    /// It does not: faster, and no test cuts the machine's power.
    Off,
}

fn start_postgres(dir: TempDir, durability: Durability) -> Engine {
    let data = dir.path().join("data");
    let user = unprivileged_user();
    make_data(dir.path(), &data, user.as_deref());
    let port = free_port();
    let mut program = as_user(user.as_deref(), &postgres_bin().join("postgres"));
    let fsync = if durability == Durability::On { "on" } else { "off" };
    program.extend(["-D".to_owned(), data.to_string_lossy().into_owned()]);
    for setting in [
        "listen_addresses=127.0.0.1",
        &format!("port={port}"),
        "unix_socket_directories=",
        "max_connections=300",
        "shared_buffers=64MB",
        &format!("fsync={fsync}"),
        &format!("full_page_writes={fsync}"),
        "log_min_messages=fatal",
        "logging_collector=off",
    ] {
        program.extend(["-c".to_owned(), setting.to_owned()]);
    }
    let mut engine = Engine {
        name: "PostgreSQL",
        program,
        port,
        dir,
        shell: None,
        stop: "QUIT",
    };
    engine.start();
    engine.wait_until_ready();
    engine
}

/// Makes the directory of data, which belongs to `user`.
fn make_data(dir: &Path, data: &Path, user: Option<&str>) {
    if let Some(user) = user {
        // The other user must be able to reach its directory.
        fs::set_permissions(dir, Permissions::from_mode(0o711)).expect("because it is ours");
        Tool::new("install")
            .args(["-d", "-m", "700", "-o", user])
            .arg(data)
            .ok();
    }
    let initdb = as_user(user, &postgres_bin().join("initdb"));
    Tool::new(&initdb[0])
        .args(&initdb[1..])
        .args([
            "--username=sven",
            "--auth=trust",
            "--encoding=UTF8",
            "--no-locale",
            "--no-sync",
            "-D",
        ])
        .arg(data)
        .dir(Path::new("/"))
        .ok();
}

/// The command line that runs a program as `user`.
fn as_user(user: Option<&str>, program: &Path) -> Vec<String> {
    let program = program.to_string_lossy().into_owned();
    match user {
        Some(user) => [
            "setpriv",
            "--init-groups",
            "--reuid",
            user,
            "--regid",
            user,
            "--",
            &program,
        ]
        .map(str::to_owned)
        .to_vec(),
        None => vec![program],
    }
}

fn start_objects(dir: TempDir) -> Engine {
    let data = dir.path().join("data");
    fs::create_dir_all(data.join(BUCKET)).expect("because the directory is new");
    let port = free_port();
    let program = [
        "env".to_owned(),
        format!("ROOT_ACCESS_KEY={ACCESS_KEY}"),
        format!("ROOT_SECRET_KEY={SECRET_KEY}"),
        versitygw().to_string_lossy().into_owned(),
        "--keep-alive".to_owned(),
        "--quiet".to_owned(),
        "--port".to_owned(),
        format!("127.0.0.1:{port}"),
        "posix".to_owned(),
        data.to_string_lossy().into_owned(),
    ];
    let mut engine = Engine {
        name: "versitygw",
        program: program.into(),
        port,
        dir,
        shell: None,
        stop: "KILL",
    };
    engine.start();
    engine
}

impl Engine {
    /// Starts the engine and waits until it accepts connections.
    fn start(&mut self) {
        assert!(self.shell.is_none(), "{} runs already", self.name);
        let log = fs::File::create(self.dir.path().join("log")).expect("because the directory is ours");
        let shell = Command::new("setsid")
            .args(["sh", "-c", SUPERVISOR, "sh", self.stop])
            .arg(self.dir.path())
            .args(&self.program)
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(log.try_clone().expect("because there are descriptors left"))
            .stderr(log)
            .spawn()
            .unwrap_or_else(|e| panic!("can't start {}: {e}", self.name));
        self.shell = Some(shell);
        self.wait_until(|| TcpStream::connect(("127.0.0.1", self.port)).is_ok());
    }

    /// Waits until PostgreSQL has recovered and answers.
    fn wait_until_ready(&self) {
        let port = self.port.to_string();
        let ready = Tool::new(postgres_bin().join("pg_isready")).args(["-q", "-h", "127.0.0.1", "-p", &port]);
        self.wait_until(|| ready.clone().run().code == 0);
    }

    fn wait_until(&self, is_up: impl Fn() -> bool) {
        let begun = Instant::now();
        while !is_up() {
            let log = || fs::read_to_string(self.dir.path().join("log")).unwrap_or_default();
            assert!(
                begun.elapsed() < START_TIMEOUT,
                "{} does not come up:\n{}",
                self.name,
                log()
            );
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    fn stop(&mut self) {
        self.stop_with(self.stop);
    }

    fn stop_with(&mut self, signal: &str) {
        if let Some(mut shell) = self.shell.take() {
            let mut pipe = shell.stdin.take().expect("because it was piped");
            _ = pipe.write_all(format!("{signal}\n").as_bytes());
            drop(pipe);
            shell
                .wait()
                .unwrap_or_else(|e| panic!("can't wait for {}: {e}", self.name));
        }
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        self.stop();
    }
}

/// The user that runs PostgreSQL in place of root; `None` if this process is not root.
fn unprivileged_user() -> Option<String> {
    let is_root = fs::metadata("/proc/self").is_ok_and(|own| own.uid() == 0);
    is_root.then(|| "postgres".to_owned())
}

/// The directory with the programs of PostgreSQL: that of the newest version.
///
/// # Panics
/// If it is not installed.
pub fn postgres_bin() -> &'static Path {
    static BIN: OnceLock<PathBuf> = OnceLock::new();
    BIN.get_or_init(|| {
        let versions = fs::read_dir("/usr/lib/postgresql")
            .into_iter()
            .flatten()
            .flatten();
        let newest = versions
            .filter_map(|entry| {
                Some((
                    entry.file_name().to_str()?.parse::<u32>().ok()?,
                    entry.path().join("bin"),
                ))
            })
            .filter(|(_, bin)| bin.join("initdb").exists())
            .max();
        newest
            .expect("PostgreSQL is not installed; './dev deps' does it")
            .1
    })
}

/// The program versitygw.
fn versitygw() -> PathBuf {
    let cache = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    let cache = cache.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".cache")));
    let program = cache.map(|cache| cache.join("sven").join(VERSITYGW).join("versitygw"));
    match program {
        Some(program) if program.exists() => program,
        _ => panic!("versitygw is not installed; './dev deps' does it"),
    }
}

const BUCKET: &str = "sven";

const START_TIMEOUT: Duration = Duration::from_secs(60);

/// The supervising shell: stops the program when standard input ends, and removes the directory unless it has read a line with another
/// signal before. Its arguments: the signal, the directory, the program with arguments.
const SUPERVISOR: &str = r#"
signal=$1
directory=$2
shift 2
"$@" </dev/null &
program=$!
read -r other
kill -s "${other:-$signal}" "$program" 2>/dev/null
wait "$program" 2>/dev/null
[ -n "$other" ] || rm -rf "$directory"
"#;
