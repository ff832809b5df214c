//! The parts of a repository that change: rows of PostgreSQL.
//!
//! Each change is one statement, which takes the row of the repository first and compares its state with the one that the change
//! was made from ([`fsfs::shared`]). `publish` makes revisions, `locks` and `revprops` keep in memory what the versions in the row
//! allow.
//!
//! **Lost connections.** If the connection is lost while a change is made, it may have been made, or may be made later: the database
//! may still hold the statement in a queue. The caller then raises a version in the row, in a transaction of its own. From then on a
//! late statement is refused, so what is seen in that transaction is the outcome.
//!
//! **Memory.** A node may use property lists and locks for a while without asking whether they have changed
//! ([`ClusterSettings::staleness_ms`]). A change of them returns that much later: by then no node uses the old value.
//!
//! [`ClusterSettings::staleness_ms`]: crate::settings::ClusterSettings::staleness_ms

mod locks;
mod publish;
mod revprops;

use std::sync::Arc;
use std::time::{Duration, Instant};

use base::checksum::Sha1;
use base::{Code, Depth, Error, FsPath, Lock, Result, Revnum};
use fsfs::RepCacheRow;
use fsfs::shared::{Head, NewRevision, Outcome, SharedHeads, SharedHold};
use parking_lot::Mutex;
use tokio_postgres::Row;

use self::locks::LockTable;
use self::publish::Hold;
pub(crate) use self::publish::MAX_INLINE;
use self::revprops::RevpropCache;
use crate::database::sql_error;
use crate::head_reader::HeadReader;
use crate::state::{ClusterState, head_of};

/// The parts of one repository that change, for one process.
#[derive(Clone)]
pub(crate) struct Heads(Arc<HeadsState>);

pub(crate) struct HeadsState {
    cluster: Arc<ClusterState>,
    /// `sven_repository.id`.
    id: i64,
    /// `sven_repository.instance`: the beginning of the names of its objects.
    instance: uuid::Uuid,
    reader: Arc<HeadReader>,
    revprops: RevpropCache,
    locks: LockTable,
    /// The connection that keeps other nodes from publishing.
    hold: Mutex<Option<Arc<Hold>>>,
    /// The state of a repository whose import has not ended: the database has none yet.
    unfinished: Option<Head>,
}

impl Heads {
    pub(crate) fn new(
        cluster: Arc<ClusterState>,
        id: i64,
        instance: uuid::Uuid,
        reader: Arc<HeadReader>,
        unfinished: Option<Head>,
    ) -> Heads {
        Heads(Arc::new(HeadsState {
            cluster,
            id,
            instance,
            reader,
            revprops: RevpropCache::default(),
            locks: LockTable::default(),
            hold: Mutex::default(),
            unfinished,
        }))
    }

    /// Asks the database for the state.
    fn ask(&self) -> Result<Head> {
        let id = self.0.id;
        let row = self
            .0
            .cluster
            .database
            .run("read the state of the repository", |client| async move {
                let statement = client.prepare_cached(SELECT_HEAD).await?;
                client.query_opt(&statement, &[&id]).await
            })?;
        let row = row.ok_or_else(|| missing(self.0.instance))?;
        head_of(&row)
    }

    /// Finds out whether a change was made whose connection was lost. `raise` raises the version that the change was made from: from
    /// then on it cannot be made any more.
    fn settle(&self, raise: &'static str, change: uuid::Uuid) -> Result<Outcome> {
        let id = self.0.id;
        let made = self
            .0
            .cluster
            .database
            .run("find out about a change", |mut client| async move {
                let transaction = client.transaction().await?;
                transaction.execute(raise, &[&id]).await?;
                let row = transaction.query_opt(SELECT_CHANGE, &[&change]).await?;
                transaction.commit().await?;
                Ok(row.is_some())
            })?;
        Ok(match made {
            true => Outcome::Done,
            false => Outcome::Outdated,
        })
    }

    fn recent_head(&self) -> Result<Head> {
        self.head(self.0.cluster.settings.staleness())
    }
}

/// The error for a repository that was dropped.
fn missing(instance: uuid::Uuid) -> Error {
    Error::new(
        Code::FS_NOT_FOUND,
        format!("The cluster has no repository with the instance {instance} any more"),
    )
}

/// Reads a row of [`SELECT_REP`] or [`SELECT_REPS`].
///
/// # Errors
/// `FS_CORRUPT` for numbers below zero and other lengths of the SHA-1.
fn rep_of(row: &Row) -> Result<RepCacheRow> {
    let sha1: &[u8] = row.try_get(4).map_err(sql_error)?;
    let corrupt = || {
        let sha1: String = sha1.iter().map(|byte| format!("{byte:02x}")).collect();
        let text = format!("The row of 'sven_rep' with the SHA-1 '{sha1}' is damaged");
        Error::new(Code::FS_CORRUPT, text)
    };
    let number = |at: usize| -> Result<u64> {
        let number: i64 = row.try_get(at).map_err(sql_error)?;
        u64::try_from(number).map_err(|_| corrupt())
    };
    Ok(RepCacheRow {
        sha1: Sha1(sha1.try_into().map_err(|_| corrupt())?),
        rev: Revnum(number(0)?),
        item: number(1)?,
        length: number(2)?,
        expanded: number(3)?,
    })
}

