//! Hand-made cases: argument lists, and streams for each rule of the filter.

use std::fs;
use std::io::{Seek as _, SeekFrom};

use testkit::pair::ToolPair;
use testkit::{Side, Tool, sample, scratch};

use super::normal;
use crate::streams::record::StreamRecord;

const EMPTY: &[u8] = b"SVN-fs-dump-format-version: 2\n\n";

#[test]
fn argument_lists_are_checked_as_with_the_incumbent() {
    let folder = scratch();
    fs::write(
        folder.path().join("t1"),
        "  /x/y \nb\t\r\n/\n#c\nd//e/.\n..\nx/\n./v\n",
    )
    .expect("a file");
    fs::write(folder.path().join("t2"), "a b\nc\0d\ne").expect("a file");
    fs::write(folder.path().join("none"), "\n \n").expect("a file");
    fs::write(folder.path().join("bad"), b"a\xff").expect("a file");
    let pair = ToolPair::new("svndumpfilter", folder.path());
    for line in [
        "",
        "foo",
        "--quiet",
        "-q include a",
        "include",
        "exclude",
        "include a",
        "include -r3 a",
        "--badopt",
        "--targets",
        "--quiet=1 include a",
        "include --targets nofile",
        "include --targets .//nofile",
        "include --targets .",
        "include --targets none",
        "include --targets bad",
        "include --version a",
        "exclude --version",
        "--version foo",
        "--version -q",
        "--version --quiet",
        "--version --targets t1",
        "help --quiet",
        "help nosuch",
        "-h --version",
        "include --drop-empty-revs --drop-all-empty-revs",
        "foo --drop-all-empty-revs --drop-empty-revs",
        "help --drop-empty-revs --drop-all-empty-revs",
    ] {
        pair.same_line(line);
    }
    pair.same(&["include", "--targets", ""]);
    // With a stream, all words that make a filter.
    for words in [
        &["include", "/"][..],
        &["include", ""],
        &["exclude", "a//b/", "/c", "a", "a"],
        &["exclude", ".", "./a", "..", "a/../b"],
        &["include", "http://x/y", "a@3", "\\a", "é", " a "],
        &["include", "--pattern", "/a/", "b/*", "c//d", "*", "a["],
        &["include", "--targets", "t1", "zz"],
        &["--targets", "t1", "--targets", "t2", "exclude"],
        &["include", "a", "--drop-empty-revs"],
        &["include", "a", "--drop-all-empty-revs", "--pattern"],
        &["exclude", "a", "--drop-empty-revs", "--renumber-revs"],
        &["exclude", "a", "--renumber-revs", "--preserve-revprops"],
        &["exclude", "a", "--quiet", "--skip-missing-merge-sources"],
    ] {
        let run = |side: Side| {
            let tool = side.tool("svndumpfilter").dir(folder.path()).args(words);
            let output = tool.stdin(EMPTY).run();
            (output.code, output.out(), output.err())
        };
        assert_eq!(run(Side::Theirs), run(Side::Ours), "{words:?}");
    }
    let from_stdin = |side: Side| {
        let tool = side
            .tool("svndumpfilter")
            .args(["include", "--targets", "-", "a"]);
        let output = tool.stdin("x/a\ny").run();
        (output.code, output.out(), output.err())
    };
    assert_eq!(from_stdin(Side::Theirs), from_stdin(Side::Ours));
}

#[test]
fn help_names_every_option() {
    for subcommand in ["include", "exclude"] {
        let lines = |side: Side| {
            let output = side.tool("svndumpfilter").args(["help", subcommand]).ok().out();
            let options = output.lines().filter_map(|line| line.split_once(" : "));
            options
                .map(|(name, _)| name.trim().to_owned())
                .filter(|name| name.starts_with('-'))
                .collect::<Vec<_>>()
        };
        assert_eq!(lines(Side::Theirs), lines(Side::Ours));
    }
}

/// A stream under construction.
struct CaseStream(Vec<u8>);

type Headers<'a> = &'a [(&'a str, &'a str)];
type Props<'a> = Option<&'a [(&'a str, Option<&'a str>)]>;

impl CaseStream {
    fn new() -> Self {
        CaseStream(EMPTY.to_vec())
    }

    /// Adds a revision with a date, an author and a message.
    fn rev(mut self, number: i64) -> Self {
        let props = [
            ("svn:date", Some("2020-01-01T00:00:00.000000Z")),
            ("svn:author", Some("a")),
            ("svn:log", Some("l")),
        ];
        let number = number.to_string();
        let mut record = StreamRecord::new(&[("Revision-number", &number)], Some(&props), None);
        record.end = b"\n".to_vec();
        record.write(&mut self.0);
        self
    }

