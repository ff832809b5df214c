//! The codec of `svn://` against arbitrary messages, arbitrary bytes and recorded conversations, and the client's half of WebDAV
//! against the server's.

#![expect(clippy::too_many_lines, reason = "a test reads best as one piece")]

mod any_message;
mod client;
mod edits;
mod messages;
mod recorded;
