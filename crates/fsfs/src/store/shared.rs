//! The seam between the engine and storage that several machines share.
//!
//! A filesystem has two kinds of data. *Blobs* never change: revision files and pack files. *Heads* change: the youngest revision,
//! revision properties, users' locks, the rows for rep sharing, the first unpacked revision. In a plain FSFS filesystem both are
//! files below `db/`, and changes are made under lock files. In a shared filesystem they are behind [`SharedBlobs`] and
//! [`SharedHeads`], and each change names the state that it was made from: it is refused if the state has changed since, and the
//! engine tries again.
//!
//! The bytes are the same in both. A revision file of a shared filesystem is a revision file of FSFS, a property list has the
//! form of a file in `db/revprops`.
//!
//! Each machine has a directory with the form of `db/` for what belongs to it alone: `format`, `uuid`, `fsfs.conf`, and its
//! open transactions. Its `fs-type` is [`SHARED_FS_TYPE`]. Numbers of transactions must differ between machines; the program that
//! makes the directory ensures it by the first number in `txn-current`.
//!
//! What is absent: databases, object stores, networks, retries of them. Implementations are in other crates.

use std::io;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use base::checksum::Sha1;
use base::{Depth, FsPath, Lock, Result, Revnum};

use super::disk::DiskFile;
use super::rep_cache::RepCacheRow;

/// The contents of `db/fs-type` in the directory of a machine: no other program takes it for a repository.
pub const SHARED_FS_TYPE: &str = "sven-cluster";

/// The storage of one shared filesystem.
#[derive(Clone)]
pub struct SharedFs {
    /// The parts that change.
    pub heads: Arc<dyn SharedHeads>,
    /// The parts that do not.
    pub blobs: Arc<dyn SharedBlobs>,
    /// The machines.
    pub nodes: Arc<dyn SharedNodes>,
}

/// The state of a filesystem at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    /// The youngest revision.
    pub youngest: Revnum,
    /// The first revision that is not packed.
    pub min_unpacked: Revnum,
    /// Changes whenever a user's lock is made or removed.
    pub locks_version: u64,
    /// Changes whenever properties of an existing revision change.
    pub revprops_version: u64,
}

/// A revision that is about to become the youngest one.
pub struct NewRevision {
    /// Its number.
    pub rev: Revnum,
    /// The whole revision file.
    pub file: Arc<dyn DiskFile>,
    /// Its property list, in the form of a file in `db/revprops`.
    pub props: Vec<u8>,
    /// Contents of it that later revisions may share.
    pub reps: Vec<RepCacheRow>,
    /// Where the shared storage has its file already ([`SharedBlobs::upload_ahead`]).
    pub uploaded: Option<Uploaded>,
}

/// A revision file in the shared storage that no head names yet. If none ever does, it is removed after some days.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Uploaded {
    /// The number by which the storage finds it.
    pub id: u128,
    /// The SHA-256 of its bytes.
    pub digest: [u8; 32],
    /// Checksums of its parts, in the form that the storage has.
    pub blocks: Vec<u8>,
    /// When a head must name it, by the clock of the storage: the publication is refused later, as the file may have been removed.
    pub deadline: SystemTime,
}

/// The outcome of a change that was made from a known state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The change is durable, and every machine sees it from now on.
    Done,
    /// The state was another one already; nothing was changed.
    Outdated,
}

/// The parts of a shared filesystem that change.
///
/// Every call that begins after another one has returned, on any machine, sees the effects of that one (of
/// [`SharedHeads::change_locks`]: after [`SharedHeads::wait_until_seen`]). Implementations must not
/// panic; an error that leaves the outcome of a change unknown must be resolved inside of the call as long as that is possible.
pub trait SharedHeads: Send + Sync {
    /// The state at a moment that is no more than `max_age` before the call began. With a `max_age` of zero, at a moment after the
    /// call began.
    ///
    /// # Errors
    /// `FS_GENERAL`, or the system's number, if the state cannot be read.
    fn head(&self, max_age: Duration) -> Result<Head>;

    /// The youngest state that this machine has read or made, without waiting; `None` if there was none yet.
    fn last_head(&self) -> Option<Head>;

    /// The property lists of revisions, in the order of `revs`, each in the form of a file in `db/revprops`. Values are kept in
    /// memory as long as [`Head::revprops_version`] allows.
    ///
    /// # Errors
    /// Of each list: `FS_NO_SUCH_REVISION`; as [`SharedHeads::head`].
    fn revprops(&self, revs: &[Revnum]) -> Vec<Result<Arc<[u8]>>>;

    /// The property list of a revision if that needs no waiting.
    fn try_revprops(&self, rev: Revnum) -> Option<Arc<[u8]>>;

    /// Replaces the property list of a revision if it is still `old`.
    ///
    /// # Errors
    /// `FS_NO_SUCH_REVISION`; as [`SharedHeads::head`].
    fn replace_revprops(&self, rev: Revnum, old: &[u8], new: &[u8]) -> Result<Outcome>;

    /// The lock on exactly this path, expired or not.
    ///
    /// # Errors
    /// As [`SharedHeads::head`].
    fn lock(&self, path: &FsPath) -> Result<Option<Lock>>;

    /// The locks at or below a path, expired ones too, sorted by path. [`Depth::Empty`] asks for the path alone; other depths may
    /// return more than is within them.
    ///
    /// # Errors
    /// As [`SharedHeads::head`].
    fn locks(&self, path: &FsPath, depth: Depth) -> Result<Vec<Lock>>;

