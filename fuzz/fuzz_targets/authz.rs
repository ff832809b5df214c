#![no_main]
//! Authz files (then, each after a NUL byte, a path and a groups file): rights to subtrees agree with those to single
//! paths.

use base::FsPath;
use libfuzzer_sys::fuzz_target;
use repos::authz::fuzz_authz;

fuzz_target!(|input: &[u8]| {
    let mut parts = input.splitn(3, |b| *b == 0);
    let text = parts.next().unwrap_or_default();
    let path = parts.next().and_then(|path| std::str::from_utf8(path).ok());
    let path = path.and_then(|path| FsPath::canonicalize(path).ok());
    fuzz_authz(text, parts.next(), &path.unwrap_or_else(FsPath::root));
});
