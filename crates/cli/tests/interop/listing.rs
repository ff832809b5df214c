//! Reads without history: list, cat, info, properties, locks.

use testkit::Spec;

use crate::pair::{ScenarioClient, ServerPair};

fn rich() -> ServerPair {
    ServerPair::of(&Spec::new("1.14").busy().named("f8"))
}

#[test]
fn list() {
    rich().same(lists);
}

/// The requests of [`list`].
pub fn lists(c: &mut ScenarioClient) {
    let lines = [
        "list URL",
        "list -R URL",
        "list -v URL/trunk",
        "list -vR -r 20 URL",
        "list --depth empty URL/trunk",
        "list --depth files URL/trunk",
        "list --depth immediates URL/trunk",
        "list --xml -R URL/branches",
        "list -R --search *.TXT URL/trunk",
        "list -R --search t* --search H?LL* URL",
        "list -R --search gr* URL",
        "list URL/trunk/hello.txt",
        "list -v URL/trunk/big.txt@15",
        "list URL/nosuch",
        "list URL/trunk/hello.txt/below",
        "list -r 9999 URL",
        "list -r 0 URL",
        "list URL/branches/b1@16",
        "list URL/branches/b1",
        "list -r 16 URL/branches/b1-moved",
    ];
    let lines: Vec<&str> = c.part(3, lines).collect();
    c.all(&lines);
}

#[test]
fn cat() {
    rich().same(texts);
}

/// The requests of [`cat`].
pub fn texts(c: &mut ScenarioClient) {
    let lines = [
        "cat URL/trunk/hello.txt",
        "cat -r 3 URL/trunk/hello.txt",
        "cat -r 3 URL/trunk/moved.txt",
        "cat URL/trunk/hello.txt@3",
        "cat URL/trunk/empty.txt@2",
        "cat URL/trunk/never-a-text.txt@2",
        "cat URL/trunk/logo.bin",
        "cat URL/trunk/w-.bin@14",
        "cat URL/trunk/w-.bin",
        "cat URL/trunk",
        "cat URL/nosuch",
        "cat -r 3 URL/trunk/c1.txt",
        "cat -r 99999 URL/trunk/c1.txt",
    ];
    let lines: Vec<&str> = c.part(3, lines).collect();
    c.all(&lines);
    for rev in c.part(3, 2..16) {
        c.svn(&["cat", "-r", &rev.to_string(), "URL/trunk/big.txt@15"]);
    }
    let names = [
        "dir with spaces/a: b.txt",
        "at@sign.txt@",
        "100%25.txt",
        "日本語/テスト.txt",
    ];
    for name in c.part(2, names) {
        c.svn(&["cat", &format!("URL/trunk/{name}")]);
    }
}

#[test]
fn info() {
    rich().same(infos);
}

/// The requests of [`info`].
pub fn infos(c: &mut ScenarioClient) {
    let lines = [
        "info URL",
        "info -r 5 URL/trunk/hello.txt",
        "info URL/trunk/big.txt",
        "info --xml URL/iota URL/trunk/big.txt URL/tags/c3.txt",
        "info URL/nosuch",
        "info --show-item last-changed-revision URL/branches",
        "info -r {2020-01-20} URL",
        "info -r {1999-01-01} URL",
        "info -r {2099-01-01} URL",
    ];
    let lines: Vec<&str> = c.part(2, lines).collect();
    c.all(&lines);
    c.svn_by_paragraph(&["info", "-R", "URL/trunk"]);
    c.svn_by_paragraph(&["info", "--depth", "files", "URL/trunk"]);
}

#[test]
fn properties() {
    rich().same(all_properties);
}

/// The requests of [`properties`].
pub fn all_properties(c: &mut ScenarioClient) {
    let lines = [
        "proplist -v URL/trunk",
        "proplist -v -R URL",
        "proplist -v -R -r 20 URL",
        "proplist -v URL/trunk/hello.txt@4",
        "proplist -v --show-inherited-props URL/trunk/at@sign.txt@",
        "proplist -v --show-inherited-props -r 9 URL/trunk/no-newline",
        "propget -R svn:mergeinfo URL",
        "propget --show-inherited-props svn:ignore URL/trunk/many/file-001.txt",
        "proplist --revprop -v -r 1 URL",
        "proplist --revprop -v -r 0 URL",
        "proplist --revprop -v -r 9999 URL",
        "propget --revprop svn:log -r HEAD URL",
        "propget --revprop nosuch -r 1 URL",
        "proplist -v URL/nosuch",
    ];
    for line in c.part(3, lines) {
        let args: Vec<&str> = line.split(' ').collect();
        c.svn_sorted(&args);
    }
    for rev in c.part(8, 45..70) {
        c.svn_sorted(&["proplist", "--revprop", "-v", "-r", &rev.to_string(), "URL"]);
    }
}

#[test]
fn writing_is_refused() {
    let repo = testkit::build(&Spec::new("1.14").busy().named("f8"));
    ServerPair::serving(&repo, &["-R"]).same(|c| {
        c.all(&[
            "mkdir -m x URL/new",
            "delete -m x URL/trunk",
            "copy -m x URL/trunk URL/tags/new",
            "propset --revprop -r 1 svn:log new URL",
            "propdel --revprop -r 1 svn:log URL",
            "lock URL/trunk/hello.txt",
            "unlock --force URL/trunk/big.txt",
            "checkout -q --depth files URL/trunk wc",
            "propset color pink wc/hello.txt",
            "commit -m x wc",
            "lock wc/hello.txt",
        ]);
    });
}
