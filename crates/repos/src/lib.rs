//! Repositories: filesystem, configuration, authorization, hooks, and the requests of clients and administrators.
//!
//! [`Repository`] opens a directory with `format`, `conf/`, `db/`, `hooks/`. On top of the storage engine this crate
//! decides which paths a user may read ([`access`], [`authz`]), what an update or a diff sends ([`report`]), and what
//! a revision changed ([`replay`], [`dump`]); it answers requests about history ([`log`], [`history`], [`file_revs`],
//! [`mergeinfo`], [`list`]); [`filter_stream`] filters what [`dump`] wrote. All changes pass here too: an edit becomes a revision in [`commit`] or, step by step, in
//! [`transaction`]; dump streams do in [`load`], and other repositories in [`convert`]. The administrator's [`hooks`] run before and after.
//!
//! What is absent: sockets, protocols, terminals. Everything here is synchronous, except that other threads
//! [`prefetch`]; clock and cancellation are parameters.
//!
//! ```
//! use base::{Cancel, Date, Revnum};
//! use repos::access::Everything;
//! use repos::log::{self, LogOptions};
//! use repos::{Cache, CreateOptions, Repository};
//!
//! # fn main() -> base::Result<()> {
//! # let folder = tempfile::tempdir().expect("a folder");
//! let path = folder.path().join("project");
//! repos::create(&path, &CreateOptions::default(), Date(0))?;
//! let repository = Repository::open(&path, &Cache::new(16 << 20))?;
//!
//! let mut revisions = Vec::new();
//! let options = LogOptions { start: Some(Revnum(0)), ..LogOptions::default() };
//! log::run(
//!     &repository,
//!     &options,
//!     &Everything,
//!     &mut |entry| {
//!         revisions.extend(entry.rev);
//!         Ok(())
//!     },
//!     &Cancel::default(),
//! )?;
//! assert_eq!(revisions, [Revnum(0)]);
//! # Ok(())
//! # }
//! ```

pub mod access;
pub mod admin;
pub mod authz;
pub mod change_revprop;
pub mod commit;
pub mod config;
mod config_file;
pub mod convert;
mod create;
pub mod dump;
pub mod file_revs;
pub mod filter_stream;
mod get;
pub mod history;
pub mod hooks;
pub mod list;
pub mod load;
pub mod log;
pub mod mergeinfo;
mod prefetch;
pub mod props_rules;
pub mod replay;
mod repo;
pub mod report;
pub mod transaction;
pub mod tree;
pub mod user_locks;

pub use base::dumpfile;
pub use create::{CreateOptions, create};
pub use fsfs::shared::{SharedNodes, TxnOwner};
pub use fsfs::{
    Cache, CacheCounts, Change, ChangeKind, ChangeList, ChangedPath, FsInfo, Instance, ReadMode, TextPiece,
    TextReader,
};
pub use get::{Dirent, DirentFields, FileContent, FirstEntries};
pub use prefetch::PrefetchPool;
pub use repo::{OpenOptions, Repository, RevisionAccess};
