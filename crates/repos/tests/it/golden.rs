//! The repositories of every format that are checked in, read without a Subversion on the machine.
//!
//! All of them have the same history, so each must give the dump stream that they were loaded from.

use std::fs;
use std::path::Path;

use base::{Cancel, Revnum};
use repos::dump::{self, DumpOptions};
use repos::{Cache, Repository};
use testkit::image;

struct SilentDumpObserver;

impl dump::DumpObserver for SilentDumpObserver {
    fn dumped(&mut self, _rev: Revnum) {}
    fn warning(&mut self, _number: u16, _text: &str) {}
}

#[test]
fn every_golden_image_gives_the_dump_that_it_was_loaded_from() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("because crates/repos has a parent");
    let expected = fs::read(crates.join("cli/data/demo.dump")).expect("the committed dump");
    let mut images = Vec::new();
    for entry in fs::read_dir(crates.join("testkit/data/golden")).expect("the golden images") {
        images.push(entry.expect("a readable folder").path());
    }
    assert!(images.len() >= 11, "{images:?}");
    for path in images {
        let folder = tempfile::tempdir().expect("a temporary folder");
        image::write_files(&fs::read(&path).expect("an image"), folder.path()).expect("a sound image");
        let repo = Repository::open(folder.path(), &Cache::new(1 << 20)).expect("a repository");
        let mut stream = Vec::new();
        dump::dump(
            &repo,
            &DumpOptions::default(),
            &mut stream,
            &mut SilentDumpObserver,
            &Cancel::new(),
        )
        .expect("a dump");
        // Formats before 4 have no SHA-1.
        let old = ["f1.image", "f2.image", "f3.image"]
            .iter()
            .any(|name| path.ends_with(name));
        let same = if old {
            without_sha1(&stream) == without_sha1(&expected)
        } else {
            stream == expected
        };
        assert!(
            same,
            "{} does not give the dump that it was loaded from",
            path.display()
        );
    }
}

fn without_sha1(stream: &[u8]) -> Vec<u8> {
    let lines = stream.split_inclusive(|byte| *byte == b'\n');
    let is_sha1 = |line: &&[u8]| line.starts_with(b"Text-") && line.windows(5).any(|part| part == b"sha1:");
    lines.filter(|line| !is_sha1(line)).flatten().copied().collect()
}
