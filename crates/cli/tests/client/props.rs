//! `svn propget` and `svn proplist`.

use testkit::sample;

use crate::read_repo;
use crate::twins::{Access, TwinClients};

/// Returns commands about the properties of nodes.
fn table_of_nodes() -> Vec<String> {
    let mut lines = Vec::new();
    for target in [
        "{URL}/P",
        "{URL}/P/d/g",
        "{URL}/P/f",
        "{URL}/P/d/none",
        "{URL}/nosuch",
    ] {
        for options in ["", "-v", "-q", "--xml", "--xml -v", "--show-inherited-props -v"] {
            lines.push(format!("svn proplist {options} {target}"));
        }
        lines.push(format!("svn proplist --show-inherited-props --xml {target}"));
        for name in ["a", "b", "binary", "nosuch"] {
            for options in ["", "--xml", "--show-inherited-props"] {
                lines.push(format!("svn propget {options} {name} {target}"));
            }
        }
    }
    let others = [
        "svn pg a -R {URL}/P",
        "svn pg a --depth files --xml {URL}/P",
        "svn pg a -vR {URL}/P",
        "svn pg nosuch -R {URL}/P",
        "svn pg b --no-newline {URL}/P",
        "svn pg b --strict {URL}/P",
        "svn pg a {URL}/P {URL}/P/d {URL}/P/f",
        "svn pg empty {URL}/P/d/g",
        "svn pg xmlish --xml {URL}/P/d/g",
        "svn pg svn:ignore {URL}/P/d/e",
        "svn pg -v svn:ignore {URL}/P/d/e",
        "svn pg a {URL}/P@1",
        "svn pl -r 1 {URL}/P/moved",
        "svn pl {URL}/P@9999",
    ];
    lines.extend(others.map(str::to_owned));
    lines
}

#[test]
fn properties_of_nodes() {
    let repo = read_repo::repository();
    let table = table_of_nodes();
    for access in Access::ALL {
        let twins = TwinClients::for_table(&repo, access);
        for options in ["-R", "-vR", "--xml -R", "--depth files", "--depth immediates -v"] {
            twins.same_unordered(&format!("svn pl {options} {{URL}}/P"));
        }
        let lines: Vec<&str> = sample(3, &table).map(String::as_str).collect();
        twins.all_same(&lines);
    }
}

#[test]
fn properties_of_revisions() {
    let repo = read_repo::repository();
    let youngest = repo.youngest();
    for access in Access::ALL {
        let twins = TwinClients::for_table(&repo, access);
        for rev in [
            youngest.to_string(),
            (youngest - 2).to_string(),
            "0".into(),
            "9999".into(),
        ] {
            for options in ["", "-v", "--xml", "--xml -v", "-q"] {
                twins.same(&format!("svn pl --revprop -r {rev} {options} {{URL}}"));
            }
            for name in ["svn:log", "svn:author", "color", "bytes"] {
                twins.same(&format!("svn pg {name} --revprop -r {rev} {{URL}}"));
                twins.same(&format!("svn pg {name} --revprop -r {rev} --xml {{URL}}/nosuch"));
            }
        }
        twins.same("svn pg svn:log --revprop -r HEAD --no-newline {URL}");
    }
}

#[test]
fn wrong_use() {
    let repo = read_repo::repository();
    let twins = TwinClients::new(&repo, Access::Disk);
    twins.all_same(&[
        "svn pg",
        "svn pg a",
        "svn pg -v --xml a {URL}",
        "svn pg -v --revprop a {URL}",
        "svn pg a~b {URL}",
        "svn pg svn:wc:x {URL}",
        "svn pg svn:entry:committed-rev {URL}",
        "svn pg --revprop svn:log {URL}",
        "svn pg --revprop -r BASE svn:log {URL}",
        "svn pg --revprop -r 1 svn:log {URL} {URL}",
        "svn pg --revprop -r 1 --show-inherited-props svn:log {URL}",
        "svn pg --revprop -r 1 svn:log",
        "svn pg --no-newline -R a {URL}",
        "svn pg a {URL}@foo",
        "svn pg a {URL}/P {URL}@foo",
        "svn pl --revprop {URL}",
        "svn pl --revprop -r 1 foo",
        "svn pl --revprop -r 1 {URL}/foo@2",
        "svn pl foo",
        "svn pl",
    ]);
    twins.same_prepared(&["svn", "proplist", "-v", "{URL}/P/d/e"], |tool| {
        tool.env("LC_ALL", "C")
    });
}
