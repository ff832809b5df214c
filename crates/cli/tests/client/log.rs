//! `svn log`.

use std::fs;

use base::hashdump::{self, Terminator};
use testkit::history::Random;
use testkit::random_history::RandomHistory;
use testkit::stream::RecordKind::{Dir, File};
use testkit::stream::{Content, DumpStream};
use testkit::{Repo, Spec, Tool, branch_history, build, random_history, sample, sample_from};

use crate::twins::{Access, TwinClients};

#[test]
fn options_and_errors() {
    let repo = branches();
    for access in Access::ALL {
        let twins = TwinClients::for_table(&repo, access);
        twins.file("targets", "trunk\n\ntrunk/f\r\n");
        for line in sample(3, lines(include_str!("log_commands.txt"))) {
            if access == Access::Disk && line.contains(" -g") {
                // Ours reads the repository itself: see the known differences of servers.
                continue;
            }
            same(&twins, &line, access);
        }
    }
}

/// Without a repository: the checks of options, in their order.
#[test]
fn misuse() {
    let twins = TwinClients::new(&branches(), Access::Disk);
    for line in lines(include_str!("log_misuse.txt")) {
        same(&twins, &line, Access::Disk);
    }
}

#[test]
fn odd_revision_properties() {
    let repo = branches().copy();
    for (rev, name, value) in ODD {
        set_raw_revprop(&repo, *rev, name, value);
    }
    for (number, access) in [Access::Disk, Access::Svn].into_iter().enumerate() {
        let twins = TwinClients::new(&repo, access);
        for line in sample_from(number, 2, lines(include_str!("log_odd.txt"))) {
            same(&twins, &line, access);
        }
        for (at, charset) in ["C", "C.UTF-8"].into_iter().enumerate() {
            let commands = [
                &["svn", "log", "-v", "{URL}"][..],
                &["svn", "log", "--xml", "{URL}", "-r8:9"],
            ];
            for words in sample_from(number + at, 2, commands) {
                let [theirs, ours] = twins.outputs(words, |tool| tool.env("LC_ALL", charset));
                assert_same(&theirs, &ours, &format!("{charset} {words:?}"));
            }
        }
        let words = ["svn", "log", "-q", "{URL}"];
        twins.same_prepared(&words, |tool| tool.env("TZ", "Asia/Kolkata"));
    }
}

#[test]
fn random_commands() {
    testkit::each_seed("LOG_SEEDS", 0..3, |seed| {
        let mut random = Random::new(seed);
        random.next();
        let revisions = 6 + random.below(20) as u64;
        let is_branches = random.below(2) == 1;
        let history = match is_branches {
            false => random_history::history(seed, revisions, true),
            true => branch_history::history(seed, revisions),
        };
        let repo = Repo::create("1.14");
        repo.load(history.stream.bytes());
        let access = Access::ALL[random.below(4)];
        // Ours reads a local repository itself, and mergeinfo of all kinds stops Subversion's servers.
        let merge_rate = (is_branches && access != Access::Disk).then_some(4);
        let twins = TwinClients::new(&repo, access);
        for _ in sample(3, 0..25) {
            let words = random_words(&mut random, &history, merge_rate);
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            if !same_words(&twins, &words, &format!("{access:?}")) {
                break;
            }
        }
    });
}

/// Logs with merged revisions only.
#[test]
fn random_merged_logs() {
    testkit::each_seed("MERGED_LOG_SEEDS", 0..2, |seed| {
        let mut random = Random::new(seed);
        random.next();
        let history = branch_history::history(seed, 8 + random.below(30) as u64);
        let repo = Repo::create("1.14");
        repo.load(history.stream.bytes());
        let access = [Access::Svn, Access::Http, Access::HttpV1][random.below(3)];
        let twins = TwinClients::new(&repo, access);
        for _ in 0..25 {
            let words = random_words(&mut random, &history, Some(1));
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            if !same_words(&twins, &words, &format!("{access:?}")) {
                break;
            }
        }
    });
}