    /// Makes and removes locks, all or none, if the youngest revision and the locks are still those of `from`. The caller calls
    /// [`SharedHeads::wait_until_seen`] before it says that the change was made.
    ///
    /// # Errors
    /// As [`SharedHeads::head`].
    fn change_locks(&self, from: &Head, made: &[Lock], removed: &[FsPath]) -> Result<Outcome>;

    /// Replaces the content of `db/uuid` on the other machines. The caller writes that of this machine afterwards.
    ///
    /// # Errors
    /// As [`SharedHeads::head`].
    fn set_uuid(&self, text: &str) -> Result<()>;

    /// Waits until every machine sees the locks that this one has changed. The caller has no lock of the machine.
    ///
    /// # Errors
    /// As [`SharedHeads::head`].
    fn wait_until_seen(&self) -> Result<()>;

    /// Where a content with this SHA-1 is stored; `None` if it is not known to be.
    ///
    /// # Errors
    /// As [`SharedHeads::head`].
    fn find_rep(&self, sha1: &Sha1) -> Result<Option<RepCacheRow>>;

    /// Some contents that later revisions may share, of the revisions `first` to `last`, ordered by revision, item and SHA-1: those
    /// that follow `after`, or the first ones. None if there are no more.
    ///
    /// # Errors
    /// As [`SharedHeads::head`].
    fn reps(&self, first: Revnum, last: Revnum, after: Option<&RepCacheRow>) -> Result<Vec<RepCacheRow>>;

    /// Makes revisions, one or several in a row, if the youngest revision and the locks are still those of `from`. All become
    /// visible together. They are durable when this returns, blobs too.
    ///
    /// # Errors
    /// As [`SharedHeads::head`]; `FS_GENERAL` if this machine may not commit any more because others take it for dead.
    fn publish(&self, from: &Head, revisions: &[NewRevision]) -> Result<Outcome>;

    /// Waits until no other machine publishes or changes locks, and keeps them from it until the result is dropped. The calls of
    /// this machine are let through meanwhile; its caller has the write lock of the machine, so there is only one. For commits that
    /// were outdated several times, and for groups of revisions that cannot be made again.
    ///
    /// # Errors
    /// As [`SharedHeads::publish`]. A hold that is lost later makes [`SharedHeads::publish`] fail or return
    /// [`Outcome::Outdated`].
    fn hold(&self) -> Result<Box<dyn SharedHold>>;
}

/// The state that no other machine changes; see [`SharedHeads::hold`]. Dropping it lets them.
pub trait SharedHold: Send + Sync {}

/// The machine that has an open transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TxnOwner {
    /// This one, or it is not known to be another one.
    This,
    /// Another one, which is alive: the base URL of its HTTP service.
    Other(String),
    /// One that is gone, and the transaction with it.
    Gone,
}

/// The machines of a shared filesystem, and what they tell each other about transactions.
pub trait SharedNodes: Send + Sync {
    /// Where the open transaction with this number is.
    ///
    /// # Errors
    /// As [`SharedHeads::head`].
    fn txn_owner(&self, number: u64) -> Result<TxnOwner>;

    /// The name of the transaction that a client calls `activity`; `None` if it has not been stored.
    ///
    /// # Errors
    /// As [`SharedHeads::head`].
    fn find_activity(&self, activity: &str) -> Result<Option<String>>;

    /// Stores the name of a transaction for a client's activity, or with `None` removes the activity.
    ///
    /// # Errors
    /// As [`SharedHeads::head`].
    fn store_activity(&self, activity: &str, txn: Option<&str>) -> Result<()>;

    /// A text without spaces that proves that a machine of this cluster has sent `message`.
    ///
    /// # Errors
    /// As [`SharedHeads::head`].
    fn seal(&self, message: &[u8]) -> Result<String>;

    /// Whether `seal` is the seal of `message`, in constant time.
    ///
    /// # Errors
    /// As [`SharedHeads::head`].
    fn is_sealed(&self, message: &[u8], seal: &str) -> Result<bool>;
}

/// The parts of a shared filesystem that never change.
///
/// An error of the kind [`io::ErrorKind::NotFound`] means that there is no such blob (any more): the revision may have been packed
/// meanwhile.
pub trait SharedBlobs: Send + Sync {
    /// Opens the revision file of an unpacked revision.
    ///
    /// # Errors
    /// `NotFound`, as above; the system's.
    fn open_revision(&self, rev: Revnum) -> io::Result<Arc<dyn DiskFile>>;

    /// Opens the pack file of a shard.
    ///
    /// # Errors
    /// `NotFound`, as above; the system's.
    fn open_pack(&self, shard: u64) -> io::Result<Arc<dyn DiskFile>>;

    /// Reads the manifest of a packed shard (physical addressing only).
    ///
    /// # Errors
    /// `NotFound`, as above; the system's.
    fn pack_manifest(&self, shard: u64) -> io::Result<Vec<u8>>;

    /// Takes the file of a revision that is about to be published, if it is too long for the publication itself: an upload may take
    /// long, and the caller holds no lock meanwhile. `None` if there was nothing to do. `rev` is the number that the file was made
    /// for.
    ///
    /// # Errors
    /// `FS_GENERAL`; the system's.
    fn upload_ahead(&self, rev: Revnum, file: &dyn DiskFile) -> Result<Option<Uploaded>>;

    /// Whether the file of a revision with texts of this length, in bytes, would be uploaded ahead.
    fn is_uploaded_ahead(&self, length: u64) -> bool;
}
