//! A shared filesystem in memory: the storage behind [`fsfs::shared`] for tests, without databases and networks.
//!
//! A [`MemoryStorage`] holds what several machines share. Each [`MemoryStorage::node`] is a machine: a directory of its own and an
//! open [`Fs`]. A test can make a storage refuse the next changes as outdated, and fail the next calls.

mod blobs;

use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use base::checksum::Sha1;
use base::{Code, Date, Depth, Error, FsPath, Lock, Result, Revnum};
use fsfs::disk::RealDisk;
use fsfs::shared::{
    Head, NewRevision, Outcome, SHARED_FS_TYPE, SharedFs, SharedHeads, SharedHold, SharedNodes, TxnOwner,
    Uploaded,
};
use fsfs::{Cache, CreateOptions, Fs, RepCacheRow};
use parking_lot::{Condvar, Mutex};
use tempfile::TempDir;

use self::blobs::{MAX_INLINE, NodeBlobs, whole};

/// The storage that several machines share.
#[derive(Default)]
pub struct MemoryStorage {
    state: Mutex<Shared>,
    hold_ended: Condvar,
    while_uploading: Mutex<Option<Box<dyn FnMut() + Send>>>,
}

/// One machine: its directory, and the filesystem that is open on it.
pub struct MemoryNode {
    /// The directory of the machine: `db/`.
    pub dir: TempDir,
    /// The filesystem.
    pub fs: Fs,
}

#[derive(Default)]
struct Shared {
    youngest: u64,
    locks_version: u64,
    revprops_version: u64,
    /// The node that keeps others from publishing.
    holder: Option<u64>,
    nodes: u64,
    /// How many of the next changes are refused as outdated.
    outdate: u32,
    /// How many of the next calls fail.
    fail: u32,
    revisions: BTreeMap<u64, Arc<Vec<u8>>>,
    revprops: BTreeMap<u64, Arc<[u8]>>,
    packs: HashMap<u64, (Arc<Vec<u8>>, Vec<u8>)>,
    min_unpacked: u64,
    locks: BTreeMap<FsPath, Lock>,
    /// The last content of `db/uuid` that a node has sent.
    uuid: String,
    reps: HashMap<Sha1, RepCacheRow>,
    /// Files that were uploaded ahead of their publication.
    uploads: Vec<Vec<u8>>,
}

/// One machine's way to the storage.
struct NodeHeads {
    storage: Arc<MemoryStorage>,
    id: u64,
    last: Mutex<Option<Head>>,
}

/// A machine that knows no other.
struct OneNode;

struct NodeHold(Arc<MemoryStorage>);

impl MemoryStorage {
    /// Makes a storage with revision 0 of a new filesystem. Returns it with its first machine.
    ///
    /// # Panics
    /// If the directory cannot be made.
    pub fn create(options: &CreateOptions) -> (Arc<MemoryStorage>, MemoryNode) {
        let storage = Arc::<MemoryStorage>::default();
        let dir = tempfile::tempdir().expect("a directory for tests");
        let db = dir.path().join("db");
        fsfs::create(&db, options, Date(0), Arc::new(RealDisk)).expect("a new filesystem");
        storage.take_from(&db);
        let node = storage.open(dir);
        (storage, node)
    }

    /// Adds a machine, whose directory begins as a copy of that of another one, with transaction numbers of its own.
    ///
    /// # Panics
    /// If the directory cannot be made.
    pub fn node(self: &Arc<Self>, like: &MemoryNode) -> MemoryNode {
        let dir = tempfile::tempdir().expect("a directory for tests");
        let (from, to) = (like.dir.path().join("db"), dir.path().join("db"));
        for name in ["", "transactions", "txn-protorevs"] {
            std::fs::create_dir(to.join(name)).expect("a new directory");
        }
        for name in [
            "format",
            "fs-type",
            "uuid",
            "fsfs.conf",
            "write-lock",
            "txn-current-lock",
        ] {
            std::fs::copy(from.join(name), to.join(name)).expect("a file of the directory");
        }
        let number = format!("{}0000\n", self.state.lock().nodes);
        std::fs::write(to.join("txn-current"), number).expect("a new file");
        self.open(dir)
    }

    /// Refuses the next `count` changes as outdated.
    pub fn outdate(&self, count: u32) {
        self.state.lock().outdate = count;
    }

    /// Runs something while a long file is uploaded ahead of its publication.
    pub fn while_uploading(&self, work: impl FnMut() + Send + 'static) {
        *self.while_uploading.lock() = Some(Box::new(work));
    }

    /// How many files were uploaded ahead of their publication.
    pub fn uploads(&self) -> usize {
        self.state.lock().uploads.len()
    }

    /// Changes each row for rep sharing, as a fault of a database could.
    pub fn change_reps(&self, mut change: impl FnMut(&mut RepCacheRow)) {
        self.state.lock().reps.values_mut().for_each(&mut change);
    }

    /// The last content of `db/uuid` that a machine has sent to the others.
    pub fn sent_uuid(&self) -> String {
        self.state.lock().uuid.clone()
    }

