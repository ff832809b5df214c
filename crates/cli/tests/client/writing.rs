//! Commits without a working copy: `svn mkdir`, `delete`, `copy` and `move` with URLs.

use testkit::{Side, Spec, build, sample_from};

use crate::known::WRITING;
use crate::random_runs;
use crate::random_writes::Cases;
use crate::twins::{Access, TwinClients};

/// Runs commands as the user who may write, and reports all that differ.
pub fn all_same(twins: &TwinClients, lines: &[&str]) {
    let lines: Vec<String> = lines.iter().map(|line| format!("{line} {USER}")).collect();
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    twins.all_same(&lines);
}

/// As [`all_same`], for a command with words that have blanks.
pub fn same_words(twins: &TwinClients, words: &[&str]) {
    let mut words = words.to_vec();
    words.extend(USER.split(' '));
    twins.same_words(&words);
}

/// The options of the user who may write.
pub const USER: &str = "--username alice --password secret --no-auth-cache";

#[test]
fn directories_and_deletions() {
    let repo = build(&Spec::small("1.14"));
    // The kinds of access share the lists.
    let lists: [&[&str]; 2] = [
        &[
            "svn mkdir -m x {URL}/new",
            "svn mkdir -m x {URL}/new",
            "svn mkdir -m x {URL}/a/b",
            "svn mkdir -m x --parents {URL}/a/b {URL}/a/c/d {URL}/new/x",
            "svn mkdir -m x --parents {URL}/a/b",
            "svn rm -m x {URL}/new {URL}/a/c/d",
            "svn rm -m x {URL}/new",
            "svn rm -m x {URL}/a {URL}/nosuch",
            "svn rm {URL}/a",
            "svn rm -m x {URL}/a {URL}/a/b",
        ],
        &[
            "svn mkdir -m x {URL}/e {URL}/e/f {URL}/e",
            "svn mkdir -m x {URL}/A/mu/x",
            "svn mkdir -m x --parents {URL}/A/mu/x/y",
            "svn mkdir -q -m x {URL}/quiet",
            "svn mkdir -m x {URL}/%C3%A4%20b",
            "svn delete -q -m x {URL}/quiet",
            "svn remove -m x --force --keep-local {URL}/A/mu {URL}/A/mu",
            "svn rm -m x {URL}",
            "svn mkdir --non-interactive {URL}/z",
        ],
    ];
    for (number, access) in Access::ALL.into_iter().enumerate() {
        let twins = TwinClients::new(&repo, access);
        for lines in sample_from(number, lists.len(), lists) {
            all_same(&twins, lines);
        }
        twins.same_repositories();
    }
}

#[test]
fn wrong_arguments() {
    let repo = build(&Spec::small("1.14"));
    let twins = TwinClients::new(&repo, Access::Disk);
    twins.file("targets", "file:///nosuch/x\n");
    twins.all_same(&[
        "svn mkdir",
        "svn mkdir -m x",
        "svn mkdir -m x foo",
        "svn mkdir foo {URL}/x -m x",
        "svn mkdir -m x {URL}/x@3",
        "svn mkdir -m x {URL}",
        "svn mkdir -m x --parents {URL}",
        "svn mkdir -m x {URL} {URL}/x",
        "svn mkdir -m x file:///nosuch/r",
        "svn mkdir -m x file:///nosuch/r {URL}/x",
        "svn mkdir -m x http://localhost:1/r {URL}/x",
        "svn mkdir -m x -r 1 {URL}/x",
        "svn rm",
        "svn rm foo",
        "svn rm -m x foo",
        "svn rm -m x foo {URL}/A",
        "svn rm -m x {URL}/A@1",
        "svn rm -m x --targets targets",
        "svn rm -m x --targets nosuch",
        "svn cp",
        "svn cp {URL}/A",
        "svn cp foo bar",
        "svn cp -m x foo bar",
        "svn cp -m x foo {URL}/x",
        "svn cp -m x {URL}/A {URL}/A foo",
        "svn cp -m x {URL}/A {URL}/x@5",
        "svn cp -m x -r 1:2 {URL}/A {URL}/x",
        "svn cp -m x -r BASE {URL}/A {URL}/x",
        "svn cp -m x {URL}/A@PREV {URL}/x",
        "svn cp -m x {URL}/A@foo {URL}/x",
        "svn cp {URL}/A {URL}/x",
        "svn cp {URL}/nosuch {URL}/x",
        "svn mv",
        "svn mv foo bar",
        "svn mv -m x foo bar",
        "svn mv -m x foo {URL}/x",
        "svn mv -m x {URL}/A foo",
        "svn mv -m x {URL}/A@3 {URL}/x",
        "svn mv -m x -r 1 {URL}/A {URL}/x",
    ]);
    twins.same_repositories();
}

