//! The repositories that are open, shared by all conversations.
//!
//! Opening one reads a dozen small files; a popular repository is opened once. It is opened anew when its `format` files
//! or its UUID were replaced: after an upgrade, or when an administrator puts another repository in its place.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use base::Result;
use parking_lot::Mutex;
use repos::config::FileStamp;
use repos::prompt::takes_time;
use repos::{Cache, Repository};

/// Most repositories kept open.
const MAX_OPEN: usize = 4096;

/// Opens repositories, once each.
pub(crate) struct Repositories {
    cache: Arc<Cache>,
    open: Mutex<HashMap<PathBuf, (Identity, Repository)>>,
}

/// What changes when a repository is replaced or upgraded: the files that say what it is.
type Identity = [Option<FileStamp>; 3];

impl Repositories {
    pub(crate) fn new(cache: Arc<Cache>) -> Self {
        Repositories {
            cache,
            open: Mutex::new(HashMap::new()),
        }
    }

    /// Opens the repository at `path`, or answers the one that is open.
    ///
    /// # Errors
    /// As of [`Repository::open`].
    pub(crate) fn open(&self, path: &Path) -> Result<Repository> {
        let identity = identify(path);
        let known = self.open.lock().get(path).cloned();
        if let Some((known, repository)) = known
            && known == identity
        {
            // Where revisions were replaced by a backup, reading this shows it. What cannot be read now fails later.
            _ = repository.youngest();
            return Ok(repository);
        }
        // Not under the lock: a slow disk below one repository must not stop the others.
        takes_time()?;
        let repository = Repository::open(path, &self.cache)?;
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
