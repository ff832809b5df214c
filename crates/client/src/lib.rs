//! What a user of Subversion asks for: the work of the client commands, over sessions with repositories.
//!
//! Each command is a function over [`ra::Session`]; it knows nothing of command lines and terminals, which are in the
//! program crate. The configuration area and the cache of credentials are here as well.
//!
//! [`mod@diff`] compares two trees. [`export`] writes a tree to disk, with [`externals`] and [`translate`]. [`locate`] finds the node that a URL, a peg revision and a
//! revision name.
//! [`url_commit`] changes a repository without a working copy; [`commit_item`] describes the nodes of a commit, [`prop_rules`] has what a client
//! demands of properties.
//!
//! [`sync`] mirrors repositories, [`rdump`] dumps and loads them over the network. Both read revisions ahead.

pub mod commit_item;
pub mod diff;
pub mod export;
pub mod externals;
pub mod import;
pub mod locate;
pub mod prop_rules;
pub mod rdump;
mod replay_ahead;
mod revprop_lock;
pub mod sync;
pub mod translate;
pub mod url_commit;
