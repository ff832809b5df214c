//! What a user of Subversion asks for: the work of the client commands, over sessions with repositories.
//!
//! Each command is a function over [`ra::Session`]; it knows nothing of command lines and terminals, which are in the
//! program crate. The configuration area and the cache of credentials are here as well.
//!
//! [`blame`] finds the revision of each line of a file, [`log`] reads the log of a node in several ranges. [`export`] writes a tree
//! to disk, with [`externals`] and [`translate`]. [`locate`] finds the node that a URL, a peg revision and a
//! revision name.

pub mod blame;
pub mod export;
pub mod externals;
pub mod locate;
pub mod log;
pub mod translate;
