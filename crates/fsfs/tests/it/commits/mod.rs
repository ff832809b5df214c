//! Transactions and commits, against the real Subversion.

mod bytes;
mod crowd;
mod failing;
mod groups;
mod laid_down;
mod merging;
mod power;
mod random;
mod rules;
mod script;
