//! Work in the background of a node that serves: leases, notifications, and objects that are due.
//!
//! - The lease is renewed three times in the time that it lasts. Then the directories of new repositories are made, changed
//!   configuration and hooks written there, and the list of nodes read if they are asked for blocks.
//! - One connection listens for changes of repositories. It makes the known state of a repository younger before a client asks, and
//!   directories change at once; nothing depends on it.
//! - Revision files that were published within the database are moved to the object store. Two nodes may move the same one: it has
//!   one name and one content, and noting twice that it was moved does no harm. The same thread looks once a minute whether the database waits for
//!   its disk.
//! - Jobs that one node does for all (`jobs`).
//!
//! The threads end when the last handle to the cluster is dropped.

use std::collections::BTreeSet;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use base::{Code, Error, Result};
use parking_lot::{Condvar, Mutex};

use crate::cluster::Cluster;
use crate::database::{Notice, sql_error};
use crate::node_dir::own_directory;
use crate::objects::revision_key;
use crate::state::{ClusterState, MoveQueue};

impl Cluster {
    /// Registers this process as a node and begins its work in the background: it renews the lease, listens for changes, and takes
    /// its part in the upkeep of the cluster. Returns the epoch.
    ///
    /// # Errors
    /// `FS_GENERAL` if the database cannot be reached; `BAD_CONFIG_VALUE` if the object store belongs to another cluster. An object store that cannot be reached
    /// is no error: the process is not ready until it was checked.
    pub fn serve(&self) -> Result<u64> {
        own_directory(&self.0.settings.directory)?;
        if let Err(e) = self.check_store_identity() {
            if e.code() == Code::BAD_CONFIG_VALUE {
                return Err(e);
            }
            // What is in the cache of this machine can be read meanwhile.
            tracing::error!("this machine is not ready: {}", whole(&e));
        }
        let epoch = self.0.nodes.register()?;
        self.prepare_directories()?;
        self.0.source.see_nodes()?;
        if !self.0.is_listening.swap(true, Ordering::AcqRel) {
            begin(&self.0);
        }
        Ok(u64::try_from(epoch).unwrap_or_default())
    }
}

/// Starts the threads.
fn begin(state: &Arc<ClusterState>) {
    let weak = Arc::downgrade(state);
    start("cluster-lease", move || renew_leases(&weak));
    let weak = Arc::downgrade(state);
    start("cluster-notify", move || listen(&weak));
    if !state.objects.is_identity_checked() {
        let weak = Arc::downgrade(state);
        start("cluster-store", move || check_store(&weak));
    }
    let (weak, queue) = (Arc::downgrade(state), state.to_move.0.clone());
    start("cluster-move", move || move_contents(&weak, &queue));
    let weak = Arc::downgrade(state);
    start("cluster-jobs", move || crate::jobs::run(&weak));
}

/// Checks to which cluster the object store belongs until that is known.
fn check_store(weak: &Weak<ClusterState>) {
    while let Some(state) = weak.upgrade() {
        match state.objects.check_identity() {
            Ok(()) => return,
            Err(e) => tracing::error!("this machine is not ready: {}", whole(&e)),
        }
        drop(state);
        std::thread::sleep(RECONNECT_PAUSE);
    }
}

/// An error with its causes, for the log.
fn whole(e: &Error) -> String {
    let texts: Vec<String> = e.links().map(|link| link.text()).collect();
    texts.join(": ")
}

fn start(name: &str, run: impl FnOnce() + Send + 'static) {
    if let Err(e) = std::thread::Builder::new().name(name.to_owned()).spawn(run) {
        tracing::error!("can't start the thread '{name}' of the cluster: {e}");
    }
}

fn renew_leases(weak: &Weak<ClusterState>) {
    loop {
        let Some(state) = weak.upgrade() else { return };
        if let Err(e) = state.nodes.renew() {
            tracing::error!(
                "can't renew the lease of this machine in the cluster: {}",
                e.message()
            );
        } else if let Err(e) = Cluster(state.clone()).prepare_directories() {
            tracing::error!(
                "can't bring the directories of repositories up to date: {}",
                whole(&e)
            );
        } else if let Err(e) = state.source.see_nodes() {
            tracing::warn!("can't list the nodes of the cluster: {}", e.message());
        }
        state.cache.keep_reserve();
        // Notices a database that was restored to an earlier state, also if no client asks.
        state.refresh_all();
        let pause = state.settings.lease() / 3;
        drop(state);
        std::thread::sleep(pause);
    }
}

