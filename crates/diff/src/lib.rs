//! Differences between two texts, line by line, as Subversion prints them.
//!
//! The output of `svnlook diff` is read by people, by `patch` and by scripts in hooks, so it is the incumbent's byte
//! for byte: not only a smallest difference, but the same one of several. [`changes()`] finds it (its documentation has
//! the rules), [`NumberedText`] finds it from revision to revision of a text, [`unified()`] prints it, [`property`] prints changes of
//! properties, [`options`] parses the arguments of `-x`.
//!
//! What is absent: I/O, paths, character sets. Text is bytes; the caller supplies the labels.
//!
//! ```
//! use diff::{DiffOptions, Labels, unified};
//!
//! let labels = Labels { old: b"a\t(revision 1)", new: b"a\t(revision 2)" };
//! let text = unified(b"one\ntwo\n", b"one\n2\n", labels, &DiffOptions::default());
//! assert_eq!(
//!     String::from_utf8_lossy(&text),
//!     "--- a\t(revision 1)\n+++ a\t(revision 2)\n@@ -1,2 +1,2 @@\n one\n-two\n+2\n"
//! );
//! ```

mod changes;
mod lcs;
mod lines;
mod numbered_text;
pub mod options;
pub mod property;
mod unified;

pub use changes::{Change, changes, changes_while};
pub use lines::{Lines, split};
pub use numbered_text::NumberedText;
pub use options::{DiffOptions, Whitespace};
pub use unified::{Labels, hunks_while, unified, unified_while};
