//! The codec of `svn://` against arbitrary messages, arbitrary bytes and recorded conversations.

mod edits;
mod messages;
mod recorded;
