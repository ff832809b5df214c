//! A node-revision: any bytes.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| fsfs::format_doors::noderev(data));
