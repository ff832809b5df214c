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

use testkit::{Repo, Spec, build};

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
        let twins = TwinClients::new(&repo, access);
        twins.file("program", shape::PROGRAM);
        for (number, line) in commands().enumerate() {
            // Every access has a quarter of the errors of argument lists, which are not about access.
            let is_misuse = line.starts_with('!');
            if is_misuse && number % Access::ALL.len() != access as usize {
                continue;
            }
            let mut all = vec!["svn", "diff"];
            all.extend(words(line.trim_start_matches('!')));
            same(&twins, access, &all, "");
        }
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
            30
        };
        for _ in 0..count {
            let question = questions::question(&mut random, &history);
            let mut all = vec!["svn", "diff"];
            all.extend(question.iter().map(String::as_str));
            same(&twins, access, &all, &format!("seed {seed}: "));
        }
    });
}
