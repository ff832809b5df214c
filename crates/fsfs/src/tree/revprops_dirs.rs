//! Whether revision properties may have changed, by the state of their directories.
//!
//! A changed property is a new file in the place of the old one, which changes the directory. So a caller that has
//! compared the properties of thousands of revisions can tell for a while, by the metadata of a few directories, that
//! they are still the same. A program that writes into such a file in place, which Subversion never does, is not
//! seen: the caller limits how long it trusts the directories.

use std::time::{Duration, SystemTime};

use base::Revnum;

use crate::store::Store;
use crate::store::disk::FileMeta;
use crate::tree::Fs;

/// The state of the directories that hold the properties of some revisions.
#[derive(Debug)]
pub struct RevpropsDirs {
    /// The shards, and the metadata of their directories.
    dirs: Box<[(u64, FileMeta)]>,
}

/// A directory that was changed less than this ago is no proof: the next change could get the same time.
const DIR_SETTLED: Duration = Duration::from_secs(10);

impl Fs {
    /// Reads the state of the directories of these revisions. Returns `None` if a change might not show in it: packed
    /// shards, directories that were changed a moment ago. The caller reads the properties after this.
    pub fn revprops_dirs(&self, revs: impl IntoIterator<Item = Revnum>) -> Option<RevpropsDirs> {
        let quiet_since = SystemTime::now().checked_sub(DIR_SETTLED)?;
        let mut shards = Vec::new();
        for rev in revs {
            let shard = self.layout().shard(rev).filter(|_| !self.is_packed(rev))?;
            if shards.last() != Some(&shard) {
                shards.push(shard);
            }
        }
        shards.sort_unstable();
        shards.dedup();
        let dirs = shards.into_iter().map(|shard| {
            let meta = dir_meta(self, shard)?;
            (meta.modified < quiet_since).then_some((shard, meta))
        });
        let dirs = dirs.collect::<Option<_>>()?;
        Some(RevpropsDirs { dirs })
    }
}

impl RevpropsDirs {
    /// Returns whether the directories are still in this state.
    pub fn are_unchanged(&self, fs: &Fs) -> bool {
        let same = |(shard, meta): &(u64, FileMeta)| dir_meta(fs, *shard) == Some(*meta);
        self.dirs.iter().all(same)
    }
}

fn dir_meta(store: &Store, shard: u64) -> Option<FileMeta> {
    let first = Revnum(shard.checked_mul(store.format().shard_size)?);
    let dir = store.layout().revprops(first);
    store.disk().metadata(dir.parent()?).ok()
}
