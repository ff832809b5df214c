//! Repositories of files into a cluster, and back.
//!
//! Both directions copy the files of revisions and packs as they are. What is below `db/` afterwards is FSFS, byte for byte what it was: ids,
//! checksums and offsets stay.
//!
//! [`import()`] works while the source is in use, and takes its locks for the last step only. An import that was interrupted goes on
//! where it was; a later one adds what was committed to the source meanwhile. [`export()`] makes a repository that Subversion opens, or brings an
//! earlier export up to date.

mod admission;
mod export;
mod files;
mod import;
mod lineage;
mod marker;
mod source;
mod target;

pub use export::{export, exported};
pub use import::{OwnChanges, import};
