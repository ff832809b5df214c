//! The codec of `svn://` against arbitrary messages, arbitrary bytes and recorded conversations.

mod any_message;
mod edits;
mod messages;
mod recorded;
