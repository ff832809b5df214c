//! Bytes as a conversation of `svn://`: every message is refused, or read and written again; an edit is consumed.

#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../../crates/wire/tests/it/any_message.rs"]
mod any_message;

fuzz_target!(|data: &[u8]| any_message::any_message(data));
