//! Open directories of shards, for walks over many revisions.
//!
//! Unpacked revisions are in `revs/SHARD/` and `revprops/SHARD/`. Finding a file in an open directory costs the
//! system a fraction of finding it by its path. So a directory is opened when a third of its files is read. An open
//! directory stays the same directory when another one takes its place. So none is used for longer than a second, and
//! a reader that finds a file missing or stale tries its path.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use crate::store::cache::Instance;
use crate::store::disk::{Disk, DiskDir, open_file_budget};

/// The kind of the files in a directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ShardKind {
    Revs,
    Revprops,
}

/// The key of a directory: filesystem, kind of files, shard.
pub(crate) type DirKey = (Instance, ShardKind, u64);

/// The directories that were used recently, of all filesystems, the last one first.
pub(crate) struct ShardDirs {
    tracked: Mutex<Vec<TrackedDir>>,
    /// How many there may be.
    capacity: usize,
}

impl Default for ShardDirs {
    fn default() -> Self {
        ShardDirs {
            tracked: Mutex::default(),
            capacity: open_file_budget(MAX_TRACKED),
        }
    }
}

struct TrackedDir {
    key: DirKey,
    uses: u32,
    dir: Option<(Instant, Arc<dyn DiskDir>)>,
}

/// The most directories in the list: an export goes back and forth between many shards.
const MAX_TRACKED: usize = 64;

/// The number of files that are read by path before the directory is opened.
const USES_BEFORE_OPEN: u32 = 2;

/// The longest use of an open directory.
const MAX_AGE: Duration = Duration::from_secs(1);

impl ShardDirs {
    /// The open directory, if a walk is in progress in it. `path` returns the path of one of its files.
    pub(crate) fn get(
        &self,
        disk: &dyn Disk,
        key: DirKey,
        path: impl FnOnce() -> PathBuf,
    ) -> Option<Arc<dyn DiskDir>> {
        {
            let mut tracked = self.tracked.lock();
            match tracked.iter().position(|tracked| tracked.key == key) {
                Some(at) => {
                    tracked[..=at].rotate_right(1);
                    let tracked = &mut tracked[0];
                    match &tracked.dir {
                        Some((since, dir)) if since.elapsed() < MAX_AGE => return Some(dir.clone()),
                        Some(_) => {}
                        None if tracked.uses < USES_BEFORE_OPEN => {
                            tracked.uses += 1;
                            return None;
                        }
                        None => {}
                    }
                }
                None => {
                    tracked.truncate(self.capacity - 1);
                    let (uses, dir) = (1, None);
                    tracked.insert(0, TrackedDir { key, uses, dir });
                    return None;
                }
            }
        }
        let dir = path().parent().and_then(|dir| disk.open_dir(dir).ok().flatten());
        let mut all = self.tracked.lock();
        if let Some(tracked) = all.iter_mut().find(|tracked| tracked.key == key) {
            tracked.uses = 0;
            tracked.dir = dir.clone().map(|dir| (Instant::now(), dir));
        }
        dir
    }

    /// Closes the directories that are not used any more.
    pub(crate) fn close_old(&self) {
        for tracked in self.tracked.lock().iter_mut() {
            tracked.dir.take_if(|(since, _)| since.elapsed() >= MAX_AGE);
        }
    }

    /// Closes a directory after a file was missing in it.
    pub(crate) fn forget(&self, key: DirKey) {
        self.tracked.lock().retain(|tracked| tracked.key != key);
    }
}
