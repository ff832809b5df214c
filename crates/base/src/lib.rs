//! The types and mechanisms that all crates share.
//!
//! Each concept that more than one crate needs is defined here, once: revision numbers, repository paths, property lists,
//! checksums, mergeinfo, dates, locks, the error chain with Subversion's numbers, and ordered work on several threads. Values
//! are canonical by construction: code that holds an [`FsPath`] need not check it again.
//!
//! What is absent: I/O, clocks, randomness, and any other crate of the workspace.

pub mod cancel;
pub mod checksum;
pub mod date;
mod error;
mod error_codes;
pub mod glob;
pub mod hashdump;
pub mod ini;
mod kind;
mod line_ends;
mod lock;
pub mod mergeinfo;
pub mod ordered;
mod path;
pub mod percent;
mod prop_list;
pub mod props;
mod revnum;

pub use cancel::Cancel;
pub use date::Date;
pub use error::{Error, Link, Result, ResultExt};
pub use error_codes::Code;
pub use kind::{Depth, NodeKind};
pub use line_ends::with_line_feeds;
pub use lock::Lock;
pub use mergeinfo::Mergeinfo;
pub use path::{FsPath, RelPath, is_component};
pub use prop_list::PropList;
pub use props::{PropChange, Props};
pub use revnum::Revnum;
