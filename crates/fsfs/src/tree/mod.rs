//! The trees of revisions and transactions, read only.
//!
//! | module | subject |
//! |---|---|
//! | `fs` | [`Fs`], an open filesystem with the transactions that this process edits |
//! | [`fsx`] | what FSX stores in another way |
//! | [`root`] | [`Root`](root::Root), the tree of a revision or transaction; look-up of paths |
//! | [`node`] | [`Node`](node::Node), a node-revision at a path |
//! | [`rep`] | contents out of delta chains |
//! | [`history`] | earlier locations of a node |
//! | [`history_index`] | the history index, for these locations |
//! | [`revprops`] | revision properties |
//! | [`lock`] | user locks |
//! | [`log_record`], [`changes_tail`] | fast reads for logs |
//! | [`revprops_dirs`] | whether revision properties may have changed |
//! | [`open_txns`] | the transactions that this process edits |
//!
//! A transaction that this process edits is read from memory, through [`OpenTxns`](open_txns::OpenTxns): the layer
//! above adds its transactions there. What is absent: every change of a file.

pub(crate) mod changes_tail;
mod fs;
mod fsx;
pub(crate) mod history;
pub(crate) mod history_index;
pub(crate) mod lineage;
pub(crate) mod lock;
pub(crate) mod log_record;
pub(crate) mod node;
pub(crate) mod open_txns;
pub(crate) mod rep;
pub(crate) mod revprops;
pub(crate) mod revprops_dirs;
pub(crate) mod root;

pub use fs::Fs;
