//! What all parts of a cluster share in a process: connections, the cache, this node, and the states of the open repositories.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use base::{Code, Error, Result, Revnum};
use fsfs::shared::Head;
use parking_lot::{Condvar, Mutex};
use tokio_postgres::Row;

use crate::block_cache::BlockCache;
use crate::block_source::BlockSource;
use crate::database::{Database, sql_error};
use crate::head_reader::HeadReader;
use crate::metrics::ClusterMetrics;
use crate::node_dir::PreparedDirectories;
use crate::nodes::Nodes;
use crate::objects::Objects;
use crate::refusals::Refusals;
use crate::row_cache::RowCache;
use crate::settings::ClusterSettings;

/// The connections of a process to a cluster.
pub(crate) struct ClusterState {
    pub(crate) settings: ClusterSettings,
    pub(crate) database: Database,
    pub(crate) objects: Arc<Objects>,
    pub(crate) cache: Arc<BlockCache>,
    pub(crate) source: Arc<BlockSource>,
    pub(crate) rows: Arc<RowCache>,
    pub(crate) nodes: Arc<Nodes>,
    pub(crate) metrics: Arc<ClusterMetrics>,
    /// The repositories whose new revisions are to be moved to the object store.
    pub(crate) to_move: MoveQueue,
    /// The readers of the states of repositories that were opened, by `sven_repository.id`: notifications reach them. They stay as long as the caches may have
    /// something of their repositories, to notice that the database went back.
    pub(crate) readers: Mutex<HashMap<i64, Arc<HeadReader>>>,
    pub(crate) refusals: Arc<Refusals>,
    pub(crate) is_listening: AtomicBool,
    /// What the directories of this node were made from. Held while they are made or changed.
    pub(crate) directories: Mutex<PreparedDirectories>,
}

/// The repositories whose new revisions are to be moved.
#[derive(Default)]
pub(crate) struct MoveQueue(pub(crate) Arc<(Mutex<BTreeSet<i64>>, Condvar)>);

impl MoveQueue {
    /// Notes that a repository has new revisions.
    pub(crate) fn revisions_made(&self, id: i64) {
        if self.0.0.lock().insert(id) {
            self.0.1.notify_one();
        }
    }

    /// Waits for repositories with new revisions, at most `limit`.
    pub(crate) fn take(queue: &(Mutex<BTreeSet<i64>>, Condvar), limit: Duration) -> BTreeSet<i64> {
        let mut ids = queue.0.lock();
        if ids.is_empty() {
            queue.1.wait_for(&mut ids, limit);
        }
        std::mem::take(&mut ids)
    }
}

impl ClusterState {
    /// Reads the states of all open repositories again.
    pub(crate) fn refresh_all(&self) {
        let all: Vec<i64> = self.readers.lock().keys().copied().collect();
        if all.is_empty() {
            return;
        }
        if let Err(e) = self.refresh(&all, Instant::now()) {
            tracing::debug!("{}", e.message());
        }
    }

    /// Reads the states of the open repositories again, after a notification. `since` is a time before the notification was read.
    pub(crate) fn refresh(&self, ids: &[i64], since: Instant) -> Result<()> {
        let ids = ids.to_vec();
        let rows = self.database.run("read the states of repositories", |client| {
            let ids = ids.clone();
            async move {
                let statement = client.prepare_cached(SELECT_HEADS).await?;
                client.query(&statement, &[&ids]).await
            }
        })?;
        for row in &rows {
            let id: i64 = row.try_get(4).map_err(sql_error)?;
            let reader = self.readers.lock().get(&id).cloned();
            if let (Some(reader), Ok(head)) = (reader, head_of(row)) {
                reader.see(head, since)?;
            }
        }
        Ok(())
    }
}

/// Reads a state from the first four columns of a row.
pub(crate) fn head_of(row: &Row) -> Result<Head> {
    let number = |at: usize| -> Result<u64> {
        let number: i64 = row.try_get(at).map_err(sql_error)?;
        // The youngest revision is -1 while the repository is being imported.
        u64::try_from(number).map_err(|_| {
            Error::new(
                Code::FS_GENERAL,
                "The repository is not complete: its import has not ended",
            )
        })
    };
    Ok(Head {
        youngest: Revnum(number(0)?),
        min_unpacked: Revnum(number(1)?),
        locks_version: number(2)?,
        revprops_version: number(3)?,
    })
}

const SELECT_HEADS: &str = "SELECT youngest, min_unpacked, locks_version, revprops_version, id \
     FROM sven_repository WHERE id = ANY ($1)";
