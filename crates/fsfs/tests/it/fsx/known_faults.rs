//! Faults of Subversion 1.14 with FSX: what this crate reads where Subversion's own tools drop nodes or fail.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use base::Code;
use testkit::history::Random;
use testkit::stream::DumpStream;
use testkit::{Tool, history};

use super::compare;
use super::expected::Expected;
use super::repository::{FsxRepository, Settings, verify};

/// A changed-path list that is an item of its own and crosses a multiple of 64 KiB is read twice by 1.14, the second time
/// from its end on: its tools fail, or lose each other group of 100 changes without an error.
#[test]
fn long_changed_path_lists_are_read_whole() {
    let mut stream = DumpStream::new("9d3a1c52-5a0c-4b7e-b0a9-f6e0f6f7d1aa");
    stream.rev("Many files").mkdirs(["d"]);
    for at in 0..1500 {
        stream.file(
            &format!("d/a name that makes the list of changed paths long, number {at}"),
            "x",
        );
    }
    let expected = Expected::of_stream(&stream.bytes());
    let repository = FsxRepository::load(&Settings::shard(2), &stream.bytes());
    compare::all(&repository, &expected, false);
    let dump = Tool::new("svnadmin")
        .args(["dump", "-q"])
        .arg(repository.path())
        .run();
    let is_whole = dump.code == 0 && Expected::of_dump(&dump.stdout).trees == expected.trees;
    assert!(
        !is_whole,
        "1.14 has this fault no longer: {} bytes",
        dump.stdout.len()
    );

    // In the containers of a packed shard the fault does not show.
    repository.pack();
    compare::all(&repository, &expected, true);
    let dump = Tool::new("svnadmin")
        .args(["dump", "-q"])
        .arg(repository.path())
        .ok();
    assert_eq!(Expected::of_dump(&dump.stdout).trees, expected.trees);
}

/// A path of more than 16,383 bytes is a long string of a string table. 1.14 ends abnormally when it reads the long strings
/// of any sub-table but the first through its cache. One revision needs more than 64 KiB of distinct characters for that.
#[test]
fn long_paths_are_read_from_every_sub_table() {
    let mut stream = DumpStream::new("2d1b9a5e-3c6f-4b7d-8e2a-1f0c9d8b7a65");
    let mut random = Random::new(3);
    stream.rev("Many characters").mkdirs(["a"]);
    for _ in 0..400 {
        let name: String = (0..230)
            .map(|_| char::from(b'a' + random.below(26) as u8))
            .collect();
        stream.file(&format!("a/{name}"), "x");
    }
    let mut path = "b".to_owned();
    stream.mkdirs([path.as_str()]);
    for level in 0..75 {
        path = format!("{path}/{level}{}", "x".repeat(228));
        stream.mkdirs([path.as_str()]);
    }
    stream.rev("Below").file(&format!("{path}/file"), "x");
    let expected = Expected::of_stream(&stream.bytes());
    let repository = FsxRepository::load(&Settings::shard(3), &stream.bytes());
    compare::all(&repository, &expected, false);
    repository.pack();
    compare::all(&repository, &expected, false);
    let dump = Tool::new("svnadmin")
        .args(["dump", "-q"])
        .arg(repository.path())
        .run();
    assert_ne!(dump.code, 0, "1.14 has this fault no longer");
}

/// 1.14's `verify` does not end if an index or a checksum is damaged, except in the first revision or shard.
#[test]
fn verification_of_damaged_files_ends() {
    let repository = FsxRepository::load(&Settings::shard(100), &history::small().bytes());
    let file = repository.db().join("revs/0/r3");
    let mut bytes = fs::read(&file).unwrap();
    let at = bytes
        .windows(10)
        .position(|window| window == b"P2L-INDEX\n")
        .unwrap();
    bytes[at + 20] ^= 1;
    fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
    fs::write(&file, bytes).unwrap();
    let ours = verify(&repository.open());
    assert_eq!(ours.err().map(|e| e.code()), Some(Code::CHECKSUM_MISMATCH));
    let theirs = Tool::new("svnadmin")
        .arg("verify")
        .arg(repository.path())
        .under("timeout", &["-s", "KILL", "1"])
        .run();
    assert_ne!(theirs.code, 0, "{theirs:?}");
}
