//! The filesystem of files that is imported.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use base::hashdump::{self, Terminator};
use base::{Code, Error, Result, Revnum};
use fsfs::disk::{Disk as _, DiskFile, FileMeta, RealDisk, is_missing};
use fsfs::{Cache, Fs};

/// An open filesystem of files, and the names of its files.
pub(super) struct Source {
    pub(super) fs: Fs,
    pub(super) db: PathBuf,
    /// Revisions of a shard; 0 for the linear layout.
    pub(super) shard_size: u64,
    /// True if packs have manifests.
    pub(super) has_manifests: bool,
}

/// The files of a packed shard.
pub(super) struct PackFiles {
    pub(super) file: Arc<dyn DiskFile>,
    pub(super) manifest: Option<Vec<u8>>,
}

/// The state of the directories that hold property lists of some revisions.
#[derive(PartialEq, Eq)]
pub(super) struct PropsState {
    dirs: Vec<Option<FileMeta>>,
    /// A change shortly before could have had the same time as one shortly after.
    is_settled: bool,
}

impl Source {
    /// Opens a filesystem.
    ///
    /// # Errors
    /// Those of the engine; `FS_UNSUPPORTED_FORMAT` for formats 1 and 2, which count ids in the file that names the youngest revision.
    pub(super) fn open(db: &Path) -> Result<Source> {
        let fs = Fs::open_on(db, &Cache::new(CACHE), Arc::new(RealDisk))?;
        let info = fs.info()?;
        if info.format < 3 {
            return Err(Error::new(
                Code::FS_UNSUPPORTED_FORMAT,
                format!(
                    "'{}' has format {}, which a cluster cannot have; 'svnadmin upgrade' brings it up to date",
                    db.display(),
                    info.format
                ),
            ));
        }
        Ok(Source {
            fs,
            db: db.to_owned(),
            shard_size: info.shard_size,
            has_manifests: !info.logical_addressing,
        })
    }

    /// The number of packed shards.
    pub(super) fn packed_shards(&self) -> Result<u64> {
        let min_unpacked = self.fs.info()?.min_unpacked_rev.0;
        Ok(min_unpacked.checked_div(self.shard_size).unwrap_or(0))
    }

    /// Opens the file of a revision; `None` if there is none.
    pub(super) fn revision(&self, rev: Revnum) -> Result<Option<Arc<dyn DiskFile>>> {
        let path = self.in_shard("revs", rev);
        match RealDisk
            .open(&path)
            .map_err(|e| Error::io("Can't open file", &path, &e))
        {
            Ok(file) => Ok(Some(file)),
            Err(e) if is_missing(&e) => Ok(None),
            Err(e) => Err(e),
        }
    }

    /// Opens the pack file of a shard, and reads its manifest if it has one.
    pub(super) fn pack(&self, shard: u64) -> Result<PackFiles> {
        let dir = self.db.join("revs").join(format!("{shard}.pack"));
        let (pack, manifest) = (dir.join("pack"), dir.join("manifest"));
        let failed = |path: &Path, e: std::io::Error| Error::io("Can't open file", path, &e);
        let file = RealDisk.open(&pack).map_err(|e| failed(&pack, e))?;
        let read = || RealDisk.read_small(&manifest).map_err(|e| failed(&manifest, e));
        let manifest = self.has_manifests.then(read).transpose()?;
        Ok(PackFiles { file, manifest })
    }

    /// Returns the property lists of revisions, in the form of files.
    pub(super) fn props(&self, revs: &[Revnum]) -> Result<Vec<Vec<u8>>> {
        let lists = self.fs.revprop_lists(revs).into_iter();
        lists
            .map(|list| {
                let mut text = Vec::new();
                hashdump::write_props(&mut text, &list?.to_props(), Terminator::End);
                Ok(text)
            })
            .collect()
    }

    /// Reads the state of the directories with the property lists of the revisions around `rev`, before they are read.
    pub(super) fn props_state(&self, rev: Revnum) -> PropsState {
        let mut dirs = vec![self.in_shard("revprops", rev)];
        dirs[0].pop();
        if let Some(shard) = rev.0.checked_div(self.shard_size) {
            dirs.push(self.db.join("revprops").join(format!("{shard}.pack")));
        }
        let dirs: Vec<_> = dirs.iter().map(|dir| RealDisk.metadata(dir).ok()).collect();
        let quiet_since = SystemTime::now()
            .checked_sub(SETTLED)
            .unwrap_or(SystemTime::UNIX_EPOCH);
        let is_settled = dirs.iter().flatten().all(|meta| meta.modified < quiet_since);
        PropsState { dirs, is_settled }
    }

    /// Reads a small file of the filesystem.
    pub(super) fn small_file(&self, name: &str) -> Result<Vec<u8>> {
        let path = self.db.join(name);
        let read = RealDisk.read_small(&path);
        read.map_err(|e| Error::io("Can't open file", &path, &e))
    }

    fn in_shard(&self, kind: &str, rev: Revnum) -> PathBuf {
        let dir = self.db.join(kind);
        match rev.0.checked_div(self.shard_size) {
            Some(shard) => dir.join(shard.to_string()).join(rev.to_string()),
            None => dir.join(rev.to_string()),
        }
    }
}

impl PropsState {
    /// True if the lists that were read after this state was read are still the same. `now` is read later.
    pub(super) fn proves_unchanged(&self, now: &PropsState) -> bool {
        self.is_settled && self.dirs == now.dirs
    }
}

/// Of property lists; revisions are not read through it.
const CACHE: u64 = 16 << 20;

/// A directory that was changed less than this ago proves nothing: the next change could get the same time.
const SETTLED: Duration = Duration::from_secs(10);
