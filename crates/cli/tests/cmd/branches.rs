//! Histories of branches through `svnadmin dump` and `load`: unchanged, renumbered, below a directory and in parts.
//! Both programs make the same repository of the same stream, and each reads what the other has written, in every
//! format.
//!
//! `BRANCHES_SEEDS=100..1000 cargo test -p sven --test cmd histories_of_branches` runs these seeds.
//!
//! `BRANCHES_SEEDS=100..1000 cargo test -p sven --test cmd histories_of_branches` tries these seeds.

use std::collections::BTreeSet;
use std::path::Path;

use testkit::history::Random;
use testkit::normalize::sorted_lines;
use testkit::{Repo, Side, Tool, branch_history, sample, scratch};

use crate::mergeinfo::lost_or_reversed;
use crate::random::short_or_all;
use crate::streams;

#[test]
fn histories_of_branches_load_to_equal_repositories() {
    for seed in testkit::seeds("BRANCHES_SEEDS", short_or_all(0..3, 0..4)) {
        compare_seed(seed);
    }
}

/// The options of a load.
#[derive(Debug)]
struct LoadCase {
    /// The number of revisions in the repository before the load.
    before: usize,
    /// The value of `--parent-dir`.
    parent: Option<&'static str>,
    /// Options of the dump.
    dump: Vec<String>,
    /// Options of the load.
    load: Vec<&'static str>,
}

fn compare_seed(seed: u64) {
    let mut random = Random::new(seed ^ 0xb4a);
    random.next();
    let history = branch_history::history(seed, 25 + random.below(30) as u64);
    let repo = Repo::create("1.14");
    repo.load(history.stream.bytes());
    compare_formats(seed, history.stream.bytes(), history.youngest);
    let values = split(&history.stream.bytes()).1.into_iter().collect();
    let first = 2 + random.below(10);
    let part = format!("{first}:{}", first + random.below(15));
    let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
    let mut ways = [
        (0, None, words(&[]), vec![]),
        (0, None, words(&["--deltas"]), vec!["--normalize-props"]),
        (3, Some("p"), words(&[]), vec![]),
        (
            7,
            Some("p"),
            words(&["--deltas"]),
            vec!["--bypass-prop-validation"],
        ),
        (2, None, words(&["-r", &part]), vec!["--force-uuid"]),
        (1, Some("p"), words(&["-r", &part]), vec![]),
    ];
    // Every second one, of the next seed the others.
    ways.rotate_left(seed as usize % 2);
    for (before, parent, dump, load) in sample(2, ways) {
        let case = LoadCase {
            before,
            parent,
            dump,
            load,
        };
        compare(seed, &repo, &case, &values);
    }
}

fn compare(seed: u64, repo: &Repo, case: &LoadCase, values: &BTreeSet<String>) {
    let [theirs, ours] = Side::BOTH.map(|side| {
        let dump = side.tool("svnadmin").args(["dump", "-q"]).args(&case.dump);
        dump.arg(repo.path()).ok().stdout
    });
    assert!(
        theirs == ours || case.dump.contains(&"--deltas".to_owned()),
        "BRANCHES_SEEDS={seed}: {case:?}: dumps differ"
    );
    let root = scratch();
    let empty = root.path().join("before");
    make_before(case, &empty);
    let [theirs, ours] = Side::BOTH.map(|side| {
        let path = root.path().join(format!("{side:?}"));
        streams::copy(&empty, &path);
        load(side, case, &path, theirs.clone())
    });
    let (theirs, ours) = match (theirs, ours) {
        (Ok(theirs), Ok(ours)) => (theirs, ours),
        (Err(theirs), Err(ours)) => {
            assert_eq!(theirs, ours, "BRANCHES_SEEDS={seed}: {case:?}");
            return;
        }
        // Subversion rejects ranges that it has reversed or emptied itself.
        (Err(theirs), Ok(_)) => {
            let is_own = ["E200020", "E235000: bad range"]
                .iter()
                .any(|code| theirs.contains(code));
            assert!(is_own, "BRANCHES_SEEDS={seed}: {case:?}: {theirs}");
            return;
        }
        (Ok(_), Err(ours)) => panic!("BRANCHES_SEEDS={seed}: {case:?}: ours alone refuses: {ours}"),
    };
    if theirs == ours {
        return;
    }
    assert!(
        case.before > 0,
        "BRANCHES_SEEDS={seed}: {case:?}\n{}",
        first_difference(&theirs, &ours)
    );
    // Renumbered mergeinfo may have revisions that are not in the stream.
    let shown = first_difference(&theirs, &ours);
    let (theirs, ours) = (split(&theirs), split(&ours));
    assert_eq!(theirs.0, ours.0, "BRANCHES_SEEDS={seed}: {case:?}");
    assert_eq!(theirs.1.len(), ours.1.len(), "BRANCHES_SEEDS={seed}: {case:?}");
    for (theirs, ours) in theirs.1.iter().zip(&ours.1) {
        // With --bypass-prop-validation Subversion keeps values that it cannot renumber without reversing a range.
        let is_left = case.load.contains(&"--bypass-prop-validation") && values.contains(theirs);
        assert!(
            theirs == ours || is_left || lost_or_reversed(theirs, ours),
            "BRANCHES_SEEDS={seed}: {case:?}\ntheirs {theirs:?}\nours   {ours:?}\n{shown}"
        );
    }
}

