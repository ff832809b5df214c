//! Reads repositories of FSX, Subversion's experimental filesystem, format 2.
//!
//! Callers open an [`FsxFs`], ask it for an [`FsxRoot`] (one revision's tree, or one transaction's), and walk [`FsxNode`]s. The modules are layers, each
//! of which names only those below it: `format` turns bytes into values, `store` finds the items of revision and pack
//! files, `tree` reads trees, `admin` checks files. `tree` has the shape of the layer of this name in crate `fsfs`, whose disk
//! ([`fsfs::disk`]) it reads.
//!
//! What is absent: everything that writes, and histories of nodes.

#[cfg_attr(
    not(test),
    expect(
        dead_code,
        reason = "encoders are for tests and fuzz targets until something writes"
    )
)]
mod format;
mod store;
mod tree;

mod admin;

#[cfg(feature = "fuzzing")]
#[doc(hidden)]
pub use format::fuzz_api;

pub use format::dir::{FsxDirEntries, FsxDirEntry};
pub use format::id::{ChangeSet, FsxId};
pub use tree::{FsxFs, FsxNode, FsxRoot, FsxTextReader};
