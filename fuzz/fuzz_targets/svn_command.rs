//! Bytes as a conversation of `svn://`: every message is refused, or read and written again; an edit is consumed.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| wire::svn::fuzz_message(data));
