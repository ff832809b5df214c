//! Checkpoints of copies: what was read is written and read again unchanged.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| fsfs::fuzz_api::hotcopy_checkpoint(data));
