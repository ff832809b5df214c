//! A sample history, made once: its dump, and the trees of its revisions.

use std::sync::OnceLock;

use crate::compare::{self, Contents};
use crate::incumbent::Repository;

/// The sample.
pub struct Sample {
    pub repository: Repository,
    pub contents: Vec<Contents>,
    /// Incremental dumps of the first and of the second half.
    pub halves: [Vec<u8>; 2],
}

/// The sample, made on first use: format 8 by single commits.
pub fn sample() -> &'static Sample {
    static SAMPLE: OnceLock<Sample> = OnceLock::new();
    SAMPLE.get_or_init(|| {
        let repository = Repository::create("1.14", 1000, "");
        fill(&repository);
        let youngest = repository.youngest();
        let half = youngest / 2;
        let halves = [format!("0:{half}"), format!("{}:{youngest}", half + 1)];
        Sample {
            contents: compare::their_contents(&repository),
            halves: halves.map(|range| repository.dump(&range)),
            repository,
        }
    })
}

/// A history with everything that has a storage form of its own: long and short texts, edits of them, directories and
/// property lists that are deltas, copies (also nested and lazily inherited), shared contents, deletions.
fn fill(repository: &Repository) {
    let mut big = noise(1, 250_000);
    let put = |name: &str, content: &[u8]| repository.file(name, content);
    let (hello, empty) = (put("hello", b"Hello, world!\n"), put("empty", b""));
    let big_file = put("big", &big);
    repository.mucc(&[
        "mkdir",
        "trunk",
        "mkdir",
        "branches",
        "put",
        &hello,
        "trunk/hello.txt",
    ]);
    repository.mucc(&[
        "put",
        &big_file,
        "trunk/big.txt",
        "put",
        &empty,
        "trunk/empty",
        "propset",
        "p",
        "v",
        "trunk",
    ]);
    repository.mucc(&["cp", "HEAD", "trunk", "branches/b1"]);
    for round in 0..6u8 {
        big.splice(
            usize::from(round) * 40_000..usize::from(round) * 40_000 + 10,
            [b'A' + round; 300],
        );
        let edited = put("big", &big);
        repository.mucc(&[
            "put",
            &edited,
            "branches/b1/big.txt",
            "propset",
            "round",
            &round.to_string(),
            "trunk",
        ]);
    }
    let many: Vec<String> = (0..40).map(|at| format!("trunk/sub/file {at}")).collect();
    let mut actions = vec!["mkdir", "trunk/sub"];
    for name in &many {
        actions.extend(["put", &hello, name]);
    }
    repository.mucc(&actions);
    repository.mucc(&[
        "rm",
        "trunk/sub/file 7",
        "put",
        &big_file,
        "trunk/sub/file 8",
        "propdel",
        "p",
        "trunk",
    ]);
    repository.mucc(&[
        "cp",
        "HEAD",
        "branches",
        "branches/nested",
        "rm",
        "trunk/hello.txt",
    ]);
    repository.mucc(&[
        "put",
        &hello,
        "branches/nested/b1/hello.txt",
        "propset",
        "svn:mergeinfo",
        "/trunk:1",
        "trunk",
    ]);
    repository.mucc(&["rm", "trunk/empty", "cp", "2", "trunk/hello.txt", "trunk/empty"]);
    let name = "trunk/sub/r\u{e4}ksm\u{f6}rg\u{e5}s : x";
    repository.mucc(&[
        "put",
        &empty,
        name,
        "propset",
        "binary",
        "a\nb\u{1F980}",
        name,
        "propset",
        "q",
        "",
        name,
    ]);
    let long = String::from_utf8(noise(7, 9000)).unwrap();
    for round in 0..20u32 {
        let small = put("small", &noise(round, 3000));
        let mut list = long.clone();
        list.insert_str(round as usize * 100, &round.to_string());
        repository.mucc(&[
            "put",
            &small,
            "trunk/sub/file 3",
            "propset",
            "long",
            &list,
            "trunk/sub",
        ]);
    }
}

/// Text that compresses poorly.
pub fn noise(seed: u32, length: usize) -> Vec<u8> {
    let mut state = seed;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        b" etaoinshrdlu\n"[(state >> 24) as usize % 14]
    };
    (0..length).map(|_| next()).collect()
}
