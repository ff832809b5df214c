//! The files of one filesystem.
//!
//! | module | subject |
//! |---|---|
//! | [`layout`] | the names of files |
//! | [`handle`] | [`Store`], one open filesystem without its trees |
//! | [`rev_file`] | items of revision and pack files |
//! | [`container`] | decoded containers, the last ones of which are kept |
//!
//! What is absent: trees and paths of nodes.

pub(crate) mod container;
pub(crate) mod handle;
pub(crate) mod layout;
pub(crate) mod rev_file;

pub(crate) use handle::Store;
