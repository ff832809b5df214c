//! Which drives are refused, with which messages, and which are accepted.

use super::drive::*;
use super::pair::CommitPair;

/// Runs all drives and reports every difference; stops when the two repositories no longer have the same history.
fn compare(pair: &CommitPair, drives: Vec<(&str, Vec<EditStep>)>) {
    let mut different = String::new();
    for (what, steps) in drives {
        if let Err(difference) = pair.same(what, &steps) {
            different.push_str(&difference);
            let youngest = |side| testkit::repo::Repo::at(&pair.path(side)).youngest();
            if youngest(testkit::tool::Side::Theirs) != youngest(testkit::tool::Side::Ours) {
                break;
            }
        }
    }
    assert!(different.is_empty(), "{different}");
    pair.check();
}

#[test]
fn deleting() {
    compare(
        &CommitPair::new(),
        vec![
            ("missing", vec![root(), delete("nope", 1), done()]),
            ("missing, no revision", vec![root(), delete("nope", None), done()]),
            (
                "stale",
                vec![root(), open_dir("A", None), delete("A/f", 1), done()],
            ),
            ("future", vec![root(), delete("iota", 99), done()]),
            ("below a file", vec![root(), delete("iota/x", 4), done()]),
            ("root", vec![root(), delete("", None), done()]),
            (
                "twice",
                vec![root(), add_dir("d"), delete("d", None), delete("d", None), done()],
            ),
            (
                "in a copy, stale",
                vec![root(), copy_dir("d", "/A", 3), delete("d/f", 1), done()],
            ),
            (
                "in a copy, future",
                vec![root(), copy_dir("d", "/A", 3), delete("d/f", 999), done()],
            ),
            (
                "the copy, future",
                vec![root(), copy_dir("d", "/A", 3), delete("d", 999), done()],
            ),
            (
                "in a copy",
                vec![root(), copy_dir("d", "/A", 3), delete("d/f", 3), done()],
            ),
            (
                "in a copy, a later revision",
                vec![root(), copy_dir("d2", "/A", 3), delete("d2/f", 4), done()],
            ),
            (
                "the copy",
                vec![root(), copy_dir("d3", "/A", 3), delete("d3", 2), done()],
            ),
            (
                "what was added",
                vec![root(), add_dir("d4"), delete("d4", 2), done()],
            ),
            (
                "a directory with a later revision",
                vec![root(), delete("d", 6), done()],
            ),
        ],
    );
}

#[test]
fn adding() {
    compare(
        &CommitPair::new(),
        vec![
            ("over a file", vec![root(), add_file("iota"), done()]),
            ("over a directory", vec![root(), add_dir("A"), done()]),
            ("over the root", vec![root(), add_dir(""), done()]),
            ("over the root, a file", vec![root(), add_file(""), done()]),
            ("no parent", vec![root(), add_file("Q/x"), done()]),
            ("no parent, a directory", vec![root(), add_dir("Q/x"), done()]),
            ("below a file", vec![root(), add_file("iota/x"), done()]),
            ("below a file, deeper", vec![root(), add_file("iota/x/y"), done()]),
            ("control character", vec![root(), add_file("a\x01b"), done()]),
            ("delete character", vec![root(), add_dir("a\x7fb"), done()]),
            (
                "control characters deeper",
                vec![root(), open_dir("A", None), add_file("A/\nb\tc"), done()],
            ),
            (
                "in a file opened as a directory",
                vec![root(), open_dir("iota", 1), add_file("iota/x"), done()],
            ),
            (
                "over what was copied with its parent",
                vec![root(), copy_dir("d", "/A", 2), add_file("d/f"), done()],
            ),
            (
                "a tree",
                vec![
                    root(),
                    add_dir("t"),
                    dir_prop("t", "p", "v"),
                    add_file("t/ä b"),
                    text("t/ä b", "new\n"),
                    close_as("t/ä b", "new\n"),
                    add_file("t/empty"),
                    close_file("t/empty"),
                    add_file("t/nothing"),
                    text("t/nothing", ""),
                    close_as("t/nothing", ""),
                    close_dir("t"),
                    close_dir(""),
                    done(),
                ],
            ),
            (
                "texts after the tree",
                vec![
                    root(),
                    add_file("u1"),
                    add_file("u2"),
                    open_file("iota", 2),
                    close_dir(""),
                    text("u2", "second\n"),
                    close_as("u2", "second\n"),
                    text("u1", "first\n"),
                    file_prop("u1", "after", "text"),
                    close_as("u1", "first\n"),
                    text_on("iota", "iota\n", "changed\n"),
                    close_as("iota", "changed\n"),
                    done(),
                ],
            ),
        ],
    );
}

