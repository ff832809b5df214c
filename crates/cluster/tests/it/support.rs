//! What the tests share: settings of nodes, an empty repository, files in memory.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use base::Revnum;
use cluster::{Cluster, ClusterSettings};
use fsfs::disk::DiskFile;
use fsfs::shared::{Head, NewRevision, SharedFs};
use tempfile::TempDir;
use testkit::engines::{ACCESS_KEY, Engines, SECRET_KEY, engines, sql};

/// A cluster in a database and a prefix of its own, with one repository `r` that has revision 0.
pub struct TestCluster {
    pub database: String,
    pub settings: ClusterSettings,
}

impl TestCluster {
    pub fn new(engines: &'static Engines) -> TestCluster {
        TestCluster::new_in(engines)
    }

    /// In engines that may be stopped.
    pub fn new_in(engines: &Engines) -> TestCluster {
        let database = engines.new_database();
        let mut settings = ClusterSettings::new(&database, &engines.new_prefix(), "/nonexistent".into());
        settings.endpoint = Some(engines.endpoint());
        settings.region = Some("us-east-1".to_owned());
        settings.access_key = Some(ACCESS_KEY.to_owned());
        settings.secret_key = Some(SECRET_KEY.to_owned());
        Cluster::create_tables(&settings).unwrap();
        sql(
            &database,
            "INSERT INTO sven_repository (name, format, uuid, fsfs_conf, instance, youngest) \
             VALUES ('r', '8', 'u', '', gen_random_uuid(), 0); \
             INSERT INTO sven_revision (repository, rev, publication, length, content, props) \
             VALUES (1, 0, gen_random_uuid(), 1, 'x', convert_to('END' || chr(10), 'UTF8'))",
        );
        TestCluster { database, settings }
    }

    /// A node of its own, in the same process.
    pub fn node(&self) -> TestNode {
        self.node_at(&self.settings.database)
    }

    /// A node that reaches the database by another URL.
    pub fn node_at(&self, database: &str) -> TestNode {
        let node = self.silent_node(database);
        node.cluster.serve().unwrap();
        node
    }

    /// A node without work in the background: no notification tells it of changes.
    pub fn silent_node(&self, database: &str) -> TestNode {
        let dir = tempfile::tempdir().unwrap();
        let settings = ClusterSettings {
            database: database.to_owned(),
            directory: dir.path().to_owned(),
            node: "test".to_owned(),
            ..self.settings.clone()
        };
        let cluster = Cluster::connect_alone(&settings).unwrap();
        let fs = cluster.shared_fs(&cluster.repository("r").unwrap());
        TestNode { fs, cluster, dir }
    }

    pub fn sql(&self, statement: &str) -> String {
        sql(&self.database, statement)
    }
}

pub struct TestNode {
    pub fs: SharedFs,
    pub cluster: Cluster,
    dir: TempDir,
}

impl TestNode {
    pub fn head(&self) -> Head {
        self.fs.heads.head(Duration::ZERO).unwrap()
    }

    pub fn dir(&self) -> &Path {
        self.dir.path()
    }
}

/// A file in memory.
pub struct MemoryFile(pub Vec<u8>);

impl DiskFile for MemoryFile {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        let rest = self.0.get(offset as usize..).unwrap_or_default();
        let length = rest.len().min(buf.len());
        buf[..length].copy_from_slice(&rest[..length]);
        Ok(length)
    }

    fn len(&self) -> io::Result<u64> {
        Ok(self.0.len() as u64)
    }
}

/// A revision with these bytes, whose log message is `log`.
pub fn revision(rev: u64, bytes: Vec<u8>, log: &str) -> NewRevision {
    NewRevision {
        rev: Revnum(rev),
        file: Arc::new(MemoryFile(bytes)),
        props: list(log),
        reps: Vec::new(),
        uploaded: None,
    }
}

/// A property list with a log message.
pub fn list(log: &str) -> Vec<u8> {
    format!("K 7\nsvn:log\nV {}\n{log}\nEND\n", log.len()).into_bytes()
}

/// Waits for a state that others bring about.
pub fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < Duration::from_secs(60), "{what}: not so");
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// The files of the objects whose path contains all of `parts`.
pub fn objects(parts: &[&str]) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut dirs = vec![engines().bucket_dir()];
    while let Some(next) = dirs.pop() {
        for entry in std::fs::read_dir(&next).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                dirs.push(path);
            } else if parts.iter().all(|part| path.to_string_lossy().contains(part)) {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}
