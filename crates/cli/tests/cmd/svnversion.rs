//! `svnversion` outside of working copies, compared with the incumbent.

use std::fs;
use std::os::unix::fs::symlink;

use testkit::pair::ToolPair;
use testkit::{Side, Tool, scratch};

#[test]
fn paths_outside_of_working_copies() {
    let folder = scratch();
    let at = |name: &str| folder.path().join(name);
    for dir in [
        "dir",
        "a b",
        "e1/.svn/sub",
        "e1/d",
        "e2/.svn/wc.db",
        "e3/.svn",
        "e4",
    ] {
        fs::create_dir_all(at(dir)).expect("a directory");
    }
    for file in ["file", "é", "e1/.svn/x", "e4/.svn"] {
        fs::write(at(file), "text").expect("a file");
    }
    fs::write(at("e3/.svn/wc.db"), "no database").expect("a file");
    symlink("dir", at("link")).expect("a link");
    symlink("nosuch", at("dangling")).expect("a link");
    Tool::new("mkfifo").arg(at("fifo")).ok();
    let pair = ToolPair::new("svnversion", folder.path());
    for line in [
        "",
        ".",
        "dir",
        "./dir//",
        "file",
        "é",
        "link",
        "link/",
        "dangling",
        "fifo",
        "nosuch",
        "file/x",
        "../nosuch/x",
        "dir/../file",
        "/",
        "e1",
        "e1/d",
        "e1/.svn",
        "e1/.svn/x",
        "e2",
        "e3",
        "e3/.svn",
        "e4",
        "-n dir",
        "-nc file",
        "--no-newline --committed -q dir trail",
        "dir --",
        "-- dir",
        "dir a b",
        "nosuch a b",
        "-n",
        "-q",
        "-v",
        "-?",
        "-",
        "-x dir",
        "--foo",
        "--no-newline=1",
        "--version -q",
        "--version --quiet foo",
        "--version --foo",
        "http://host/x",
        "dir@",
        "help",
    ] {
        pair.same_line(line);
    }
    pair.same(&[""]);
    pair.same(&["a b"]);
    pair.same(&["no such"]);
}

#[test]
fn paths_that_cannot_be_examined() {
    use std::os::unix::ffi::OsStrExt as _;
    let folder = scratch();
    let pair = ToolPair::new("svnversion", folder.path());
    pair.same(&[std::ffi::OsStr::from_bytes(b"a\xff")]);
    let locked = folder.path().join("locked");
    fs::create_dir(&locked).expect("a directory");
    Tool::new("chmod").arg("0").arg(&locked).ok();
    for path in ["locked", "locked/x"] {
        let run = |side: Side| {
            let tool = side.tool("svnversion").bound_by_permissions();
            let output = tool.dir(folder.path()).arg(path).run();
            (output.code, output.out(), output.err())
        };
        assert_eq!(run(Side::Theirs), run(Side::Ours), "{path}");
    }
    Tool::new("chmod").arg("700").arg(&locked).ok();
}

#[test]
fn working_copies_are_not_supported_yet() {
    let folder = scratch();
    let repo = testkit::Repo::create("1.14");
    let copy = folder.path().join("wc");
    Tool::new("svn")
        .args(["checkout", "-q"])
        .arg(repo.url())
        .arg(&copy)
        .ok();
    fs::create_dir(copy.join("new")).expect("a directory");
    for path in [copy.clone(), copy.join("new")] {
        let refused = Side::Ours.tool("svnversion").arg(path).run();
        assert_eq!((refused.code, refused.error_codes()), (1, vec![200_007]));
        assert!(
            refused.err().contains("working copies are not supported yet"),
            "{refused:?}"
        );
    }
    let inside = Side::Ours.tool("svnversion").arg(copy.join(".svn/wc.db")).ok();
    assert_eq!(inside.out(), "Unversioned file\n");
}
