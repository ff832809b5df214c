//! Reading repositories of every format: each revision, node by node.

use crate::compare;
use crate::incumbent::Repository;
use crate::sample::sample;

/// Loads the sample into a new repository, packs when so much of it is there, and compares.
fn check(version: &str, shard_size: u64, conf: &str, packed: Packed) {
    let repository = Repository::create(version, shard_size, conf);
    repository.load(&sample().halves[0]);
    if packed != Packed::Not {
        repository.pack();
    }
    repository.load(&sample().halves[1]);
    if packed == Packed::All {
        repository.pack();
    }
    compare::all(&repository, &sample().contents);
}

#[derive(Clone, Copy, PartialEq)]
enum Packed {
    Not,
    Half,
    All,
}

const ZLIB: &str = "[deltification]\ncompression = zlib\n";
const PLAIN: &str = "[deltification]\ncompression = none\n";
const NO_DELTAS: &str =
    "[deltification]\nenable-dir-deltification = false\nenable-props-deltification = false\n";
/// Long chains, and nothing shared.
const CHAINS: &str =
    "[deltification]\nmax-linear-deltification = 64\n[rep-sharing]\nenable-rep-sharing = false\n";
/// Index pages so small that items span several.
const SMALL_PAGES: &str = "[io]\nblock-size = 1\nl2p-page-size = 4\np2l-page-size = 1\n";

#[test]
fn as_committed() {
    compare::all(&sample().repository, &sample().contents);
}

#[test]
fn format_1() {
    check("1.3", 0, "", Packed::Not);
}

#[test]
fn format_2() {
    check("1.4", 0, "", Packed::Not);
}

#[test]
fn format_3() {
    check("1.5", 1000, "", Packed::Not);
    check("1.5", 7, "", Packed::Not);
    check("1.5", 0, "", Packed::Not);
}

#[test]
fn format_4() {
    check("1.6", 1000, "", Packed::Not);
    check("1.6", 7, "", Packed::Half);
    check("1.6", 7, NO_DELTAS, Packed::All);
}

#[test]
fn format_6() {
    check("1.8", 1000, "", Packed::Not);
    check("1.8", 7, PLAIN, Packed::Half);
    check("1.8", 5, "", Packed::All);
    check("1.8", 0, "", Packed::Not);
}

#[test]
fn format_7() {
    check("1.9", 1000, SMALL_PAGES, Packed::Not);
    check("1.9", 7, PLAIN, Packed::Half);
    check("1.9", 7, SMALL_PAGES, Packed::All);
    check("1.9", 1, "", Packed::All);
}

#[test]
fn format_8() {
    check("1.10", 7, "", Packed::Half);
    check("1.14", 7, ZLIB, Packed::All);
    check("1.14", 3, PLAIN, Packed::All);
    check("1.14", 50, CHAINS, Packed::Half);
    check("1.14", 19, CHAINS, Packed::All);
    check("1.14", 7, SMALL_PAGES, Packed::All);
}

/// Upgrading rewrites nothing: the revisions keep the syntax of their time.
#[test]
fn upgraded() {
    for (version, shard_size) in [("1.3", 0), ("1.5", 7), ("1.6", 7), ("1.8", 7)] {
        let repository = Repository::create(version, shard_size, "");
        repository.load(&sample().halves[0]);
        if shard_size > 0 && version != "1.5" {
            repository.pack();
        }
        repository.upgrade();
        compare::open(&repository);
        repository.load(&sample().halves[1]);
        if shard_size > 0 {
            repository.pack();
        }
        compare::all(&repository, &sample().contents);
    }
}
