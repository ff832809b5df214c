//! The directories in which a walk is going on, tracked open.
//!
//! Unpacked revisions lie in `revs/SHARD/` and `revprops/SHARD/`. Whoever asks for a third file of such a directory is
//! likely to ask for more: then the directory is opened, and its files are found from there. An open directory
//! remains what it was when another one takes its place, so none is tracked for longer than a second, and whoever finds a
//! file missing or stale asks again by its path.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use crate::store::cache::Instance;
use crate::store::disk::{Disk, DiskDir};

/// What the files of a directory are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ShardKind {
    Revs,
    Revprops,
}

/// A directory: of which filesystem, of what, and which.
pub(crate) type DirKey = (Instance, ShardKind, u64);

/// The directories that were asked for lately, of all filesystems.
#[derive(Default)]
pub(crate) struct ShardDirs(Mutex<Vec<TrackedDir>>);

struct TrackedDir {
    key: DirKey,
    uses: u32,
    dir: Option<(Instant, Arc<dyn DiskDir>)>,
}

/// Directories remembered: an export goes to and fro between many shards.
const MAX_TRACKED: usize = 64;

/// How many files are asked for by path before the directory is opened.
const USES_BEFORE_OPEN: u32 = 2;

/// How long an open directory is believed.
const MAX_AGE: Duration = Duration::from_secs(1);

impl ShardDirs {
    /// The open directory, if a walk goes on in it. `path` makes that of one of its files.
    pub(crate) fn get(
        &self,
        disk: &dyn Disk,
        key: DirKey,
        path: impl FnOnce() -> PathBuf,
    ) -> Option<Arc<dyn DiskDir>> {
        {
            let mut tracked = self.0.lock();
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
                    tracked.truncate(MAX_TRACKED - 1);
                    let (uses, dir) = (1, None);
                    tracked.insert(0, TrackedDir { key, uses, dir });
                    return None;
                }
            }
        }
        let dir = path().parent().and_then(|dir| disk.open_dir(dir).ok().flatten());
        let mut all = self.0.lock();
        if let Some(tracked) = all.iter_mut().find(|tracked| tracked.key == key) {
            tracked.uses = 0;
            tracked.dir = dir.clone().map(|dir| (Instant::now(), dir));
        }
        dir
    }

    /// Closes a directory in which a file was not found.
    pub(crate) fn forget(&self, key: DirKey) {
        self.0.lock().retain(|tracked| tracked.key != key);
    }
}
