//! A P2L index: any bytes.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| fsfs::fuzz_api::p2l(data));
