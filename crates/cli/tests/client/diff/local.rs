//! `svn diff --old --new` of paths of the local disk: a table of commands, and random commands over random trees.
//!
//! `LOCAL_DIFF_SEEDS=0..500` runs these seeds, each with two trees and a few commands.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;

use testkit::history::Random;
use testkit::{Repo, Side};

use super::words;
use crate::twins::{Access, TwinClients};

/// Commands after `svn diff`, in a directory with the trees `a` and `b` and the files `f1` and `f2`.
const COMMANDS: &[&str] = &[
    "--old=a --new=b",
    "--old=a --new=b --summarize",
    "--old=a --new=b --summarize --xml",
    "--old=a --new=b --git",
    "--old=a --new=f2 --git --depth=empty",
    "--old=a --new=b --git --summarize",
    "--old=a --new=b --git --no-diff-added --no-diff-deleted --depth=files",
    "--old=a --new=b --depth=files",
    "--old=a --new=b --depth=immediates --summarize",
    "--old=a --new=b --depth=empty",
    "--old=a --new=b -N --no-diff-added --no-diff-deleted",
    "--old=a --new=b --ignore-properties",
    "--old=a --new=b --properties-only",
    "--old=a --new=b --properties-only --ignore-properties",
    "--old=a --new=b --force",
    "--old=a --new=b -x -wU1",
    "--old=a --new=b --diff-cmd {DIR}/program",
    "--old=a --new=b --diff-cmd={DIR}/program --extensions=",
    "--old=a --new=b --diff-cmd={DIR}/program --config-option=config:helpers:diff-extensions=",
    "--old=f1 --new=f2 --diff-cmd=",
    "--old=a --new=b f sub nosuch",
    "--old=a --new=b ./f sub/../f /sub",
    "--old=a --new=b {DIR}/a",
    "--old=a --new=b {URL}",
    "--old=a@ --new=b@ f",
    "--old=a --new=f2",
    "--old=f1 --new=b --summarize",
    "--old=f1 --new=f2",
    "--old=x/y/sub --new=b/sub",
    "--old=x/y --new=f2 --depth=files --summarize",
    "--old=x/y --new=b/sub",
    "--old={DIR}/a --new={DIR}/b sub",
    "--old={DIR}/a --new=b sub",
    "--old=a --new=../dir/b sub",
    "--old=. --new=b --summarize",
    "--old=. --new=f2 --depth=empty",
    "--old=a/sub/.. --new=.//b/./ f",
    "--old=a --new=a",
    "--old=a --new=nosuch",
    "--old=nosuch --new=a --summarize",
    "--old=nosuch --new=nosuch2",
    "--old=a",
    "--new=b",
    "--old=a --new={URL}",
    "--old={URL} --new=a",
    "a b",
    "f1 f2",
    "a {URL}",
    "--old=a --new=b -r1",
    "--old=a --new=b -r1:2 sub",
    "--old=a --new=b -rBASE",
    "--old=a --new=b -rBASE:2",
    "--old=a --new=b -rHEAD",
    "--old=a@1 --new=b sub",
    "--old=a --new=b@1 sub",
    "--old=a --new=b@BASE sub",
    "--old=a@BASE --new=b@BASE",
    "--old=a@1 --new=b@BASE",
    "--old=a --new=b -c1",
    "--old=a --new=b@x",
    "--old=links --new=b",
    "--old=a/fifo --new=f1",
    "--old=a/fifo --new=a/fifo",
];

#[test]
fn a_table_of_local_paths() {
    let twins = TwinClients::new(&Repo::create("1.14"), Access::Disk);
    twins.file("program", super::shape::PROGRAM);
    for side in Side::BOTH {
        table_trees(&twins.dir(side));
    }
    let mut failed = Vec::new();
    for line in COMMANDS {
        let mut all = vec!["svn", "diff"];
        all.extend(words(line));
        let [theirs, ours] = twins.outputs(&all, |tool| tool.env("LC_ALL", "C.UTF-8"));
        if theirs != ours {
            failed.push(format!("{line}\n--- theirs\n{theirs}\n--- ours\n{ours}"));
        }
    }
    assert!(
        failed.is_empty(),
        "{} differ\n{}",
        failed.len(),
        failed.join("\n")
    );
}