    /// Adds a node; `node` is path, kind and action, `-` for none.
    fn node(mut self, node: &str, more: Headers<'_>, props: Props<'_>, text: Option<&str>) -> Self {
        let names = ["Node-path", "Node-kind", "Node-action"];
        let own = names
            .into_iter()
            .zip(node.split(' '))
            .filter(|(_, value)| *value != "-");
        let headers: Vec<(&str, &str)> = own.chain(more.iter().copied()).collect();
        StreamRecord::new(&headers, props, text.map(str::as_bytes)).write(&mut self.0);
        self
    }

    fn raw(mut self, bytes: &[u8]) -> Self {
        self.0.extend_from_slice(bytes);
        self
    }

    /// Revisions `first` to 9: 3 and 5 have only the node `a`, 6 has none, the others have the node `k`.
    fn long(first: i64) -> Self {
        (first..10).fold(CaseStream::new(), |stream, number| {
            let stream = stream.rev(number);
            match number {
                3 | 5 => stream.node("a file add", &[], None, None),
                6 => stream,
                _ => stream.node("k file add", &[], None, Some("text\n")),
            }
        })
    }
}

/// Streams with their names.
#[derive(Default)]
struct Cases(Vec<(String, CaseStream)>);

impl Cases {
    fn add(&mut self, name: impl Into<String>, stream: CaseStream) {
        self.0.push((name.into(), stream));
    }

    /// Compares both filters for `exclude a`, with a [`sample`] of all pairs of a combination of options and a stream. With a `step`
    /// that has no common divisor with the number of streams and is below the number of combinations, each stream is met.
    fn compare(&self, step: usize) {
        let combinations: [&[&str]; 6] = [
            &[],
            &["--drop-empty-revs"],
            &["--drop-empty-revs", "--renumber-revs"],
            &["--drop-all-empty-revs", "--renumber-revs"],
            &["--skip-missing-merge-sources", "--preserve-revprops"],
            &[
                "--skip-missing-merge-sources",
                "--drop-all-empty-revs",
                "--renumber-revs",
            ],
        ];
        let pairs = combinations
            .into_iter()
            .flat_map(|options| self.0.iter().map(move |case| (options, case)));
        for (options, (name, stream)) in sample(step, pairs) {
            let run = |side: Side| {
                let tool = side.tool("svndumpfilter").args(["exclude", "a"]).args(options);
                tool.stdin(&*stream.0).run()
            };
            let (theirs, ours) = (run(Side::Theirs), run(Side::Ours));
            let kind = normal::difference(&theirs, &ours, &stream.0);
            assert_eq!(
                kind,
                None,
                "{name} {options:?}\n{}",
                normal::shown(&theirs, &ours)
            );
        }
    }
}

#[test]
fn revisions_are_kept_dropped_and_padded_as_with_the_incumbent() {
    let mut cases = Cases::default();
    for first in [0, 1, 4] {
        cases.add("long", CaseStream::long(first));
    }
    let odd = CaseStream::new()
        .raw(b"Revision-number: 0\nFoo: x\nProp-content-length: 10\nContent-length: 10\n\nPROPS-END\n\n")
        .node("a file add", &[], None, None)
        .raw(b"Revision-number: 1\nContent-length: 0\n\n\n")
        .raw(b"Revision-number: 2\n\n\n")
        .node("a file add", &[], None, None)
        .raw(b"UUID: u\nFoo: y\n\nSVN-fs-dump-format-version: 3\n\n")
        .raw(b"Revision-number: 5x\n\nRevision-number: x\n\nRevision-number: -5\n\n")
        .node("k file add", &[], None, None);
    cases.add("odd revisions", odd);
    let gaps = [
        (2, "a"),
        (3, "k"),
        (7, "a"),
        (8, "k"),
        (20, "k"),
        (5, "k"),
        (5, "a"),
        (21, "k"),
    ];
    let gaps = gaps
        .into_iter()
        .fold(CaseStream::new(), |stream, (number, path)| {
            stream
                .rev(number)
                .node(&format!("{path} file add"), &[], None, None)
        });
    cases.add("gaps", gaps);
    cases.compare(1);
}

