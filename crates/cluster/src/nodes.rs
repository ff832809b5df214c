//! The nodes of a cluster: registration, leases, and the seals that they give each other.
//!
//! A process that serves registers and gets an epoch, a number that never comes again. The numbers of its transactions begin with
//! it, so the name of a transaction tells its node. The node renews its lease three times in the time that it lasts, all by the
//! database's clock. A node that cannot renew it, or that was declared dead, does not commit: the statement that makes a revision
//! checks the lease. It then registers again, under a new epoch; its open transactions are lost, as others have taken them for lost.
//!
//! The clock of a machine matters to the object store alone, which refuses requests with a wrong time. A node whose clock is far from the
//! database's says that it is not ready.
//!
//! An epoch that was never given to this node, or a number that is lower than before, shows that the database was restored to an earlier state (`refusals`): it
//! gives the same epochs to other nodes then. So a node that finds that does not register again.
//!
//! A tool that opens the directory of a node uses the epoch of the server there as long as that is alive: hooks change what their
//! own server has begun.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use base::{Code, Error, Result};
use fsfs::shared::TxnOwner;
use hmac::{Hmac, KeyInit as _, Mac as _};
use parking_lot::Mutex;
use sha2::Sha256;

use crate::database::{Database, sql_error};
use crate::metrics::{ClusterMetrics, add};
use crate::node_dir::{EPOCH_SHIFT, read_epoch, take_over, write_epoch};
use crate::refusals::Refusals;
use crate::schema::{self, ClusterRow};
use crate::settings::ClusterSettings;

/// A node, as lists show it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeInfo {
    /// Its epoch.
    pub epoch: u64,
    /// Its name.
    pub name: String,
    /// The base URL of its HTTP service for other nodes; empty if it has none.
    pub url: String,
    /// The version of its program.
    pub program: String,
    /// True if its lease has not ended.
    pub is_alive: bool,
    /// Milliseconds until its lease ends; negative afterwards.
    pub lease_left_ms: i64,
}

/// The nodes, as seen by this process.
pub(crate) struct Nodes {
    database: Database,
    settings: ClusterSettings,
    metrics: Arc<ClusterMetrics>,
    refusals: Arc<Refusals>,
    row: ClusterRow,
    epoch: Mutex<OwnEpoch>,
    others: Mutex<HashMap<i64, (NodeInfo, Instant)>>,
}

#[derive(Default)]
struct OwnEpoch {
    /// `None` before the first write of a process that does not serve.
    epoch: Option<i64>,
    /// True if this process renews the lease.
    is_ours: bool,
    /// When it was registered, as the database says: tells it from the epoch of the same number in a restored database.
    registered: String,
    /// The last epoch and the last repository that the database is known to have made.
    made: (i64, i64),
    /// A time before the lease was last renewed.
    renewed: Option<Instant>,
    /// True if the clock of this machine was far from the database's then.
    is_clock_wrong: bool,
}

impl Nodes {
    pub(crate) fn new(
        database: Database,
        settings: ClusterSettings,
        metrics: Arc<ClusterMetrics>,
        refusals: Arc<Refusals>,
        row: ClusterRow,
    ) -> Nodes {
        Nodes {
            database,
            settings,
            metrics,
            refusals,
            row,
            epoch: Mutex::default(),
            others: Mutex::default(),
        }
    }

    /// Registers this process as a node, under a new epoch. The transactions of the directory's earlier epoch are removed.
    pub(crate) fn register(&self) -> Result<i64> {
        let mut own = self.epoch.lock();
        let begun = Instant::now();
        let (epoch, registered) = self.new_epoch()?;
        if epoch <= own.made.0 {
            return Err(self.epochs_went_back(own.made.0, epoch));
        }
        self.take_over_directories(epoch)?;
        *own = OwnEpoch {
            epoch: Some(epoch),
            is_ours: true,
            registered,
            made: (epoch, own.made.1),
            renewed: Some(begun),
            is_clock_wrong: own.is_clock_wrong,
        };
        Ok(epoch)
    }

