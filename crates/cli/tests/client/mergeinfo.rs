//! `svn mergeinfo`.

use testkit::history::Random;
use testkit::{Repo, Side, branch_history, seeds};

use crate::twins::{Access, TwinClients};

/// Makes a repository with branches, mergeinfo of several forms, a renamed branch and one of a branch.
fn repository() -> Repo {
    let repo = Repo::create("1.14");
    let commit = |words: &[&str]| {
        let scratch = testkit::scratch();
        let file = scratch.path().join("text");
        std::fs::write(&file, format!("{words:?}{}", repo.youngest()))
            .expect("because the directory is there");
        let words = words.iter().map(|word| match *word {
            "FILE" => file.to_string_lossy().into_owned(),
            word => word.to_owned(),
        });
        Side::Theirs
            .tool("svnmucc")
            .args(["--non-interactive", "-u", "alice", "-m", "made for a test", "-U"])
            .arg(repo.url())
            .args(words)
            .ok();
    };
    let put = |path: &str| commit(&["put", "FILE", path]);
    let merge = |path: &str, mergeinfo: &str| commit(&["propset", "svn:mergeinfo", mergeinfo, path]);
    commit(&[
        "mkdir",
        "trunk",
        "mkdir",
        "branches",
        "mkdir",
        "trunk/A",
        "mkdir",
        "trunk/C",
        "put",
        "FILE",
        "trunk/f",
        "put",
        "FILE",
        "trunk/A/g",
        "put",
        "FILE",
        "trunk/C/i",
    ]);
    commit(&["cp", "HEAD", "trunk", "branches/b1"]);
    [
        "trunk/f",
        "trunk/A/g",
        "trunk/A/g",
        "trunk/C/i",
        "trunk/f",
        "trunk/A/g",
        "branches/b1/C/i",
    ]
    .iter()
    .for_each(|path| put(path));
    commit(&["put", "FILE", "trunk/A/g", "put", "FILE", "trunk/C/i"]);
    merge("branches/b1", "/trunk:3,5");
    merge("branches/b1", "/trunk:3-5*,7");
    merge("branches/b1", "/trunk:3-5");
    merge("branches/b1/A", "/trunk/A:4*,5,10");
    merge("branches/b1/C", "/trunk/C:10");
    commit(&["cp", "8", "trunk", "branches/b2"]);
    ["branches/b2/A/g", "branches/b2/f"]
        .iter()
        .for_each(|path| put(path));
    commit(&["cp", "HEAD", "branches/b2", "branches/b3"]);
    put("branches/b3/f");
    merge("branches/b3/A", "/branches/b2/A:17");
    merge("trunk", "/branches/b2:9-18");
    commit(&[
        "cp",
        "HEAD",
        "trunk",
        "branches/b4",
        "put",
        "FILE",
        "branches/b4/f",
    ]);
    commit(&["mv", "branches/b4", "branches/b5"]);
    put("branches/b5/f");
    repo
}

#[test]
fn branches_and_their_merges() {
    let repo = repository();
    for access in Access::ALL {
        let twins = TwinClients::new(&repo, access);
        let branches = [
            "trunk",
            "branches/b1",
            "branches/b2",
            "branches/b3",
            "branches/b5",
        ];
        for source in branches {
            for target in branches {
                twins.same(&format!("svn mergeinfo {{URL}}/{source} {{URL}}/{target}"));
            }
        }
        for (source, target) in [
            ("trunk", "b1"),
            ("branches/b2", "b1"),
            ("branches/b3", "b2"),
            ("trunk@10", "b1@12"),
        ] {
            for which in ["merged", "eligible"] {
                for options in ["", "-R", "-r 4:8", "-r HEAD:5 --log"] {
                    twins.same(&format!(
                        "svn mergeinfo --show-revs {which} {options} {{URL}}/{source} {{URL}}/branches/{target}"
                    ));
                }
            }
        }
        twins.all_same(&[
            "svn mergeinfo {URL}/trunk/A {URL}/branches/b1/A",
            "svn mergeinfo {URL} {URL}@5",
            "svn mergeinfo {URL}/trunk {URL}",
            "svn mergeinfo {URL}/trunk {URL}/nosuch",
            "svn mergeinfo {URL}/nosuch {URL}/nosuch2",
            "svn mergeinfo --show-revs merged {URL}/nosuch {URL}/nosuch2",
            "svn mergeinfo {URL}/trunk@999 {URL}/trunk",
            "svn mergeinfo --show-revs merged --log -v -q {URL}/trunk {URL}/branches/b1",
            "svn mergeinfo --show-revs merged --log --incremental {URL}/trunk {URL}/branches/b1",
            "svn mergeinfo --show-revs eligible --log {URL}/trunk {URL}/trunk",
        ]);
    }
}

