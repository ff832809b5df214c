//! Transactions: changes that are not a revision yet.
//!
//! `begin` makes and opens them, `remove` removes them, `edit` is the front door to an open one. Its tree lives in memory: `state` (with `nodes`, `children` and
//! `change_log`) holds it; what is too much for that is in a file (`scratch`, and `merged_log`, which folds such a log),
//! `way` finds paths in it, `change` is what the operations do to it, `text` takes a file's new text, `live` shows it to readers of this process,
//! `lay_down` writes it for others, `standing` sees when others have changed it. `merge` brings in what was committed meanwhile, `tree` writes the revision's items, and
//! `commit` makes the revision. `proto_rev` is the file that all of it ends up in.

mod begin;
mod change;
mod change_log;
mod children;
mod commit;
mod edit;
mod lay_down;
mod list;
mod live;
mod merge;
mod merged_log;
mod nodes;
pub(crate) mod proto_rev;
mod proto_writer;
mod remove;
mod scratch;
mod standing;
mod state;
mod text;
mod tree;
mod way;

pub(crate) use commit::When;
pub use edit::{Committed, LockAccess, Txn, TxnOptions};
pub(crate) use live::LiveTxns;
pub use standing::Standing;
pub use text::TextWriter;
