//! Any client with any server: one scenario by Subversion's and Sven's clients, with Subversion's and Sven's servers, over each protocol. All
//! four say the same, and leave the same repository.

use std::os::unix::fs::PermissionsExt as _;

use testkit::{Repo, Side, Spec, Tool, build, normalize, runs_all_cases, sample_from};

use crate::twins::{Access, TwinClients};

/// The scenario: reading, commits, locks, revision properties, errors. Each line is a command. The kinds of access share those with a
/// question mark, which change nothing.
const SCENARIO: &str = "
    ? svn info {URL}
    ? svn list -v -R {URL}
    ? svn log -v {URL}
    svn mkdir -m one {URL}/one --username alice --password secret
    ? svn mkdir -m one {URL}/one --username alice --password secret
    svn import -q -m tree {DIR}/tree {URL}/one/tree --username alice --password secret
    svn copy -m copy {URL}/one {URL}/two --username alice --password secret
    svn move -m move {URL}/two/tree/a {URL}/two/b --username alice --password secret
    svnmucc -m mucc put {DIR}/tree/a {URL}/one/tree/a rm {URL}/two/tree propset p v {URL}/two --username alice --password secret
    ? svn delete -m delete {URL}/two {URL}/none --username alice --password secret
    svn delete -m delete {URL}/two/b --username alice --password secret
    ? svn cat {URL}/one/tree/a
    ? svn cat {URL}/none
    svn lock -m mine {URL}/one/tree/a --username alice --password secret
    ? svn lock -m mine {URL}/one/tree/a --username harry --password secret
    ? svn info {URL}/one/tree/a
    ? svn delete -m locked {URL}/one/tree/a --username harry --password secret
    ? svnsync copy-revprops {URL} {URL} --sync-username alice --sync-password wrong --no-auth-cache
    svn unlock {URL}/one/tree/a --username alice --password secret
    svn propset --revprop -r 1 p value {URL} --username alice --password secret
    ? svn propget --revprop -r 1 p {URL}
    ? svn propset --revprop -r 1 p value {URL} --username alice --password wrong --no-auth-cache
    ? svn blame {URL}/one/tree/a
    ? svn diff --summarize {URL}@1 {URL}@HEAD
    svn export -q {URL} {DIR}/exported
    ? svn log -q -l 3 {URL}
    ? svn mergeinfo --show-revs eligible {URL}/one {URL}/two
";

fn prepare(twins: &TwinClients) {
    for side in Side::BOTH {
        let hook = twins.repository(side).join("hooks/pre-revprop-change");
        std::fs::write(&hook, "#!/bin/sh\nexit 0\n").expect("because it is a copy");
        std::fs::set_permissions(&hook, std::fs::Permissions::from_mode(0o755)).expect("because it is there");
        std::fs::create_dir(twins.dir(side).join("tree")).expect("because the directory is new");
    }
    twins.file("tree/a", "one\ntwo\n");
    twins.file("tree/b", "");
}

/// Returns the commands of the kind of access with this number.
fn commands(number: usize) -> Vec<&'static str> {
    let lines = SCENARIO.lines().map(str::trim).filter(|line| !line.is_empty());
    let shared = lines.clone().filter(|line| line.starts_with('?'));
    let own: Vec<&str> = sample_from(number, 4, shared).collect();
    let chosen = lines.filter(|line| !line.starts_with('?') || own.contains(line));
    chosen.map(|line| line.trim_start_matches("? ")).collect()
}

/// Runs the scenario with both clients, and returns what they printed.
fn run(repo: &Repo, (number, access): (usize, Access), servers: Side) -> (Vec<String>, String) {
    let twins = TwinClients::with_servers(repo, access, servers);
    prepare(&twins);
    let printed: Vec<String> = commands(number)
        .into_iter()
        .map(|line| format!("{line}\n{}", twins.same(line)))
        .collect();
    twins.same_repositories();
    let exported = |side| {
        let tool = Tool::new("find").args(["exported", "-printf", "%P %y %m %s\n"]);
        let found = tool.dir(&twins.dir(side)).ok().out();
        normalize::sorted_lines(&found).join("\n")
    };
    let trees = Side::BOTH.map(exported);
    assert_eq!(trees[0], trees[1], "the exports of {access:?}");
    (printed, trees[0].clone())
}

#[test]
fn all_clients_and_servers_agree() {
    let repo = build(&Spec::small("1.14"));
    // Without encryption, the requests are the same ones.
    let plain = runs_all_cases().then_some(Access::Http);
    let network = [Access::Svn, Access::HttpV1, Access::Https];
    for (number, access) in network.into_iter().chain(plain).enumerate() {
        let theirs = run(&repo, (number, access), Side::Theirs);
        let ours = run(&repo, (number, access), Side::Ours);
        for (theirs, ours) in theirs.0.iter().zip(&ours.0) {
            assert_eq!(theirs, ours, "{access:?}: servers differ");
        }
        assert_eq!(theirs.1, ours.1);
    }
    run(&repo, (3, Access::Disk), Side::Theirs);
}

#[test]
fn redirects_are_followed() {
    let repo = build(&Spec::small("1.14"));
    for servers in Side::BOTH {
        let twins = TwinClients::with_servers(&repo, Access::Http, servers);
        for line in [
            "svn info {MOVED}/A/mu",
            "svn log -q {MOVED}",
            "svn list {MOVED}/A",
            "svn cat {MOVED}/iota",
            "svn mkdir -m m {MOVED}/new --username alice --password secret",
            "svn export -q {MOVED}/A exported",
            "svn mkdir -q -m m {MOVED}/quiet --username alice --password secret",
            "svn delete -m m {MOVED}/iota --username alice --password secret",
            "svn copy -m m {MOVED}/A {MOVED}/new --username alice --password secret",
            "svn lock {MOVED}/iota --username alice --password secret",
            "svn propset --revprop -r 1 p v {MOVED}/A --username alice --password secret",
            "svn proplist --revprop -r 1 {MOVED}/A",
            "svn proplist -v {MOVED}/A/mu",
            "svn diff -r 1:2 {MOVED}/A",
            "svn diff --summarize -r 1:2 {MOVED}/A",
            "svnmucc -m m mkdir {MOVED}/quiet --username alice --password secret",
            "svnrdump dump -q {MOVED}/A",
            "svn list {ELSEWHERE}/A",
        ] {
            twins.same(line);
        }
        twins.same_repositories();
    }
}