impl SharedHeads for Heads {
    fn head(&self, max_age: Duration) -> Result<Head> {
        match self.0.unfinished {
            Some(head) => Ok(head),
            None => self.0.reader.head(max_age, || self.ask()),
        }
    }

    fn last_head(&self) -> Option<Head> {
        self.0.unfinished.or_else(|| self.0.reader.last())
    }

    fn revprops(&self, revs: &[Revnum]) -> Vec<Result<Arc<[u8]>>> {
        self.read_revprops(revs)
    }

    fn try_revprops(&self, rev: Revnum) -> Option<Arc<[u8]>> {
        let head = self.0.reader.recent(self.0.cluster.settings.staleness())?;
        self.0.revprops.get(rev, head.revprops_version)
    }

    fn replace_revprops(&self, rev: Revnum, old: &[u8], new: &[u8]) -> Result<Outcome> {
        self.replace(rev, old, new)
    }

    fn lock(&self, path: &FsPath) -> Result<Option<Lock>> {
        self.read_lock(path)
    }

    fn locks(&self, path: &FsPath, depth: Depth) -> Result<Vec<Lock>> {
        self.read_locks(path, depth)
    }

    fn change_locks(&self, from: &Head, made: &[Lock], removed: &[FsPath]) -> Result<Outcome> {
        self.write_locks(from, made, removed)
    }

    fn set_uuid(&self, text: &str) -> Result<()> {
        let id = self.0.id;
        self.0
            .cluster
            .database
            .run("change the UUID of a repository", |client| {
                let text = text.to_owned();
                async move { client.execute(UPDATE_UUID, &[&id, &text]).await.map(drop) }
            })
    }

    fn wait_until_seen(&self) -> Result<()> {
        self.wait_for_old_states();
        self.head(Duration::ZERO).map(drop)
    }

    fn find_rep(&self, sha1: &Sha1) -> Result<Option<RepCacheRow>> {
        let (id, key) = (self.0.id, sha1.0.to_vec());
        let row = self.0.cluster.database.run("look for a content", |client| {
            let key = key.clone();
            async move {
                let statement = client.prepare_cached(SELECT_REP).await?;
                client.query_opt(&statement, &[&id, &key]).await
            }
        })?;
        row.as_ref().map(rep_of).transpose()
    }

    fn reps(&self, first: Revnum, last: Revnum, after: Option<&RepCacheRow>) -> Result<Vec<RepCacheRow>> {
        let number = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
        let id = self.0.id;
        let (from, item) = match after {
            Some(row) => (number(row.rev.0), number(row.item)),
            // Damaged rows before revision 0, too.
            None if first == Revnum::ZERO => (i64::MIN, i64::MIN),
            None => (number(first.0), i64::MIN),
        };
        let (last, sha1) = (
            number(last.0),
            after.map_or(Vec::new(), |row| row.sha1.0.to_vec()),
        );
        let rows = self.0.cluster.database.run("list shared contents", |client| {
            let sha1 = sha1.clone();
            async move {
                let statement = client.prepare_cached(SELECT_REPS).await?;
                client
                    .query(&statement, &[&id, &from, &item, &sha1, &last, &REPS_AT_ONCE])
                    .await
            }
        })?;
        rows.iter().map(rep_of).collect()
    }

    fn publish(&self, from: &Head, revisions: &[NewRevision]) -> Result<Outcome> {
        let begun = Instant::now();
        let outcome = self.publish_revisions(from, revisions);
        self.0.cluster.metrics.publication(begun.elapsed(), &outcome);
        outcome
    }

    fn hold(&self) -> Result<Box<dyn SharedHold>> {
        self.begin_hold()
    }
}

/// The state of a repository.
const SELECT_HEAD: &str =
    "SELECT youngest, min_unpacked, locks_version, revprops_version FROM sven_repository WHERE id = $1";

const UPDATE_UUID: &str =
    "UPDATE sven_repository SET uuid = $2, uuid_changed = clock_timestamp() WHERE id = $1";

const SELECT_CHANGE: &str = "SELECT 1 FROM sven_change WHERE id = $1";

const SELECT_REP: &str =
    "SELECT rev, item, length, expanded, sha1 FROM sven_rep WHERE repository = $1 AND sha1 = $2";

const SELECT_REPS: &str = "SELECT rev, item, length, expanded, sha1 FROM sven_rep \
     WHERE repository = $1 AND (rev, item, sha1) > ($2, $3, $4) AND rev <= $5 ORDER BY rev, item, sha1 LIMIT $6";

/// Rows of one answer at most, about half a megabyte.
const REPS_AT_ONCE: i64 = 5_000;

/// The results of the functions that change a repository.
pub(super) const DONE: i32 = 0;
pub(super) const OUTDATED: i32 = 1;
pub(super) const DEAD: i32 = 2;
pub(super) const NO_REVISION: i32 = 4;
/// Of the statement around the function: uploaded files may have been removed.
pub(super) const TOO_LATE: i32 = 6;