    fn new_epoch(&self) -> Result<(i64, String)> {
        self.check_database()?;
        let (name, url) = (
            self.settings.node.clone(),
            self.settings.url.trim_end_matches('/').to_owned(),
        );
        let lease = self.settings.lease_ms as f64 / 1000.0;
        let row = self.database.run("register this machine", |client| {
            let (name, url) = (name.clone(), url.clone());
            async move { client.query_one(REGISTER, &[&name, &url, &PROGRAM, &lease]).await }
        })?;
        Ok((
            row.try_get(0).map_err(sql_error)?,
            row.try_get(1).map_err(sql_error)?,
        ))
    }

    /// Checks that this program may use the tables, and that they are those of the same cluster as before.
    fn check_database(&self) -> Result<()> {
        self.refusals.check()?;
        let row = schema::check(&self.database)?;
        match row.identity == self.row.identity {
            true => Ok(()),
            false => Err(self.refusals.note_went_back(format!(
                "it belonged to the cluster '{}', and belongs to the cluster '{}' now",
                self.row.identity, row.identity
            ))),
        }
    }

    /// Returns the epoch under which this process changes repositories. A process that does not serve uses that of the server of
    /// its directory, if it is alive, and registers otherwise.
    pub(crate) fn epoch_for_writing(&self) -> Result<i64> {
        self.refusals.check()?;
        let mut own = self.epoch.lock();
        if let Some(epoch) = own.epoch {
            return Ok(epoch);
        }
        let found = read_epoch(&self.settings.directory);
        if let Some(epoch) = found
            && self.is_alive(epoch)?
        {
            own.epoch = Some(epoch);
            return Ok(epoch);
        }
        drop(own);
        self.register()
    }

    fn is_alive(&self, epoch: i64) -> Result<bool> {
        let row = self
            .database
            .run("read the state of a machine", |client| async move {
                client.query_opt(IS_ALIVE, &[&epoch]).await
            })?;
        row.map_or(Ok(false), |row| row.try_get(0).map_err(sql_error))
    }

    /// Notes that an epoch was lost. The next write, or the next renewal, registers again.
    pub(crate) fn lose(&self, epoch: i64) {
        let mut own = self.epoch.lock();
        if own.epoch == Some(epoch) {
            add(&self.metrics.lost_epochs, 1);
            own.epoch = None;
        }
    }

    /// Renews the lease. Registers again if the epoch is lost. Neither is done once the tables exclude this program, or are older than they were.
    pub(crate) fn renew(&self) -> Result<()> {
        self.check_database()?;
        let (epoch, is_ours, registered, made) = {
            let own = self.epoch.lock();
            (own.epoch, own.is_ours, own.registered.clone(), own.made)
        };
        if !is_ours {
            return Ok(());
        }
        let Some(epoch) = epoch else {
            return self.register().map(drop);
        };
        let lease = self.settings.lease_ms as f64 / 1000.0;
        let begun = Instant::now();
        let row = self.database.run("renew the lease of this machine", |client| {
            let registered = registered.clone();
            async move { client.query_one(RENEW, &[&epoch, &lease, &registered]).await }
        })?;
        let now_made = (
            row.try_get(1).map_err(sql_error)?,
            row.try_get(2).map_err(sql_error)?,
        );
        let is_other_node: bool = row.try_get(3).map_err(sql_error)?;
        if now_made.0 < made.0 || now_made.1 < made.1 || is_other_node {
            return Err(self.epochs_went_back(made.0, now_made.0));
        }
        let Some(database_clock) = row.try_get::<_, Option<f64>>(0).map_err(sql_error)? else {
            tracing::warn!(
                epoch,
                "this machine was declared dead; it registers again, and its open transactions are lost"
            );
            self.lose(epoch);
            return self.register().map(drop);
        };
        self.note_renewal(epoch, begun, database_clock, now_made);
        Ok(())
    }

    fn epochs_went_back(&self, known: i64, found: i64) -> Error {
        self.refusals.note_went_back(format!(
            "it had given epoch {known} to a machine, and says that {found} was the last one, or has another machine or fewer repositories under these numbers"
        ))
    }

    fn note_renewal(&self, epoch: i64, begun: Instant, database_clock: f64, made: (i64, i64)) {
        let is_clock_wrong = difference(SystemTime::now(), database_clock) > CLOCK_LIMIT;
        let mut own = self.epoch.lock();
        if is_clock_wrong && !own.is_clock_wrong {
            tracing::error!(
                "the clock of this machine is wrong by more than {} minutes: the object store refuses its requests",
                CLOCK_LIMIT.as_secs() / 60
            );
        }
        own.is_clock_wrong = is_clock_wrong;
        own.made = made;
        if own.epoch == Some(epoch) {
            own.renewed = Some(begun);
        }
    }

