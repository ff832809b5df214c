//! `svnmucc`.

use testkit::{Side, Spec, Tool, build, sample_from};

use crate::random_runs;
use crate::random_writes::Cases;
use crate::twins::{Access, TwinClients};
use crate::writing::{all_same, write_hook};

#[test]
fn actions() {
    let repo = build(&Spec::small("1.14"));
    for (number, access) in Access::ALL.into_iter().enumerate() {
        let twins = TwinClients::new(&repo, access);
        twins.file("f", "text\n");
        twins.file("crlf", "a\r\nb\r\n");
        twins.file("empty", "");
        for actions in sample_from(number, ACTIONS.len(), ACTIONS) {
            all_same(&twins, actions);
        }
        // The older dialect checks resources out, and the texts of its errors differ.
        if access != Access::HttpV1 {
            all_same(&twins, OUT_OF_DATE);
        }
        twins.same_repositories();
    }
}

const OUT_OF_DATE: &[&str] = &[
    "svnmucc -r 1 -m x put f {URL}/A/mu",
    "svnmucc -r 2 -m x rm {URL}/A",
    "svnmucc -m x mkdir {URL}/no/such mkdir {URL}/q",
];

/// Lists of actions. The kinds of access share them.
const ACTIONS: &[&[&str]] = &[
    &[
        "svnmucc -m x mkdir {URL}/m1",
        "svnmucc -m x mkdir {URL}/m1",
        "svnmucc -m x mkdir {URL}/m2 mkdir {URL}/m2",
        "svnmucc -m x mkdir {URL}/m2 mkdir {URL}/m2/a put f {URL}/m2/a/f propset p v {URL}/m2/a/f propset q w {URL}/m2",
        "svnmucc -m x put f {URL}/A/mu",
        "svnmucc -m x put empty {URL}/A/mu put empty {URL}/empty",
        "svnmucc -m x put f {URL}/nosuch/f",
        "svnmucc -m x rm {URL}/nosuch",
        "svnmucc -m x rm {URL}/m1 mkdir {URL}/m1",
        "svnmucc -m x rm {URL}/m1 put f {URL}/m1",
        "svnmucc -m x put f {URL}/m2",
    ],
    &[
        "svnmucc -m x cp HEAD {URL}/A {URL}/A2",
        "svnmucc -m x cp HEAD {URL}/A {URL}/A2",
        "svnmucc -m x cp 1 {URL}/A {URL}/A3",
        "svnmucc -m x cp 99 {URL}/A {URL}/A4",
        "svnmucc -m x cp HEAD {URL}/nosuch {URL}/A4",
        "svnmucc -m x cp HEAD {URL}/A {URL}/A4 put f {URL}/A4/mu put f {URL}/A4/new rm {URL}/A4/mu",
        "svnmucc -m x cp HEAD {URL}/A {URL}/A4 put f {URL}/A4/mu put f {URL}/A4/new",
    ],
    &[
        "svnmucc -m x cp HEAD {URL}/A {URL}/A5 rm {URL}/A5/mu cp HEAD {URL}/iota {URL}/A5/mu",
        "svnmucc -m x cp HEAD {URL}/A {URL}/A6 rm {URL}/A6/nosuch",
        "svnmucc -m x cp HEAD {URL}/A {URL}/A6 mkdir {URL}/A6/mu",
        "svnmucc -m x mv {URL}/A5 {URL}/A6",
        "svnmucc -m x mv {URL}/A6/mu {URL}/A6/nu mv {URL}/iota {URL}/A6/mu",
        "svnmucc -m x mv {URL}/A6/mu {URL}/A6/mu",
        "svnmucc -m x put f {URL}/A6/x/y mv {URL}/A6 {URL}/A7",
        "svnmucc -m x propset foo bar {URL}/A6",
        "svnmucc -m x propset foo bar {URL}/A6/mu",
        "svnmucc -m x propset foo bar {URL}/nosuch",
        "svnmucc -m x propset foo bar {URL}",
        "svnmucc -m x propset x y {URL}/A6 rm {URL}/A6",
    ],
    &[
        "svnmucc -m x cp HEAD {URL}/A {URL}/A6",
        "svnmucc -m x propset x y {URL}/A6/mu put f {URL}/A6/mu",
        "svnmucc -m x put f {URL}/A6/mu put f {URL}/A6/mu",
        "svnmucc -m x put f {URL}/zz put f {URL}/zz",
        "svnmucc -m x put f {URL}/zz rm {URL}/zz",
        "svnmucc -m x propsetf svn:ignore crlf {URL}/A6",
        "svnmucc -m x propdel foo {URL}/A6 propdel nosuch {URL}/A6/mu",
        "svnmucc -m x rm {URL}/A6/mu rm {URL}/A6",
        "svnmucc -m x rm {URL}/A4 rm {URL}/A4/mu",
        "svnmucc -r 99 -m x mkdir {URL}/q",
        "svnmucc -m x mkdir {URL}/A/mu/x",
        "svnmucc -m x cp HEAD {URL} {URL}/root",
        "svnmucc -U {URL} -m x mkdir a%20b cp HEAD A a%20b/A",
        // In a copy in a new directory.
        "svnmucc -m x mkdir {URL}/n1 cp HEAD {URL}/A {URL}/n1/A rm {URL}/n1/A/mu",
        "svnmucc -m x mkdir {URL}/n2 cp HEAD {URL}/A {URL}/n2/A put f {URL}/n2/A/mu propset p v {URL}/n2/A/mu",
        "svnmucc -m x mkdir {URL}/n3 mkdir {URL}/n3/n cp 1 {URL}/A {URL}/n3/n/A mkdir {URL}/n3/n/A/mu",
        "svnmucc -m x mkdir {URL}/n4 cp HEAD {URL}/A {URL}/n4/A mv {URL}/n4/A/mu {URL}/n4/nu",
    ],
];

