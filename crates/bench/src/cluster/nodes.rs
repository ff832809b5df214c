//! Engines, nodes, and the server on a directory that they are compared with.

use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use testkit::engines::{Durability, Engines, cluster_table, write_secret_key};

use super::delay_proxy;
use crate::rivals::SvenBinary;
use crate::rivals::servers::{StartedServer, free_port, launch};
use crate::workload::run;

/// What the proxies add to each answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delays {
    /// Of the database.
    pub database: Duration,
    /// Of the object store.
    pub objects: Duration,
}

/// PostgreSQL and an S3 server, with the files of nodes.
pub struct ClusterEngines<'a> {
    sven: &'a SvenBinary,
    pub engines: Engines,
    /// The name of the database.
    database: String,
    prefix: String,
    scratch: tempfile::TempDir,
}

impl ClusterEngines<'_> {
    /// Starts engines whose files are in `parent`, and makes the tables of a cluster.
    ///
    /// # Errors
    /// If a directory or the tables cannot be made.
    pub fn start<'a>(sven: &'a SvenBinary, parent: &Path) -> Result<ClusterEngines<'a>, String> {
        let scratch = tempfile::tempdir_in(parent).map_err(|e| format!("{}: {e}", parent.display()))?;
        let engines = Engines::start_in(parent, Durability::On);
        let url = engines.new_database();
        let database = url.rsplit('/').next().and_then(|end| end.split('?').next());
        let started = ClusterEngines {
            sven,
            database: database.unwrap_or_default().to_owned(),
            prefix: engines.new_prefix(),
            engines,
            scratch,
        };
        write_secret_key(started.scratch());
        started.settings("tools", DELAYS_OFF)?;
        run(&mut started.command("init", &[]))?;
        Ok(started)
    }

    /// The directory of the nodes' files.
    pub fn scratch(&self) -> &Path {
        self.scratch.path()
    }

    /// The URL of the database, without delay.
    pub fn database(&self) -> String {
        self.engines
            .database_at(&self.database, self.engines.postgres_address().port())
    }

    /// Copies a repository into the cluster.
    ///
    /// # Errors
    /// If the program fails.
    pub fn import(&self, repository: &Path, name: &str) -> Result<(), String> {
        let path = repository.to_string_lossy().into_owned();
        run(&mut self.command("import", &["-q", &path, name])).map(drop)
    }

    /// Makes a repository that anyone may write to.
    ///
    /// # Errors
    /// If a program fails.
    pub fn create(&self, name: &str) -> Result<(), String> {
        let source = self.scratch().join(format!("{name}-source"));
        make_open(&source)?;
        self.import(&source, name)
    }

    /// Starts a node with a directory of its own, which is empty or has what an earlier node of that name left.
    ///
    /// # Errors
    /// If it does not listen within ten seconds.
    pub fn node(&self, name: &str, delays: Delays) -> Result<StartedServer, String> {
        let (config, port) = self.settings(name, delays)?;
        let mut command = self.sven.command("serve");
        command.arg("--config").arg(config);
        launch(command, port, format!("svn://127.0.0.1:{port}"))
    }

    /// Removes the directory of a node that does not run.
    ///
    /// # Errors
    /// The system's.
    pub fn wipe(&self, name: &str) -> Result<(), String> {
        let path = self.scratch().join(name);
        match fs::remove_dir_all(&path) {
            Err(e) if e.kind() != std::io::ErrorKind::NotFound => Err(format!("{}: {e}", path.display())),
            _ => Ok(()),
        }
    }

    /// Writes the configuration of a node. Returns its path, and the port for svn://.
    fn settings(&self, name: &str, delays: Delays) -> Result<(PathBuf, u16), String> {
        let through = |server: SocketAddr, delay: Duration| match delay.is_zero() {
            true => Ok(server.port()),
            false => delay_proxy::start(server, delay),
        };
        let database = through(self.engines.postgres_address(), delays.database)?;
        let database = self.engines.database_at(&self.database, database);
        let objects = through(self.engines.objects_address(), delays.objects)?;
        let port = free_port()?;
        let endpoint = format!("http://127.0.0.1:{objects}");
        let table = cluster_table(&database, &self.prefix, &endpoint, name);
        let text = format!("[listen]\nsvn = '127.0.0.1:{port}'\n{table}");
        Ok((self.write(&format!("{name}.toml"), &text)?, port))
    }

    fn command(&self, name: &str, args: &[&str]) -> Command {
        let mut command = self.sven.command("cluster");
        command
            .arg(name)
            .arg("--config")
            .arg(self.scratch().join("tools.toml"))
            .args(args);
        command
    }

    fn write(&self, name: &str, text: &str) -> Result<PathBuf, String> {
        let path = self.scratch().join(name);
        fs::write(&path, text).map_err(|e| format!("{}: {e}", path.display()))?;
        Ok(path)
    }
}

/// Starts Sven's server on the repositories below a directory.
///
/// # Errors
/// If it does not listen within ten seconds.
pub fn on_files(sven: &SvenBinary, root: &Path) -> Result<StartedServer, String> {
    let port = free_port()?;
    let config = root.join("serve.toml");
    let text = format!(
        "[serve]\nroot = '{}'\n[listen]\nsvn = '127.0.0.1:{port}'\n",
        root.display()
    );
    fs::write(&config, text).map_err(|e| format!("{}: {e}", config.display()))?;
    let mut command = sven.command("serve");
    command.arg("--config").arg(config);
    launch(command, port, format!("svn://127.0.0.1:{port}"))
}

/// Makes a repository that anyone may write to.
///
/// # Errors
/// If the program fails.
pub fn make_open(path: &Path) -> Result<(), String> {
    run(Command::new("svnadmin").arg("create").arg(path))?;
    allow_writing(path)
}

/// Allows anyone to write to a repository.
///
/// # Errors
/// The system's.
pub fn allow_writing(path: &Path) -> Result<(), String> {
    let conf = path.join("conf/svnserve.conf");
    fs::write(&conf, "[general]\nanon-access = write\n").map_err(|e| format!("{}: {e}", conf.display()))
}

/// No delay.
pub const DELAYS_OFF: Delays = Delays {
    database: Duration::ZERO,
    objects: Duration::ZERO,
};

impl std::fmt::Display for Delays {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match *self == DELAYS_OFF {
            true => f.write_str("no delay"),
            false => write!(
                f,
                "database +{} ms, objects +{} ms",
                self.database.as_millis(),
                self.objects.as_millis()
            ),
        }
    }
}