/// Which revisions of a copied or renamed branch count: those that only copy or rename it do not, those that change its source do.
#[test]
fn revisions_that_copy_and_rename() {
    let repo = Repo::create("1.14");
    let commit = |words: &[&str]| {
        let tool = Side::Theirs
            .tool("svnmucc")
            .args(["--non-interactive", "-m", "made for a test", "-U"]);
        tool.arg(repo.url()).args(words).ok();
    };
    commit(&["mkdir", "c", "mkdir", "other", "mkdir", "c/d"]);
    commit(&["cp", "1", "c", "renamed"]);
    commit(&["mv", "renamed", "renamed2"]);
    commit(&["propset", "p", "v", "renamed2"]);
    commit(&["mv", "renamed2", "renamed3", "mkdir", "other/d"]);
    commit(&["cp", "HEAD", "c", "with-source", "propset", "p", "v", "c"]);
    commit(&["cp", "HEAD", "c", "with-entry", "mkdir", "c/e"]);
    commit(&["cp", "HEAD", "c", "c/within"]);
    commit(&["rm", "c/within", "cp", "HEAD", "c", "c/within"]);
    commit(&["rm", "with-source", "cp", "6", "c", "with-source"]);
    let twins = TwinClients::new(&repo, Access::Disk);
    for source in [
        "c",
        "renamed3",
        "renamed2@4",
        "with-source",
        "with-source@6",
        "with-entry",
        "c/within",
    ] {
        twins.same(&format!(
            "svn mergeinfo --show-revs eligible {{URL}}/{source} {{URL}}/other"
        ));
    }
}

#[test]
fn wrong_use() {
    let twins = TwinClients::new(&repository(), Access::Disk);
    twins.all_same(&[
        "svn mergeinfo",
        "svn mergeinfo a b c",
        "svn mergeinfo {URL}/trunk",
        "svn mergeinfo foo",
        "svn mergeinfo foo bar",
        "svn mergeinfo foo {URL}",
        "svn mergeinfo {URL}/trunk@foo {URL}@bar",
        "svn mergeinfo -r1 {URL}/trunk {URL}/trunk",
        "svn mergeinfo -R {URL}/trunk {URL}/trunk",
        "svn mergeinfo --log -v {URL}/trunk {URL}/trunk",
        "svn mergeinfo -v {URL}/trunk {URL}/trunk",
        "svn mergeinfo -q {URL}/trunk {URL}/trunk",
        "svn mergeinfo --incremental {URL}/trunk {URL}/trunk",
        "svn mergeinfo --show-revs merged -q -v {URL}/trunk {URL}/trunk",
        "svn mergeinfo --show-revs merged --depth files {URL}/nosuch {URL}/trunk",
        "svn mergeinfo --show-revs merged -r BASE {URL}/trunk {URL}/trunk",
        "svn mergeinfo --show-revs merged -r 0:999 {URL}/trunk {URL}/trunk",
        "svn mergeinfo {URL}/trunk {URL}/trunk@BASE",
    ]);
}

/// Random histories of branches, with random mergeinfo.
#[test]
fn random_branches() {
    for seed in seeds("MERGEINFO_SEEDS", 0..2) {
        let history = branch_history::history(seed, 30);
        let repo = Repo::create("1.14");
        repo.load(history.stream.bytes());
        let listing = testkit::Tool::new("svnlook")
            .args(["tree", "--full-paths"])
            .arg(repo.path())
            .ok()
            .out();
        let directories: Vec<&str> = listing
            .lines()
            .filter_map(|line| line.strip_suffix('/'))
            .collect();
        let twins = TwinClients::new(&repo, Access::Disk);
        let mut random = Random::new(seed);
        let mut pick = || {
            let path = directories[random.below(directories.len())];
            let peg = if random.below(3) == 0 {
                format!("@{}", random.below(31))
            } else {
                String::new()
            };
            format!("{{URL}}/{path}{peg}")
        };
        for _ in 0..12 {
            let (source, target) = (pick(), pick());
            println!("seed {seed}: {source} {target}");
            twins.same(&format!("svn mergeinfo {source} {target}"));
            for options in ["merged", "eligible", "merged -R", "eligible -R"] {
                twins.same(&format!("svn mergeinfo --show-revs {options} {source} {target}"));
            }
        }
    }
}
