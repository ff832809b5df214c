//! Differences between two texts, line by line, as Subversion prints them.
//!
//! The output of `svnlook diff` is read by people, by `patch` and by scripts in hooks, so it is the incumbent's byte
//! for byte: not only a smallest difference, but the same one of several. [`changes()`] finds it (its documentation has
//! the rules), [`unified()`] prints it, [`property`] prints changes of properties, [`options`] parses the arguments of
//! `-x`.
//!
//! What is absent: I/O, paths, character sets. Text is bytes; the caller supplies the labels.

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
