//! The `svn://` protocol: one long, ordered conversation of nested lists.
//!
//! From the bottom up: [`scanner`] finds the end of an item and [`item`] reads it, [`mod@write`] appends items, [`handshake`] opens
//! the conversation, [`auth`] authenticates the user, [`command`] has the requests of clients, [`report`] the
//! descriptions of working copies, [`response`] the responses ([`response_read`] the client's half), [`edit`] the messages of an edit in either direction.
//!
//! Messages are borrowed from the receive buffer where they are many or large (edits) and owned where they are few
//! (commands). A malformed message is fatal for a connection, so [`Malformed`] says only what and where.

pub mod auth;
pub mod command;
mod command_read;
mod command_write;
pub mod edit;
mod edit_decode;
mod edit_drive;
pub mod handshake;
pub mod item;
pub mod report;
pub mod response;
pub mod response_read;
pub mod scanner;
pub mod write;

pub use edit_decode::{Consumed, EditDecoder, EditFault};
pub use edit_drive::{EditDriver, MessageSink, write_revprops};
pub use item::{Item, Malformed, Tuple};
pub use scanner::Scanner;
pub use write::Writer;