    /// Lets the next `count` calls fail.
    pub fn fail(&self, count: u32) {
        self.state.lock().fail = count;
    }

    /// Writes the shared data below `db`, which becomes a filesystem of files.
    ///
    /// # Panics
    /// If a file cannot be written.
    pub fn export(&self, db: &Path) {
        let state = self.state.lock();
        let format = std::fs::read_to_string(db.join("format")).expect("the format");
        let size: u64 = format
            .lines()
            .find_map(|line| line.strip_prefix("layout sharded "))
            .map_or(u64::MAX, |size| size.parse().expect("a number"));
        let write = |kind: &str, rev: u64, bytes: &[u8]| {
            let dir = db.join(kind).join((rev / size).to_string());
            std::fs::create_dir_all(&dir).expect("a directory of a shard");
            std::fs::write(dir.join(rev.to_string()), bytes).expect("a new file");
        };
        for (rev, bytes) in &state.revisions {
            write("revs", *rev, bytes);
        }
        for (rev, bytes) in &state.revprops {
            write("revprops", *rev, bytes);
        }
        for (name, text) in [
            ("current", format!("{}\n", state.youngest)),
            ("min-unpacked-rev", "0\n".to_owned()),
            ("fs-type", "fsfs\n".to_owned()),
        ] {
            std::fs::write(db.join(name), text).expect("a new file");
        }
        std::fs::create_dir_all(db.join("locks")).expect("a directory");
    }

    /// Moves revision 0 from `db` into the storage.
    fn take_from(&self, db: &Path) {
        let mut state = self.state.lock();
        let read = |name: &str| {
            let sharded = db.join(name).join("0/0");
            let path = if sharded.exists() {
                sharded
            } else {
                db.join(name).join("0")
            };
            std::fs::read(path).expect("a file of revision 0")
        };
        state.revisions.insert(0, Arc::new(read("revs")));
        state.revprops.insert(0, read("revprops").into());
        for name in ["revs", "revprops"] {
            std::fs::remove_dir_all(db.join(name)).expect("a directory of revision 0");
        }
        std::fs::remove_file(db.join("current")).expect("the youngest revision");
        std::fs::write(db.join("fs-type"), format!("{SHARED_FS_TYPE}\n")).expect("a new file");
    }

    fn open(self: &Arc<Self>, dir: TempDir) -> MemoryNode {
        let id = {
            let mut state = self.state.lock();
            state.nodes += 1;
            state.nodes
        };
        let shared = SharedFs {
            heads: Arc::new(NodeHeads {
                storage: self.clone(),
                id,
                last: Mutex::default(),
            }),
            blobs: Arc::new(NodeBlobs(self.clone())),
            nodes: Arc::new(OneNode),
        };
        let cache = Cache::new(16 << 20);
        let fs = Fs::open_shared(&dir.path().join("db"), &cache, Arc::new(RealDisk), shared);
        MemoryNode {
            dir,
            fs: fs.expect("a shared filesystem"),
        }
    }
}

impl Shared {
    fn head(&self) -> Head {
        Head {
            youngest: Revnum(self.youngest),
            min_unpacked: Revnum(self.min_unpacked),
            locks_version: self.locks_version,
            revprops_version: self.revprops_version,
        }
    }

    fn may_fail(&mut self) -> Result<()> {
        match self.fail.checked_sub(1) {
            None => Ok(()),
            Some(rest) => {
                self.fail = rest;
                Err(Error::new(Code::FS_GENERAL, "The storage cannot be reached"))
            }
        }
    }

    /// True if a change from this state must be refused.
    fn is_outdated(&mut self, from: &Head) -> bool {
        let is_refused = self.outdate > 0;
        self.outdate -= u32::from(is_refused);
        let now = self.head();
        is_refused || (now.youngest, now.locks_version) != (from.youngest, from.locks_version)
    }
}

impl NodeHeads {
    /// Waits until no other machine has a hold.
    fn state(&self) -> parking_lot::MutexGuard<'_, Shared> {
        let mut state = self.storage.state.lock();
        while state.holder.is_some_and(|holder| holder != self.id) {
            self.storage.hold_ended.wait(&mut state);
        }
        state
    }

    fn see(&self, head: Head) -> Head {
        *self.last.lock() = Some(head);
        head
    }
}

impl SharedHeads for NodeHeads {
    fn head(&self, _: Duration) -> Result<Head> {
        let mut state = self.storage.state.lock();
        state.may_fail()?;
        Ok(self.see(state.head()))
    }

    fn last_head(&self) -> Option<Head> {
        *self.last.lock()
    }

    fn revprops(&self, revs: &[Revnum]) -> Vec<Result<Arc<[u8]>>> {
        let mut state = self.storage.state.lock();
        let mut list = |rev: &Revnum| {
            state.may_fail()?;
            let list = state.revprops.get(&rev.0).cloned();
            list.ok_or_else(|| Error::new(Code::FS_NO_SUCH_REVISION, format!("No such revision {rev}")))
        };
        revs.iter().map(&mut list).collect()
    }

