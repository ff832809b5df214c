//! Transactions and all other changes: of trees, of revision properties, of users' locks.
//!
//! `begin` makes and opens them, `remove` removes them, `edit` is the front door to an open one. Its tree lives in memory: `state` (with `nodes`, `children` and
//! `change_log`) holds it; what is too much for that is in a file (`scratch`, and `folded_log`, which folds such a log),
//! `way` finds paths in it, `change` is what the operations do to it, `text` takes a file's new text, `live` shows it to readers of this process,
//! `write_to_disk` writes it for others, `standing` sees when others have changed it. `merge` brings in what was committed meanwhile, `tree` writes the revision's items, and
//! `commit` makes the revision. `proto_rev` is the file that all of it ends up in.

mod batch;
mod begin;
mod change;
mod change_log;
mod children;
mod commit;
mod edit;
mod fingerprint;
mod folded_log;
mod list;
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
pub(crate) mod strays;

mod state;
mod text;
mod tree;
mod write_files;

pub use batch::Batch;
pub(crate) use commit::{CommitMode, Verify};
pub use edit::{Committed, LockAccess, Txn, TxnOptions};
pub use fingerprint::TxnFingerprint;
pub use lock_write::{LockRequest, LockTarget};
pub use text::TextWriter;
