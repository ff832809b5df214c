//! Any fsfs.conf, for a filesystem of any format.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| fsfs::fuzz_api::fsfs_conf(data));
