//! What a user of Subversion asks for: the work of the client commands, over sessions with repositories.
//!
//! Each command is a function over [`ra::Session`]; it knows nothing of command lines and terminals, which are in the
//! program crate. The configuration area and the cache of credentials are here as well.
//!
//! Reading: [`blame`] finds the revision of each line of a file, [`mod@diff`] compares two trees, [`info`](mod@info) describes nodes,
//! [`list`](mod@list) lists trees, [`log`] reads the log of a node in several ranges, [`props`] reads properties. [`export`] writes a tree to disk, with
//! [`externals`] and [`translate`]. [`locate`] finds the node that a URL, a peg revision and a revision name.
//!
//! Writing: [`url_commit`] changes a repository without a working copy; [`commit_item`] describes the nodes of a commit, [`propset`] changes
//! properties, [`prop_rules`] has what a client demands of them, [`lock`] locks files, [`multi_commit`] puts several actions into one
//! commit.
//!
//! [`sync`] mirrors repositories, [`rdump`] dumps and loads them over the network. Both read revisions ahead. [`config`] is the configuration
//! area and the cache of credentials.

pub mod blame;
pub mod commit_item;
pub mod config;
pub mod diff;
pub mod export;
pub mod externals;
pub mod import;
pub mod info;
pub mod list;
pub mod locate;
pub mod lock;
pub mod log;
pub mod mergeinfo;
pub mod multi_commit;
pub mod prop_rules;
pub mod props;
pub mod propset;
pub mod rdump;
mod replay_ahead;
pub mod revision;
mod revprop_lock;
mod session_thread;
pub mod sync;
pub mod translate;
mod tree_order;
pub mod url_commit;
