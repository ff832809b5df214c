//! The `svn://` protocol: one long, ordered conversation of nested lists.
//!
//! From the bottom up: [`item`] finds the end of an item and reads it, [`write`] appends items, [`handshake`] opens
//! the conversation, [`auth`] authenticates the user, [`command`] has the requests of clients, [`report`] the
//! descriptions of working copies, [`response`] the responses, [`edit`] the messages of an edit in either direction.
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
pub mod write;

pub use edit_decode::{Consumed, EditDecoder, EditFault};
pub use edit_drive::{EditDriver, MessageSink, write_revprops};
pub use item::{Item, Malformed, Scanner, Tuple};
pub use write::Writer;

/// Reads `bytes` as messages of every kind: the entry of the fuzz targets `svn_item` and `svn_command`. Items that
/// the scanner accepts must parse, and the result must not depend on how the bytes were split.
#[doc(hidden)]
pub fn fuzz_message(bytes: &[u8]) {
    let mut rest = bytes;
    while let Ok(Some(len)) = Scanner::default().scan(rest) {
        let item = Item::parse(&rest[..len]).expect("because the scanner has passed it");
        if let Ok(named) = command::Named::parse(item) {
            if let Ok(Some(command)) = command::Command::parse(named) {
                command.write(&mut Vec::new());
            }
            if let Ok(Some(command)) = report::ReportCommand::parse(named) {
                command.write(&mut Vec::new());
            }
            if let Ok(Some(command)) = edit::EditCommand::parse(named) {
                command.write(&mut Vec::new());
            }
        }
        if let Ok(tuple) = item.list() {
            if let Ok(hello) = handshake::Hello::parse(tuple) {
                hello.write(&mut Vec::new());
            }
            if let Ok(answer) = auth::AuthAnswer::parse(tuple) {
                answer.write(&mut Vec::new());
            }
            if let Ok(response::Response::Failure(error)) = response::Response::parse(tuple) {
                response::write_failure(&mut Vec::new(), &error);
            }
        }
        rest = &rest[len..];
    }
}
