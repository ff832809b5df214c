//! The files of a filesystem, and what is known of them: the lowest layer that does I/O.
//!
//! [`disk`] is the seam to the operating system, [`layout`] names files, [`rev_file`] reads items of revision and pack files,
//! [`guard`] holds the locks between writers, [`cache`] keeps parsed values, [`rep_cache`] is the SQLite table of shared contents.
//! [`Store`] is one open filesystem to all of them.
//!
//! What is absent: trees, paths of nodes, and transactions. Modules of this layer use each other and `format`, nothing above.

pub(crate) mod cache;
pub(crate) mod conf;
pub(crate) mod counters;
pub mod disk;
pub mod guard;
mod handle;
pub(crate) mod layout;
pub(crate) mod open_file;
pub(crate) mod path_chain;
pub mod read_mode;
pub(crate) mod rep_cache;
mod replaced;
pub(crate) mod rev_file;
pub(crate) mod shard_dirs;
mod small_files;
pub(crate) mod uuid;

pub use handle::{FsInfo, Store};
pub(crate) use handle::{GROUP_PREFIX, UnsharedRows};