#[test]
fn values_and_arguments() {
    let repo = build(&Spec::small("1.14"));
    let twins = TwinClients::new(&repo, Access::Disk);
    twins.file("f", "text\n");
    twins.file("mixed", "a\r\nb\n");
    twins.file("bytes", b"b\xe4r\n");
    for side in Side::BOTH {
        let url = twins.url(side);
        let words = format!("mkdir\n{url}/x1\n\nput\nf\n{url}/x2\r\n");
        std::fs::write(twins.dir(side).join("more"), words).expect("because the directory is there");
    }
    twins.all_same(&[
        "svnmucc foo",
        "svnmucc -m x --with-revprop svn:foo=b foo",
        "svnmucc -m x --with-revprop svn:foo=b rm {URL}/nosuch",
        "svnmucc --with-revprop svn:foo=b mkdir {URL}/q",
        "svnmucc -F bytes mkdir {URL}/q",
        "svnmucc -m x MKDIR {URL}/x",
        "svnmucc -m x mkdir",
        "svnmucc -m x cp",
        "svnmucc -m x cp foo {URL}/A {URL}/B",
        "svnmucc -m x cp BASE {URL}/A {URL}/B",
        "svnmucc -m x mkdir x1",
        "svnmucc -m x -U foo mkdir x1",
        "svnmucc -m x put nosuch {URL}/x",
        "svnmucc -m x propsetf foo nosuch {URL}",
        "svnmucc -m x propsetf svn:ignore mixed {URL}",
        "svnmucc -m x propset 1x z {URL}",
        "svnmucc -m x propdel 1x {URL}",
        "svnmucc -m x propdel \u{e9} {URL}/iota",
        "svnmucc -m x propset svn:log z {URL}",
        "svnmucc -m x propset svn:wc:foo z {URL}",
        "svnmucc -m x propset svn:entry:foo z {URL}",
        "svnmucc -m x propset svn:mime-type bad {URL}/iota",
        "svnmucc -m x propset svn:mime-type a/b {URL}/iota",
        "svnmucc -m x propset svn:eol-style bad {URL}/A/mu",
        "svnmucc -m x propset svn:eol-style LF {URL}/iota",
        "svnmucc -m x propset svn:eol-style LF {URL}/A/mu",
        "svnmucc -m x propset svn:executable z {URL}",
        "svnmucc -m x propset svn:executable z {URL}/iota",
        "svnmucc -m x propset svn:externals bad {URL}/A",
        "svnmucc -m x propset svn:mergeinfo bad {URL}/A",
        "svnmucc -m x propset svn:mergeinfo /A:1 {URL}/A",
        "svnmucc -m x propset svn:ignore x {URL}/nosuch",
        "svnmucc -m x propset svn:foo x {URL}",
        "svnmucc -r foo -m x mkdir {URL}/q",
        "svnmucc -r HEAD -m x mkdir {URL}/q",
        "svnmucc mkdir {URL}/q",
        "svnmucc -F f mkdir {URL}/q1",
        "svnmucc -F nosuch mkdir {URL}/q2",
        "svnmucc -F f -m x mkdir {URL}/q2",
        "svnmucc -F mixed mkdir {URL}/q2",
        "svnmucc --with-revprop svn:log=b mkdir {URL}/q2",
        "svnmucc -m x --with-revprop svn:log=b mkdir {URL}/q3",
        "svnmucc -m x --with-revprop svn:foo=b mkdir {URL}/q3",
        "svnmucc -m x --with-revprop a=b mkdir {URL}/q3",
        "svnmucc -m x --with-revprop= mkdir {URL}/q4",
        "svnmucc -m x -X more",
        "svnmucc -m x -X nosuch",
        "svnmucc -m x -X /dev/null mkdir {URL}/q5",
        "svnmucc -q",
        "svnmucc --bad",
        "svnmucc -m",
        "svnmucc -m x mkdir {URL}",
        "svnmucc -m x mkdir {URL}/x mkdir file:///nosuch/x",
        "svnmucc -m x --non-interactive --force-interactive mkdir {URL}/x",
        "svnmucc -m x -- put - {URL}/stdin",
    ]);
    let words = ["svnmucc", "--force-interactive", "mkdir", "{URL}/ed"];
    for editor in ["true", "echo edited >", "false", "rm", "printf '\\351' >"] {
        twins.same_prepared(&words, |tool: Tool| tool.env("SVN_EDITOR", editor));
    }
    for side in Side::BOTH {
        write_hook(&twins, side, "post-commit", "#!/bin/sh\necho err >&2\nexit 1\n");
    }
    twins.same("svnmucc -m x mkdir {URL}/hook");
    twins.same_repositories();
}

