//! Everything that changes a filesystem: transactions, revision properties and users' locks.
//!
//! An open transaction is a [`Txn`] (`edit`). The modules, in the order in which a transaction passes through them:
//!
//! - `begin` creates a transaction or opens one that is on disk; `list` names those that exist; `remove` removes them.
//! - `state` holds the tree of an open transaction in memory, with `nodes` (node-revisions), `children` (changed directories) and
//!   `change_log` (changed paths). What a large transaction does not need in memory goes to a file (`spill`).
//! - `look_up` finds paths in that tree, `change` is what the operations do to it, `text` takes the new text of a file and
//!   `rep_write` stores it. `open_tree` shows the tree to readers of this process.
//! - `write_files` writes the tree to disk for other processes; `fingerprint` detects that another process has changed the files.
//! - `merge` brings in what was committed since the transaction began, `folded_log` makes one changed-path entry per path, `tree`
//!   writes the items of the revision, `commit` makes the revision (with `commit_files`) and `commit_group` many of them together. `strays`
//!   deals with revision files beyond `current`.
//! - `proto_rev` and `proto_writer` are the file that becomes the revision file; `item_numbers` counts what is in it.
//!
//! `history_index` adds new revisions to the history index. `lock_write` (with `lock_files`) and `revprops_write` change users' locks and revision properties.

mod begin;
mod change;
mod change_log;
mod children;
mod commit;
mod commit_files;
mod commit_group;
mod commit_shared;
mod edit;
mod fingerprint;
mod folded_log;
mod fsx_changes;
mod fsx_revprops;
pub(crate) mod history_index;
mod item_numbers;
mod list;
mod lock_files;
mod lock_write;
mod look_up;
mod merge;
mod nodes;
mod open_tree;
pub(crate) mod proto_rev;
mod proto_writer;
mod remove;
mod rep_write;
pub(crate) mod revprops_write;
mod spill;
mod state;
pub(crate) mod strays;
mod text;
mod tree;
mod write_files;

pub(crate) use commit::{CommitMode, Verify};
pub use commit_group::CommitGroup;
pub use edit::{Committed, LockAccess, Txn, TxnOptions};
pub use fingerprint::TxnFingerprint;
pub use lock_write::{LockRequest, LockTarget};
pub use text::TextWriter;
