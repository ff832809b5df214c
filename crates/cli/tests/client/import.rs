//! `svn import`: the same output, the same revisions.
//!
//! `IMPORT_SEEDS=A..B` runs other random imports.

use std::ffi::OsStr;
use std::fs::{self, Permissions};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;

use rand::{Rng as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;
use testkit::stream::{Content, DumpStream, RecordKind};
use testkit::{Repo, Side, Spec, Tool, build, sample_from, seeds};

use crate::twins::{Access, TwinClients};

/// Returns a repository with directories whose properties concern imports.
fn repository() -> Repo {
    let mut stream = DumpStream::new("1e720ca1-2b3c-4d4e-8f50-0123456789ac");
    stream.rev("dirs").mkdirs(["props", "props/below", "plain"]);
    stream.file("plain/file", "a file\n");
    stream.rev("properties");
    let rules = b"*.n = svn:eol-style=native;svn:keywords=Id Rev Own=%r\n*.l = svn:eol-style=LF;a=b;;c;  sp  =  v v  \n*.r = svn:eol-style=CRLF\n*.e = svn:executable;foo;svn:mime-type=text/html;svn:needs-lock=x;bar=\n  *.z   =   q='r'  ;\nB* = baz=1\n";
    let props: [(&str, &[u8]); 3] = [
        ("svn:auto-props", rules),
        ("svn:global-ignores", b"global* \n*.gone"),
        ("svn:ignore", b"top\n*.top\nwith blank\n"),
    ];
    stream.change(RecordKind::Dir, "props", Content::props(&props));
    let props: [(&str, &[u8]); 1] = [(
        "svn:auto-props",
        b"*.r = svn:eol-style=CR\n*.u = svn:eol-style=unknown\n",
    )];
    stream.change(RecordKind::Dir, "props/below", Content::props(&props));
    build(&Spec::small("1.14").with(stream).named("import"))
}

/// Writes the same tree for both sides.
fn write_tree(twins: &TwinClients) {
    for side in Side::BOTH {
        write_tree_at(&twins.dir(side).join("tree"));
    }
}

fn write_tree_at(top: &Path) {
    for dir in ["a/b/c", "empty", ".svn/x", "a/.svn", "global1", "top", "dü x@1/&"] {
        fs::create_dir_all(top.join(dir)).expect("new");
    }
    let mixed = b"a\r\nb\nc\r$Id: foo $ $Rev:: 12 $ $Own: x $\n";
    for (name, text) in [
        ("f", &b"text\n"[..]),
        ("empty.n", b""),
        ("obj.o", b"an object\n"),
        ("mix.n", mixed),
        ("MIX.N", mixed),
        ("mix.l", mixed),
        ("mix.r", mixed),
        ("mix.e", mixed),
        ("bin.n", b"\0a\r\n\nb"),
        ("odd", b"\x01\x02\x80\x90\xa0\xff\xfe"),
        ("latin", b"gr\xfc\xdfe\n"),
        ("bom", b"\xef\xbb\xbf"),
        ("x.o", b"o"),
        ("a/y~", b"o"),
        ("a/y.top", b"o"),
        ("y.top", b"o"),
        ("a/top", b"o"),
        ("a/b/z.gone", b"o"),
        ("a/b/c/deep.z", b"z\n"),
        ("with blank", b"o"),
        ("b.l", b"lower\n"),
        (".svn/entries", b"o"),
        ("a/b/.svn", b"o"),
        ("dü x@1/&/%20", b"percent\n"),
    ] {
        fs::write(top.join(name), text).expect("new");
    }
    let big: Vec<u8> = (0..100_000u32).flat_map(u32::to_le_bytes).collect();
    fs::write(top.join("big"), &big).expect("new");
    let long = "line $Rev: 5 $\r\n".repeat(10_000);
    fs::write(top.join("long.n"), long).expect("new");
    for name in ["f", "bin.n", "mix.e"] {
        fs::set_permissions(top.join(name), Permissions::from_mode(0o755)).expect("ours");
    }
    for (target, name) in [("f", "link"), ("a", "link-dir"), ("nowhere", "dangling")] {
        symlink(target, top.join(name)).expect("new");
    }
}

fn words(line: &str) -> Vec<&str> {
    line.split(' ').chain(LOGIN.split(' ')).collect()
}

const LOGIN: &str = "--username alice --password secret --no-auth-cache --non-interactive";

/// Runs a command on both sides. Returns the difference, if there is one.
fn difference(twins: &TwinClients, words: &[&str]) -> Option<String> {
    let [theirs, ours] = twins.outputs(words, |tool| tool);
    (essential(&ours) != essential(&theirs))
        .then(|| format!("{words:?}\n--- theirs\n{theirs}\n--- ours\n{ours}"))
}

/// Leaves out what was printed before an error: how far a client has come when the error of a server arrives depends on time.
fn essential(output: &str) -> &str {
    match output.find("--- stderr") {
        Some(at) if !output.ends_with("--- exit 0") => &output[at..],
        _ => output,
    }
}

fn assert_none(differences: &[String]) {
    assert!(
        differences.is_empty(),
        "{} imports differ\n{}",
        differences.len(),
        differences.join("\n")
    );
}

/// Imports. The kinds of access share the groups; those of a group meet in one path.
const IMPORTS: &[&[&str]] = &[
    &[
        "svn import -m msg tree {URL}/new",
        "svn import -m msg tree {URL}/new",
    ],
    &["svn import -q -m msg tree {URL}/much/deeper/path"],
    &["svn import -m msg tree {URL}/props"],
    &["svn import -m msg tree {URL}/props/below/new"],
    &["svn import -m msg tree {URL}/props/noauto --no-auto-props"],
    &["svn import -m msg tree {URL}/props/all --no-ignore"],
    &["svn import -m msg tree {URL}/depth1 --depth empty"],
    &["svn import -m msg tree {URL}/depth2 --depth files"],
    &["svn import -m msg tree {URL}/depth3 --depth immediates"],
    &["svn import -m msg tree {URL}/depth4 -N"],
    &[
        "svn import -m msg tree/empty {URL}/empty",
        "svn import -m msg tree/empty {URL}/empty",
    ],
    &[
        "svn import -m msg tree/f {URL}/file",
        "svn import -m msg tree/f {URL}/file",
    ],
    &["svn import -m msg tree/f {URL}/x/y/file.e"],
    &["svn import -m msg tree/mix.n {URL}/props/mix.n"],
    &["svn import -m msg tree/f {URL}/plain"],
    &["svn import -m msg tree {URL}/plain/file"],
    &[
        "svn import -m msg tree/obj.o {URL}/obj",
        "svn import -m msg tree/obj.o {URL}/above/obj",
        "svn import -m msg tree/obj.o --depth empty {URL}/obj",
        "svn import -m msg tree/obj.o --no-ignore {URL}/obj",
    ],
    &["svn import -m msg tree/link {URL}/link"],
    &["svn import -m msg tree/link-dir {URL}/link-dir"],
    &["svn import -m msg tree/./a//b/../b {URL}/canonical"],
    &["svn import -m msg tree/top {URL}/props"],
    &["svn import -m msg --with-revprop x=y tree/a {URL}/revprop"],
];

#[test]
fn trees_and_rules() {
    let repo = repository();
    let mut differences = Vec::new();
    for (number, access) in Access::ALL.into_iter().enumerate() {
        let twins = TwinClients::new(&repo, access);
        write_tree(&twins);
        for line in sample_from(number, 4, IMPORTS).copied().flatten() {
            differences.extend(difference(&twins, &words(line)).map(|text| format!("{access:?} {text}")));
        }
        twins.same_repositories();
    }
    assert_none(&differences);
}

#[test]
fn arguments_and_errors() {
    let twins = TwinClients::new(&repository(), Access::Disk);
    write_tree(&twins);
    let mut differences = Vec::new();
    for line in [
        "svn import -m msg",
        "svn import -m msg tree",
        "svn import -m msg tree tree",
        "svn import -m msg a b c",
        "svn import -m msg {URL} tree",
        "svn import -m msg nothing {URL}/x",
        "svn import -m msg tree@1 {URL}/x",
        "svn import -m msg tree file:///nowhere/x",
        "svn import -m msg tree {URL}/.svn",
        "svn import -m msg tree/f {URL}/x/.svn",
        "svn import -m msg tree/a/.svn {URL}/admin1",
        "svn import -m msg tree/a/b/.svn {URL}/admin2",
        "svn import -q -m msg --no-ignore tree/.svn/../a {URL}/admin3",
        "svn import -m msg tree {URL}/plain/file/x",
        "svn import -m msg --auto-props --no-auto-props tree {URL}/x",
        "svn import tree {URL}/x",
        "svn import nothing {URL}/x",
        "svn import nothing {URL}/plain/file -m msg --with-revprop svn:x=y",
        "svn import nothing {URL}/plain/file -m msg",
        "svn import tree/f {URL}/plain/file",
        "svn import nothing file:///nowhere/x -m msg",
        "svn import nothing {URL}/x -m msg --with-revprop svn:x=y",
        "svn import -m tree tree {URL}/x",
        "svn import -m msg -r3 tree {URL}/x",
        "svn import -m msg tree {URL}/a/../x",
    ] {
        differences.extend(difference(&twins, &words(line)));
    }
    for side in Side::BOTH {
        let dir = twins.dir(side);
        fs::create_dir_all(dir.join("odd/fifo")).expect("new");
        Tool::new("mkfifo").arg(dir.join("odd/fifo/p")).ok();
        fs::create_dir_all(dir.join("odd/control")).expect("new");
        fs::write(dir.join("odd/control/a\nb"), "x").expect("new");
        fs::create_dir_all(dir.join("odd/bytes")).expect("new");
        fs::write(dir.join("odd/bytes").join(OsStr::from_bytes(b"a\xff")), "x").expect("new");
        fs::create_dir_all(dir.join("odd/style")).expect("new");
        fs::write(dir.join("odd/style/x.u"), "x").expect("new");
    }
    for line in [
        "svn import -m msg odd/fifo {URL}/o1",
        "svn import -m msg --force odd/fifo {URL}/o2",
        "svn import -m msg odd/fifo/p {URL}/o3",
        "svn import -m msg odd/control {URL}/o4",
        "svn import -m msg odd/bytes {URL}/o5",
        "svn import -m msg odd/style {URL}/props/below/o6",
    ] {
        differences.extend(difference(&twins, &words(line)));
    }
    assert_none(&differences);
    twins.same_repositories();
}

#[test]
fn files_that_cannot_be_read() {
    let twins = TwinClients::new(&repository(), Access::Svn);
    for side in Side::BOTH {
        let dir = twins.dir(side).join("tree");
        fs::create_dir_all(dir.join("closed")).expect("new");
        fs::write(dir.join("file"), "x").expect("new");
        fs::set_permissions(dir.join("file"), Permissions::from_mode(0o000)).expect("ours");
        fs::set_permissions(dir.join("closed"), Permissions::from_mode(0o000)).expect("ours");
    }
    for line in [
        "svn import -m msg tree {URL}/x",
        "svn import -m msg tree/file {URL}/y",
    ] {
        twins.same_prepared(&words(line), Tool::bound_by_permissions);
    }
    for side in Side::BOTH {
        let dir = twins.dir(side).join("tree");
        fs::set_permissions(dir.join("closed"), Permissions::from_mode(0o755)).expect("ours");
    }
}

#[test]
fn the_configuration_counts() {
    let twins = TwinClients::new(&repository(), Access::Disk);
    write_tree(&twins);
    let config = "[miscellany]\nglobal-ignores = *.n b*\nmime-types-file = types\n[auto-props]\n*.l = svn:eol-style=CR;from=config\nf = x=y\n";
    for side in Side::BOTH {
        let dir = twins.dir(side);
        fs::create_dir(dir.join("conf")).expect("new");
        fs::write(dir.join("conf/config"), config).expect("new");
        fs::write(dir.join("types"), "# types\nimage/x-test r z\ntext/plain e\n").expect("new");
    }
    let mut differences = Vec::new();
    for line in [
        "svn import -m msg --config-dir conf tree {URL}/c1",
        "svn import -m msg --config-dir conf --auto-props tree {URL}/c2",
        "svn import -m msg --config-dir conf --auto-props tree {URL}/props/c3",
        "svn import -m msg --config-dir conf --no-auto-props tree {URL}/props/c4",
        "svn import -m msg --config-dir conf --config-option config:miscellany:enable-auto-props=yes tree {URL}/c5",
        "svn import -m msg --config-dir conf --no-ignore tree {URL}/c6",
        "svn import -m msg --config-dir conf --config-option config:miscellany:mime-types-file= tree {URL}/c7",
        "svn import -m msg --config-dir conf --config-option config:miscellany:enable-auto-props=x tree {URL}/c8",
        "svn import -m msg --config-dir conf --config-option config:miscellany:enable-auto-props=x --auto-props tree {URL}/c9",
        "svn import -m msg --config-dir conf --config-option config:miscellany:enable-auto-props=x --no-auto-props tree {URL}/c10",
    ] {
        differences.extend(difference(&twins, &words(line)));
    }
    assert_none(&differences);
    twins.same_repositories();
}

/// Most files are on their way when one is refused: what is printed ends with that one, and no transaction stays.
#[test]
fn files_that_the_server_refuses() {
    let repo = repository();
    for (at, access) in [Access::Http, Access::HttpV1].into_iter().enumerate() {
        let twins = TwinClients::with_servers(&repo, access, Side::Theirs);
        for side in Side::BOTH {
            let top = twins.dir(side).join("tree");
            for number in 0..150 {
                let dir = top.join(format!("d{}", number / 50));
                fs::create_dir_all(&dir).expect("new");
                fs::write(
                    dir.join(format!("f{number:03}.e")),
                    format!("text {number}\n").repeat(number),
                )
                .expect("new");
            }
        }
        let differences =
            sample_from(at, 2, [None, Some(0), Some(37), Some(120)]).filter_map(|number| match number {
                None => difference(&twins, &words("svn import -m msg tree {URL}/props/all")),
                Some(number) => refused(&twins, number),
            });
        assert_none(&differences.collect::<Vec<_>>());
        twins.same_repositories();
        for side in Side::BOTH {
            let left = Side::Theirs
                .tool("svnadmin")
                .arg("lstxns")
                .arg(twins.repository(side))
                .ok();
            assert_eq!(left.out(), "", "{access:?} {side:?}");
        }
    }
}

/// Imports the tree with a file that is refused after `number` others.
fn refused(twins: &TwinClients, number: usize) -> Option<String> {
    let file = format!("tree/d{}/f{number:03}_refused", number / 50);
    for side in Side::BOTH {
        fs::write(twins.dir(side).join(&file), "text").expect("new");
    }
    let [theirs, ours] = twins.outputs(&words("svn import -m msg tree {URL}/props/part"), |tool| tool);
    for side in Side::BOTH {
        fs::remove_file(twins.dir(side).join(&file)).expect("made above");
    }
    (ours != theirs).then(|| format!("{number}\n--- theirs\n{theirs}\n--- ours\n{ours}"))
}

#[test]
fn random_imports() {
    let repo = repository();
    let all: Vec<(Access, TwinClients)> = Access::ALL
        .into_iter()
        .map(|access| (access, TwinClients::new(&repo, access)))
        .collect();
    let mut differences = Vec::new();
    for seed in seeds("IMPORT_SEEDS", 0..24) {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let (access, twins) = &all[random.random_range(0..all.len())];
        let name = format!("tree{seed}");
        let files: Vec<(String, Vec<u8>)> = (0..random.random_range(0..8))
            .map(|_| file(&mut random))
            .collect();
        for side in Side::BOTH {
            let top = twins.dir(side).join(&name);
            fs::create_dir(&top).expect("new");
            for (path, text) in &files {
                let path = top.join(path);
                if fs::create_dir_all(path.parent().expect("below")).is_ok() && !path.exists() {
                    fs::write(path, text).expect("new");
                }
            }
        }
        let target = [
            "new",
            "props",
            "props/below",
            "plain",
            "props/x/y",
            "plain/file",
            "",
        ][random.random_range(0..7)];
        let unique = if random.random_bool(0.7) {
            format!("/n{seed}")
        } else {
            String::new()
        };
        let mut line = format!("svn import -m msg {name} {{URL}}/{target}{unique}");
        for option in [
            "-q",
            "-N",
            "--depth=immediates",
            "--no-ignore",
            "--no-auto-props",
            "--auto-props",
            "--force",
        ] {
            if random.random_bool(0.15) {
                line = format!("{line} {option}");
            }
        }
        let found = difference(twins, &words(&line));
        differences.extend(found.map(|text| format!("seed {seed} {access:?} {text}")));
    }
    assert_none(&differences);
    for (_, twins) in &all {
        twins.same_repositories();
    }
}

/// Returns a path and a text.
fn file(random: &mut ChaCha8Rng) -> (String, Vec<u8>) {
    let dirs = ["", "a/", "a/b/", "global2/", "top/", "é/", ".svn/", "B/"];
    let stems = ["f", "B", "top", "g", "global", "ü", "x y", "%41"];
    let extensions = ["", ".n", ".l", ".r", ".e", ".z", ".o", ".gone", ".N", ".top"];
    let pieces: [&[u8]; 10] = [
        b"a",
        b"bc\n",
        b"\r\n",
        b"\r",
        b"$Id: 1 $",
        b"$Rev$",
        b"$Own::  5 $",
        b"\0",
        b"\x80",
        b"$",
    ];
    let mut pick = |count: usize| random.random_range(0..count);
    let path = format!("{}{}{}", dirs[pick(8)], stems[pick(8)], extensions[pick(10)]);
    let count = if pick(10) == 0 { 150_000 } else { pick(30) };
    let text = (0..count)
        .flat_map(|_| pieces[pick(10)].iter().copied())
        .collect();
    (path, text)
}