/// Returns a command. With `merge_rate`, one in so many shows merged revisions.
fn random_words(random: &mut Random, history: &RandomHistory, merge_rate: Option<usize>) -> Vec<String> {
    let mut words: Vec<String> = vec!["svn".into(), "log".into()];
    let mut add = |word: &str| words.push(word.to_owned());
    let is_xml = random.below(3) == 0;
    if is_xml {
        add("--xml");
        match random.below(6) {
            0 => add("--with-all-revprops"),
            1 => add("--with-no-revprops"),
            2 => add("--with-revprop=custom:one"),
            _ => {}
        }
    }
    for (option, rate) in [("-q", 3), ("-v", 2), ("--stop-on-copy", 4), ("--incremental", 5)] {
        if random.below(rate) == 0 {
            add(option);
        }
    }
    let is_merging = merge_rate.is_some_and(|rate| random.below(rate) == 0);
    if is_merging {
        add("-g");
    }
    // With merged entries, the limit of several ranges is a known difference.
    let is_limited = random.below(4) == 0;
    if is_limited {
        add(&format!("-l{}", 1 + random.below(5)));
    }
    if random.below(4) == 0 {
        let patterns = [
            "alice", "r1", "A", "b?b", "*", "[1-3]", "cecile", "(no", "2", "/f",
        ];
        for at in 0..1 + random.below(3) {
            let option = if at > 0 && random.below(2) == 0 {
                "--search-and"
            } else {
                "--search"
            };
            add(option);
            add(patterns[random.below(patterns.len())]);
        }
    }
    let rev = |random: &mut Random| match random.below(8) {
        0 => "HEAD".to_owned(),
        _ => random.below(history.youngest as usize + 1).to_string(),
    };
    let most = if is_merging && is_limited { 1 } else { 3 };
    match random.below(4) {
        0 => {}
        1 => {
            for _ in 0..1 + random.below(most) {
                add(&format!(
                    "-c{}",
                    rev(random).replace("HEAD", if is_merging { "4" } else { "1-3" })
                ));
            }
        }
        _ => {
            for _ in 0..1 + random.below(most) {
                let (start, end) = (rev(random), rev(random));
                // Oldest first, Subversion's servers may not answer.
                let number = |rev: &str| rev.parse().unwrap_or(u64::MAX);
                match is_merging && number(&start) < number(&end) {
                    true => add(&format!("-r{end}:{start}")),
                    false => add(&format!("-r{start}:{end}")),
                }
            }
        }
    }
    let path = |random: &mut Random| history.paths[random.below(history.paths.len())].clone();
    let peg = match random.below(2) {
        0 => String::new(),
        _ => format!("@{}", rev(random)),
    };
    match random.below(5) {
        0 => add(&format!("{{URL}}{peg}")),
        1 => {
            add(&format!("{{URL}}{peg}"));
            for _ in 0..1 + random.below(2) {
                add(path(random).trim_start_matches('/'));
            }
        }
        _ => add(&format!("{{URL}}{}{peg}", path(random))),
    }
    words
}

/// The history of the table: copies, merges and their reversal, a node that was away for a while.
fn branches() -> Repo {
    build(&Spec::new("1.14").with(history()).named("client-branches"))
}

fn history() -> DumpStream {
    let mut s = DumpStream::new("1e720ca1-2b3c-4d4e-8f50-61728394a5b7");
    let merged = |value: &'static str| [("svn:mergeinfo", value.as_bytes())];
    s.rev("init\ntwo lines")
        .mkdirs(["trunk", "branches"])
        .file("trunk/f", "a\nb\nc\n");
    s.rev("").copy(Dir, "branches/b", 1, "trunk");
    s.rev("edit b").edit("branches/b/f", "a\nB\nc\n");
    s.rev("merge").edit("trunk/f", "a\nB\nc\n").change(
        Dir,
        "trunk",
        Content::props(&merged("/branches/b:2-3")),
    );
    s.rev("a property").change(
        Dir,
        "trunk",
        Content::props(&[("foo", b"bar"), ("svn:mergeinfo", b"/branches/b:2-3")]),
    );
    s.rev("move")
        .copy(File, "trunk/g", 5, "trunk/f")
        .delete("trunk/f");
    s.rev("undo the merge").edit("trunk/g", "a\nb\nc\n").change(
        Dir,
        "trunk",
        Content::props(&merged("/branches/b:2")),
    );
    s.rev("a file").file("new", "n\n");
    s.rev("away").delete("trunk/g");
    s.rev("back, moved").copy(File, "trunk/h", 7, "trunk/g");
    s.rev("edit h").edit("trunk/h", "z\n");
    s.rev("delete the branch").delete("branches/b");
    s.rev("copy").copy(File, "top", 11, "trunk/h");
    s.rev("another branch").copy(Dir, "trunk2", 13, "trunk");
    s.rev("merge all")
        .change(Dir, "trunk2", Content::props(&merged("/trunk:1-13")));
    s.rev("merge a merge")
        .change(Dir, "branches", Content::props(&merged("/trunk2:14-15")));
    s.rev("undo it").change(Dir, "branches", Content::props(&[]));
    s.rev_with(&[])
        .change(File, "new", Content::props(&[("p", b"1")]));
    s
}

fn lines(table: &str) -> Vec<String> {
    let lines = table
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines.map(|line| format!("svn log {line}")).collect()
}

fn same(twins: &TwinClients, line: &str, access: Access) {
    let words: Vec<&str> = line
        .split(' ')
        .map(|word| if word == "''" { "" } else { word })
        .collect();
    same_words(twins, &words, &format!("{access:?}"));
}

