//! Transactions and commits, against the real Subversion.

mod bytes;
mod crowd;
mod failing;
mod groups;
mod laid_down;
mod merging;
mod power;
mod put_away;
pub mod random;
mod reload;
mod rules;
pub mod script;
mod stale_names;
