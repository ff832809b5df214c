//! Working copies: checkout, update, switch, status, export, on repositories of every format.

use testkit::{Spec, repo, sample};

use crate::pair::{ScenarioClient, ServerPair};

/// Records the state of a working copy in the transcript.
fn note_copy(c: &mut ScenarioClient, copy: &str) {
    c.note_tree(copy);
    c.svn_sorted(&["proplist", "-v", "-R", copy]);
    c.svn_sorted(&["status", "-v", copy]);
}

#[test]
fn export_and_log_in_every_format() {
    for spec in sample(3, repo::matrix()) {
        ServerPair::of(&spec).same(|c| {
            c.note(&spec.name);
            c.svn_sorted(&["export", "-q", "URL", "head"]);
            c.note_tree("head");
            c.svn(&["log", "-v", "--xml", "--with-all-revprops", "URL"]);
            c.svn_sorted(&["proplist", "-R", "-v", "URL"]);
        });
    }
}

#[test]
fn update_through_all_revisions() {
    let specs = [
        Spec::new("1.14").busy().named("f8"),
        Spec::new("1.4")
            .upgrade(repo::When::Halfway)
            .named("f2-to-f8-linear"),
    ];
    for spec in sample(2, specs) {
        ServerPair::of(&spec).same(updates);
    }
}

/// The requests of [`update_through_all_revisions`].
pub fn updates(c: &mut ScenarioClient) {
    c.svn(&["checkout", "-q", "-r", "1", "URL", "wc"]);
    for rev in c.part(4, 2..60).chain([30, 5, 44, 12, 0, 90]) {
        c.svn_sorted(&["update", "-r", &rev.to_string(), "wc"]);
        if rev % 7 == 0 {
            note_copy(c, "wc");
        }
    }
    note_copy(c, "wc");
}

#[test]
fn switch() {
    ServerPair::of(&Spec::new("1.14").busy().named("f8")).same(switches);
}

/// The requests of [`switch`].
pub fn switches(c: &mut ScenarioClient) {
    for line in [
        "checkout -q -r 30 URL/trunk wc",
        "switch -r 30 URL/branches/b2 wc",
        "switch -r 25 URL/branches/b1-moved wc",
        "switch --ignore-ancestry URL/trunk wc",
        "switch --ignore-ancestry URL/trunk/many wc/deep",
        "status -u wc",
        "update -r 80 wc",
        "switch -r 60 URL/branches/b3 wc",
        "switch URL/nosuch wc",
        "switch URL/trunk/hello.txt wc",
        "switch URL/trunk@9999 wc",
        "switch URL/branches/merged wc",
        "switch URL/trunk/c1.txt wc/c2.txt",
        "status -u -v wc",
        "info -R wc",
    ] {
        let args: Vec<&str> = line.split(' ').collect();
        c.svn_sorted(&args);
    }
    note_copy(c, "wc");
}

#[test]
fn checkouts_of_every_depth() {
    ServerPair::of(&Spec::new("1.14").busy().named("f8")).same(every_depth);
}

/// The requests of [`checkouts_of_every_depth`].
pub fn every_depth(c: &mut ScenarioClient) {
    for line in [
        "checkout --depth empty URL/trunk wc",
        "checkout --depth immediates URL/trunk@40 wc2",
    ] {
        let args: Vec<&str> = line.split(' ').collect();
        c.svn_sorted(&args);
    }
    let lines = [
        "update --set-depth files wc",
        "update --set-depth empty wc/dirs",
        "update --set-depth immediates wc",
        "update --set-depth infinity wc/many",
        "update --set-depth exclude wc/deep",
        "update -r 30 wc",
        "update wc",
        "update --set-depth infinity wc/deep",
        "status -u wc",
        "status -u --depth files wc",
        "update -r 12 wc",
        "update --depth files wc",
        "update --depth immediates wc",
        "update --depth infinity wc",
        "update --set-depth infinity wc",
        "update wc/many/file-007.txt -r 46",
        "update wc/nosuch",
        "update -r 20 wc/hello-copy.txt",
        "update -r 10 wc/hello-copy.txt",
        "update wc/hello-copy.txt",
        "update --parents --set-depth infinity wc2/many",
        "status -u -v wc2",
    ];
    for line in c.part(2, lines) {
        let args: Vec<&str> = line.split(' ').collect();
        c.svn_sorted(&args);
    }
    note_copy(c, "wc");
    note_copy(c, "wc2");
}

#[test]
fn status_with_local_changes() {
    ServerPair::of(&Spec::new("1.14").busy().named("f8")).same(local_changes);
}

/// The requests of [`status_with_local_changes`].
pub fn local_changes(c: &mut ScenarioClient) {
    c.svn(&["checkout", "-q", "-r", "40", "URL/trunk", "wc"]);
    let wc = c.dir().join("wc");
    std::fs::write(wc.join("hello.txt"), "mine\n").expect("because it is ours");
    std::fs::write(wc.join("unversioned"), "x").expect("because it is ours");
    std::fs::remove_file(wc.join("big.txt")).expect("because it is there");
    let lines = [
        "delete wc/c1.txt",
        "propset color pink wc/c2.txt",
        "copy wc/hello.txt wc/copied.txt",
        "status -u wc",
        "status -u -v wc",
        "update --accept postpone wc",
        "status -u wc",
        "info -R wc",
        "revert -R wc",
        "diff -r 20 wc",
        "update -r 20 wc",
        "status -u wc/many",
    ];
    for line in c.part(2, lines) {
        let args: Vec<&str> = line.split(' ').collect();
        c.svn_sorted(&args);
    }
    note_copy(c, "wc");
}

#[test]
fn checkouts_that_fail() {
    ServerPair::of(&Spec::new("1.14").busy().named("f8")).same(impossible);
}

/// The requests of [`checkouts_that_fail`].
pub fn impossible(c: &mut ScenarioClient) {
    let lines = [
        "checkout URL/nosuch wc",
        "checkout URL/trunk/hello.txt wc",
        "checkout -r 9999 URL/trunk wc",
        "checkout URL/trunk@1x wc",
        "export URL/nosuch out",
        "export -q URL/trunk/hello.txt hello",
        "export -q -r 3 URL/trunk/moved.txt hello",
        "export -r 9999 URL out",
    ];
    let lines: Vec<&str> = c.part(2, lines).collect();
    c.all(&lines);
    for url in ["URLx", "URL/../repo", "URL2/trunk"] {
        c.svn(&["info", url]);
    }
    c.note_tree("hello");
}
