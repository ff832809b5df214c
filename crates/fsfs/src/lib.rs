//! The storage engine: FSFS repositories of formats 1 to 8, opened in place.
//!
//! Callers hold an [`Fs`], ask it for a [`Root`] (one revision's tree, or one transaction's), and walk
//! [`Node`]s. Below that: `format` turns bytes into values, `layout` knows which file holds what, `rep` rebuilds
//! texts from delta chains, one byte-budgeted cache holds parsed things.
//!
//! What is absent: users, hooks, authorisation, sockets, and any opinion about what a client should see.

pub mod admin;
mod format;
#[doc(hidden)]
pub mod fuzzing;
mod store;
mod tree;
mod txn;

pub use admin::{CreateOptions, create};
pub use format::change_list::{Change, ChangeList, Changes};
pub use format::changes::{ChangeKind, ChangedPath};
pub use format::dir::DirEntry;
#[doc(hidden)]
pub use format::fuzz_api as format_doors;
pub use format::id::NodeRevId;
pub use store::cache::Cache;
pub use store::cache::response::{AnswerPart, ToldRevision};
pub use store::cache::values::LogRecord;
pub use store::counters::CacheCounts;
pub use store::read_mode as prompt;
pub use store::{FsInfo, Store, disk, guard};
pub use tree::Fs;
pub use tree::history::History;
pub use tree::node::{Above, Node, Relation, RepKey};
pub use tree::rep::{DeltaStream, EncodedText, Piece as TextPiece, TextReader};
pub use tree::root::Root;
pub use txn::{
    Batch, Committed, LockAccess, LockRequest, LockTarget, TextWriter, Txn, TxnFingerprint, TxnOptions,
};
