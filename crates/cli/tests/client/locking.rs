//! `svn lock` and `unlock` with URLs.

use testkit::{Side, Spec, build, sample_from};

use crate::twins::{Access, TwinClients};
use crate::writing::{USER, all_same, same_words, write_hook};

#[test]
fn locks_over_all_kinds_of_access() {
    let repo = build(&Spec::small("1.14"));
    for (number, access) in Access::ALL.into_iter().enumerate() {
        let twins = TwinClients::new(&repo, access);
        twins.file("comment", "a\r\nb\r\n");
        for lines in sample_from(number + 1, LOCKS.len(), LOCKS) {
            all_same(&twins, lines);
            // Over HTTP, Subversion's client sends several requests at once and fails in the login.
            if lines == LOCKS[2] && matches!(access, Access::Disk | Access::Svn) {
                all_same(
                    &twins,
                    &[
                        "svn unlock {URL}/iota {URL}/A/mu",
                        "svn lock {URL}/iota {URL}/A/mu {URL}/free {URL}/nosuch",
                        "svn unlock --force {URL}/free {URL}/A/mu {URL}/nosuch {URL}/iota",
                    ],
                );
            }
        }
        twins.same_repositories();
    }
}

/// Commands about locks. The kinds of access share the lists.
const LOCKS: [&[&str]; 3] = [
    &[
        "svn lock {URL}/iota",
        "svn lock {URL}/iota",
        "svn lock --force {URL}/iota",
        "svn lock {URL}/A",
        "svn unlock {URL}/iota",
        "svn unlock {URL}/iota",
        "svn unlock --force {URL}/iota",
    ],
    &[
        "svn lock -m text {URL}/A/mu {URL}/A/mu",
        "svn lock -F comment --force {URL}/A/mu",
        "svn lock {URL}/nosuch",
        "svn lock -q {URL}/A/nosuch",
        "svn unlock {URL}/A",
        "svn unlock {URL}/nosuch",
        "svn unlock --force {URL}/nosuch",
        "svn unlock -q {URL}/A/mu",
    ],
    &[
        // The last `@` is no part of the name.
        "svnmucc -m x cp HEAD {URL}/iota {URL}/a@b",
        "svn lock {URL}/a@b@",
        "svn lock {URL}/iota@",
        "svn unlock {URL}/iota@@",
        "svn unlock {URL}/a@b@",
        "svn unlock {URL}/iota@",
        "svn lock {URL}/iota",
        "svn lock {URL}/A/mu",
        "svn rm -m x {URL}/iota",
        "svn mv -m x {URL}/A {URL}/A2",
        "svn cp -m x {URL}/iota {URL}/free",
        "svnmucc -m x rm {URL}/iota",
    ],
];

#[test]
fn locks_of_others_and_hooks() {
    let repo = build(&Spec::small("1.14"));
    for access in [Access::Svn, Access::Http] {
        let twins = TwinClients::new(&repo, access);
        for side in Side::BOTH {
            let tool = testkit::Tool::new("svnadmin").arg("lock");
            tool.arg(twins.repository(side))
                .args(["iota", "harry", "/dev/null", "opaquelocktoken:1"])
                .ok();
        }
        all_same(
            &twins,
            &[
                "svn lock {URL}/iota",
                "svn unlock {URL}/iota",
                "svn lock --force {URL}/iota",
                "svn unlock --force {URL}/iota",
            ],
        );
    }
}

/// Returns the hooks, the commands that concern them, and the owners of the locks.
fn cases_of_hooks(is_http: bool) -> Vec<[&'static str; 3]> {
    let locking = &["lock", "lock --force"][..];
    let unlocking = &["unlock", "unlock --force", "unlock {URL}/A/mu --force"][..];
    let mut cases = Vec::new();
    for (hook, commands) in [
        ("pre-lock", locking),
        ("post-lock", locking),
        ("pre-unlock", unlocking),
        ("post-unlock", unlocking),
    ] {
        // Over HTTP, Subversion's client sends several requests at once and fails in the login.
        let commands = commands
            .iter()
            .filter(|command| !is_http || !command.contains("mu"));
        cases
            .extend(commands.flat_map(|command| ["", "alice", "harry"].map(|owner| [hook, *command, owner])));
    }
    cases
}

/// Each hook fails for each command, where the file is locked and where it is not.
#[test]
fn failing_hooks() {
    let repo = build(&Spec::small("1.14"));
    let admin = |twins: &TwinClients, side: Side, command: &str, args: &[&str]| {
        let tool = testkit::Tool::new("svnadmin").arg(command);
        tool.arg(twins.repository(side)).args(args).ok();
    };
    let mut differences = Vec::new();
    for (number, access) in Access::ALL.into_iter().enumerate() {
        let twins = TwinClients::new(&repo, access);
        let is_http = matches!(access, Access::Http | Access::HttpV1);
        for [hook, command, owner] in sample_from(number, 4, cases_of_hooks(is_http)) {
            for side in Side::BOTH {
                let lock = |path: &str, token: &str| {
                    admin(&twins, side, "lock", &[path, owner, "/dev/null", token]);
                };
                if !owner.is_empty() {
                    lock("iota", "opaquelocktoken:1");
                }
                if !owner.is_empty() && command.contains("mu") {
                    lock("A/mu", "opaquelocktoken:2");
                }
                write_hook(&twins, side, hook, "#!/bin/sh\necho no >&2\nexit 1\n");
            }
            let line = format!("svn {command} {{URL}}/iota {USER}");
            let words: Vec<&str> = line.split(' ').collect();
            let [theirs, ours] = twins.outputs(&words, |tool| tool);
            if theirs != ours {
                differences.push(format!(
                    "{access:?} {hook} {command} {owner}\n--- theirs\n{theirs}\n--- ours\n{ours}"
                ));
            }
            for side in Side::BOTH {
                write_hook(&twins, side, hook, "#!/bin/sh\n");
                admin(&twins, side, "rmlocks", &["iota", "A/mu"]);
            }
        }
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

#[test]
fn comments_and_arguments() {
    let repo = build(&Spec::small("1.14"));
    let twins = TwinClients::new(&repo, Access::Disk);
    twins.file("zero", "a\0b");
    twins.file("latin", b"a\xe9\n");
    twins.file("targets", "nosuch://x\r\n\n");
    twins.all_same(&[
        "svn lock",
        "svn lock foo",
        "svn lock foo {URL}/iota",
        "svn lock {URL}/iota@1",
        "svn lock -m zero {URL}/iota",
        "svn lock -m x -F zero {URL}/iota",
        "svn lock -F zero {URL}/iota",
        "svn lock -F latin {URL}/iota",
        "svn lock -F latin --encoding latin1 {URL}/iota",
        "svn lock --targets targets",
        "svn lock --targets nosuch",
        "svn lock --targets /dev/null",
        "svn lock file:///nosuch/x",
        "svn lock {URL}",
        "svn unlock",
        "svn unlock foo",
        "svn unlock {URL}/iota@HEAD",
        "svn unlock {URL}/iota@",
    ]);
    for comment in ["a\r\nb", "a\rb\n", "a\u{1}b", "é"] {
        same_words(&twins, &["svn", "lock", "--force", "-m", comment, "{URL}/iota"]);
    }
    twins.same(&format!("svn unlock {{URL}}/iota {USER}"));
}