#[test]
fn copying() {
    compare(
        &CommitPair::new(),
        vec![
            (
                "another repository",
                vec![root(), copy_file("c", "svn://x/other/%69ota//x/", 2), done()],
            ),
            (
                "another repository, not ASCII",
                vec![root(), copy_file("c", "svn://x/other/%C3%A4 ä", 2), done()],
            ),
            ("a path", vec![root(), copy_file("c", "iota", 2), done()]),
            ("nothing", vec![root(), copy_file("c", "", 2), done()]),
            (
                "bad escapes",
                vec![root(), copy_file("c", "/%zzä/a%2", 2), done()],
            ),
            ("a NUL", vec![root(), copy_file("c", "/nope%00x", 2), done()]),
            (
                "climbing",
                vec![root(), copy_file("c", "/A/%2e%2E/iota", 2), done()],
            ),
            ("missing", vec![root(), copy_file("c", "/nope", 2), done()]),
            (
                "missing below a file",
                vec![root(), copy_file("c", "/iota/x", 2), done()],
            ),
            ("future", vec![root(), copy_file("c", "/iota", 99), done()]),
            ("over a file", vec![root(), copy_file("iota", "/A/f", 2), done()]),
            (
                "over a file, with a foreign source",
                vec![root(), copy_file("iota", "svn://y/z", 2), done()],
            ),
            ("over a directory", vec![root(), copy_dir("A", "/A", 2), done()]),
            (
                "a file over a directory",
                vec![root(), copy_file("A", "/iota", 2), done()],
            ),
            (
                "a directory over a file",
                vec![root(), copy_dir("iota", "/A/s", 2), done()],
            ),
            ("over the root", vec![root(), copy_dir("", "/A", 2), done()]),
            ("no parent", vec![root(), copy_file("Q/c", "/A/f", 2), done()]),
            (
                "below a file",
                vec![root(), copy_file("iota/c", "/A/f", 2), done()],
            ),
            (
                "control character",
                vec![root(), copy_file("c\x02", "/A/f", 2), done()],
            ),
            (
                "file as directory, added to",
                vec![root(), copy_dir("c", "/iota", 2), add_file("c/y"), done()],
            ),
            (
                "over a file in an added directory",
                vec![
                    root(),
                    copy_dir("c", "/A", 2),
                    add_dir("c/new"),
                    add_file("c/new/z"),
                    copy_file("c/new/z", "/iota", 2),
                    done(),
                ],
            ),
            (
                "directory as file, with a digest",
                vec![root(), copy_file("c", "/A", 2), close_as("c", "x"), done()],
            ),
            (
                "directory as file",
                vec![root(), copy_file("c1", "/A", 2), close_file("c1"), done()],
            ),
            (
                "file as directory",
                vec![root(), copy_dir("c2", "/iota", 2), close_dir("c2"), done()],
            ),
            ("the root", vec![root(), copy_dir("c3", "/", 2), done()]),
            (
                "escapes, slashes, capitals",
                vec![root(), copy_file("c4", "SVN://X/repo//A%2Fs/%67/", 4), done()],
            ),
            (
                "an own child over a copied one",
                vec![
                    root(),
                    copy_dir("c5", "/A", 2),
                    copy_file("c5/f", "/iota", 2),
                    done(),
                ],
            ),
            (
                "a child over a copied one, deeper",
                vec![
                    root(),
                    copy_dir("c6", "/A", 2),
                    open_dir("c6/s", 2),
                    copy_file("c6/s/g", "/iota", 2),
                    done(),
                ],
            ),
            (
                "then changed",
                vec![
                    root(),
                    copy_dir("c7", "/A", 4),
                    open_file("c7/f", 3),
                    text_on("c7/f", "two\n", "three\n"),
                    close_as("c7/f", "three\n"),
                    delete("c7/s/g", None),
                    copy_file("c7/g", "/A/s/g", 4),
                    file_prop("c7/g", "q", "w"),
                    text("c7/g", "gggg\n"),
                    close_as("c7/g", "gggg\n"),
                    dir_prop("c7", "x", "y"),
                    done(),
                ],
            ),
        ],
    );
}

