//! What a user of Subversion asks for: the work of the client commands, over sessions with repositories.
//!
//! Each command is a function over [`ra::Session`]; it knows nothing of command lines and terminals, which are in the
//! program crate. The configuration area and the cache of credentials are here as well.
//!
//! [`export`] writes a tree to disk, with [`externals`] and [`translate`]. [`locate`] finds the node that a URL, a peg revision and a
//! revision name.
//!
//! [`sync`] mirrors repositories, [`rdump`] dumps and loads them over the network. Both read revisions ahead.

pub mod export;
pub mod externals;
pub mod locate;
pub mod rdump;
mod replay_ahead;
mod revprop_lock;
mod session_thread;
pub mod sync;
pub mod translate;
