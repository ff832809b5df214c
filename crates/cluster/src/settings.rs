//! What an administrator says about a cluster: the database, the object store, and this node.

use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// The settings of one node of a cluster. The form in TOML is that of `[cluster]` in the configuration file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct ClusterSettings {
    /// The database, as a URL or as keywords of libpq. A password may also come from the environment variable `PGPASSWORD`.
    pub database: String,
    /// The objects: `s3://BUCKET` or `s3://BUCKET/PREFIX`.
    pub objects: String,
    /// The URL of the object store; `None` is Amazon's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub endpoint: Option<String>,
    /// The region of the bucket.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub region: Option<String>,
    /// The access key and the secret key. Without them, the usual places: environment, web identity, instance metadata.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub access_key: Option<String>,
    /// The secret of `access_key`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret_key: Option<String>,
    /// The directory of this node: open transactions, hooks, configuration, the cache of objects. Nothing in it matters after the
    /// node has ended.
    pub directory: PathBuf,
    /// The name of this node in lists and logs; by default the name of the machine.
    #[serde(default)]
    pub node: String,
    /// The base URL by which other nodes reach the HTTP service of this one. Without it, transactions over HTTP must reach this
    /// node by themselves.
    #[serde(default)]
    pub url: String,
    /// Bytes of the cache of objects on disk.
    #[serde(default = "default_cache")]
    pub cache_bytes: u64,
    /// Whether this node asks other nodes for blocks of objects before the object store.
    #[serde(default)]
    pub fetch_from_nodes: bool,
    /// Milliseconds after which a node that does not renew its lease counts as dead.
    #[serde(default = "default_lease")]
    pub lease_ms: u64,
    /// Milliseconds for which a node may use revision properties and locks without asking whether they have changed. Each change
    /// of them takes that much longer.
    #[serde(default = "default_staleness")]
    pub staleness_ms: u64,
    /// Milliseconds after which an unreachable database or object store is an error.
    #[serde(default = "default_patience")]
    pub patience_ms: u64,
    /// Whether this node packs complete shards.
    #[serde(default = "default_pack")]
    pub pack: bool,
    /// Milliseconds between two removals of objects that no row names; 0 for never.
    #[serde(default = "default_gc")]
    pub gc_ms: u64,
    /// Milliseconds for which an object must be known to have no row before it is removed. The same for all nodes: a commit may take half of
    /// it after its upload was begun.
    #[serde(default = "default_gc_grace")]
    pub gc_grace_ms: u64,
    /// Milliseconds after which each object is read again to check it; 0 for never.
    #[serde(default = "default_scrub")]
    pub scrub_ms: u64,
    /// Bytes per second that each job in the background reads at most.
    #[serde(default = "default_job_rate")]
    pub job_rate: u64,
}

impl ClusterSettings {
    /// Settings with defaults.
    pub fn new(database: &str, objects: &str, directory: PathBuf) -> ClusterSettings {
        ClusterSettings {
            database: database.to_owned(),
            objects: objects.to_owned(),
            endpoint: None,
            region: None,
            access_key: None,
            secret_key: None,
            directory,
            node: String::new(),
            url: String::new(),
            cache_bytes: default_cache(),
            fetch_from_nodes: false,
            lease_ms: default_lease(),
            staleness_ms: default_staleness(),
            patience_ms: default_patience(),
            pack: default_pack(),
            gc_ms: default_gc(),
            gc_grace_ms: default_gc_grace(),
            scrub_ms: default_scrub(),
            job_rate: default_job_rate(),
        }
    }

    pub(crate) fn lease(&self) -> Duration {
        Duration::from_millis(self.lease_ms)
    }

    pub(crate) fn staleness(&self) -> Duration {
        Duration::from_millis(self.staleness_ms)
    }

    pub(crate) fn patience(&self) -> Duration {
        Duration::from_millis(self.patience_ms)
    }

    /// The time between two removals of garbage; `None` for never.
    pub(crate) fn gc(&self) -> Option<Duration> {
        (self.gc_ms > 0).then(|| Duration::from_millis(self.gc_ms))
    }

    /// The time for which an object must be known to have no row before it is removed.
    pub(crate) fn gc_grace(&self) -> Duration {
        Duration::from_millis(self.gc_grace_ms)
    }

    /// The time after which an object is read again; `None` for never.
    pub(crate) fn scrub(&self) -> Option<Duration> {
        (self.scrub_ms > 0).then(|| Duration::from_millis(self.scrub_ms))
    }

    /// The directory of the repositories of this node.
    pub fn repositories(&self) -> PathBuf {
        self.directory.join("repositories")
    }

    /// The directory of the cache of objects.
    pub(crate) fn cache_dir(&self) -> PathBuf {
        self.directory.join("cache")
    }
}

fn default_cache() -> u64 {
    10 << 30
}

fn default_lease() -> u64 {
    10_000
}

fn default_staleness() -> u64 {
    20
}

fn default_patience() -> u64 {
    15_000
}

fn default_pack() -> bool {
    true
}

fn default_gc() -> u64 {
    DAY
}

fn default_gc_grace() -> u64 {
    2 * DAY
}

fn default_scrub() -> u64 {
    30 * DAY
}

fn default_job_rate() -> u64 {
    16 << 20
}

/// Milliseconds.
const DAY: u64 = 24 * 60 * 60 * 1000;
