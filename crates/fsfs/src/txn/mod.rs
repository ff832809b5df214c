//! Transactions: changes that are not a revision yet.

mod edit;
mod list;

pub use edit::{Committed, LockAccess, TextWriter, Txn, TxnOptions};
