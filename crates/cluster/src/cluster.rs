//! [`Cluster`]: the connections of a process to the database and the objects, and the list of repositories.

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, LazyLock, Weak};

use base::{Code, Error, Result};
use fsfs::shared::{Head, SharedFs, SharedNodes, TxnOwner};
use parking_lot::Mutex;

use crate::blobs::Blobs;
use crate::block_cache::BlockCache;
use crate::block_source::{BlockSource, block_for_node};
use crate::database::{Database, sql_error};
use crate::head_reader::HeadReader;
use crate::heads::Heads;
use crate::metrics::ClusterMetrics;
use crate::nodes::{NodeInfo, Nodes};
use crate::objects::{CHECK, Objects};
use crate::refusals::Refusals;
use crate::schema;
use crate::settings::ClusterSettings;
use crate::state::{ClusterState, MoveQueue};
use crate::store_identity::StoreIdentity;

/// The connections of a process to a cluster. Clones share everything.
#[derive(Clone)]
pub struct Cluster(pub(crate) Arc<ClusterState>);

/// A repository of a cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RepositoryInfo {
    /// Its number in the database.
    pub(crate) id: i64,
    /// Its name.
    pub name: String,
    /// The contents of `db/format`.
    pub format: String,
    /// The contents of `db/uuid`.
    pub uuid: String,
    /// The contents of `db/fsfs.conf`.
    pub fsfs_conf: Vec<u8>,
    /// The beginning of the names of its objects.
    pub instance: uuid::Uuid,
    /// The youngest revision; `None` while it is being imported.
    pub youngest: Option<u64>,
    /// The first revision that is not packed.
    pub min_unpacked: u64,
}

/// The clusters that this process has opened: directories of nodes with the same settings share one.
static OPEN: LazyLock<Mutex<Vec<OpenCluster>>> = LazyLock::new(Mutex::default);

type OpenCluster = (ClusterSettings, Weak<ClusterState>);

impl Cluster {
    /// Makes the tables of a new cluster; those of one that exists stay.
    ///
    /// # Errors
    /// `BAD_CONFIG_VALUE`; `FS_GENERAL` if the database cannot be reached.
    pub fn create_tables(settings: &ClusterSettings) -> Result<()> {
        schema::create(&Database::new(&settings.database, settings.patience())?)
    }

    /// Connects, or returns what this process has open with the same settings.
    ///
    /// # Errors
    /// `BAD_CONFIG_VALUE`; `FS_UNSUPPORTED_FORMAT` without tables; `FS_GENERAL` if the database cannot be reached.
    pub fn connect(settings: &ClusterSettings) -> Result<Cluster> {
        let mut open = OPEN.lock();
        open.retain(|(_, state)| state.strong_count() > 0);
        let known = open.iter().find(|(of, _)| of == settings);
        if let Some(state) = known.and_then(|(_, state)| state.upgrade()) {
            return Ok(Cluster(state));
        }
        let cluster = Self::connect_alone(settings)?;
        open.push((settings.clone(), Arc::downgrade(&cluster.0)));
        Ok(cluster)
    }

    /// As [`Cluster::connect`], always with connections of its own: for tests with several nodes in one process.
    ///
    /// # Errors
    /// As [`Cluster::connect`].
    pub fn connect_alone(settings: &ClusterSettings) -> Result<Cluster> {
        let database = Database::new(&settings.database, settings.patience())?;
        let row = schema::check(&database)?;
        let metrics = Arc::<ClusterMetrics>::default();
        let identity = StoreIdentity::new(database.clone(), row.identity, &settings.objects);
        let objects = Arc::new(Objects::connect(settings, identity)?);
        let cache = BlockCache::open(&settings.cache_dir(), settings.cache_bytes, metrics.clone())?;
        let refusals = Arc::<Refusals>::default();
        let nodes = Arc::new(Nodes::new(
            database.clone(),
            settings.clone(),
            metrics.clone(),
            refusals.clone(),
            row,
        ));
        let source = BlockSource::new(settings, objects.clone(), nodes.clone(), metrics.clone())?;
        Ok(Cluster(Arc::new(ClusterState {
            settings: settings.clone(),
            database,
            objects,
            cache: Arc::new(cache),
            source: Arc::new(source),
            rows: Arc::default(),
            nodes,
            metrics,
            to_move: MoveQueue::default(),
            readers: Mutex::default(),
            refusals,
            is_listening: AtomicBool::new(false),
            directories: Mutex::default(),
        })))
    }

