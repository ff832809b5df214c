//! Digest files of user locks: what was read comes back after it was written.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| fsfs::fuzz_api::lock_digest(data));
