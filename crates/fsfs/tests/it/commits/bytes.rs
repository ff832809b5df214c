//! Commits of every operation in every format: the revision files are the incumbent's, byte for byte.

use base::Revnum;

use super::script::{CommitStep, copy_of, ours, theirs, verify};
use crate::compare;
use crate::incumbent::Repository;

/// Single steps, each committed. Texts are short: longer ones would be compressed, and libraries differ in how.
fn history() -> Vec<CommitStep> {
    use CommitStep::{Cp, Mkdir, Propdel, Propset, Put, Rm};
    let text = |text: &str| text.as_bytes().to_vec();
    vec![
        Mkdir("trunk"),
        Put("trunk/hello", text("Hello, world!\n")),
        Put("trunk/empty", Vec::new()),
        Mkdir("trunk/d"),
        Put("trunk/d/f", text("one\n")),
        Put("trunk/d/f", text("one\ntwo\n")),
        Propset("trunk/d/f", "p", "v"),
        Propset("trunk/d/f", "p", "v2"),
        Propset("trunk", "svn:mergeinfo", "/branches/x:1"),
        Mkdir("branches"),
        Cp(0, "trunk", "branches/b1"),
        Put("branches/b1/d/f", text("one\ntwo\nthree\n")),
        Propset("branches/b1/d", "svn:mergeinfo", "/trunk/d:3"),
        Cp(0, "branches/b1/d", "branches/b1/e"),
        Put("branches/b1/e/f", text("four\n")),
        Cp(0, "branches/b1", "branches/b2"),
        Put("branches/b2/e/f", text("five\n")),
        Put("branches/b2/e/g", text("Hello, world!\n")),
        Propdel("branches/b2/d", "svn:mergeinfo"),
        Rm("branches/b2/d/f"),
        Rm("branches/b2/e"),
        Propdel("trunk", "svn:mergeinfo"),
        Propset("", "root", "prop"),
        Cp(2, "trunk/hello", "trunk/again"),
        Put("trunk/again", text("Hello again, world!\n")),
        Rm("trunk/empty"),
        Put("trunk/d/f", text("six\n")),
        Put("trunk/d/f", Vec::new()),
        Cp(0, "", "copy-of-root"),
        Put("copy-of-root/trunk/d/f", text("seven\n")),
    ]
}

fn compare_bytes(version: &str, shard_size: u64, conf: &str) {
    compare_in(Repository::create(version, shard_size, conf), version);
}

/// The newest format with the layout and addressing of an older one.
fn compare_upgraded(version: &str, shard_size: u64) {
    let a = Repository::create(version, shard_size, "");
    a.upgrade();
    std::fs::write(a.db().join("fsfs.conf"), "[deltification]\ncompression = none\n").unwrap();
    compare_in(a, &format!("{version} upgraded"));
}

fn compare_in(a: Repository, version: &str) {
    let b = copy_of(&a);
    let fs = compare::open(&a);
    for (at, op) in history().into_iter().enumerate() {
        let op = [op];
        let committed = ours(&fs, &op).unwrap_or_else(|e| panic!("{version} step {at} {op:?}: {e:?}"));
        assert_eq!(committed.rev, Revnum(at as u64 + 1));
        assert!(
            committed.post_commit_error.is_none(),
            "{:?}",
            committed.post_commit_error
        );
        theirs(&b, &op);
        let read = |repository: &Repository| std::fs::read(repository.rev_file(committed.rev.0)).unwrap();
        let (mine, other) = (read(&a), read(&b));
        assert!(
            mine == other,
            "{version} step {at} {op:?}:\n{}\n---\n{}",
            String::from_utf8_lossy(&mine),
            String::from_utf8_lossy(&other)
        );
        let mode = |repository: &Repository| {
            use std::os::unix::fs::PermissionsExt as _;
            let meta = std::fs::metadata(repository.rev_file(committed.rev.0)).unwrap();
            meta.permissions().mode()
        };
        // 1.14 makes the file of the revision before writable in FSX, and the new one with it.
        if version != "fsx" {
            assert_eq!(mode(&a), mode(&b));
        }
    }
    verify(&a);
    for file in ["current", "txn-current"] {
        let read = |repository: &Repository| {
            // 1.14 leaves the newline out in FSX.
            let text = std::fs::read(repository.db().join(file)).ok();
            text.map(|text| text.trim_ascii_end().to_vec())
        };
        assert_eq!(read(&a), read(&b), "{version} {file}");
    }
    // The cache contains the same as the disk.
    let fresh = compare::open(&a);
    let youngest = fs.youngest().unwrap();
    let (root, again) = (fs.root(youngest).unwrap(), fresh.root(youngest).unwrap());
    assert_eq!(compare::ids(&root), compare::ids(&again));
    assert_eq!(compare::read(&root), compare::read(&again));
    assert_eq!(root.changed_paths().unwrap(), again.changed_paths().unwrap());
    let left: Vec<_> = std::fs::read_dir(a.db().join("transactions")).unwrap().collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn format_1() {
    compare_bytes("1.3", 0, "");
}

#[test]
fn format_2() {
    compare_bytes("1.4", 0, "");
}

#[test]
fn format_3() {
    compare_bytes("1.5", 4, "");
}

#[test]
fn format_4() {
    compare_bytes("1.6", 7, "");
}

#[test]
fn format_6() {
    compare_bytes("1.8", 0, "");
}

#[test]
fn format_7() {
    compare_bytes("1.9", 7, "");
}

#[test]
fn format_8() {
    // LZ4 does not prescribe how to compress; our library finds other matches than the incumbent's.
    compare_bytes("1.14", 1000, "[deltification]\ncompression = none\n");
}

#[test]
fn fsx() {
    compare_bytes("fsx", 7, "");
}

#[test]
fn format_8_from_format_1() {
    compare_upgraded("1.3", 0);
}

#[test]
fn format_8_from_format_6() {
    compare_upgraded("1.8", 4);
}
