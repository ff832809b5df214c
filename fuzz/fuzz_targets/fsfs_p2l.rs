//! A P2L index: any bytes.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| fsfs::format_doors::p2l(data));
