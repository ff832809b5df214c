//! `svn propset`, `propdel` and `propedit` of revisions and URLs.

use testkit::{Side, Spec, Tool, build};

use crate::twins::{Access, TwinClients};
use crate::writing::{USER, all_same, same_words, write_hook};

#[test]
fn properties_of_revisions() {
    let repo = build(&Spec::small("1.14"));
    for access in Access::ALL {
        let twins = TwinClients::new(&repo, access);
        let lines = [
            "svn ps --revprop -r 1 foo bar {URL}",
            "svn ps --revprop -r HEAD foo bar {URL}/A",
            "svn ps -q --revprop -r 1 foo baz {URL}",
            "svn ps --revprop -r 99 foo bar {URL}",
            "svn ps --revprop -r 1 svn:date x {URL}",
            "svn ps --revprop -r 1 svn:entry:x --force x {URL}",
            "svn pd --revprop -r 1 foo {URL}",
            "svn pd --revprop -r 1 foo {URL}",
            "svn pd -q --revprop -r 2 svn:log {URL}",
            "svn pd --revprop -r 99 foo {URL}",
        ];
        all_same(&twins, &lines[..2]);
        let hooks = [
            ("pre-revprop-change", ""),
            ("post-revprop-change", "echo out; echo err >&2; exit 2\n"),
            ("pre-revprop-change", "echo out; echo err >&2; exit 2\n"),
        ];
        for (at, (name, text)) in hooks.iter().enumerate() {
            for side in Side::BOTH {
                write_hook(&twins, side, name, &format!("#!/bin/sh\n{text}"));
            }
            all_same(&twins, if at == 0 { &lines } else { &lines[..1] });
        }
        twins.same_repositories();
    }
}

/// In a character set that lacks a character of the value, an editor would lose it.
#[test]
fn edited_values_keep_their_characters() {
    let repo = build(&Spec::small("1.14"));
    let twins = TwinClients::new(&repo, Access::Disk);
    for side in Side::BOTH {
        write_hook(&twins, side, "pre-revprop-change", "#!/bin/sh\n");
    }
    twins.same("svn ps --revprop -r 1 svn:log Édit-後 {URL}");
    twins.same("svnmucc -m m propset svn:ignore é* {URL}/");
    for words in [
        &[
            "svn",
            "pe",
            "--revprop",
            "-r1",
            "svn:log",
            "--editor-cmd",
            "echo new >>",
            "{URL}",
        ][..],
        &[
            "svn",
            "pe",
            "-m",
            "m",
            "svn:ignore",
            "--editor-cmd",
            "echo new >>",
            "{URL}",
        ],
    ] {
        twins.same_prepared(words, |tool| tool.env("LC_ALL", "C"));
    }
    for encoding in ["ISO-8859-1", "US-ASCII"] {
        let [theirs, ours] = twins.outputs(
            &[
                "svn",
                "pe",
                "--revprop",
                "-r1",
                "svn:log",
                "--encoding",
                encoding,
                "--editor-cmd",
                "echo new >>",
                "{URL}",
            ],
            |tool| tool,
        );
        assert!(
            theirs.contains("--- exit 1") && ours.contains("--- exit 1"),
            "{theirs}{ours}"
        );
    }
    twins.same("svn pg --revprop -r 1 svn:log {URL}");
    twins.same("svn pg svn:ignore {URL}");
    twins.same_repositories();
}

/// Who cannot read `hooks-env` can read the repository.
#[test]
fn an_environment_of_hooks_that_cannot_be_read() {
    let repo = build(&Spec::small("1.14"));
    let twins = TwinClients::new(&repo, Access::Disk);
    for side in Side::BOTH {
        let path = twins.repository(side).join("conf/hooks-env");
        std::fs::write(path, "malformed\n").expect("because the repository is ours");
    }
    twins.all_same(&[
        "svn ls {URL}",
        "svn log -q -r 1 {URL}",
        "svn pg --revprop -r 1 svn:log {URL}",
    ]);
    let [theirs, ours] = twins.outputs(&["svn", "mkdir", "-m", "m", "{URL}/x"], |tool| tool);
    assert!(
        theirs.contains("--- exit 1") && ours.contains("--- exit 1"),
        "{theirs}{ours}"
    );
    twins.same("svn ls {URL}");
}

