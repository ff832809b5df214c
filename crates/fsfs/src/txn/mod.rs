//! Transactions: changes that are not a revision yet.

mod list;