fn table_trees(dir: &Path) {
    let files: &[(&str, &[u8])] = &[
        ("a/f", b"one\ntwo\n"),
        ("b/f", b"one\n2\n"),
        ("a/same", b"x"),
        ("b/same", b"x"),
        ("a/only/q", b"q\n"),
        ("b/onlyb/z", b"z"),
        ("a/sub/s", b"s1\n"),
        ("b/sub/s", b"s2\n"),
        ("x/y/sub/s", b"s3\n"),
        ("a/kind", b"file\n"),
        ("b/kind/in", b"in\n"),
        ("a/dir/in", b"in\n"),
        ("b/dir", b"file\n"),
        ("a/bin", b"a\0b"),
        ("b/bin", b"a\0c"),
        ("a/to-bin", b"text\n"),
        ("b/to-bin", b"\0"),
        ("a/to-text", b"\0"),
        ("b/to-text", b"text\n"),
        ("a/del-bin", b"\0"),
        ("b/add-bin", b"\0"),
        ("a/crlf", b"a \r\nb\r\n"),
        ("b/crlf", b"a\nb\n"),
        ("a/empty", b""),
        ("b/empty", b"\n"),
        ("b/new-empty", b""),
        ("a/sp ace@1", b"x\n"),
        ("b/\u{e9}", "\u{e9}\n".as_bytes()),
        ("b/.svn/entry", b"no working copy"),
        ("f1", b"one\ntwo\n"),
        ("f2", b"one\n2\n"),
    ];
    for (path, text) in files {
        write(&dir.join(path), text);
    }
    write(&dir.join("a/run"), b"run\n");
    write(&dir.join("b/run"), b"run\n");
    fs::set_permissions(dir.join("b/run"), fs::Permissions::from_mode(0o755)).expect("because it is ours");
    for path in ["a/no-entries", "b/none"] {
        fs::create_dir_all(dir.join(path)).expect("because it is new");
    }
    fs::create_dir_all(dir.join("links")).expect("because it is new");
    for (path, target) in [
        ("a/link", "f"),
        ("b/link", "same"),
        ("links/dir", "../a/sub"),
        ("links/none", "x"),
    ] {
        symlink(target, dir.join(path)).expect("because it is new");
    }
    testkit::Tool::new("mkfifo").arg(dir.join("a/fifo")).ok();
}

fn write(path: &Path, text: &[u8]) {
    let above = path.parent().expect("because it is below a directory");
    fs::create_dir_all(above).expect("because the directory is ours");
    fs::write(path, text).expect("because the directory is ours");
}

#[test]
fn random_local_trees() {
    let repo = Repo::create("1.14");
    testkit::each_seed("LOCAL_DIFF_SEEDS", 0..6, |seed| {
        let mut random = Random::new(seed);
        random.next();
        let twins = TwinClients::new(&repo, Access::Disk);
        for tree in ["a", "b"] {
            for _ in 0..random.below(25) {
                let (path, text) = (path(&mut random), text(&mut random));
                for side in Side::BOTH {
                    grow(&twins.dir(side).join(tree), &path, text.as_deref());
                }
            }
        }
        for _ in 0..6 {
            let all = command(&mut random);
            let all: Vec<&str> = all.iter().map(String::as_str).collect();
            twins.same_prepared(&all, |tool| tool.env("LC_ALL", "C.UTF-8"));
        }
    });
}

/// Returns the words of a command.
fn command(random: &mut Random) -> Vec<String> {
    let end = |random: &mut Random, tree: &str| match random.below(4) {
        0 => format!("{tree}/{}@", path(random)),
        _ => tree.to_owned(),
    };
    let mut all = vec!["svn".to_owned(), "diff".to_owned()];
    all.extend([end(random, "--old=a"), end(random, "--new=b")]);
    let mut push = |random: &mut Random, one_in: usize, option: &str| {
        let is_chosen = random.below(one_in) == 0;
        if is_chosen {
            all.push(option.to_owned());
        }
        is_chosen
    };
    let depth = ["empty", "files", "immediates", "infinity"][random.below(4)];
    push(random, 3, &format!("--depth={depth}"));
    push(random, 8, "--ignore-properties");
    if !push(random, 3, "--summarize") {
        for option in [
            "--no-diff-added",
            "--no-diff-deleted",
            "--force",
            "--patch-compatible",
            "-x-bU1",
        ] {
            push(random, 8, option);
        }
    }
    all
}

fn path(random: &mut Random) -> String {
    let names = [
        "a", "b", "B", "a b", "g g", "h%25", "\u{e9}", "x@1", "x.c", "-", "a-b",
    ];
    let parts: Vec<&str> = (0..=random.below(3))
        .map(|_| names[random.below(names.len())])
        .collect();
    parts.join("/")
}

/// Returns the text of a file; `None` for a directory.
fn text(random: &mut Random) -> Option<Vec<u8>> {
    Some(match random.below(8) {
        0 | 1 => return None,
        2 => Vec::new(),
        3 => b"\0\x01".to_vec(),
        4 => b"a\r\nb\r\n".to_vec(),
        5 => testkit::history::noise(random.next() % 3, 90_000),
        _ => {
            let lines = (0..random.below(9)).map(|_| ["x\n", "y\n", "z\n"][random.below(3)]);
            lines.collect::<String>().into_bytes()
        }
    })
}

/// Makes a node. What is in its way stays.
fn grow(tree: &Path, path: &str, text: Option<&[u8]>) {
    let at = tree.join(path);
    let Some(above) = at.parent().filter(|above| fs::create_dir_all(above).is_ok()) else {
        return;
    };
    _ = match text {
        Some(text) if above.is_dir() && !at.is_dir() => fs::write(&at, text),
        Some(_) => Ok(()),
        None => fs::create_dir_all(&at),
    };
}
