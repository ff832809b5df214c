//! The codec of `svn://` against arbitrary messages, arbitrary bytes and recorded conversations.

#![expect(clippy::too_many_lines, reason = "a test reads best as one piece")]

mod any_message;
mod edits;
mod messages;
mod recorded;
