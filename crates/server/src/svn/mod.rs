//! The server's side of the `svn://` protocol.
//!
//! [`Session`] is one conversation: it opens (`open`), proves who is there (`auth`), then answers commands one after the
//! other. Commands are grouped by what they ask: nodes, history, revision properties and locks, working copies
//! (`report`), replay, commits, and what else writes (`write`).

mod auth;
mod commit;
mod conn;
mod history;
mod node;
mod open;
mod props_and_locks;
mod replay;
mod report;
mod session;
mod url;
mod write;

pub(crate) use node::{dirent_fields, on_the_wire};
pub(crate) use session::{Served, Session};
pub(crate) use url::encoded;
