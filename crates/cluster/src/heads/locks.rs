//! Users' locks: rows, and all of them in memory if they are few.
//!
//! A lock that expires does so by the database's clock: the clock of a machine that reads the lock may differ from that of the one that
//! took it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use base::{Date, Depth, FsPath, Lock, Result};
use fsfs::shared::{Head, Outcome};
use parking_lot::Mutex;
use tokio_postgres::Row;

use super::{DONE, Heads, OUTDATED, missing};
use crate::database::{StepError, sql_error};

/// All locks of a repository at one version; `None` for the list if they are too many.
#[derive(Default)]
pub(super) struct LockTable(Mutex<Option<(u64, LockList)>>);

type LockList = Option<Arc<BTreeMap<Vec<u8>, Lock>>>;

impl Heads {
    pub(super) fn read_lock(&self, path: &FsPath) -> Result<Option<Lock>> {
        match self.lock_list()? {
            Some(list) => Ok(list.get(path.as_bytes()).cloned()),
            None => Ok(self.select_locks(SELECT_ONE, path)?.pop()),
        }
    }

    pub(super) fn read_locks(&self, path: &FsPath, depth: Depth) -> Result<Vec<Lock>> {
        if depth == Depth::Empty {
            return Ok(self.read_lock(path)?.into_iter().collect());
        }
        let mut locks = match self.lock_list()? {
            Some(list) => list
                .values()
                .filter(|lock| path.contains(&lock.path))
                .cloned()
                .collect(),
            None => self.select_locks(SELECT_BELOW, path)?,
        };
        locks.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(locks)
    }

    /// Returns all locks; `None` if they are too many to be kept.
    fn lock_list(&self) -> Result<LockList> {
        let version = self.recent_head()?.locks_version;
        if let Some((known, list)) = &*self.0.locks.0.lock()
            && *known >= version
        {
            return Ok(list.clone());
        }
        let id = self.0.id;
        let rows = self
            .0
            .cluster
            .database
            .run("read locks", |mut client| async move {
                // Both from one state.
                let transaction = client
                    .build_transaction()
                    .isolation_level(SNAPSHOT)
                    .read_only(true);
                let transaction = transaction.start().await?;
                let version = transaction.query_one(SELECT_VERSION, &[&id]).await?;
                let locks = transaction.query(SELECT_ALL, &[&id, &(MOST_LOCKS + 1)]).await?;
                Ok((version, locks))
            })?;
        let version: i64 = rows.0.try_get(0).map_err(sql_error)?;
        let list = match rows.1.len() as i64 > MOST_LOCKS {
            true => None,
            false => {
                let locks: Result<Vec<Lock>> = rows.1.iter().map(lock_of).collect();
                let keyed = locks?
                    .into_iter()
                    .map(|lock| (lock.path.as_bytes().to_vec(), lock));
                Some(Arc::new(keyed.collect()))
            }
        };
        let mut table = self.0.locks.0.lock();
        let version = u64::try_from(version).unwrap_or_default();
        if table.as_ref().is_none_or(|(known, _)| *known < version) {
            *table = Some((version, list.clone()));
        }
        Ok(list)
    }

    fn select_locks(&self, question: &'static str, path: &FsPath) -> Result<Vec<Lock>> {
        let (id, path) = (self.0.id, path.as_bytes().to_vec());
        // Everything below a directory is between its name with a slash and its name with the next byte.
        let below = |last: u8| match path.as_slice() {
            b"/" => vec![last],
            name => [name, &[last]].concat(),
        };
        let (from, to) = (below(b'/'), below(b'/' + 1));
        let rows = self.0.cluster.database.run("read locks", |client| {
            let (path, from, to) = (path.clone(), from.clone(), to.clone());
            async move {
                let statement = client.prepare_cached(question).await?;
                match question == SELECT_ONE {
                    true => client.query(&statement, &[&id, &path]).await,
                    false => client.query(&statement, &[&id, &path, &from, &to]).await,
                }
            }
        })?;
        rows.iter().map(lock_of).collect()
    }

    pub(super) fn write_locks(&self, from: &Head, made: &[Lock], removed: &[FsPath]) -> Result<Outcome> {
        let mut columns = LockColumns::of(made, removed);
        if columns.expires.iter().any(Option::is_some) {
            let difference = self.clock_difference()?;
            columns
                .expires
                .iter_mut()
                .flatten()
                .for_each(|date| *date += difference);
        }
        let (id, youngest, version) = (self.0.id, number(from.youngest.0), number(from.locks_version));
        let changed = self.0.run_in_hold(|client| {
            let columns = columns.clone();
            async move {
                let row = client
                    .client()
                    .query_one(
                        CHANGE,
                        &[
                            &id,
                            &youngest,
                            &version,
                            &columns.removed,
                            &columns.paths,
                            &columns.tokens,
                            &columns.owners,
                            &columns.comments,
                            &columns.dav_comments,
                            &columns.created,
                            &columns.expires,
                            &columns.change,
                        ],
                    )
                    .await?;
                row.try_get::<_, i32>(0)
            }
        });
        let outcome = match changed {
            Ok(DONE) => Outcome::Done,
            Ok(OUTDATED) => Outcome::Outdated,
            Ok(_) => return Err(missing(self.0.instance)),
            Err(StepError::Refused(e)) => return Err(e),
            Err(StepError::Lost(_)) => self.settle_locks(&columns)?,
        };
        Ok(outcome)
    }

