//! Compares our results with those of the real `svnauthz accessof`.
//!
//! The suite tries a few dozen files; `SVEN_AUTHZ_FILES=5000` sets another number. Where the incumbent does not
//! follow its own rules, our results are compared with [`naive`](super::naive) only:
//!
//! * For the whole repository (`/`, recursively) it evaluates the root only.
//! * With wildcards, its recursive result may be too strict (never too generous: such a difference would be our
//!   fault).
//! * To match `*suffix` it reverses the name, and leaves it reversed for the rules that it tries next.

use std::path::Path;
use std::process::Command;

use base::FsPath;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use repos::authz::{Authz, Required, Rights};

use super::files::{self, REPOSITORIES, USERS, Wildcards};

struct AccessQuery<'a> {
    repository: Option<&'a str>,
    user: Option<&'a str>,
    path: Option<&'a str>,
    recursive: bool,
}

fn svnauthz(file: &Path, question: &AccessQuery<'_>) -> String {
    let mut command = Command::new("svnauthz");
    command.env("LC_ALL", "C.UTF-8").arg("accessof").arg(file);
    let options = [
        ("--repository", question.repository),
        ("--username", question.user),
        ("--path", question.path),
    ];
    for (option, value) in options {
        if let Some(value) = value {
            command.args([option, value]);
        }
    }
    if question.recursive {
        command.arg("-R");
    }
    let output = command.output().expect("svnauthz is installed");
    let answer = String::from_utf8_lossy(&output.stdout).trim_end().to_owned();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    answer
}

fn ours(authz: &Authz, question: &AccessQuery<'_>) -> &'static str {
    let rights = authz.rights(question.repository, question.user);
    let word = |rights| match rights {
        Rights::None => "no",
        Rights::Read => "r",
        Rights::Write => "rw",
    };
    match question.path {
        None => word(rights.max_rights()),
        Some(path) => {
            let path = FsPath::canonicalize(path).expect("a path");
            if rights.allows(&path, Required::Write, question.recursive) {
                "rw"
            } else if rights.allows(&path, Required::Read, question.recursive) {
                "r"
            } else {
                "no"
            }
        }
    }
}

fn compare(wildcards: Wildcards, seed: u8) {
    let count: usize = std::env::var("SVEN_AUTHZ_FILES").map_or(24, |n| n.parse().expect("a number"));
    let folder = tempfile::tempdir().expect("a temporary directory");
    let path = folder.path().join("authz");
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &[seed; 32]);
    let mut runner = TestRunner::new_with_rng(Config::default(), rng);
    let mut different = 0;
    for _ in 0..count {
        let file = files::file(8, wildcards)
            .new_tree(&mut runner)
            .expect("a file")
            .current();
        let text = file.text();
        std::fs::write(&path, &text).expect("written");
        let authz = Authz::parse(text.as_bytes(), None).unwrap_or_else(|e| panic!("{e}\n{text}"));
        for _ in 0..4 {
            let asked = (files::path(), 0..4_usize, 0..3_usize, any::<bool>(), 0..8_u8);
            let (at, user, repository, recursive, whole) =
                asked.new_tree(&mut runner).expect("a question").current();
            let at = format!("/{}", at.join("/"));
            let question = AccessQuery {
                repository: REPOSITORIES[repository],
                user: USERS[user],
                path: (whole != 0).then_some(&*at),
                recursive: recursive && whole != 0 && at != "/",
            };
            let (theirs, ours) = (svnauthz(&path, &question), ours(&authz, &question));
            let strict = question.recursive && wildcards != Wildcards::None;
            let level = |word: &str| ["no", "r", "rw"].iter().position(|w| *w == word);
            let same = if strict {
                level(&theirs) <= level(ours)
            } else {
                theirs == ours
            };
            if !same {
                different += 1;
                eprintln!(
                    "{:?} {:?} {:?} recursive {}: theirs {theirs}, ours {ours}\n{text}",
                    question.path, question.user, question.repository, question.recursive
                );
            }
        }
    }
    assert_eq!(different, 0);
}

#[test]
fn with_wildcards() {
    compare(Wildcards::NoSuffix, 1);
}

#[test]
fn without_wildcards() {
    compare(Wildcards::None, 2);
}