#[test]
fn copies_are_kept_renumbered_and_refused_as_with_the_incumbent() {
    let mut cases = Cases::default();
    for first in [0, 1, 4] {
        for rev in [
            "0",
            "1",
            "3",
            "4",
            "5",
            "6",
            "9",
            "10",
            "x",
            "-1",
            "4x",
            "99999999999999999999",
        ] {
            for path in ["k", "/k", "a", "a/b", "//a", ""] {
                let source = [("Node-copyfrom-rev", rev), ("Node-copyfrom-path", path)];
                if path == "k" || rev == "4" {
                    let copied = CaseStream::long(first).node("q dir add", &source, None, None);
                    cases.add(format!("copy {path}@{rev}, first {first}"), copied);
                }
            }
        }
    }
    let source = [
        ("Node-copyfrom-rev", "1"),
        ("Node-copyfrom-path", "a"),
        ("Text-delta", "true"),
    ];
    for node in ["q file add", "q dir add", "q - add", "q file -", "q file delete"] {
        for text in [None, Some(""), Some("t")] {
            let copied = CaseStream::long(0).node(node, &source, Some(&[("x", Some("y"))]), text);
            cases.add(format!("{node} {text:?}"), copied);
        }
    }
    for half in [&source[..1], &source[1..2]] {
        let copied = CaseStream::long(0).node("q file add", half, None, None);
        cases.add("half a source", copied);
    }
    // 68 streams.
    cases.compare(5);
}

#[test]
fn mergeinfo_changes_as_with_the_incumbent() {
    let values = [
        "",
        "garbage",
        "/b:1",
        "/b:1-5",
        "/b:2",
        "/b:2-3",
        "/b:3",
        "/b:1,3,5",
        "/b:2,4",
        "/b:2*,4",
        "/b:1*,2,5*,6-7",
        "/b:1,2*",
        "/b:2*,4*,5,7*,9",
        "/b:4-12",
        "/b:11-12",
        "/b:9-10",
        "/a:1",
        "/a:5\n/b:1",
        "b:3,2,1\n//c/:2",
        "/b/../a:1",
        "/b:1-3\r\n/c:2",
        "/b:20\n/a:1",
        "/b:",
        "/z:7\n/b:4\n/k/a:1",
    ];
    let mut cases = Cases::default();
    for (first, value) in [0, 1, 2, 4]
        .into_iter()
        .flat_map(|first| values.map(|value| (first, value)))
    {
        let props = [("svn:mergeinfo", Some(value)), ("a", Some("/a:1"))];
        let stream = CaseStream::long(first).node("q file change", &[], Some(&props), None);
        cases.add(format!("{value:?}, first {first}"), stream);
    }
    // 24 values, each of which is met.
    cases.compare(13);
}

#[test]
fn nodes_pass_as_with_the_incumbent() {
    let mut cases = Cases::default();
    let one = || CaseStream::new().rev(1);
    let delta = [("Prop-delta", "true")];
    cases.add(
        "no changes",
        one().node("q file add", &delta, Some(&[]), Some("t")),
    );
    cases.add(
        "a deletion",
        one().node("q file add", &delta, Some(&[("x", None)]), None),
    );
    cases.add(
        "a deletion in a list",
        one().node("q file add", &[], Some(&[("x", None)]), None),
    );
    cases.add(
        "a deletion in a filtered list",
        one().node("a file add", &[], Some(&[("x", None)]), None),
    );
    cases.add(
        "order of properties",
        one().node(
            "q file add",
            &[],
            Some(&[("z", Some("1")), ("b", Some("2")), ("b", Some("3"))]),
            None,
        ),
    );
    cases.add(
        "unknown headers",
        one().node("q file add", &[("Foo", "x"), ("Foo", "y"), ("X", "")], None, None),
    );
    for node in [
        "/q file add",
        "//q file add",
        " file change",
        "/ dir change",
        "q/ file add",
        "a/ dir -",
        "q - -",
    ] {
        cases.add(node, one().node(node, &[], None, None));
    }
    for rest in [
        &b"Text-content-length: 10\n\n12"[..],
        b"Text-content-length: 10\nContent-length: 15\n\n1234567890abcde",
        b"Text-content-length: -1\n\n",
        b"Text-content-length: +5x\n\n12345",
        b"Content-length: 5\n\n12345",
        b"Content-length: -5\n\n",
        b"Prop-content-length: 100\n\nK 1\na\nV 1\nb\nK 3",
        b"Prop-content-length: 22\nContent-length: 5\n\nK 1\na\nV 1\nb\nPROPS-END\n",
        b"Prop-content-length: 22\nText-content-length: 4\nContent-length: 5\n\nK 1\na\nV 1\nb\nPROPS-END\n1234",
        b"Prop-content-length: 12\nText-content-length: 4\nContent-length: 16\n\nK 1\na\nV 1\nb\nPROPS-END\n1234",
        b"Prop-content-length: 42\nContent-length: 42\n\nK 1\na\nV 1\nb\nPROPS-END\n1234",
        b"Prop-content-length: 0\nContent-length: 0\n\n",
        b"Prop-content-length: 24\n\nK 3\na\0b\nV 3\nx\0y\nPROPS-END\n",
        b"Prop-content-length: 22\n\nK 1\n\xff\nV 1\n\xff\nPROPS-END\n",
        b"Node-kind: symlink\nX: a\0b\nText-content-length: 3\n\nabc",
        b"Foo\n",
    ] {
        let stream = one().raw(b"Node-path: q\nNode-action: add\n").raw(rest);
        let oldest = [b"SVN-fs-dump-format-version: 1", &stream.0[EMPTY.len() - 2..]].concat();
        cases.add(rest.escape_ascii().to_string(), stream);
        cases.add(format!("oldest {}", rest.escape_ascii()), CaseStream(oldest));
    }
    cases.add(
        "a path that is not UTF-8",
        one().raw(b"Node-path: \xffaa\nNode-action: delete\n\n"),
    );
    cases.add(
        "filtered odd paths",
        one().raw(b"Node-path: a/\xc3\xa9\n\nNode-path: a/\xff\n\nNode-path: a\0b\n\n"),
    );
    cases.add(
        "no revision",
        CaseStream::new().node("q file add", &[], None, None),
    );
    // 48 streams.
    cases.compare(5);
}

