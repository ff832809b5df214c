#![no_main]
//! Authz files (then, each after a NUL byte, a path and a groups file): rights to subtrees agree with those to single
//! paths.

use base::FsPath;
use libfuzzer_sys::fuzz_target;
use repos::access::{Readable, Subtree};
use repos::authz::{Authz, Required, Rights};

fuzz_target!(|input: &[u8]| {
    let mut parts = input.splitn(3, |b| *b == 0);
    let text = parts.next().unwrap_or_default();
    let path = parts.next().and_then(|path| std::str::from_utf8(path).ok());
    let path = path.and_then(|path| FsPath::canonicalize(path).ok());
    check(text, parts.next(), &path.unwrap_or_else(FsPath::root));
});

/// Parses `text` and checks `path` for several users and repositories.
fn check(text: &[u8], groups: Option<&[u8]>, path: &FsPath) {
    let Ok(authz) = Authz::parse(text, groups) else {
        return;
    };
    for user in [None, Some("x"), Some("y")] {
        for repository in [None, Some("r")] {
            let rights = authz.rights(repository, user);
            let recursive = rights.allows(path, Required::Read, true);
            assert!(
                !recursive || rights.read(path),
                "recursive includes the path itself"
            );
            assert!(!recursive || rights.subtree(path) == Subtree::All);
            assert!(rights.rights(path) <= rights.max_rights() || rights.rights(path) == Rights::None);
        }
    }
}
