//! The open repositories, shared by all sessions and requests.
//!
//! To open a repository takes a dozen small files, so each is opened once. It is opened again when its `format` files or its UUID
//! were replaced: after an upgrade, or when an administrator has put another repository at its path.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use base::Result;
use parking_lot::Mutex;
use repos::config::FileStamp;
use repos::{Cache, OpenOptions, PrefetchPool, ReadMode, Repository};

/// The highest number of open repositories.
const MAX_OPEN: usize = 4096;

/// The open repositories, by path.
pub(crate) struct Repositories {
    cache: Arc<Cache>,
    prefetch: Arc<PrefetchPool>,
    open: Mutex<HashMap<PathBuf, (Identity, Repository)>>,
}

/// The stamps of the files that change when a repository is replaced or upgraded.
type Identity = [Option<FileStamp>; 3];

impl Repositories {
    pub(crate) fn new(cache: Arc<Cache>) -> Self {
        Repositories {
            cache,
            prefetch: Arc::default(),
            open: Mutex::new(HashMap::new()),
        }
    }

    /// Returns the repository at `path`, and opens it if it is not open. Its own reads may wait, whatever the mode of this one is.
    ///
    /// # Errors
    /// As of [`Repository::open`]; that of [`ReadMode::check_may_wait`] if it is not open.
    pub(crate) fn open(&self, path: &Path, mode: &ReadMode) -> Result<Repository> {
        let identity = identify(path);
        let known = self.open.lock().get(path).cloned();
        if let Some((known, repository)) = known
            && known == identity
        {
            // This read detects revisions that were replaced by a backup. An error comes again when the repository is used.
            _ = repository.youngest();
            return Ok(repository);
        }
        // Not under the lock: a slow disk of one repository must not delay the others.
        mode.check_may_wait()?;
        let options = OpenOptions {
            prefetch: Some(self.prefetch.clone()),
            ..OpenOptions::default()
        };
        let repository = Repository::open_with(path, &self.cache, options)?;
        let mut open = self.open.lock();
        if open.len() >= MAX_OPEN {
            open.clear();
        }
        open.insert(path.to_owned(), (identity, repository.clone()));
        Ok(repository)
    }
}

fn identify(path: &Path) -> Identity {
    ["format", "db/format", "db/uuid"].map(|name| FileStamp::of(&path.join(name)).ok().flatten())
}
