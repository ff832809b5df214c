//! The types and mechanisms that all crates share.
//!
//! Each concept that more than one crate needs is defined here, once: revision numbers, repository paths, property lists,
//! checksums, mergeinfo, dates, locks, the error chain with Subversion's numbers, and ordered work on several threads. Values
//! are canonical by construction: code that holds an [`FsPath`] need not check it again.
//!
//! What is absent: I/O (but for the signal mask of a thread), clocks, randomness, and any other crate of the workspace.
//!
//! ```
//! use base::mergeinfo::Inheritance;
//! use base::{Code, Error, FsPath, Mergeinfo};
//!
//! # fn main() -> base::Result<()> {
//! // What of /trunk is merged into a branch, and what a merge of r3 to r6 would add.
//! let merged = Mergeinfo::parse(b"/trunk:1-4,9")?;
//! let wanted = Mergeinfo::parse(b"/trunk:3-6")?;
//! let missing = wanted.remove(&merged, Inheritance::Ignore);
//! assert_eq!(missing.to_string(), "/trunk:5-6");
//!
//! assert_eq!(FsPath::canonicalize("trunk//src/")?.as_str(), "/trunk/src");
//!
//! // Errors are chains with Subversion's numbers.
//! let error = Error::new(Code::FS_NOT_FOUND, "File not found").context("Cannot open the log");
//! assert_eq!(error.code(), Code::FS_NOT_FOUND);
//! # Ok(())
//! # }
//! ```

// Lengths and offsets of files are `u64`; where they are known to be in memory they become `usize`, which must not cut them.
#[cfg(not(target_pointer_width = "64"))]
compile_error!("Sven needs a processor of 64 bits: repositories are longer than the addresses of others");

pub mod cancel;
pub mod charset;
pub mod checksum;
pub mod child_signals;
mod common_bytes;
pub mod date;
pub mod disk_path;
pub mod dumpfile;
mod error;
mod error_codes;
pub mod glob;
pub mod hash_order;
pub mod hashdump;
pub mod ini;
pub mod keywords;
mod kind;
mod line_ends;
mod lock;
pub mod mergeinfo;
mod not_utf8;
pub mod number;
pub mod ordered;
mod path;
pub mod percent;
mod prop_list;
pub mod props;
mod revnum;
mod shown_bytes;
mod url;

pub use cancel::Cancel;
pub use common_bytes::{common_prefix, common_suffix};
pub use date::Date;
pub use error::{Error, Link, Result, ResultExt};
pub use error_codes::Code;
pub use kind::{Depth, NodeKind};
pub use line_ends::with_line_feeds;
pub use lock::Lock;
pub use mergeinfo::Mergeinfo;
pub use not_utf8::{bytes_not_utf8, with_substitutes};
pub use path::{FsPath, RelPath, is_component};
pub use prop_list::PropList;
pub use props::{PropChange, Props};
pub use revnum::Revnum;
pub use shown_bytes::shown_bytes;
pub use url::Url;