#[test]
fn copies_and_moves() {
    let repo = build(&Spec::small("1.14"));
    // The kinds of access share the lists.
    let lists: [&[&str]; 3] = [
        &[
            "svn cp -m x {URL}/A {URL}/A2",
            "svn cp -m x {URL}/A {URL}/A2",
            "svn cp -m x {URL}/A {URL}/A2",
            "svn cp -m x {URL}/A/mu {URL}/iota",
            "svn cp -m x {URL}/A {URL}/iota/x",
            "svn cp -m x {URL}/A {URL}/nosuch/x",
        ],
        &[
            "svn cp -m x --parents {URL}/A {URL}/p/q/x",
            "svn cp -m x --parents {URL}/A {URL}/iota {URL}/p/q/y",
            "svn cp -m x {URL}/A {URL}/A/sub",
            "svn cp -m x {URL} {URL}/root",
            "svn cp -m x {URL}/A {URL}",
            "svn cp -m x {URL}/A {URL}/iota {URL}/nosuch",
            "svn cp -m x {URL}/A {URL}/iota {URL}/iota",
            "svn cp -m x {URL}/nosuch {URL}/n",
            "svn cp -m x {URL}/A@99 {URL}/n",
            "svn cp -m x -r 99 {URL}/A {URL}/n",
        ],
        &[
            "svn mkdir -m x {URL}/p",
            "svn cp -m x -r 1 {URL}/A {URL}/n1",
            "svn cp -m x -r 0 {URL}/A {URL}/n2",
            "svn cp -m x -r {2020-01-01} {URL}/A {URL}/n3",
            "svn cp -q -m x {URL}/A/ {URL}/n4/",
            "svn mv -m x {URL}/n4 {URL}/n4",
            "svn mv -m x {URL}/n4 {URL}/n5",
            "svn mv -m x {URL}/n5 {URL}/n5/new",
            "svn mv -m x {URL}/n5/mu {URL}/n5",
            "svn mv -m x {URL}/n5/mu {URL}/n1",
            "svn mv -m x {URL}/n5 {URL}/iota {URL}/p",
            "svn mv -m x --parents --force {URL}/p/iota {URL}/s/t/iota",
            "svn mv -m x {URL}/nosuch {URL}/t",
            "svn mv -q -r HEAD -m x {URL}/s {URL}/t",
            "svn cp -m x --pin-externals {URL}/A {URL}/pinned",
        ],
    ];
    for (number, access) in Access::ALL.into_iter().enumerate() {
        let twins = TwinClients::new(&repo, access);
        for lines in sample_from(number, lists.len(), lists) {
            all_same(&twins, lines);
        }
        twins.same_repositories();
    }
}

#[test]
fn hooks_of_commits() {
    let repo = build(&Spec::small("1.14"));
    for access in [Access::Disk, Access::Svn, Access::Http] {
        let twins = TwinClients::new(&repo, access);
        let hook = "#!/bin/sh\necho out\necho err >&2\nexit 2\n";
        for name in ["post-commit", "pre-commit", "start-commit"] {
            for side in Side::BOTH {
                write_hook(&twins, side, name, hook);
            }
            all_same(&twins, &["svn mkdir -m x {URL}/hook", "svn rm -m x {URL}/iota"]);
        }
        twins.same_repositories();
        for side in Side::BOTH {
            let transactions = twins.repository(side).join("db/transactions");
            let left = std::fs::read_dir(transactions).expect("because it is a repository");
            assert_eq!(left.count(), 0, "{side:?} {access:?}");
        }
    }
}

/// Writes an executable hook.
pub fn write_hook(twins: &TwinClients, side: Side, name: &str, text: &str) {
    use std::os::unix::fs::PermissionsExt as _;
    let path = twins.repository(side).join("hooks").join(name);
    std::fs::write(&path, text).expect("because the repository is there");
    let mode = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(&path, mode).expect("because it was written");
}

/// The known differences are still there, and none of the commands succeeds.
#[test]
fn known_differences() {
    let repo = build(&Spec::small("1.14"));
    let twins = TwinClients::new(&repo, Access::Disk);
    twins.same("svn mkdir -m x {URL}/new");
    for (line, reason) in WRITING {
        let words: Vec<&str> = line.split(' ').collect();
        let [theirs, ours] = twins.outputs(&words, |tool| tool);
        assert!(theirs != ours, "{line}: no difference any more: {reason}");
        assert!(ours.ends_with("--- exit 1"), "{line}\n{ours}");
    }
    twins.same_repositories();
}

/// Random commits to a repository with branches and mergeinfo. Set `WRITE_SEEDS=A..B` for more of them.
#[test]
fn random_commits() {
    random_runs::run("WRITE_SEEDS", Cases::next);
}

/// Random locks, imports and changes of properties. Set `CHANGE_SEEDS=A..B` for more of them.
#[test]
fn random_changes() {
    random_runs::run("CHANGE_SEEDS", Cases::others);
}
