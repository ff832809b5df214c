//! `sven install-links`: the names, the options that select them, and files that are in the way.

use std::fs;
use std::path::Path;

use testkit::tool::sven_binary;
use testkit::{Output, Tool, scratch};

fn install(dir: &Path, options: &[&str]) -> Output {
    Tool::new(sven_binary())
        .arg("install-links")
        .args(options)
        .arg(dir)
        .run()
}

fn names(dir: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(dir)
        .expect("because it is ours")
        .map(|entry| {
            entry
                .expect("an entry")
                .file_name()
                .to_string_lossy()
                .into_owned()
        })
        .collect();
    names.sort();
    names
}

#[test]
fn all_names_are_linked_and_incomplete_tools_are_reported() {
    let folder = scratch();
    let output = install(folder.path(), &[]).expect_ok();
    let all = names(folder.path());
    for name in [
        "svn",
        "svnadmin",
        "svndumpfilter",
        "svnlook",
        "svnserve",
        "svnversion",
    ] {
        assert!(all.iter().any(|linked| linked == name), "{all:?}");
        let link = folder.path().join(name);
        assert_eq!(
            Tool::new(link).args(["--version", "--quiet"]).ok().out(),
            "1.14.2\n",
            "{name}"
        );
    }
    assert_eq!(output.out().lines().count(), all.len());
    let notes = output.err();
    assert!(
        notes.contains("'svn' has no commands yet that need a working copy"),
        "{notes}"
    );
    // Links that exist are not reported.
    let again = install(folder.path(), &[]).expect_ok();
    assert_eq!((again.out(), again.err()), (String::new(), String::new()));
}

#[test]
fn options_select_names() {
    let folder = scratch();
    let output = install(
        folder.path(),
        &["--only", "svnlook", "--only=svn", "--except", "svn"],
    )
    .expect_ok();
    assert_eq!(names(folder.path()), ["svnlook"]);
    assert_eq!(output.err(), "");
    let refused = install(folder.path(), &["--only", "git"]);
    assert_eq!(refused.code, 1);
    assert!(
        refused
            .err()
            .contains("'git' is not the name of a tool; the names are svn,"),
        "{refused:?}"
    );
}

#[test]
fn other_files_of_that_name_stay() {
    let folder = scratch();
    fs::write(folder.path().join("svn"), "mine").expect("a file");
    let refused = install(folder.path(), &[]);
    assert_eq!((refused.code, refused.error_codes()), (1, vec![17]));
    assert_eq!(fs::read(folder.path().join("svn")).expect("a file"), b"mine");
    install(folder.path(), &["--except", "svn", "--except", "svnversion"]).expect_ok();
    assert_eq!(fs::read(folder.path().join("svn")).expect("a file"), b"mine");
    assert!(!names(folder.path()).contains(&"svnversion".to_owned()));
}