#[test]
fn opening() {
    compare(
        &CommitPair::new(),
        vec![
            ("no directory", vec![root(), open_dir("Q", 1), done()]),
            (
                "no directory, deeper",
                vec![root(), open_dir("A", None), open_dir("A/Q", 1), done()],
            ),
            (
                "directory below a file",
                vec![root(), open_dir("iota/x", 1), done()],
            ),
            ("no file", vec![root(), open_file("nope", 1), done()]),
            ("file below a file", vec![root(), open_file("iota/x", 1), done()]),
            ("stale file", vec![root(), open_file("A/f", 1), done()]),
            ("future file", vec![root(), open_file("A/f", 99), done()]),
            (
                "directory as file",
                vec![root(), open_file("A", 3), close_file("A"), done()],
            ),
            (
                "directory as file, text",
                vec![root(), open_file("A", None), text("A", "x"), done()],
            ),
            (
                "stale directory, properties",
                vec![root(), open_dir("A", 1), dir_prop("A", "p", "v"), done()],
            ),
            (
                "future directory, properties",
                vec![root(), open_dir("A", 99), dir_prop("A", "p", "v"), done()],
            ),
            (
                "stale root, properties",
                vec![root_at(1), dir_prop("", "p", "v"), done()],
            ),
            ("future root", vec![root_at(99), done()]),
            ("no root", vec![done()]),
            (
                "stale directory, other things",
                vec![root_at(1), open_dir("A", 1), add_file("A/new"), done()],
            ),
            (
                "directory as file, properties",
                vec![root(), open_file("A/s", None), file_prop("A/s", "p", "v"), done()],
            ),
            (
                "file as directory, properties",
                vec![root(), open_dir("iota", 2), dir_prop("iota", "p", "v"), done()],
            ),
            (
                "a file of a copy, stale",
                vec![root(), copy_dir("c", "/A", 3), open_file("c/f", 1), done()],
            ),
            (
                "a copied file, future",
                vec![root(), copy_file("c", "/iota", 2), open_file("c", 999), done()],
            ),
            (
                "a copied file",
                vec![
                    root(),
                    copy_file("c", "/iota", 2),
                    open_file("c", 2),
                    text("c", "hi"),
                    close_as("c", "hi"),
                    done(),
                ],
            ),
            (
                "twice, one after the other",
                vec![
                    root(),
                    open_file("A/f", 4),
                    text("A/f", "once\n"),
                    close_file("A/f"),
                    open_file("A/f", None),
                    text_on("A/f", "once\n", "twice\n"),
                    close_as("A/f", "twice\n"),
                    done(),
                ],
            ),
            ("nothing at all", vec![root(), done()]),
        ],
    );
}

#[test]
fn texts() {
    let long: Vec<u8> = (0..450_000u32).flat_map(|n| n.to_le_bytes()).collect();
    compare(
        &CommitPair::new(),
        vec![
            (
                "wrong base",
                vec![root(), open_file("iota", 2), text_on("iota", "x", "hi"), done()],
            ),
            (
                "wrong base of a copy",
                vec![
                    root(),
                    copy_file("c", "/iota", 2),
                    text_on("c", "x", "hi"),
                    done(),
                ],
            ),
            (
                "wrong result",
                vec![
                    root(),
                    open_file("iota", 2),
                    text("iota", "hi"),
                    close_as("iota", ""),
                    done(),
                ],
            ),
            (
                "wrong result without a text",
                vec![root(), open_file("iota", 2), close_as("iota", ""), done()],
            ),
            (
                "wrong result of a new file",
                vec![root(), add_file("n"), close_as("n", "x"), done()],
            ),
            (
                "wrong base of a second text",
                vec![
                    root(),
                    add_file("n"),
                    text_on("n", "", "hi"),
                    text_on("n", "", "hi2"),
                    done(),
                ],
            ),
            (
                "deleted meanwhile, text",
                vec![root(), add_file("n"), delete("n", None), text("n", "x"), done()],
            ),
            (
                "deleted meanwhile, property",
                vec![
                    root(),
                    add_file("n"),
                    delete("n", None),
                    file_prop("n", "a", "b"),
                    done(),
                ],
            ),
            (
                "deleted meanwhile, closed with a digest",
                vec![
                    root(),
                    add_file("n"),
                    delete("n", None),
                    close_as("n", "x"),
                    done(),
                ],
            ),
            (
                "deleted meanwhile, closed",
                vec![root(), add_file("n"), delete("n", None), close_file("n"), done()],
            ),
            (
                "any base of a new file",
                vec![
                    root(),
                    add_file("n1"),
                    text_on("n1", "x", "hi"),
                    close_as("n1", "hi"),
                    done(),
                ],
            ),
            (
                "two texts",
                vec![
                    root(),
                    add_file("n2"),
                    text_on("n2", "", "hi"),
                    text_on("n2", "hi", "hi2"),
                    close_as("n2", "hi2"),
                    done(),
                ],
            ),
            (
                "long",
                vec![
                    root(),
                    add_file("n3"),
                    text("n3", &long),
                    close_as("n3", &long),
                    done(),
                ],
            ),
            (
                "unchanged",
                vec![
                    root(),
                    open_file("iota", 2),
                    text_on("iota", "iota\n", "iota\n"),
                    close_as("iota", "iota\n"),
                    done(),
                ],
            ),
        ],
    );
}