/// What the incumbent writes cannot be loaded. Sven's can.
#[test]
fn streams_that_the_incumbent_breaks_can_be_loaded() {
    let empty = CaseStream::new()
        .raw(b"Revision-number: 0\n\nRevision-number: 1\nProp-content-length: 10\nContent-length: 10\n\nPROPS-END\n\n")
        .node("k dir add", &[], Some(&[]), None);
    let oldest = b"SVN-fs-dump-format-version: 1\n\nRevision-number: 1\n\n\
        Node-path: k\nNode-kind: file\nNode-action: add\nContent-length: 15\n\nPROPS-END\ntext\n\n\n";
    let lost = CaseStream::new()
        .rev(1)
        .node("a file add", &[], Some(&[]), None)
        .rev(2)
        .node("k dir add", &[], Some(&[("svn:mergeinfo", Some("/b:1"))]), None);
    for (stream, options, printed) in [
        (&empty.0[..], &[][..], "/\n k/\n"),
        (oldest, &[], "/\n k\n"),
        (
            &lost.0,
            &[
                "--drop-empty-revs",
                "--renumber-revs",
                "--skip-missing-merge-sources",
            ],
            "/\n k/\n",
        ),
    ] {
        let filter = Side::Ours
            .tool("svndumpfilter")
            .args(["exclude", "--quiet", "a"])
            .args(options);
        let filtered = filter.stdin(stream).ok().stdout;
        let folder = scratch();
        let repo = folder.path().join("r");
        Tool::new("svnadmin").arg("create").arg(&repo).ok();
        Tool::new("svnadmin")
            .args(["load", "-q"])
            .arg(&repo)
            .stdin(filtered)
            .ok();
        assert_eq!(Tool::new("svnlook").arg("tree").arg(&repo).ok().out(), printed);
    }
}

/// Long texts that are left out of a file are not read. The file may begin anywhere, and end in any of them.
#[test]
fn a_file_is_filtered_as_a_pipe_is() {
    let text = "x".repeat(700_000);
    let stream = CaseStream::new()
        .rev(1)
        .node("a file add", &[], Some(&[]), Some(&text))
        .node("k file add", &[], Some(&[]), Some(&text[..300_000]))
        .rev(2)
        .node("a file change", &[], None, Some(&text))
        .node("k file change", &[], None, Some("new"));
    let folder = scratch();
    let path = folder.path().join("dump");
    let before = b"a line that is no part of it\n";
    let length = stream.0.len();
    for end in [100, 500_000, 700_400, 1_200_000, length - 200, length - 1, length] {
        let stream = &stream.0[..end];
        fs::write(&path, [&before[..], stream].concat()).expect("a file");
        let filter = |side: Side| side.tool("svndumpfilter").args(["exclude", "a"]);
        let of_file = |side: Side| {
            let mut file = fs::File::open(&path).expect("a file");
            file.seek(SeekFrom::Start(before.len() as u64)).expect("a file");
            let output = filter(side).command().stdin(file).output().expect("a program");
            (output.status.code(), output.stdout, output.stderr)
        };
        let (theirs, ours) = (of_file(Side::Theirs), of_file(Side::Ours));
        let of_pipe = filter(Side::Ours).stdin(stream).run();
        let of_pipe = (Some(of_pipe.code), of_pipe.stdout, of_pipe.stderr);
        assert!(ours == of_pipe, "{end}: the file differs from the pipe");
        assert!(ours == theirs, "{end}: {}", String::from_utf8_lossy(&ours.2));
    }
}