#[test]
fn names_values_and_arguments() {
    let repo = build(&Spec::small("1.14"));
    let twins = TwinClients::new(&repo, Access::Disk);
    for side in Side::BOTH {
        write_hook(&twins, side, "pre-revprop-change", "#!/bin/sh\n");
    }
    twins.file("value", "a\r\nb\r\n");
    twins.all_same(&[
        "svn ps",
        "svn ps foo",
        "svn ps foo bar",
        "svn ps foo bar baz",
        "svn ps foo bar {URL}",
        "svn ps foo bar {URL} baz",
        "svn ps -r 1 foo bar {URL}",
        "svn ps foo -F value",
        "svn ps foo -F nosuch {URL}",
        "svn ps --encoding latin1 foo bar {URL}",
        "svn ps svn:foo bar {URL}",
        "svn ps svn:eol-stlye bar {URL}",
        "svn ps snv:ignore bar {URL}",
        "svn ps 1x bar {URL}",
        "svn ps --revprop -r 1 svn:lgo x {URL}",
        "svn ps --revprop -r 1 svn:ignore x {URL}",
        "svn ps --revprop -r 1 svn:foo --force x {URL}",
        "svn ps --revprop -r 99 svn:entry:foo --force x {URL}",
        "svn ps --revprop -r 99 svn:date x {URL}",
        "svn ps svn:text-time bar {URL}",
        "svn ps svn:owner bar {URL}",
        "svn ps svn:oigores bar {URL}",
        "svn ps svn:extewords bar {URL}",
        "svn ps --revprop foo x {URL}",
        "svn ps --revprop -r PREV foo x {URL}",
        "svn ps --revprop -r 1:2 foo x {URL}",
        "svn ps --revprop -r 1 foo x",
        "svn ps --revprop -r 1 foo x y",
        "svn ps --revprop -r 1 foo x {URL} {URL}",
        "svn ps --revprop -r 1 foo x {URL}@2",
        "svn ps --revprop -r 1 foo x {URL}@",
        "svn ps --revprop -r {2040-01-01} foo x {URL}",
        "svn ps --revprop -r 1 foo -F value {URL}",
        "svn ps --revprop -r 1 svn:log -F value {URL}",
        "svn pd",
        "svn pd foo",
        "svn pd foo bar",
        "svn pd foo {URL}",
        "svn pd -r 1 foo {URL}",
        "svn pd --revprop foo {URL}",
        "svn pd --revprop -r 1:2 foo {URL}",
        "svn pd --revprop -r 1 foo",
        "svn pd --revprop -r 1 svn:foo {URL}",
        "svn pe",
        "svn pe foo",
        "svn pe foo bar",
        "svn pe -r 1 foo {URL}",
        "svn pe -r HEAD foo {URL}",
        "svn pe foo {URL}@1",
        "svn pe svn:foo {URL}",
        "svn pe --revprop foo {URL}",
        "svn pe --revprop -r 1 foo {URL} {URL}",
        "svn pe --revprop -r 99 foo {URL}",
        "svn pe --encoding latin1 foo {URL}",
    ]);
    for (name, value) in [
        ("svn:author", "a\nb"),
        ("svn:log", "a\r\nb"),
        ("svn:log", "a\rb\nc"),
        ("svn:log", ""),
        ("f o", "x"),
    ] {
        same_words(
            &twins,
            &["svn", "ps", "--revprop", "-r", "1", name, value, "{URL}"],
        );
    }
    twins.same_repositories();
}

/// An editor that changes the time of the file alone.
const LATER: &str = "touch -d +5seconds";