/// Random lists of actions. Set `ACTION_SEEDS=A..B` for more of them.
#[test]
fn random_actions() {
    random_runs::run("ACTION_SEEDS", Cases::actions);
}

/// Texts with line ends of several kinds get no `svn:eol-style`; a message in a file ends before a NUL.
#[test]
fn line_ends_and_messages_in_files() {
    let repo = build(&Spec::small("1.14"));
    for (at, access) in [Access::Disk, Access::Http].into_iter().enumerate() {
        let twins = TwinClients::new(&repo, access);
        twins.file("message", b"first\0second\xff");
        let texts = [
            "a\r\nb\n",
            "a\nb\r\n",
            "a\rb\n",
            "a\n\r\nb",
            "a\r\nb\r\n",
            "a\nb",
            "",
            "\r",
        ];
        for (number, text) in sample_from(at, 2, texts.into_iter().enumerate()) {
            twins.file("t", text);
            for actions in [
                "put t {URL}/fN",
                "propset svn:eol-style native {URL}/fN",
                "propset svn:eol-style CRLF {URL}/fN",
                "put t {URL}/gN propset svn:eol-style LF {URL}/gN",
                "propset svn:eol-style native {URL}/fN put t {URL}/fN",
                "cp HEAD {URL}/fN {URL}/cN propset svn:eol-style native {URL}/cN",
            ] {
                let actions = actions.replace('N', &number.to_string());
                twins.same(&format!("svnmucc -F message -u alice -p secret {actions}"));
            }
        }
        twins.same_repositories();
    }
}
