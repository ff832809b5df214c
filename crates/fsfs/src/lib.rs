//! The storage engine: repositories of FSFS, formats 1 to 8, and of FSX, opened in place.
//!
//! Callers open an [`Fs`], ask it for a [`Root`] (one revision's tree, or one transaction's), and walk [`Node`]s. A [`Txn`] changes a
//! tree and becomes a revision.
//!
//! The modules are layers, each of which names only those below it: `format` turns bytes into values and back, `store` does I/O and
//! holds the cache, `tree` reads trees, `txn` changes them, [`admin`] is for administrators.
//!
//! What is absent: users' rights, hooks, sockets, and any opinion about what a client should see.
//!
//! ```
//! use std::sync::Arc;
//!
//! use base::{Date, FsPath, Revnum};
//! use fsfs::disk::RealDisk;
//! use fsfs::{Cache, CreateOptions, Fs, TxnOptions};
//!
//! # fn main() -> base::Result<()> {
//! # let folder = tempfile::tempdir().expect("a folder");
//! let db = folder.path().join("db");
//! fsfs::create(&db, &CreateOptions::default(), Date(0), Arc::new(RealDisk))?;
//! let fs = Fs::open(&db, &Cache::new(16 << 20))?;
//!
//! let path = FsPath::parse("/hello.txt")?;
//! let mut txn = fs.begin_txn(Revnum(0), TxnOptions::default(), Date(0))?;
//! txn.make_file(&path)?;
//! let mut writer = txn.apply_text(&path, None)?;
//! writer.write(b"Hello\n")?;
//! writer.finish(&mut txn)?;
//! let committed = txn.commit(&|| Date(0))?;
//!
//! let node = fs.root(committed.rev)?.node(&path)?;
//! assert_eq!(node.reader()?.read_all()?, b"Hello\n");
//! # Ok(())
//! # }
//! ```

pub mod admin;
mod format;
#[cfg(feature = "fuzzing")]
#[doc(hidden)]
pub mod fuzz_api;
mod store;
mod tree;
mod txn;

pub use admin::{CreateOptions, create};
pub use format::change_list::{Change, ChangeList, Changes};
pub use format::changes::{ChangeKind, ChangedPath};
pub use format::dir::{DirEntries, DirEntry};
pub use format::fs_format::BackEnd;
pub use format::id::NodeRevId;
pub use store::cache::Cache;
pub use store::cache::Instance;
pub use store::cache::values::LogRecord;
pub use store::counters::CacheCounts;
pub use store::read_mode::ReadMode;
pub use store::rep_cache::RepCacheRow;
pub use store::{FsInfo, Store, disk, guard, shared};
pub use tree::Fs;
pub use tree::history::{History, NodeItem};
pub use tree::node::{Ancestors, Node, Relation, RepKey};
pub use tree::rep::{DeltaStream, EncodedText, TextPiece, TextReader};
pub use tree::revprops_dirs::RevpropsDirs;
pub use tree::root::Root;
pub use txn::{
    CommitGroup, Committed, LockAccess, LockRequest, LockTarget, TextWriter, Txn, TxnFingerprint, TxnOptions,
};
