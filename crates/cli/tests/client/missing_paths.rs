//! Paths that do not exist, also below files and below directories that are gone: the same errors, over every access and for FSFS and FSX.

use tempfile::TempDir;
use testkit::{Repo, Tool, sample, scratch};

use crate::twins::{Access, TwinClients};

/// In revision 1 there is `gone/x`. In revision 3 `dir/x` is a file.
const PATHS: [&str; 10] = [
    "x",
    "x/y",
    "dir/x/y",
    "dir/x/y/z",
    "dir/f/y",
    "dir/none",
    "dir/none/y",
    "gone",
    "gone/x",
    "gone/x/y@2",
];

/// Commands that read. `{}` is the path.
const READING: [&str; 16] = [
    "svn list {URL}/{}",
    "svn cat {URL}/{}",
    "svn info {URL}/{}",
    "svn proplist {URL}/{}",
    "svn propget p {URL}/{}",
    "svn log -q {URL}/{}",
    "svn log -r 1:2 {URL}/{}",
    "svn blame {URL}/{}",
    "svn mergeinfo {URL}/{} {URL}/dir",
    "svn diff {URL}/dir {URL}/{}",
    "svn export -q {URL}/{} exported",
    "svn lock {URL}/{}",
    "svnlook cat {REPO} {}",
    "svnlook proplist {REPO} {}",
    "svnlook tree {REPO} {}",
    "svnlook history {REPO} {}",
];

/// Commands that would commit, and fail.
const WRITING: [&str; 7] = [
    "svn copy -m m {URL}/{} {URL}/new",
    "svn move -m m {URL}/{} {URL}/new",
    "svn delete -m m {URL}/{}",
    "svnmucc -m m -U {URL} cp 1 {} new",
    "svnmucc -m m -U {URL} rm {}",
    "svnmucc -m m -U {URL} propset a b {}",
    "svnmucc -m m -U {URL} mkdir q cp 3 {} q/new mv {} q/moved",
];

/// Returns the repository and the directory that it is in.
fn build(fs_type: &str) -> (Repo, TempDir) {
    let root = scratch();
    let path = root.path().join("made");
    let create = Tool::new("svnadmin").args(["create", "--fs-type", fs_type]);
    create.arg(&path).ok();
    let text = root.path().join("text");
    std::fs::write(&text, "text\n").expect("because the directory is ours");
    let url = format!("file://{}", path.display());
    let text = text.display().to_string();
    let commits = [
        format!("mkdir dir put {text} dir/f mkdir gone put {text} gone/x"),
        "rm gone".to_owned(),
        format!("put {text} dir/x propset p v dir"),
    ];
    for actions in commits {
        let tool = Tool::new("svnmucc").args(["-m", "m", "-U", &url]);
        tool.args(actions.split(' ')).ok();
    }
    (Repo::at(&path), root)
}

#[test]
fn the_same_errors_over_every_access() {
    let (repo, _root) = build("fsfs");
    for access in Access::ALL {
        let twins = TwinClients::for_table(&repo, access);
        run(&twins, &READING);
        run(&twins, &WRITING);
        twins.same_repositories();
    }
}

#[test]
fn the_same_errors_in_fsx() {
    let (repo, _root) = build("fsx");
    let twins = TwinClients::new(&repo, Access::Disk);
    run(&twins, &READING);
    run(&twins, &WRITING);
    twins.same_repositories();
}

fn run(twins: &TwinClients, commands: &[&str]) {
    let lines: Vec<String> = commands
        .iter()
        .flat_map(|command| PATHS.iter().map(|path| command.replace("{}", path)))
        .collect();
    let lines: Vec<&str> = sample(7, &lines).map(String::as_str).collect();
    twins.all_same(&lines);
}