/// Listens for notifications on a connection of its own; connects again when it is lost.
fn listen(weak: &Weak<ClusterState>) {
    while let Some(state) = weak.upgrade() {
        let (sender, receiver) = std::sync::mpsc::channel();
        let config = state.database.config().clone();
        let begun = crate::database::listen_on(config, &[HEADS, FILES], sender);
        if let Err(e) = begun {
            tracing::debug!("no notifications of the cluster: {}", e.message());
        }
        // Whatever was missed meanwhile.
        state.refresh_all();
        drop(state);
        while let Ok(first) = receiver.recv() {
            let since = Instant::now();
            let notices: Vec<Notice> = std::iter::once(first).chain(receiver.try_iter()).collect();
            let ids: BTreeSet<i64> = notices
                .iter()
                .filter(|(channel, _)| channel == HEADS)
                .map(|(_, id)| *id)
                .collect();
            let Some(state) = weak.upgrade() else { return };
            let open: Vec<i64> = {
                let readers = state.readers.lock();
                ids.into_iter().filter(|id| readers.contains_key(id)).collect()
            };
            if !open.is_empty() {
                _ = state.refresh(&open, since);
            }
            if notices.iter().any(|(channel, _)| channel == FILES)
                && let Err(e) = Cluster(state).prepare_directories()
            {
                // The next renewal of the lease tries it again.
                tracing::error!(
                    "can't bring the directories of repositories up to date: {}",
                    whole(&e)
                );
            }
        }
        std::thread::sleep(RECONNECT_PAUSE);
    }
}

fn move_contents(weak: &Weak<ClusterState>, queue: &(Mutex<BTreeSet<i64>>, Condvar)) {
    let (mut last_full, mut warning) = (None::<Instant>, None);
    loop {
        let mut ids = MoveQueue::take(queue, MOVE_INTERVAL);
        let Some(state) = weak.upgrade() else { return };
        if last_full.is_none_or(|time| time.elapsed() > FULL_INTERVAL) {
            // What a node that has died has left.
            last_full = Some(Instant::now());
            if let Err(e) = state.remove_old_rows() {
                tracing::debug!("{}", e.message());
            }
            warn_if_not_durable(&state, &mut warning);
            match state.inline_repositories() {
                Ok(found) => ids.extend(found),
                Err(e) => tracing::debug!("{}", e.message()),
            }
        }
        for id in ids {
            if let Err(e) = state.move_contents_of(id) {
                tracing::warn!(
                    "can't move revisions of the cluster to the object store: {}",
                    e.message()
                );
            }
        }
        drop(state);
        // Revisions that follow each other quickly are moved together.
        std::thread::sleep(MOVE_PAUSE);
    }
}

/// Logs that the database does not wait for its disk, if that is not the known `warning`.
fn warn_if_not_durable(state: &Arc<ClusterState>, warning: &mut Option<String>) {
    match Cluster(state.clone()).durability_warning() {
        Ok(found) => {
            let found = found.map(|error| error.message().to_owned());
            if let Some(text) = &found
                && found != *warning
            {
                tracing::warn!("{text}");
            }
            *warning = found;
        }
        Err(e) => tracing::debug!("{}", e.message()),
    }
}

/// A revision file in a row.
struct InlineContent {
    rev: i64,
    publication: uuid::Uuid,
    content: Vec<u8>,
}

impl ClusterState {
    /// Removes rows that no node asks for any more: changes whose outcome was found out long ago, nodes that are gone, activities of
    /// clients that have given up.
    fn remove_old_rows(&self) -> Result<()> {
        self.database.run("remove old rows", |client| async move {
            client.batch_execute(REMOVE_OLD).await
        })
    }

    /// Returns the repositories with contents in rows.
    fn inline_repositories(&self) -> Result<Vec<i64>> {
        let rows = self
            .database
            .run("look for revisions to move", |client| async move {
                client.query(INLINE_REPOSITORIES, &[]).await
            })?;
        rows.iter().map(|row| row.try_get(0).map_err(sql_error)).collect()
    }

