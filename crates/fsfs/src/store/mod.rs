//! The files of one filesystem: the lowest layer that does I/O.
//!
//! | module | subject |
//! |---|---|
//! | [`disk`] | the traits between the engine and the operating system |
//! | [`layout`] | the names of files |
//! | [`handle`] | [`Store`], one open filesystem |
//! | [`rev_file`], [`open_file`] | items of revision and pack files |
//! | [`guard`] | locks between processes that write |
//! | [`cache`] | parsed values, one budget for the process |
//! | [`fsx`] | items and containers of FSX |
//! | [`rep_cache`] | the SQLite table of shared contents |
//! | [`history_index`] | the segments of the history index |
//! | [`shared`] | the seam to storage that several machines share |
//! | [`read_mode`] | whether the reads of a handle may wait for the disk |
//!
//! What is absent: trees, paths of nodes, and transactions. Modules of this layer use each other and `format`,
//! nothing above.

pub(crate) mod cache;
pub(crate) mod conf;
pub(crate) mod counters;
pub mod disk;
pub(crate) mod encoder_buffers;
pub(crate) mod fsx;
pub mod guard;
mod handle;
pub(crate) mod history_index;
pub(crate) mod layout;
pub(crate) mod open_file;
pub(crate) mod path_chain;
pub mod read_mode;
pub(crate) mod rep_cache;
mod replaced;
pub(crate) mod rev_file;
pub(crate) mod shard_dirs;
pub mod shared;
mod small_files;
pub(crate) mod uuid;

pub use handle::{FsInfo, Store};
pub(crate) use handle::{GROUP_PREFIX, PreparedFiles, UnsharedRows};
pub(crate) use rev_file::no_such_revision;