#[test]
fn properties() {
    let mut drives = Vec::new();
    for (name, value) in [
        ("svn:mergeinfo", &b"/a"[..]),
        ("svn:mergeinfo", b"/a:0"),
        ("svn:mergeinfo", b"/a:1\0"),
        ("svn:mergeinfo", b"/\xff:1"),
        ("svn:mergeinfo", b"/a:1\r\n"),
        ("svn:mergeinfo", b"/a:1-3*"),
        ("svn:mergeinfo", b""),
        ("svn:x", b"\xff"),
        ("svn:x", b"a\r\nb"),
        ("svn:x", b"a\0\r"),
        ("svn:x", b"a\0b"),
        ("svn:eol-style", b"bogus"),
        ("svn:wc:x", b"1"),
        ("svn:entry:x", b"1"),
        ("", b"x"),
        ("svn:date", b"bogus"),
        ("svn:date", b"\r"),
        ("x y", b"\r\xff\0"),
        ("svn:executable", b"no"),
    ] {
        drives.push((
            "on a file",
            vec![
                root(),
                open_file("iota", None),
                file_prop("iota", name, value),
                done(),
            ],
        ));
        drives.push(("on the root", vec![root(), dir_prop("", name, value), done()]));
    }
    for name in ["svn:wc:x", "svn:mergeinfo", "none"] {
        drives.push((
            "deleted",
            vec![
                root(),
                open_file("iota", None),
                del_file_prop("iota", name),
                del_dir_prop("", name),
                done(),
            ],
        ));
    }
    compare(&CommitPair::new(), drives);
}

#[test]
fn revision_properties() {
    let mut pair = CommitPair::new();
    let mut different = String::new();
    for user in [Some("alice"), None] {
        pair.user = user;
        for list in [
            &[("svn:log", &b"a\r\nb"[..])][..],
            &[("svn:log", b"\xff")],
            &[("svn:date", b"x")],
            &[
                ("svn:date", b"2001-01-01T00:00:00.000000Z"),
                ("svn:author", b"me"),
            ],
            &[("svn:wc:x", b"x")],
            &[("svn:check-ood", b"x")],
            &[("svn:check-locks", b"x")],
            &[("svn:client-date", b"1")],
            &[
                ("svn:txn-foo", b"x"),
                ("foo", b"bar"),
                ("svn:txn-client-compat-version", b"1.14.2"),
            ],
            &[("svn:mergeinfo", b"no mergeinfo")],
            &[],
        ] {
            pair.revprops = list
                .iter()
                .map(|(name, value)| ((*name).to_owned(), value.to_vec()))
                .collect();
            if let Err(difference) = pair.same(&format!("{list:?}"), &[root(), done()]) {
                different.push_str(&difference);
            }
        }
    }
    assert!(different.is_empty(), "{different}");
    pair.check();
}

