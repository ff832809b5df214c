//! Reads repositories of FSX, Subversion's experimental filesystem, format 2.
//!
//! The modules are layers, each of which names only those below it: `format` turns bytes into values, `store` finds the
//! items of revision and pack files, `tree` reads trees. The last has the shape of the layer of this name in crate `fsfs`.
//! The files are read through [`fsfs::disk`].
//!
//! What is absent: everything that writes.

#[expect(
    dead_code,
    reason = "encoders are for tests and fuzz targets until something writes"
)]
mod format;
#[cfg(feature = "fuzzing")]
#[doc(hidden)]
pub use format::fuzz_api;

pub use format::dir::{FsxDirEntries, FsxDirEntry};
pub use format::id::{ChangeSet, FsxId};