    /// By how much the database's clock is ahead of this machine's.
    fn clock_difference(&self) -> Result<i64> {
        let row = self
            .0
            .cluster
            .database
            .run("read the clock", |client| async move {
                client.query_one(SELECT_CLOCK, &[]).await
            })?;
        Ok(difference_from(row.try_get(0).map_err(sql_error)?))
    }

    /// Finds out whether a change was made whose connection was lost. From then on it cannot be made any more.
    fn settle_locks(&self, columns: &LockColumns) -> Result<Outcome> {
        // The hold has lost its connection too.
        *self.0.hold.lock() = None;
        self.settle(RAISE_LOCKS_VERSION, columns.change)
    }
}

/// The parameters of [`CHANGE`].
#[derive(Clone)]
struct LockColumns {
    removed: Vec<Vec<u8>>,
    paths: Vec<Vec<u8>>,
    tokens: Vec<String>,
    owners: Vec<String>,
    comments: Vec<Option<String>>,
    dav_comments: Vec<bool>,
    created: Vec<i64>,
    expires: Vec<Option<i64>>,
    change: uuid::Uuid,
}

impl LockColumns {
    fn of(made: &[Lock], removed: &[FsPath]) -> LockColumns {
        LockColumns {
            removed: removed.iter().map(|path| path.as_bytes().to_vec()).collect(),
            paths: made.iter().map(|lock| lock.path.as_bytes().to_vec()).collect(),
            tokens: made.iter().map(|lock| lock.token.clone()).collect(),
            owners: made.iter().map(|lock| lock.owner.clone()).collect(),
            comments: made.iter().map(|lock| lock.comment.clone()).collect(),
            dav_comments: made.iter().map(|lock| lock.is_dav_comment).collect(),
            created: made.iter().map(|lock| lock.created.0).collect(),
            expires: made.iter().map(|lock| lock.expires.map(|date| date.0)).collect(),
            change: uuid::Uuid::new_v4(),
        }
    }
}

/// By how much the database's clock, which shows `now`, is ahead of this machine's, microseconds. A difference that the way of the answer
/// can have made is none.
fn difference_from(now: i64) -> i64 {
    let local = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let difference = now - i64::try_from(local.as_micros()).unwrap_or(i64::MAX);
    match difference.abs() > CLOCK_TOLERANCE {
        true => difference,
        false => 0,
    }
}

fn lock_of(row: &Row) -> Result<Lock> {
    let path: Vec<u8> = row.try_get(0).map_err(sql_error)?;
    let difference = difference_from(row.try_get(7).map_err(sql_error)?);
    let expires: Option<i64> = row.try_get(6).map_err(sql_error)?;
    Ok(Lock {
        path: FsPath::parse_bytes(&path)?,
        token: row.try_get(1).map_err(sql_error)?,
        owner: row.try_get(2).map_err(sql_error)?,
        comment: row.try_get(3).map_err(sql_error)?,
        is_dav_comment: row.try_get(4).map_err(sql_error)?,
        created: Date(row.try_get(5).map_err(sql_error)?),
        expires: expires.map(|date| Date(date.saturating_sub(difference))),
    })
}

/// A number as the database has it.
pub(super) fn number(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

const SNAPSHOT: tokio_postgres::IsolationLevel = tokio_postgres::IsolationLevel::RepeatableRead;
const SELECT_VERSION: &str = "SELECT locks_version FROM sven_repository WHERE id = $1";
const SELECT_ALL: &str = "SELECT path, token, owner, comment, is_dav_comment, created, expires, \
     (extract(epoch FROM clock_timestamp()) * 1000000)::bigint FROM sven_lock \
     WHERE repository = $1 LIMIT $2";
const SELECT_ONE: &str = "SELECT path, token, owner, comment, is_dav_comment, created, expires, \
     (extract(epoch FROM clock_timestamp()) * 1000000)::bigint FROM sven_lock \
     WHERE repository = $1 AND path = $2";
const SELECT_BELOW: &str = "SELECT path, token, owner, comment, is_dav_comment, created, expires, \
     (extract(epoch FROM clock_timestamp()) * 1000000)::bigint FROM sven_lock \
     WHERE repository = $1 AND (path = $2 OR (path >= $3 AND path < $4))";
const SELECT_CLOCK: &str = "SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint";
const CHANGE: &str = "SELECT sven_change_locks_1($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)";
const RAISE_LOCKS_VERSION: &str =
    "UPDATE sven_repository SET locks_version = locks_version + 1 WHERE id = $1";
/// Differences of clocks up to this one are not looked at, microseconds.
const CLOCK_TOLERANCE: i64 = 1_000_000;
/// Locks of a repository that are kept in memory at most.
const MOST_LOCKS: i64 = 10_000;