#[test]
fn edited_properties() {
    let repo = build(&Spec::small("1.14"));
    for access in [Access::Disk, Access::Http] {
        let twins = TwinClients::new(&repo, access);
        for side in Side::BOTH {
            write_hook(&twins, side, "pre-revprop-change", "#!/bin/sh\n");
        }
        let mut cases = vec![
            ("svn pe -m x foo {URL}/A", "echo new >"),
            ("svn pe -m x foo {URL}/A", "true"),
            ("svn pe -m x foo {URL}/iota {URL}/nosuch", "echo new >>"),
            ("svn pe -m x svn:executable {URL}/iota", "echo x >"),
            ("svn pe -m x svn:ignore {URL}/iota", "echo x >"),
            ("svn pe --revprop -r 1 svn:log {URL}", "echo new >"),
            ("svn pe --revprop -r 1 svn:log {URL}", "true"),
            ("svn pe --revprop -r 1 foo {URL}", "printf new >"),
            ("svn pe foo {URL}", "echo x >"),
            // The file has another time, and the same text.
            ("svn pe -m x missing {URL}/iota", LATER),
            ("svn pe -m x foo {URL}/A", LATER),
            ("svn pe --revprop -r 1 missing {URL}", LATER),
        ];
        if access == Access::Disk {
            cases.extend([
                ("svn pe svn:eol-style {URL}/A", LATER),
                ("svn pe -m x foo {URL}/A", "truncate -s 0"),
                ("svn pe -m x foo {URL}/A", LATER),
                ("svn pe -m x svn:ignore {URL}/A", "printf 'a\\n' >"),
                ("svn pe -m x svn:ignore {URL}/A", "printf 'a\\r\\n' >"),
                ("svn pe -m x svn:ignore {URL}/A", "printf a >"),
                ("svn pe -m x svn:executable {URL}/iota {URL}/A", "printf ' No ' >"),
                ("svn pe -m x svn:needs-lock {URL}/iota", "echo 0 >"),
                ("svn pe -m x svn:special {URL}/iota", "printf on >"),
                // The editor takes the file away.
                ("svn pe -m x foo {URL}", "rm"),
                ("svn pe --revprop -r 1 foo {URL}", "rm"),
                ("svn pe -m x foo {URL}", "false; rm"),
                ("svn pe -m x svn:executable {URL}", "echo x >"),
                ("svn pe -m x svn:eol-style {URL}/iota", "echo LF >"),
                ("svn pe -m x svn:mime-type {URL}/iota", "echo bad >"),
                ("svn pe -m x svn:mime-type --force {URL}/iota", "echo bad >"),
                ("svn pe -m x svn:mime-type {URL}/iota", "echo a/b >"),
                ("svn pe -m x svn:externals {URL}", "echo bad >"),
                ("svn pe -m x svn:externals {URL}", "printf '^/A a' >"),
                ("svn pe -m x svn:mergeinfo {URL}", "echo bad >"),
                ("svn pe -m x svn:mergeinfo {URL}", "echo /A:1 >"),
                ("svn pe -m x svn:ignore {URL}", "printf 'a\\r\\nb' >"),
                ("svn pe -m x svn:ignore {URL}", "printf 'a\\r\\nb\\n' >"),
                ("svn pe -m x svn:ignore {URL}", "printf '\\351\\n' >"),
                (
                    "svn pe -m x --encoding latin1 svn:ignore {URL}",
                    "printf '\\351\\n' >",
                ),
                ("svn pe -m x foo {URL}", "printf '\\351\\r\\n\\n' >"),
                ("svn pe -m x foo {URL}", "false"),
                ("svn pe --revprop -r 1 foo {URL}", "false"),
                ("svn pe -m x svn:wc:foo --force {URL}", "true"),
                ("svn pe -m x svn:entry:foo --force {URL}", "echo x >"),
                ("svn pe -m x foo {URL}", " "),
            ]);
        }
        for (line, editor) in cases {
            let line = format!("{line} {USER}");
            let words: Vec<&str> = line.split(' ').collect();
            twins.same_prepared(&words, |tool: Tool| tool.env("SVN_EDITOR", editor));
        }
        twins.same_repositories();
    }
}