/// Each program writes a repository of some format and packs it or not. Both programs read both repositories.
fn compare_formats(seed: u64, stream: Vec<u8>, youngest: u64) {
    let version = ["1.14", "1.9", "1.8", "1.7", "1.5"][seed as usize % 5];
    let mut written = Vec::new();
    for writer in Side::BOTH {
        let root = scratch();
        let path = root.path().join("r");
        let admin = |side: Side, args: &[&str]| side.tool("svnadmin").args(args).arg(&path);
        admin(writer, &["create", "--compatible-version", version]).ok();
        let format = path.join("db/format");
        let text = std::fs::read_to_string(&format).expect("because it was just made");
        let shard = 3 + seed % 5;
        _ = std::fs::remove_file(&format);
        std::fs::write(&format, text.replace("sharded 1000", &format!("sharded {shard}")))
            .expect("because the repository is ours");
        admin(writer, &["load", "-q", "--no-flush-to-disk"])
            .stdin(stream.clone())
            .ok();
        if !seed.is_multiple_of(3) {
            // By the other program, or by the same.
            let packer = if seed % 3 == 1 { writer } else { other(writer) };
            admin(packer, &["pack", "-q"]).ok();
        }
        let read = |side: Side| {
            admin(side, &["verify", "-q"]).ok();
            let mut read = admin(side, &["dump", "-q"]).ok().stdout;
            let questions = [1, youngest / 2, youngest].into_iter().flat_map(|rev| {
                ["changed --copy-info", "tree --show-ids", "diff"].map(|question| (rev.to_string(), question))
            });
            for (rev, question) in sample(2, questions) {
                let look = side.tool("svnlook").args(question.split(' '));
                let output_text = look.args(["-r", &rev]).arg(&path).ok().out();
                read.extend(sorted_lines(&output_text).join("\n").bytes());
            }
            read
        };
        let [theirs, ours] = Side::BOTH.map(read);
        let case = format!("BRANCHES_SEEDS={seed} {version} written by {writer:?}");
        assert!(theirs == ours, "{case}\n{}", first_difference(&theirs, &ours));
        written.push(theirs);
    }
    let (theirs, ours) = (&written[0], &written[1]);
    assert!(
        theirs == ours,
        "BRANCHES_SEEDS={seed}\n{}",
        first_difference(theirs, ours)
    );
}

fn other(side: Side) -> Side {
    match side {
        Side::Theirs => Side::Ours,
        Side::Ours => Side::Theirs,
    }
}

/// Makes the repository before the load, without the time of the test.
fn make_before(case: &LoadCase, path: &Path) {
    Tool::new("svnadmin").arg("create").arg(path).ok();
    let date = "Revision-number: 0\nProp-content-length: 56\nContent-length: 56\n\n\
        K 8\nsvn:date\nV 27\n2020-01-01T00:00:00.000000Z\nPROPS-END\n\n";
    let mut before =
        b"SVN-fs-dump-format-version: 2\n\nUUID: 5ba3b1f0-5f44-4b39-9a7d-4f6ba4c9a7d9\n\n".to_vec();
    before.extend(date.bytes());
    for number in 1..=case.before {
        let head = "Prop-content-length: 10\nContent-length: 10\n\nPROPS-END\n\n";
        before.extend(format!("Revision-number: {number}\n{head}").bytes());
        if let (1, Some(parent)) = (number, case.parent) {
            before.extend(format!("Node-path: {parent}\nNode-kind: dir\nNode-action: add\n{head}\n").bytes());
        }
    }
    Tool::new("svnadmin")
        .args(["load", "-q", "--force-uuid", "--no-flush-to-disk"])
        .arg(path)
        .stdin(before)
        .ok();
}

/// Loads a stream and returns Subversion's dump of the repository.
fn load(side: Side, case: &LoadCase, path: &Path, stream: Vec<u8>) -> Result<Vec<u8>, String> {
    let mut tool = side
        .tool("svnadmin")
        .args(["load", "-q", "--ignore-uuid", "--no-flush-to-disk"]);
    if case.load.contains(&"--force-uuid") {
        tool = side
            .tool("svnadmin")
            .args(["load", "-q", "--force-uuid", "--no-flush-to-disk"]);
    } else {
        tool = tool.args(&case.load);
    }
    if let Some(parent) = case.parent {
        tool = tool.args(["--parent-dir", parent]);
    }
    let output = tool.arg(path).stdin(stream).run();
    if output.code != 0 {
        return Err(output.err());
    }
    Tool::new("svnadmin").args(["verify", "-q"]).arg(path).ok();
    Ok(Tool::new("svnadmin").args(["dump", "-q"]).arg(path).ok().stdout)
}

/// Splits a dump into the records without mergeinfo, and the values of mergeinfo.
fn split(dump: &[u8]) -> (Vec<String>, Vec<String>) {
    let text = String::from_utf8_lossy(dump);
    let nodes = text
        .lines()
        .filter(|line| line.starts_with("Node-") || line.starts_with("Text-content-md5"));
    let mut values = Vec::new();
    for rest in text.split("\nsvn:mergeinfo\nV ").skip(1) {
        let (length, rest) = rest.split_once('\n').unwrap_or_default();
        values.push(rest[..length.parse::<usize>().unwrap_or(0)].to_owned());
    }
    (nodes.map(str::to_owned).collect(), values)
}

fn first_difference(theirs: &[u8], ours: &[u8]) -> String {
    let (theirs, ours) = (String::from_utf8_lossy(theirs), String::from_utf8_lossy(ours));
    let (theirs, ours): (Vec<&str>, Vec<&str>) = (theirs.lines().collect(), ours.lines().collect());
    let at = theirs.iter().zip(&ours).take_while(|(a, b)| a == b).count();
    let show = |lines: &[&str]| lines[at.saturating_sub(12)..lines.len().min(at + 6)].join("\n");
    format!("--- theirs\n{}\n--- ours\n{}", show(&theirs), show(&ours))
}