    /// Moves the contents of a repository's rows to the object store, all but those of the youngest revisions, which are read most.
    pub(crate) fn move_contents_of(&self, id: i64) -> Result<()> {
        loop {
            let rows = self.database.run("read revisions to move", |client| async move {
                client
                    .query(INLINE_CONTENTS, &[&id, &KEPT_INLINE, &MOVED_AT_ONCE])
                    .await
            })?;
            let Some(first) = rows.first() else { return Ok(()) };
            let instance: uuid::Uuid = first.try_get(3).map_err(sql_error)?;
            let (mut moved, mut publications) = (Vec::<i64>::new(), Vec::<uuid::Uuid>::new());
            let (mut digests, mut blocks) = (Vec::<Vec<u8>>::new(), Vec::<Vec<u8>>::new());
            for row in &rows {
                let content = InlineContent {
                    rev: row.try_get(0).map_err(sql_error)?,
                    publication: row.try_get(1).map_err(sql_error)?,
                    content: row.try_get(2).map_err(sql_error)?,
                };
                let rev = u64::try_from(content.rev).unwrap_or_default();
                let name = revision_key(instance, rev, content.publication);
                let digest = self.objects.put(&name, content.content.into())?;
                moved.push(content.rev);
                publications.push(content.publication);
                digests.push(digest.sha256.to_vec());
                blocks.push(digest.blocks);
            }
            self.database.run("note that revisions were moved", |client| {
                let (moved, publications) = (moved.clone(), publications.clone());
                let (digests, blocks) = (digests.clone(), blocks.clone());
                async move {
                    client
                        .execute(CLEAR_CONTENTS, &[&id, &moved, &publications, &digests, &blocks])
                        .await
                        .map(drop)
                }
            })?;
            if rows.len() < MOVED_AT_ONCE as usize {
                return Ok(());
            }
        }
    }
}

/// The channel for changes of repositories; the payload is the number of the repository, as in all channels.
const HEADS: &str = "sven_head";

/// The channel for changes of the configuration and hooks, and for new repositories.
const FILES: &str = "sven_files";

const RECONNECT_PAUSE: Duration = Duration::from_secs(1);
const MOVE_INTERVAL: Duration = Duration::from_secs(5);
const MOVE_PAUSE: Duration = Duration::from_millis(500);
const FULL_INTERVAL: Duration = Duration::from_secs(60);

/// Contents of the youngest revisions that stay in their rows.
const KEPT_INLINE: i64 = 16;
const MOVED_AT_ONCE: i64 = 64;

const REMOVE_OLD: &str = "DELETE FROM sven_change WHERE made < clock_timestamp() - interval '2 days'; \
     DELETE FROM sven_node WHERE lease_until < clock_timestamp() - interval '30 days'; \
     DELETE FROM sven_activity WHERE changed < clock_timestamp() - interval '30 days'; \
     DELETE FROM sven_job WHERE repository <> 0 AND lease_until < clock_timestamp() - interval '30 days'";
const INLINE_REPOSITORIES: &str = "SELECT DISTINCT repository FROM sven_revision WHERE content IS NOT NULL";
const INLINE_CONTENTS: &str = "SELECT v.rev, v.publication, v.content, r.instance \
     FROM sven_revision v JOIN sven_repository r ON r.id = v.repository \
     WHERE v.repository = $1 AND v.content IS NOT NULL AND v.rev <= r.youngest - $2 ORDER BY v.rev LIMIT $3";
/// The shard may have been packed meanwhile: then the row has no content, and names no object. After a failover to a database that lacks the last
/// transactions the revision may have been made again: then the row has another publication, and names an object that was not written.
const CLEAR_CONTENTS: &str = "UPDATE sven_revision SET content = NULL, sha256 = new.d, blocks = new.b, checked = now(), good = now() \
     FROM unnest($2::bigint[], $3::uuid[], $4::bytea[], $5::bytea[]) AS new (r, p, d, b) \
     WHERE repository = $1 AND rev = new.r AND publication = new.p AND content IS NOT NULL";