    fn try_revprops(&self, _: Revnum) -> Option<Arc<[u8]>> {
        None
    }

    fn replace_revprops(&self, rev: Revnum, old: &[u8], new: &[u8]) -> Result<Outcome> {
        let mut state = self.state();
        state.may_fail()?;
        if state.outdate > 0 {
            state.outdate -= 1;
            return Ok(Outcome::Outdated);
        }
        if state.revprops.get(&rev.0).is_none_or(|list| **list != *old) {
            return Ok(Outcome::Outdated);
        }
        state.revprops.insert(rev.0, new.into());
        state.revprops_version += 1;
        Ok(Outcome::Done)
    }

    fn lock(&self, path: &FsPath) -> Result<Option<Lock>> {
        let mut state = self.storage.state.lock();
        state.may_fail()?;
        Ok(state.locks.get(path).cloned())
    }

    fn locks(&self, path: &FsPath, _: Depth) -> Result<Vec<Lock>> {
        let mut state = self.storage.state.lock();
        state.may_fail()?;
        let mut locks: Vec<Lock> = state.locks.values().cloned().collect();
        locks.retain(|lock| path.contains(&lock.path));
        Ok(locks)
    }

    fn set_uuid(&self, text: &str) -> Result<()> {
        let mut state = self.state();
        state.may_fail()?;
        state.uuid = text.to_owned();
        Ok(())
    }

    fn change_locks(&self, from: &Head, made: &[Lock], removed: &[FsPath]) -> Result<Outcome> {
        let mut state = self.state();
        state.may_fail()?;
        if state.is_outdated(from) {
            return Ok(Outcome::Outdated);
        }
        for lock in made {
            state.locks.insert(lock.path.clone(), lock.clone());
        }
        for path in removed {
            state.locks.remove(path);
        }
        state.locks_version += 1;
        self.see(state.head());
        Ok(Outcome::Done)
    }

    fn wait_until_seen(&self) -> Result<()> {
        Ok(())
    }

    fn find_rep(&self, sha1: &Sha1) -> Result<Option<RepCacheRow>> {
        let mut state = self.storage.state.lock();
        state.may_fail()?;
        Ok(state.reps.get(sha1).copied())
    }

    fn reps(&self, first: Revnum, last: Revnum, after: Option<&RepCacheRow>) -> Result<Vec<RepCacheRow>> {
        let mut state = self.storage.state.lock();
        state.may_fail()?;
        let key = |row: &RepCacheRow| (row.rev, row.item, row.sha1.0);
        let is_asked_for = |row: &&RepCacheRow| {
            (first..=last).contains(&row.rev) && after.is_none_or(|after| key(row) > key(after))
        };
        let mut rows: Vec<RepCacheRow> = state.reps.values().filter(is_asked_for).copied().collect();
        rows.sort_by_key(key);
        rows.truncate(REPS_AT_ONCE);
        Ok(rows)
    }

    fn publish(&self, from: &Head, revisions: &[NewRevision]) -> Result<Outcome> {
        let mut state = self.state();
        state.may_fail()?;
        if state.is_outdated(from) {
            return Ok(Outcome::Outdated);
        }
        for revision in revisions {
            assert_eq!(revision.rev.0, state.youngest + 1, "revisions follow each other");
            let bytes = whole(&*revision.file);
            match revision.uploaded {
                Some(Uploaded { id, .. }) => {
                    assert_eq!(state.uploads[id as usize], bytes, "what was uploaded")
                }
                None => assert!(
                    bytes.len() <= MAX_INLINE || revisions.len() > 1,
                    "a long file was not uploaded"
                ),
            }
            state.youngest += 1;
            let rev = state.youngest;
            state.revisions.insert(rev, Arc::new(bytes));
            state.revprops.insert(rev, revision.props.clone().into());
            for row in &revision.reps {
                state.reps.entry(row.sha1).or_insert(*row);
            }
        }
        self.see(state.head());
        Ok(Outcome::Done)
    }

    fn hold(&self) -> Result<Box<dyn SharedHold>> {
        let mut state = self.state();
        state.may_fail()?;
        state.holder = Some(self.id);
        Ok(Box::new(NodeHold(self.storage.clone())))
    }
}

impl SharedNodes for OneNode {
    fn txn_owner(&self, _: u64) -> Result<TxnOwner> {
        Ok(TxnOwner::This)
    }

    fn find_activity(&self, _: &str) -> Result<Option<String>> {
        Ok(None)
    }

    fn store_activity(&self, _: &str, _: Option<&str>) -> Result<()> {
        Ok(())
    }

    fn seal(&self, _: &[u8]) -> Result<String> {
        Ok(String::new())
    }

    fn is_sealed(&self, _: &[u8], _: &str) -> Result<bool> {
        Ok(false)
    }
}

impl SharedHold for NodeHold {}

impl Drop for NodeHold {
    fn drop(&mut self) {
        self.0.state.lock().holder = None;
        self.0.hold_ended.notify_all();
    }
}

/// Rows of one answer of [`SharedHeads::reps`]: few, so that tests read several.
const REPS_AT_ONCE: usize = 3;
