//! The randomized model: random edits through Subversion's programs and through Sven's, in every format.
//!
//! The seed determines a run: format, shard size, edits, and the programs. A failing run prints it.
//! `MODEL_SEEDS=17,18` runs these; `MODEL_SECONDS=3600` runs new seeds until the time is over.

mod drive;
mod edit;
mod shared;
mod twins;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use memchr::memmem;
use testkit::history::Random;
use testkit::server::TestServer;
use testkit::{Output, Side, Tool};

/// The values of `--compatible-version` for formats 8, 7, 6, 4, 3, 2, 1.
const VERSIONS: [&str; 7] = ["1.14", "1.9", "1.8", "1.7", "1.5", "1.4", "1.3"];

/// Runs `model` for the seeds of the environment, or for the `usual` seeds. Seven successive seeds have all formats.
fn seeds(what: &str, usual: impl IntoIterator<Item = u64>, model: impl Fn(u64)) {
    let named = |name| std::env::var(name).ok();
    if let Some(list) = named("MODEL_SEEDS") {
        for seed in list.split(',') {
            run(what, seed.trim().parse().expect("MODEL_SEEDS: numbers"), &model);
        }
        return;
    }
    let time = named("MODEL_SECONDS").map(|text| text.parse().expect("MODEL_SECONDS: a number"));
    let Some(time) = time.map(Duration::from_secs) else {
        usual.into_iter().for_each(|seed| run(what, seed, &model));
        return;
    };
    let begun = Instant::now();
    let first = 1000 * u64::from(std::process::id());
    for seed in first.. {
        if begun.elapsed() > time {
            eprintln!("{what}: seeds {first} to {}", seed - 1);
            return;
        }
        run(what, seed, &model);
    }
}

/// Returns the number of steps of a run; more with `MODEL_SECONDS`. A longer run begins like the shorter one.
fn steps(usual: usize) -> usize {
    let requested = ["MODEL_SECONDS", "MODEL_SEEDS"].map(std::env::var_os);
    if requested.iter().any(Option::is_some) {
        usual * 3
    } else {
        usual
    }
}

fn run(what: &str, seed: u64, model: &impl Fn(u64)) {
    /// Prints the seed if the run panics.
    struct Notice<'a>(&'a str, u64);
    impl Drop for Notice<'_> {
        fn drop(&mut self) {
            if std::thread::panicking() {
                eprintln!("{}: failed with MODEL_SEEDS={}", self.0, self.1);
            }
        }
    }
    let _notice = Notice(what, seed);
    model(seed);
}

/// Makes an empty repository in `root` with write access for everyone, and with small shards if the format has
/// shards.
fn create(side: Side, root: &Path, seed: u64) -> PathBuf {
    let mut random = Random::new(seed);
    let version = VERSIONS[seed as usize % VERSIONS.len()];
    let path = root.join("repo");
    testkit::create_by(side, version, &path);
    let format = path.join("db/format");
    let text = std::fs::read_to_string(&format).expect("because it was just made");
    let shard = 2 + random.below(6);
    let write = |path: &Path, text: &str| {
        // Some of them are read-only.
        _ = std::fs::remove_file(path);
        std::fs::write(path, text).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    };
    write(
        &format,
        &text.replace("layout sharded 1000", &format!("layout sharded {shard}")),
    );
    write(
        &path.join("conf/svnserve.conf"),
        "[general]\nanon-access = write\n",
    );
    let hook = path.join("hooks/pre-revprop-change");
    write(&hook, "#!/bin/sh\nexit 0\n");
    Tool::new("chmod").arg("+x").arg(&hook).ok();
    path
}

/// Starts a server for the repositories in `root`.
fn serve(side: Side, root: &Path) -> Arc<TestServer> {
    let args: &[&str] = if side == Side::Theirs { &["-T"] } else { &[] };
    Arc::new(TestServer::svnserve(side, root, args))
}

fn admin(side: Side, args: &[&str], repository: &Path) -> Output {
    side.tool("svnadmin").args(args).arg(repository).run()
}

/// Copies a repository that may be in use.
fn hotcopy(side: Side, args: &[&str], from: &Path, to: &Path) -> Output {
    let tool = side.tool("svnadmin").args(["hotcopy", "-q"]);
    tool.args(args).arg(from).arg(to).run()
}

/// Verifies the repository with both programs, checks that their dumps are equal, and returns the dump.
fn examine(repository: &Path) -> Vec<u8> {
    for side in Side::BOTH {
        admin(side, &["verify", "-q"], repository).expect_ok();
    }
    let [theirs, ours] = Side::BOTH.map(|side| admin(side, &["dump", "-q"], repository).expect_ok().stdout);
    same(&theirs, &ours, "dumps of one repository");
    theirs
}

/// Returns the paths of a revision: `None` for a directory, the MD5 of a file.
fn paths(repository: &Path, rev: u64) -> BTreeMap<String, Option<String>> {
    let rev = rev.to_string();
    let dump = admin(Side::Theirs, &["dump", "-q", "-r", &rev], repository)
        .expect_ok()
        .stdout;
    let mut found = BTreeMap::from([(String::new(), None)]);
    let mut path = String::new();
    for line in dump.split(|b| *b == b'\n') {
        let line = String::from_utf8_lossy(line);
        if let Some(name) = line.strip_prefix("Node-path: ") {
            path = name.to_owned();
            found.insert(path.clone(), None);
        }
        if let Some(md5) = line.strip_prefix("Text-content-md5: ") {
            found.insert(path.clone(), Some(md5.to_owned()));
        }
    }
    found
}

/// Panics with the text around the first difference.
fn same(theirs: &[u8], ours: &[u8], what: &str) {
    if theirs == ours {
        return;
    }
    let at = theirs.iter().zip(ours).take_while(|(a, b)| a == b).count();
    let show = |bytes: &[u8]| {
        let end = bytes.len().min(at + 400);
        String::from_utf8_lossy(&bytes[at.saturating_sub(600).min(end)..end]).into_owned()
    };
    panic!(
        "{what} differ at byte {at} of {} and {}\n--- theirs\n{}\n--- ours\n{}",
        theirs.len(),
        ours.len(),
        show(theirs),
        show(ours)
    );
}

/// Replaces all revision dates by the same one.
fn without_dates(mut dump: Vec<u8>) -> Vec<u8> {
    const MARK: &[u8] = b"K 8\nsvn:date\nV 27\n";
    let mut at = 0;
    while let Some(found) = memmem::find(&dump[at..], MARK) {
        at += found + MARK.len();
        let end = (at + 27).min(dump.len());
        dump[at..end].fill(b'x');
    }
    dump
}