    /// The settings.
    pub fn settings(&self) -> &ClusterSettings {
        &self.0.settings
    }

    /// The numbers for metrics.
    pub fn metrics(&self) -> &Arc<ClusterMetrics> {
        &self.0.metrics
    }

    /// The epoch of this process, if it has one.
    pub fn epoch(&self) -> Option<u64> {
        self.0.nodes.epoch().and_then(|epoch| u64::try_from(epoch).ok())
    }

    /// Calls `call` if the database was restored to an earlier state: this process then serves no more, and should end.
    pub fn on_restored_database(&self, call: impl Fn() + Send + 'static) {
        self.0.refusals.on_went_back(Box::new(call));
    }

    /// Checks that the database was not restored to an earlier state while this process was connected to it.
    ///
    /// # Errors
    /// `FS_GENERAL`.
    pub fn check_database(&self) -> Result<()> {
        self.0.refusals.check()
    }

    /// Answers the request of another node for a block of an object: `query` is that of the request's URL, `seal` its header line. Returns the
    /// block and the seal of the response; `None` if no node has sent the request, or there is no such block.
    ///
    /// # Errors
    /// `FS_GENERAL`: the block could not be read.
    pub fn block_for_node(&self, query: &str, seal: &str) -> Result<Option<(Vec<u8>, String)>> {
        block_for_node(&self.0.source, &self.0.cache, &self.0.nodes, query, seal)
    }

    /// Checks that the object store belongs to the cluster, once in a process. A store that belongs to none is marked as that of this cluster.
    ///
    /// # Errors
    /// `BAD_CONFIG_VALUE` if it belongs to another cluster; `FS_GENERAL` if it cannot be reached.
    pub fn check_store_identity(&self) -> Result<()> {
        self.0.objects.check_identity()
    }

    /// Checks that the object store belongs to the cluster, and that objects can be written, read and removed.
    ///
    /// # Errors
    /// `BAD_CONFIG_VALUE` if it belongs to another cluster; `FS_GENERAL`, with what the store says.
    pub fn check_objects(&self) -> Result<()> {
        let name = format!("{CHECK}{}", uuid::Uuid::new_v4());
        let text: &[u8] = b"This object is written and removed to check that it can be.\n";
        self.0.objects.put(&name, text.into())?;
        let read = self.0.objects.get(&name, 0, text.len() as u64);
        let read = read.map_err(|e| Error::new(Code::FS_GENERAL, e.to_string()))?;
        if read != text {
            return Err(Error::new(
                Code::FS_GENERAL,
                "The object store returns other bytes than were written",
            ));
        }
        self.0.objects.delete(&name)
    }

    /// Lists the nodes of the last day.
    ///
    /// # Errors
    /// `FS_GENERAL`.
    pub fn nodes(&self) -> Result<Vec<NodeInfo>> {
        self.0.nodes.list()
    }

    /// Declares a node dead. Returns false if it is not there, or dead already.
    ///
    /// # Errors
    /// `FS_GENERAL`.
    pub fn declare_dead(&self, epoch: u64) -> Result<bool> {
        self.0.nodes.declare_dead(epoch)
    }

    /// Lists the repositories, by name.
    ///
    /// # Errors
    /// `FS_GENERAL`.
    pub fn repositories(&self) -> Result<Vec<RepositoryInfo>> {
        let rows = self
            .0
            .database
            .run("list the repositories", |client| async move {
                client.query(LIST, &[]).await
            })?;
        rows.iter().map(info_of).collect()
    }

    /// Returns a repository by its name.
    ///
    /// # Errors
    /// `FS_NOT_FOUND`; `FS_GENERAL`.
    pub fn repository(&self, name: &str) -> Result<RepositoryInfo> {
        let name = name.to_owned();
        let row = self.0.database.run("look for a repository", |client| {
            let name = name.clone();
            async move { client.query_opt(SELECT, &[&name]).await }
        })?;
        match row {
            Some(row) => info_of(&row),
            None => Err(Error::new(
                Code::FS_NOT_FOUND,
                format!("The cluster has no repository '{name}'"),
            )),
        }
    }

    /// Returns the storage of a repository.
    pub fn shared_fs(&self, repository: &RepositoryInfo) -> SharedFs {
        self.shared_fs_in(repository, None)
    }

