//! Digest files of user locks: entries that were read are written and read again unchanged.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| fsfs::fuzz_api::lock_digest(data));
