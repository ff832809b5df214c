//! Lines of text: what differs between two of them, told as Subversion tells it.
//!
//! The output of `svnlook diff` is read by people, by `patch` and by scripts in hooks, so it is the incumbent's byte for byte: not only
//! a smallest difference, but the same one of several smallest. [`changes`] finds it (see its essay for what
//! decides between equals), [`unified`] prints it, [`property`] prints what happened to properties, [`options`] reads
//! what a user gives after `-x`.
//!
//! What is absent: I/O, paths, character sets. Text is bytes; whoever calls knows what the labels are.

mod changes;
mod lcs;
mod lines;
pub mod options;
pub mod property;
mod unified;

pub use changes::{Change, changes, changes_while};
pub use lines::{Lines, split};
pub use options::{DiffOptions, Whitespace};
pub use unified::{Labels, unified, unified_while};
