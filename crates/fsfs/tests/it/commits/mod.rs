//! Transactions and commits, compared with those of the real Subversion.

mod bytes;
mod concurrent;
mod failing;
mod groups;
mod merging;
mod on_disk;
mod power;
pub mod random;
mod reload;
mod rules;
pub mod script;
mod spill;
mod stale_names;