/// Compares the outputs of a command; false if Subversion's server crashed.
fn same_words(twins: &TwinClients, words: &[&str], about: &str) -> bool {
    let is_merged = words.contains(&"-g");
    let with_limit = |tool: Tool| match is_merged {
        true => tool.under("timeout", &["-s", "KILL", "10"]),
        false => tool,
    };
    let [theirs, ours] = twins
        .outputs(words, with_limit)
        .map(|text| sorted_attributes(&text));
    // Subversion's servers crash in some logs of merges, or stop answering: see the known differences of servers.
    let is_crash = [
        "--- exit 137",
        "E175009",
        "E210002",
        "E175002",
        "Error running context",
        "E160006",
    ]
    .iter()
    .any(|code| theirs.contains(code));
    if is_merged && is_crash {
        return false;
    }
    assert_same(&theirs, &ours, &format!("{about} {words:?}"));
    true
}

/// Compares outputs. The message of a failure shows them from the first difference on.
pub fn assert_same(theirs: &str, ours: &str, about: &str) {
    let same = theirs
        .lines()
        .zip(ours.lines())
        .take_while(|(a, b)| a == b)
        .count();
    let rest = |text: &str| {
        let lines: Vec<&str> = text.lines().skip(same.saturating_sub(4)).take(20).collect();
        lines.join("\n")
    };
    assert!(
        ours == theirs,
        "{about}\n--- theirs, line {same}\n{}\n--- ours\n{}",
        rest(theirs),
        rest(ours)
    );
}

/// Sorts the attributes of each element of XML: the order of Subversion's is a hash's.
pub fn sorted_attributes(text: &str) -> String {
    let mut out = String::new();
    let mut attributes: Vec<String> = Vec::new();
    for line in text.split_inclusive('\n') {
        let end = line.find("\">").or(line.find("\"/>")).map(|at| at + 1);
        match (line.strip_prefix("   ").filter(|rest| rest.contains("=\"")), end) {
            (Some(_), Some(end)) => {
                attributes.push(line[..end].to_owned());
                attributes.sort();
                out.push_str(&attributes.join("\n"));
                out.push_str(&line[end..]);
                attributes.clear();
            }
            (Some(_), None) => attributes.push(line.trim_end().to_owned()),
            (None, _) => {
                out.extend(attributes.drain(..).map(|line| line + "\n"));
                out.push_str(line);
            }
        }
    }
    out
}

/// Sets a revision property to a value that no tool of Subversion would store.
pub fn set_raw_revprop(repo: &Repo, rev: u64, name: &str, value: &[u8]) {
    let file = repo.db().join(format!("revprops/0/{rev}"));
    let bytes = fs::read(&file).expect("because the revision is not packed");
    let mut all = hashdump::read_props(&bytes).expect("because Subversion wrote it");
    all.insert(name.to_owned(), value.to_vec());
    let mut bytes = Vec::new();
    hashdump::write_props(&mut bytes, &all, Terminator::End);
    fs::remove_file(&file).expect("because it is a copy");
    fs::write(&file, bytes).expect("because it is a copy");
}

/// Values that are no text, or odd text.
pub const ODD: &[(u64, &str, &[u8])] = &[
    (0, "svn:log", b"zero"),
    (1, "svn:log", b"a\r\nb\x01c\rd\n\n\n"),
    (
        2,
        "svn:log",
        b"bad \xff utf8 \xe9t\xc3\xa9 \xed\xa0\x80 \xf0\x9f\x98\x80",
    ),
    (2, "svn:author", b"al\xffice\x02<&>\"'"),
    (
        3,
        "svn:log",
        b"ok <b>&\"'\t x\x7f\x1b \xc2\x85\xc2\xa0\xe2\x80\xa8 \xef\xac\x81x \xe2\x80\x93",
    ),
    (3, "svn:author", b""),
    (3, "svn:date", b""),
    (4, "svn:date", b"nonsense"),
    (4, "svn:log", b"\n"),
    (5, "svn:date", b"2020-02-29T23:59:60.000001Z"),
    (5, "svn:log", b"one\n"),
    (5, "custom", b"bin\0\xff"),
    (5, "c2", b"two\nlines\r\nx<\x7f"),
    (5, "c3", b"x\x01"),
    (5, "c4<\"'&>", b""),
    (6, "svn:log", b"abc\0def"),
    (6, "svn:author", b"a\nb"),
    (7, "svn:log", b"a\rb\r\rc"),
    (8, "svn:log", "Fix \u{c9}a [x] \\ a*b?\nsecond Line".as_bytes()),
    (8, "svn:author", "C\u{e9}cile".as_bytes()),
    (
        9,
        "svn:log",
        "\u{fb01}x \u{df} stra\u{df}e \u{130}stanbul".as_bytes(),
    ),
    (9, "svn:date", b"2020-02-03T01:02:03.5Z"),
];