    /// Why this node should get no more clients; `None` if it should get some, and for a process that does not serve. It is the node's own
    /// judgement: the database decides by its clock.
    pub(crate) fn why_not_ready(&self) -> Option<&'static str> {
        if let Some(why) = self.refusals.why_not_ready() {
            return Some(why);
        }
        // Held for long only while the node registers.
        let Some(own) = self.epoch.try_lock_for(REGISTRATION) else {
            return Some("this machine is registering in the cluster");
        };
        if !own.is_ours {
            return None;
        }
        let age = own.renewed.map(|renewed| renewed.elapsed());
        match (own.epoch, age) {
            (None, _) => Some("this machine has lost its epoch in the cluster"),
            _ if own.is_clock_wrong => Some("the clock of this machine is wrong"),
            (_, Some(age)) if age < self.settings.lease() * 2 / 3 => None,
            (_, Some(age)) if age < self.settings.lease() => {
                Some("the database of the cluster does not answer")
            }
            _ => Some("the lease of this machine in the cluster has ended"),
        }
    }

    /// Gives the lease up, when the process ends.
    pub(crate) fn leave(&self) {
        let own = self.epoch.lock();
        if let (Some(epoch), true) = (own.epoch, own.is_ours) {
            _ = self.database.run_once(|client| {
                let registered = own.registered.clone();
                async move { client.execute(LEAVE, &[&epoch, &registered]).await }
            });
        }
    }

    /// Declares a node dead: it commits no more under its epoch.
    pub(crate) fn declare_dead(&self, epoch: u64) -> Result<bool> {
        let epoch = i64::try_from(epoch).unwrap_or(i64::MAX);
        let changed = self.database.run("declare a machine dead", |client| async move {
            client.execute(DECLARE_DEAD, &[&epoch]).await
        })?;
        self.others.lock().remove(&epoch);
        Ok(changed > 0)
    }

    /// Lists the nodes of the last day.
    pub(crate) fn list(&self) -> Result<Vec<NodeInfo>> {
        let rows = self.database.run("list the machines", |client| async move {
            client.query(LIST, &[]).await
        })?;
        rows.iter().map(node_of).collect()
    }

    /// Where the transaction with this number is.
    pub(crate) fn txn_owner(&self, number: u64) -> Result<TxnOwner> {
        let epoch = (number >> EPOCH_SHIFT) as i64;
        if epoch == 0 || self.epoch.lock().epoch == Some(epoch) {
            return Ok(TxnOwner::This);
        }
        if read_epoch(&self.settings.directory) == Some(epoch) {
            return Ok(TxnOwner::This);
        }
        let known = self.others.lock().get(&epoch).cloned();
        let node = match known {
            Some((node, read)) if read.elapsed() < NODE_AGE => Some(node),
            _ => {
                let row = self
                    .database
                    .run("read the address of a machine", |client| async move {
                        client.query_opt(SELECT_NODE, &[&epoch]).await
                    })?;
                let node = row.as_ref().map(node_of).transpose()?;
                if let Some(node) = &node {
                    self.others.lock().insert(epoch, (node.clone(), Instant::now()));
                }
                node
            }
        };
        Ok(match node {
            // This machine, before it was started again: its lease may not have ended yet.
            Some(node) if node.url == self.settings.url.trim_end_matches('/') => TxnOwner::Gone,
            Some(node) if node.is_alive && !node.url.is_empty() => TxnOwner::Other(node.url),
            // Without an address its transactions cannot be reached.
            _ => TxnOwner::Gone,
        })
    }

    pub(crate) fn seal(&self, message: &[u8]) -> Result<String> {
        let bytes = self.mac(message)?.finalize().into_bytes();
        Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
    }

    pub(crate) fn is_sealed(&self, message: &[u8], seal: &str) -> Result<bool> {
        let digits = seal.as_bytes();
        if !digits.len().is_multiple_of(2) || !digits.iter().all(u8::is_ascii_hexdigit) {
            return Ok(false);
        }
        let byte = |pair: &[u8]| u8::from_str_radix(&String::from_utf8_lossy(pair), 16).unwrap_or_default();
        let bytes: Vec<u8> = digits.chunks(2).map(byte).collect();
        Ok(self.mac(message)?.verify_slice(&bytes).is_ok())
    }

    fn mac(&self, message: &[u8]) -> Result<Hmac<Sha256>> {
        let mac = Hmac::<Sha256>::new_from_slice(&self.row.secret);
        let mut mac = mac.map_err(|e| Error::new(Code::FS_GENERAL, e.to_string()))?;
        mac.update(message);
        Ok(mac)
    }

    /// The epoch, if there is one.
    pub(crate) fn epoch(&self) -> Option<i64> {
        self.epoch.lock().epoch
    }

    /// Prepares the directories of this node for a new epoch.
    fn take_over_directories(&self, epoch: i64) -> Result<()> {
        take_over(&self.settings, epoch)?;
        write_epoch(&self.settings.directory, epoch)
    }
}