#[test]
fn rights() {
    let mut pair = CommitPair::new();
    pair.authz = Some(
        "[/]\n* = rw\n[/A/s]\n* = r\n[/A/f]\n* =\n[/priv]\n* =\n[/ro]\n* = r\n[/ro/w]\n* = rw\n[/n/sub]\n* = r\n\
         [/iota/x]\n* = r\n"
            .to_owned(),
    );
    compare(
        &pair,
        vec![
            ("delete, below read-only", vec![root(), delete("A", None), done()]),
            ("delete", vec![root(), delete("A/s", None), done()]),
            ("delete missing", vec![root(), delete("ro/nope", None), done()]),
            (
                "delete missing, may",
                vec![root(), delete("ro/w/nope", None), done()],
            ),
            ("add", vec![root(), add_file("ro"), done()]),
            ("add, its folder not told", vec![root(), add_file("ro/w"), done()]),
            (
                "add below read-only",
                vec![
                    root(),
                    open_dir("A", None),
                    open_dir("A/s", None),
                    add_file("A/s/w"),
                    done(),
                ],
            ),
            ("add over, below hidden", vec![root(), add_dir("A"), done()]),
            (
                "copy, below read-only",
                vec![root(), copy_dir("n", "/A/s", 2), done()],
            ),
            ("copy hidden", vec![root(), copy_file("v", "/A/f", 2), done()]),
            ("copy with hidden", vec![root(), copy_dir("v", "/A", 2), done()]),
            (
                "copy with hidden, as file",
                vec![root(), copy_file("v", "/A", 2), done()],
            ),
            (
                "copy hidden, missing",
                vec![root(), copy_file("v", "/A/f/x", 2), done()],
            ),
            (
                "copy hidden, future",
                vec![root(), copy_file("v", "/A/f", 99), done()],
            ),
            (
                "copy foreign",
                vec![root(), copy_dir("priv", "svn://h/x", 1), done()],
            ),
            (
                "copy over hidden",
                vec![root(), copy_file("iota", "/A/f", 2), done()],
            ),
            ("open hidden", vec![root(), open_file("A/f", 1), done()]),
            ("open hidden, missing", vec![root(), open_file("priv", 1), done()]),
            (
                "open directory, missing",
                vec![root(), open_dir("priv", None), done()],
            ),
            (
                "property of read-only",
                vec![
                    root(),
                    open_dir("A/s", 1),
                    dir_prop("A/s", "svn:wc:x", "b"),
                    done(),
                ],
            ),
            (
                "file property of read-only",
                vec![
                    root(),
                    open_file("A/s/g", None),
                    file_prop("A/s/g", "svn:wc:x", "b"),
                    done(),
                ],
            ),
            (
                "text of read-only",
                vec![
                    root(),
                    open_file("A/s/g", None),
                    text_on("A/s/g", "x", "b"),
                    done(),
                ],
            ),
            ("control character", vec![root(), add_file("priv/x\x01"), done()]),
            ("root property", vec![root(), dir_prop("", "p", "v"), done()]),
            (
                "copy below read-only that is",
                vec![root(), copy_file("v2", "/A/s/g", 2), done()],
            ),
            ("directory, below read-only", vec![root(), add_dir("n"), done()]),
            (
                "delete, a file above rules",
                vec![root(), delete("iota", None), done()],
            ),
        ],
    );
}

/// One commit of everything, and one on top of it, in each format that repositories can have.
#[test]
fn every_format() {
    for version in ["1.3", "1.4", "1.5", "1.7", "1.8", "1.9"] {
        compare(
            &CommitPair::compatible(version),
            vec![
                (
                    "everything",
                    vec![
                        root(),
                        copy_dir("t", "/A", 4),
                        delete("t/s/g", 4),
                        copy_file("t/s/h", "/iota", 2),
                        text_on("t/s/h", "iota\n", "iota\nmore\n"),
                        close_as("t/s/h", "iota\nmore\n"),
                        open_file("iota", 2),
                        file_prop("iota", "svn:eol-style", "native"),
                        text_on("iota", "iota\n", "iota\nless\n"),
                        close_as("iota", "iota\nless\n"),
                        dir_prop("", "svn:mergeinfo", "/A:1-3"),
                        add_dir("n"),
                        add_file("n/same"),
                        text("n/same", "two\n"),
                        close_as("n/same", "two\n"),
                        done(),
                    ],
                ),
                (
                    "on top",
                    vec![
                        root(),
                        delete("A", 4),
                        copy_dir("A", "/t", 5),
                        open_file("A/f", 3),
                        text_on("A/f", "two\n", "two\nthree\n"),
                        close_as("A/f", "two\nthree\n"),
                        del_dir_prop("", "svn:mergeinfo"),
                        done(),
                    ],
                ),
                ("stale", vec![root(), delete("t", 4), done()]),
            ],
        );
    }
}
