//! Transactions: changes that are not a revision yet.

mod edit;
mod list;
pub(crate) mod proto_rev;

pub use edit::{Committed, LockAccess, TextWriter, Txn, TxnOptions};
