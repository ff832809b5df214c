//! The open repositories, shared by all sessions and requests.
//!
//! To open a repository takes a dozen small files, so each is opened once. It is opened again when its `format` files or its UUID
//! were replaced: after an upgrade, or when an administrator has put another repository at its path.
//!
//! When a repository is opened, and again when it has many new revisions, a job of the server's thread pool extends its history
//! index.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, Weak};

use base::{Cancel, Code, Result};
use parking_lot::Mutex;
use repos::config::FileStamp;
use repos::{Cache, OpenOptions, PrefetchPool, ReadMode, Repository};

use crate::log::OneLine;
use crate::net::ThreadPool;

/// The highest number of open repositories.
const MAX_OPEN: usize = 4096;

/// The number of new revisions after which an index is extended again. Commits through this server extend it themselves.
const INDEX_AFTER: u64 = 64;

/// The open repositories, by path.
pub(crate) struct Repositories {
    cache: Arc<Cache>,
    prefetch: Arc<PrefetchPool>,
    open: Mutex<HashMap<PathBuf, OpenRepository>>,
    indexing: Indexing,
}

#[derive(Clone)]
struct OpenRepository {
    identity: Identity,
    repository: Repository,
    /// The youngest revision when a job to extend the history index was last submitted.
    indexed: Arc<AtomicU64>,
}

/// How history indexes are extended.
#[derive(Default)]
struct Indexing {
    /// The thread pool, once the server runs.
    pool: OnceLock<Weak<ThreadPool>>,
    /// True to make an index for each repository.
    creates: AtomicBool,
    /// Stops the jobs.
    cancel: Cancel,
}

/// The stamps of the files that change when a repository is replaced or upgraded.
type Identity = [Option<FileStamp>; 3];

impl Repositories {
    pub(crate) fn new(cache: Arc<Cache>) -> Self {
        Repositories {
            cache,
            prefetch: Arc::default(),
            open: Mutex::new(HashMap::new()),
            indexing: Indexing::default(),
        }
    }

    /// Returns the repository at `path`, and opens it if it is not open. Its own reads may wait, whatever the mode of this one is.
    ///
    /// # Errors
    /// As of [`Repository::open`]; that of [`ReadMode::check_may_wait`] if it is not open.
    pub(crate) fn open(&self, path: &Path, mode: &ReadMode) -> Result<Repository> {
        let identity = identify(path);
        let known = self.open.lock().get(path).cloned();
        if let Some(open) = known
            && open.identity == identity
        {
            // This read detects revisions that were replaced by a backup. An error comes again when the repository is used.
            // The revisions of a cluster are not replaced.
            if open.repository.shared_nodes().is_none() {
                _ = open.repository.youngest();
            }
            self.indexing.schedule(&open);
            return Ok(open.repository);
        }
        // Not under the lock: a slow disk of one repository must not delay the others.
        mode.check_may_wait()?;
        let options = OpenOptions {
            prefetch: Some(self.prefetch.clone()),
            ..OpenOptions::default()
        };
        let repository = Repository::open_with(path, &self.cache, options)?;
        let opened = OpenRepository {
            identity,
            repository: repository.clone(),
            indexed: Arc::new(AtomicU64::new(u64::MAX)),
        };
        self.indexing.schedule(&opened);
        let mut open = self.open.lock();
        if open.len() >= MAX_OPEN {
            open.clear();
        }
        open.insert(path.to_owned(), opened);
        Ok(repository)
    }

    /// Extends history indexes by jobs of this thread pool from now on.
    pub(crate) fn index_on(&self, pool: &Arc<ThreadPool>) {
        // A second server of the same service uses the pool of the first.
        _ = self.indexing.pool.set(Arc::downgrade(pool));
    }

    /// Makes a history index for each repository that is opened from now on, if `creates`.
    pub(crate) fn create_indexes(&self, creates: bool) {
        self.indexing.creates.store(creates, Ordering::Relaxed);
    }

    /// Closes the files that were not read since the last call. So an idle server keeps none open: an administrator may remove packed shards on
    /// a network file system, free the room of deleted files, and unmount.
    pub(crate) fn close_idle_files(&self) {
        self.cache.close_idle_files();
        let open: Vec<Repository> = self
            .open
            .lock()
            .values()
            .map(|open| open.repository.clone())
            .collect();
        for repository in open {
            repository.close_idle_files();
        }
    }

    /// Stops the jobs that extend history indexes.
    pub(crate) fn stop_indexing(&self) {
        self.indexing.cancel.cancel();
    }

    /// The most revisions that any history index in use lacks; `None` if none is in use.
    pub(crate) fn index_lag(&self) -> Option<u64> {
        let open = self.open.lock();
        let lags = open
            .values()
            .filter_map(|open| open.repository.history_index_lag());
        lags.max()
    }
}

impl Indexing {
    /// Submits a job for a repository that has just been opened or has many new revisions.
    fn schedule(&self, open: &OpenRepository) {
        let Some(pool) = self.pool.get().and_then(Weak::upgrade) else {
            return;
        };
        let youngest = open.repository.last_youngest().0;
        let indexed = open.indexed.load(Ordering::Relaxed);
        let is_due = indexed == u64::MAX || youngest.abs_diff(indexed) >= INDEX_AFTER;
        let taken = || {
            let order = Ordering::Relaxed;
            open.indexed
                .compare_exchange(indexed, youngest, order, order)
                .is_ok()
        };
        if !is_due || !taken() {
            return;
        }
        let (repository, cancel) = (open.repository.clone(), self.cancel.clone());
        let creates = self.creates.load(Ordering::Relaxed);
        pool.submit(IpAddr::V4(Ipv4Addr::UNSPECIFIED), move || {
            match repository.extend_history_index(creates, &cancel) {
                Err(e) if e.code() != Code::CANCELLED => {
                    let path = repository.path().display();
                    tracing::warn!(
                        "Can't extend the history index of '{path}': {}",
                        OneLine(e.message())
                    );
                }
                _ => {}
            }
        });
    }
}

fn identify(path: &Path) -> Identity {
    ["format", "db/format", "db/uuid"].map(|name| FileStamp::of(&path.join(name)).ok().flatten())
}
