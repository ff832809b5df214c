//! Queries about small histories that random ones seldom contain.

use base::Revnum;
use repos::access::Everything;
use repos::log::LogOptions;
use testkit::repo::Repo;
use testkit::stream::{Content, DumpStream, RecordKind};

use super::{QueryComparison, path};

/// Loads a history and makes queries.
fn compare(context: &str, stream: &DumpStream, queries: &dyn Fn(&mut QueryComparison<'_>)) {
    let repo = Repo::create("1.14");
    repo.load(stream.bytes());
    queries(&mut QueryComparison::open(
        repo.path(),
        &Everything,
        context.into(),
    ));
}

fn change_mergeinfo(stream: &mut DumpStream, kind: RecordKind, path: &str, value: &[u8]) {
    stream.change(kind, path, Content::props(&[("svn:mergeinfo", value)]));
}

fn merged_log_of(paths: &[&str], start: u64, end: u64) -> LogOptions {
    LogOptions {
        paths: paths.iter().copied().map(path).collect(),
        start: Some(Revnum(start)),
        end: Some(Revnum(end)),
        include_merged: true,
        ..LogOptions::default()
    }
}

/// B merges its own past. Youngest first, r4 has nothing to show, because the span that led to it is being searched.
#[test]
fn oldest_first_each_merged_span_is_searched_separately() {
    let mut stream = DumpStream::new(UUID);
    stream.rev("r1").mkdirs(["A", "B"]).file("B/f", "1");
    stream.rev("r2").edit("B/f", "2");
    stream.rev("r3").edit("B/f", "3");
    change_mergeinfo(stream.rev("r4"), RecordKind::Dir, "B", b"/B:2-3");
    change_mergeinfo(stream.rev("r5"), RecordKind::Dir, "A", b"/B:2-4");
    compare("a span of its own", &stream, &|both| {
        both.log(&merged_log_of(&["/A"], 1, 5));
        both.log(&merged_log_of(&["/A"], 5, 1));
    });
}

/// The span of a source that has ended is empty; the incumbent records the revision before it as searched.
#[test]
fn a_source_that_ended_hides_its_last_revision_from_the_incumbent() {
    let mut stream = DumpStream::new(UUID);
    stream.rev("r1").file("A", "1").file("C", "1").file("T", "1");
    for number in 2..=12 {
        let text = number.to_string();
        stream
            .rev(&format!("r{number}"))
            .edit(if number % 2 == 0 { "A" } else { "C" }, &text);
    }
    change_mergeinfo(stream.rev("r13"), RecordKind::File, "T", b"/A:2-5,9-11\n/C:5");
    compare("an ended source", &stream, &|both| {
        both.log(&merged_log_of(&["/T"], 13, 1));
    });
}

/// The sources that one merge names are in the order of a hash table.
#[test]
fn file_revisions_of_one_merge_are_in_hash_order() {
    for sources in [
        &["A", "B", "C", "D", "E", "f", "g", "h"][..],
        &["B", "B b", "B-b", "g", "C", "A"],
        &["a0", "a1", "a10", "a11", "a12", "a2", "a7", "a8"],
        &["one/long", "another", "third.txt", "trunk.c", "file.py"],
    ] {
        let mut stream = DumpStream::new(UUID);
        stream.rev("r1").mkdirs(["one"]).file("T", "t");
        sources.iter().for_each(|source| {
            stream.file(source, source);
        });
        stream.rev("r2");
        sources.iter().for_each(|source| {
            stream.edit(source, format!("{source} 2"));
        });
        let mut lines: Vec<String> = sources.iter().map(|source| format!("/{source}:2")).collect();
        lines.sort();
        change_mergeinfo(
            stream.rev("r3"),
            RecordKind::File,
            "T",
            lines.join("\n").as_bytes(),
        );
        compare(&format!("{sources:?}"), &stream, &|both| {
            both.file_revs(&path("/T"), Revnum(1), Revnum(3), true);
        });
    }
}

/// In r4, `T/f` is replaced by a copy of a file with other mergeinfo. That counts as a merge only if properties of a
/// directory above it are changed in r4, too, and that has or had mergeinfo.
#[test]
fn a_replaced_file_merges_with_its_directory_only() {
    let mergeinfo: (&str, &[u8]) = ("svn:mergeinfo", b"/q:1");
    let cases: [(&str, bool, &str, Values<'_>); 5] = [
        ("the parent gets mergeinfo", false, "T", &[mergeinfo]),
        ("the root gets mergeinfo", false, "", &[mergeinfo]),
        ("a sibling gets mergeinfo", false, "S", &[mergeinfo]),
        ("the parent has mergeinfo", true, "T", &[mergeinfo, ("p", b"1")]),
        ("the parent has none", false, "T", &[("p", b"1")]),
    ];
    for (context, has_before, changed, props) in cases {
        let mut stream = DumpStream::new(UUID);
        stream
            .rev("r1")
            .mkdirs(["T", "S"])
            .file("T/f", "f")
            .file("S/f", "s");
        stream.file("S/g", "s").add(
            RecordKind::File,
            "other",
            Content::both(&[("svn:mergeinfo", b"/S/g:2")], "x"),
        );
        stream.rev("r2").edit("S/f", "s2").edit("S/g", "s3");
        stream.rev("r3");
        if has_before {
            change_mergeinfo(&mut stream, RecordKind::Dir, "T", b"/q:1");
        }
        stream
            .rev("r4")
            .change(RecordKind::Dir, changed, Content::props(props))
            .replace_by_copy(RecordKind::File, "T/f", 2, "other");
        stream.rev("r5").edit("T/f", "last");
        compare(context, &stream, &|both| {
            both.file_revs(&path("/T/f"), Revnum(1), Revnum(5), true);
        });
    }
}

/// Properties with their values.
type Values<'a> = &'a [(&'a str, &'a [u8])];

const UUID: &str = "5ba3b1f0-5f44-4b39-9a7d-4f6ba4c9a7d5";