    /// Returns the storage of a repository, for reading in the state `unfinished` if its import has not ended.
    pub(crate) fn shared_fs_in(&self, repository: &RepositoryInfo, unfinished: Option<Head>) -> SharedFs {
        let reader = self.reader(repository.id);
        let heads = Heads::new(
            self.0.clone(),
            repository.id,
            repository.instance,
            reader,
            unfinished,
        );
        let blobs = Blobs::new(&self.0, repository.id, repository.instance);
        SharedFs {
            heads: Arc::new(heads),
            blobs: Arc::new(blobs),
            nodes: Arc::new(RepositoryNodes {
                cluster: self.0.clone(),
                id: repository.id,
            }),
        }
    }

    /// Removes a repository from the database. Its objects are removed by the next collection of garbage.
    ///
    /// # Errors
    /// `FS_NOT_FOUND`; `FS_GENERAL`.
    pub fn drop_repository(&self, name: &str) -> Result<()> {
        let repository = self.repository(name)?;
        self.0.database.run("remove a repository", |client| async move {
            client.execute(DROP, &[&repository.id]).await.map(drop)
        })
    }

    fn reader(&self, id: i64) -> Arc<HeadReader> {
        let mut readers = self.0.readers.lock();
        let new = || Arc::new(HeadReader::new(self.0.refusals.clone(), id));
        readers.entry(id).or_insert_with(new).clone()
    }
}

/// The nodes, as one repository sees them.
struct RepositoryNodes {
    cluster: Arc<ClusterState>,
    id: i64,
}

impl SharedNodes for RepositoryNodes {
    fn txn_owner(&self, number: u64) -> Result<TxnOwner> {
        self.cluster.nodes.txn_owner(number)
    }

    fn find_activity(&self, activity: &str) -> Result<Option<String>> {
        let (id, activity) = (self.id, activity.to_owned());
        let row = self.cluster.database.run("look for an activity", |client| {
            let activity = activity.clone();
            async move { client.query_opt(FIND_ACTIVITY, &[&id, &activity]).await }
        })?;
        row.map(|row| row.try_get(0).map_err(sql_error)).transpose()
    }

    fn store_activity(&self, activity: &str, txn: Option<&str>) -> Result<()> {
        let (id, activity, txn) = (self.id, activity.to_owned(), txn.map(str::to_owned));
        self.cluster.database.run("store an activity", |client| {
            let (activity, txn) = (activity.clone(), txn.clone());
            async move {
                match txn {
                    Some(txn) => client
                        .execute(STORE_ACTIVITY, &[&id, &activity, &txn])
                        .await
                        .map(drop),
                    None => client.execute(REMOVE_ACTIVITY, &[&id, &activity]).await.map(drop),
                }
            }
        })
    }

    fn seal(&self, message: &[u8]) -> Result<String> {
        self.cluster.nodes.seal(message)
    }

    fn is_sealed(&self, message: &[u8], seal: &str) -> Result<bool> {
        self.cluster.nodes.is_sealed(message, seal)
    }
}

fn info_of(row: &tokio_postgres::Row) -> Result<RepositoryInfo> {
    let (youngest, min_unpacked): (i64, i64) = (
        row.try_get(6).map_err(sql_error)?,
        row.try_get(7).map_err(sql_error)?,
    );
    Ok(RepositoryInfo {
        id: row.try_get(0).map_err(sql_error)?,
        name: row.try_get(1).map_err(sql_error)?,
        format: row.try_get(2).map_err(sql_error)?,
        uuid: row.try_get(3).map_err(sql_error)?,
        fsfs_conf: row.try_get(4).map_err(sql_error)?,
        instance: row.try_get(5).map_err(sql_error)?,
        youngest: u64::try_from(youngest).ok(),
        min_unpacked: u64::try_from(min_unpacked).unwrap_or_default(),
    })
}

const LIST: &str = "SELECT id, name, format, uuid, fsfs_conf, instance, youngest, min_unpacked \
     FROM sven_repository ORDER BY name";
const SELECT: &str = "SELECT id, name, format, uuid, fsfs_conf, instance, youngest, min_unpacked \
     FROM sven_repository WHERE name = $1";
const DROP: &str = "DELETE FROM sven_repository WHERE id = $1";
const FIND_ACTIVITY: &str = "SELECT txn FROM sven_activity WHERE repository = $1 AND activity = $2";
const STORE_ACTIVITY: &str = "INSERT INTO sven_activity (repository, activity, txn) VALUES ($1, $2, $3) \
     ON CONFLICT (repository, activity) DO UPDATE SET txn = excluded.txn, changed = clock_timestamp()";
const REMOVE_ACTIVITY: &str = "DELETE FROM sven_activity WHERE repository = $1 AND activity = $2";