/// Returns how far a time is from another one, which is given in seconds since 1970.
fn difference(time: SystemTime, seconds: f64) -> Duration {
    let time = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    let other = Duration::try_from_secs_f64(seconds).unwrap_or_default();
    time.abs_diff(other)
}

fn node_of(row: &tokio_postgres::Row) -> Result<NodeInfo> {
    let epoch: i64 = row.try_get(0).map_err(sql_error)?;
    Ok(NodeInfo {
        epoch: u64::try_from(epoch).unwrap_or_default(),
        name: row.try_get(1).map_err(sql_error)?,
        url: row.try_get(2).map_err(sql_error)?,
        program: row.try_get(3).map_err(sql_error)?,
        is_alive: row.try_get(4).map_err(sql_error)?,
        lease_left_ms: row.try_get(5).map_err(sql_error)?,
    })
}

impl Drop for Nodes {
    fn drop(&mut self) {
        self.leave();
    }
}

const PROGRAM: &str = env!("CARGO_PKG_VERSION");

/// How far the clock of this machine may be from the database's. Object stores refuse requests whose time differs from theirs by a quarter of an
/// hour.
const CLOCK_LIMIT: Duration = Duration::from_mins(10);

/// A lock that is held for longer is held by a registration.
const REGISTRATION: Duration = Duration::from_millis(100);

/// How long the address of another node is used without asking again.
const NODE_AGE: Duration = Duration::from_secs(1);

const REGISTER: &str = "INSERT INTO sven_node (epoch, name, url, program, lease_until) \
     VALUES (nextval('sven_epoch'), $1, $2, $3, clock_timestamp() + make_interval(secs => $4)) \
     RETURNING epoch, extract(epoch FROM registered)::text";
const RENEW: &str = "WITH renewed AS (UPDATE sven_node SET lease_until = clock_timestamp() + make_interval(secs => $2) \
         WHERE epoch = $1 AND NOT is_dead AND extract(epoch FROM registered)::text = $3 RETURNING epoch) \
     SELECT (SELECT extract(epoch FROM clock_timestamp())::double precision FROM renewed), \
         (SELECT last_value FROM sven_epoch), (SELECT last_value FROM sven_repository_id_seq), \
         EXISTS (SELECT FROM sven_node WHERE epoch = $1 AND extract(epoch FROM registered)::text <> $3)";
const LEAVE: &str = "UPDATE sven_node SET lease_until = clock_timestamp() WHERE epoch = $1 AND extract(epoch FROM registered)::text = $2";
const IS_ALIVE: &str =
    "SELECT NOT is_dead AND lease_until > clock_timestamp() FROM sven_node WHERE epoch = $1";
const DECLARE_DEAD: &str = "UPDATE sven_node SET is_dead = true WHERE epoch = $1 AND NOT is_dead";
const LIST: &str = "SELECT epoch, name, url, program, NOT is_dead AND lease_until > clock_timestamp(), \
     (extract(epoch FROM lease_until - clock_timestamp()) * 1000)::bigint FROM sven_node \
     WHERE lease_until > clock_timestamp() - interval '1 day' ORDER BY epoch";
const SELECT_NODE: &str = "SELECT epoch, name, url, program, NOT is_dead AND lease_until > clock_timestamp(), \
     (extract(epoch FROM lease_until - clock_timestamp()) * 1000)::bigint FROM sven_node WHERE epoch = $1";
