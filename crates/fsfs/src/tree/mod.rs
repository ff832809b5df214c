//! Trees: what revisions and transactions hold, read only.
//!
//! [`Fs`] is an open filesystem. It gives a [`Root`](root::Root), one revision's tree or one transaction's, whose [`Node`](node::Node)s
//! callers walk. `rep` rebuilds contents from delta chains; `history` follows nodes through revisions; `revprops`, `lock`,
//! `log_record` and `changes_tail` read what belongs to a revision or a path beside the tree.
//!
//! A transaction that this process edits is read from memory, through [`OpenTxns`](open_txns::OpenTxns): the layer above puts its
//! transactions there. What is absent: every change of a file.

pub(crate) mod cached_response;
pub(crate) mod changes_tail;
mod fs;
pub(crate) mod history;
pub(crate) mod lock;
pub(crate) mod log_record;
pub(crate) mod node;
pub(crate) mod open_txns;
pub(crate) mod rep;
pub(crate) mod revprops;
pub(crate) mod root;

pub use fs::Fs;
