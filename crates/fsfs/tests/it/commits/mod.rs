//! Transactions and commits, against the real Subversion.

mod bytes;
mod laid_down;
mod merging;
mod script;
