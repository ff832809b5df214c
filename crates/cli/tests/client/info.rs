//! `svn info`.

use testkit::sample_from;

use crate::read_repo;
use crate::twins::{Access, TwinClients};

#[test]
fn descriptions() {
    let repo = read_repo::repository();
    for access in Access::ALL {
        let twins = TwinClients::for_table(&repo, access);
        for target in [
            "{URL}",
            "{URL}/P/f",
            "{URL}/P/d",
            "{URL}/P/sp%20ace",
            "{URL}/P/Ünï",
            "{URL}@0",
        ] {
            for options in ["", "--xml", "-H", "--show-item repos-size", "-r HEAD"] {
                twins.same(&format!("svn info {options} {target}"));
            }
        }
        for options in [
            "-R",
            "--depth files",
            "--depth immediates --xml",
            "-R --show-item kind",
        ] {
            twins.same_unordered(&format!("svn info {options} {{URL}}/P"));
        }
        twins.all_same(&[
            "svn info {URL}/P/f {URL}/nosuch {URL}/P/moved",
            "svn info --xml {URL}/nosuch {URL}/P/moved",
            "svn info --xml --incremental {URL}/P/moved",
            "svn info -r 1 {URL}/P/moved",
            "svn info -r 9999 {URL}",
            "svn info {URL}/P/f@9999",
            "svn info foo://host/x {URL}",
            "svn info --show-item last-changed-author {URL}/P/d {URL}/P/long",
            "svn info --show-item last-changed-date {URL}/P/f",
            "svn info --show-item relative-url {URL} {URL}/P/sp%20ace",
        ]);
    }
}

/// A revision after `@` leaves the locks below a directory out, but for HEAD.
#[test]
fn locks_and_peg_revisions() {
    let repo = read_repo::repository();
    for (number, access) in Access::ALL.into_iter().enumerate() {
        let twins = TwinClients::new(&repo, access);
        twins.same("svn lock -m comment {URL}/P/f");
        let targets = ["{URL}/P/f", "{URL}/P/f@HEAD", "{URL}/P/f@{2100-01-01}"];
        let lines = targets.into_iter().flat_map(|target| {
            ["", "-r HEAD", "--xml"].map(|options| format!("svn info {options} {target}"))
        });
        for line in sample_from(number, 4, lines) {
            twins.same(&line);
        }
        let lines = ["", "@HEAD", "@2"].into_iter().flat_map(|peg| {
            ["-R", "--depth files"].map(|options| format!("svn info {options} {{URL}}/P{peg}"))
        });
        for line in sample_from(number, 4, lines) {
            twins.same_unordered(&line);
        }
    }
}

#[test]
fn items() {
    let repo = read_repo::repository();
    let twins = TwinClients::new(&repo, Access::Disk);
    for item in [
        "kind",
        "url",
        "relative-url",
        "repos-root-url",
        "repos-uuid",
        "repos-size",
        "revision",
        "last-changed-revision",
        "last-changed-date",
        "last-changed-author",
        "wc-root",
        "schedule",
        "depth",
        "changelist",
        "kin",
        "repos",
        "zork",
    ] {
        twins.same(&format!("svn info --show-item {item} {{URL}}/P/f"));
        twins.same(&format!("svn info --show-item {item} --no-newline {{URL}}/P/d"));
        twins.same(&format!("svn info --show-item {item} {{URL}}/P/d {{URL}}/P/f"));
    }
    twins.all_same(&[
        "svn info --show-item url --no-newline -R {URL}",
        "svn info --show-item url --xml {URL}",
        "svn info --no-newline {URL}",
        "svn info --no-newline --xml {URL}",
        "svn info -H --xml {URL}",
        "svn info --incremental {URL}",
    ]);
}
