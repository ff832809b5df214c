//! `svn diff` between trees of a repository: a table of commands, and random commands over random histories.
//!
//! `DIFF_SEEDS=0..500` runs that many random repositories, each with a hundred commands over one kind of access.
//!
//! Three things are compared less than exactly. Attributes in XML come in any order. Over `file://` the incumbent shows the entries of a
//! deleted directory in an order that differs from run to run; over HTTP it shows each node when its text has arrived, which differs
//! too. Binary texts in Git's form are compressed, and compressors differ.

pub mod history;
mod known;
mod local;
pub mod questions;
mod shape;

use testkit::history::Random;
use testkit::stream::{Content, DumpStream, RecordKind};
use testkit::{Repo, Spec, build, sample};

use crate::twins::{Access, TwinClients};

const COMMANDS: &str = include_str!("commands.txt");

/// Runs a command on both sides and compares.
fn same(twins: &TwinClients, access: Access, words: &[&str], note: &str) {
    let [theirs, ours] = twins.outputs(words, |tool| tool.env("LC_ALL", "C.UTF-8"));
    let order = match access {
        Access::Svn => shape::Order::Exact,
        Access::Disk | Access::Http | Access::HttpV1 | Access::Https => shape::Order::Any,
    };
    assert!(
        shape::same(&theirs, &ours, order) || known::is_missing_beside(twins, words),
        "{note}{words:?} over {access:?}\n{}",
        shape::difference(&theirs, &ours, order)
    );
}

/// Splits a line into words; quotes are those of a shell, without escapes.
fn words(line: &str) -> Vec<&str> {
    let mut words = Vec::new();
    let mut rest = line.trim();
    while !rest.is_empty() {
        let (word, after) = match rest.strip_prefix('\'') {
            Some(quoted) => quoted.split_once('\'').unwrap_or((quoted, "")),
            None => rest.split_once(' ').unwrap_or((rest, "")),
        };
        words.push(word);
        rest = after.trim_start();
    }
    words
}

fn commands() -> impl Iterator<Item = &'static str> {
    COMMANDS
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
}

#[test]
fn a_table_of_commands() {
    let repo = build(&Spec::new("1.14").with(history::fixed()).named("diff"));
    for access in Access::ALL {
        let twins = TwinClients::for_table(&repo, access);
        twins.file("program", shape::PROGRAM);
        for line in sample(3, commands()) {
            let mut all = vec!["svn", "diff"];
            all.extend(words(line.trim_start_matches('!')));
            same(&twins, access, &all, "");
        }
    }
}

/// The texts of a file in its revisions, with letters for its properties: special, executable, binary.
const LINKS: &[(&str, &[u8])] = &[
    ("s", b"link a"),
    ("s", b"link bcd"),
    ("s", b"link bcd\n"),
    ("s", b"link a\nb\n"),
    ("s", b"link a\nc\n"),
    ("s", b"no link"),
    ("s", b"link "),
    ("s", b"link \n"),
    ("s", b""),
    ("s", b"link q\rs"),
    ("s", b"link q\r\nt"),
    ("s", b"link a\0b"),
    ("sx", b"link a\0c"),
    ("sx", b"link a"),
    ("s", b"link a\n"),
    ("s", b"link b"),
    ("", b"link c"),
    ("s", b"link d"),
    ("s", b"link d"),
    ("sb", b"link d\n"),
    ("sb", b"link e\nf"),
    ("b", b"link f"),
];

#[test]
fn links_in_gits_form() {
    let mut stream = DumpStream::new("0d7e62c8-5c4b-4a0e-9a60-9f1a2b3c4d5e");
    for (at, (letters, text)) in LINKS.iter().enumerate() {
        let all: [(&str, &[u8]); 3] = [
            ("svn:special", b"*"),
            ("svn:executable", b"*"),
            ("svn:mime-type", b"a/b"),
        ];
        let props: Vec<(&str, &[u8])> = all
            .into_iter()
            .zip(["s", "x", "b"])
            .filter(|(_, letter)| letters.contains(letter))
            .map(|(prop, _)| prop)
            .collect();
        stream.rev("");
        match at {
            0 => stream.add(RecordKind::File, "l", Content::both(&props, text)),
            _ => stream.change(RecordKind::File, "l", Content::both(&props, text)),
        };
    }
    let repo = build(&Spec::new("1.14").with(stream).named("diff-links"));
    let twins = TwinClients::new(&repo, Access::Disk);
    for rev in 1..=LINKS.len() {
        let options = [
            "",
            "--force",
            "-x-w",
            "--ignore-properties",
            "--diff-cmd=/bin/true",
        ][rev % 5];
        let line = format!("svn diff --git {options} -c{rev} {{URL}}");
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        same(&twins, Access::Disk, &words, "");
        let line = format!("svn diff --git -r{rev}:{} {{URL}}", LINKS.len() / 2);
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        same(&twins, Access::Disk, &words, "");
    }
}

#[test]
fn names_that_the_terminal_does_not_have() {
    let repo = build(&Spec::new("1.14").with(history::fixed()).named("diff"));
    let twins = TwinClients::new(&repo, Access::Disk);
    for options in ["", "--git", "--summarize", "--properties-only", "--no-diff-added"] {
        let line = format!("svn diff -c6 {options} {{URL}}");
        let all: Vec<&str> = line.split_ascii_whitespace().collect();
        twins.same_prepared(&all, |tool| tool.env("LC_ALL", "C"));
    }
}

#[test]
fn random_commands() {
    testkit::each_seed("DIFF_SEEDS", 0..4, |seed| {
        let mut random = Random::new(seed);
        random.next();
        let history = history::random(&mut random, 12);
        let repo = Repo::create("1.14");
        repo.load(history.stream.bytes());
        let access = Access::ALL[random.below(Access::ALL.len())];
        let twins = TwinClients::new(&repo, access);
        let count = if std::env::var_os("DIFF_SEEDS").is_some() {
            100
        } else {
            sample(3, 0..30).count()
        };
        for _ in 0..count {
            let question = questions::question(&mut random, &history);
            let mut all = vec!["svn", "diff"];
            all.extend(question.iter().map(String::as_str));
            same(&twins, access, &all, &format!("seed {seed}: "));
        }
    });
}
