//! Packed revision properties: lists that were read are written and read again unchanged.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| fsfs::fuzz_api::revprops_pack(data));
