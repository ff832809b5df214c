//! The storage engine: FSFS repositories of formats 1 to 8, opened in place.
//!
//! Callers hold an [`Fs`], ask it for a [`Root`] (one revision's tree, or one transaction's), and walk
//! [`Node`]s. Below that: `format` turns bytes into values, `layout` knows which file holds what, `rep` rebuilds
//! texts from delta chains, one byte-budgeted cache holds parsed things.
//!
//! What is absent: users, hooks, authorisation, sockets, and any opinion about what a client should see.

pub mod admin;
mod batch;
mod cache;
mod chain;
mod changes_tail;
mod conf;
mod create;
pub mod disk;
mod format;
mod fs;
#[doc(hidden)]
pub mod fuzzing;
pub mod guard;
mod history;
mod kept_answer;
mod layout;
mod lock;
mod lock_write;
mod log_records;
mod node;
mod open_file;
pub mod prompt;
mod rep;
mod rep_cache;
mod replaced;
mod rev_file;
mod revprops;
mod revprops_write;
mod root;
mod shard_dirs;
mod strays;
mod tally;
mod txn;

pub use batch::Batch;
pub use cache::Cache;
pub use create::{CreateOptions, create};
pub use format::change_list::{Change, ChangeList, Changes};
pub use format::changes::{ChangeKind, ChangedPath};
pub use format::dir::DirEntry;
#[doc(hidden)]
pub use format::doors as format_doors;
pub use format::id::NodeRevId;
pub use fs::{Fs, FsInfo};
pub use history::History;
pub use kept_answer::{AnswerPart, ToldRevision};
pub use lock_write::{LockRequest, LockTarget};
pub use log_records::LogRecord;
pub use node::{Above, Node, Relation, RepKey};
pub use rep::{DeltaStream, EncodedText, Piece as TextPiece, TextReader};
pub use root::Root;
pub use tally::CacheCounts;
pub use txn::{Committed, LockAccess, Standing, TextWriter, Txn, TxnOptions};
