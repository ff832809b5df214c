//! Contents at the limits of the format: long texts with several windows, binary and long properties, many of them, names
//! with control characters, deep directories, many entries, copies of copies.

use testkit::history::{Random, noise};
use testkit::stream::{Content, DumpStream, RecordKind};

use super::expected::Expected;
use super::repository::{self, FsxRepository, Settings};
use super::{compare, pack};

use RecordKind::{Dir, File};

#[test]
fn contents_at_the_limits_of_the_format() {
    let stream = stream(7);
    let expected = Expected::of_stream(&stream.bytes());
    let repository = FsxRepository::load(&Settings::shard(SHARD), &stream.bytes());
    // The changed paths of long revisions are read where the incumbent's own tools fail: see `known_faults`.
    compare::all(&repository, &expected, false);
    let packed_by_us = repository.repo().copy();
    repository.pack();
    compare::all(&repository, &expected, true);
    pack::pack(packed_by_us.path());
    let fs = repository::open(&packed_by_us.db()).unwrap();
    repository::verify(&fs).unwrap();
    compare::contents(&fs, &expected);
    pack::check_their_reading(packed_by_us.path(), &expected);
}

fn stream(seed: u64) -> DumpStream {
    let mut random = Random::new(seed);
    let mut stream = DumpStream::new("0f5c4d4e-7b9f-4f0a-8a0d-6f5d3a2b1c0e");
    stream
        .rev("The usual directories")
        .mkdirs(["trunk", "branches", "tags"]);
    texts(&mut stream, &mut random);
    names(&mut stream);
    properties(&mut stream, &mut random);
    copies(&mut stream);
    directories(&mut stream);
    chain(&mut stream, &mut random);
    base_in_a_container(&mut stream);
    stream
}

/// Texts of several windows, which grow, shrink and become empty.
fn texts(stream: &mut DumpStream, random: &mut Random) {
    let mut text = noise(random.next(), 250_000);
    text.extend(b"abcdefgh".repeat(20_000));
    stream
        .rev("Long, empty and missing texts")
        .file("trunk/long", &text)
        .file("trunk/empty", "");
    stream.add(File, "trunk/missing", Content::NOTHING);
    for round in 0..6 {
        let at = random.below(text.len());
        let inserted = noise(random.next(), random.below(300));
        text.splice(at..(at + 50).min(text.len()), inserted);
        let log = "x".repeat(random.below(3000));
        stream.rev(&log).edit("trunk/long", &text);
        if round == 3 {
            stream.rev("Becomes empty").edit("trunk/long", "");
            stream.rev("Becomes short").edit("trunk/long", &text[..1000]);
        }
    }
    let twice = [&text[..], &text].concat();
    stream.rev("Twice the text").edit("trunk/long", &twice);
}

fn names(stream: &mut DumpStream) {
    for name in [
        "sp ace",
        "é",
        "日本語",
        "tab\tx",
        "esc\x1by",
        "a%20b",
        "back\\slash",
        "\x01\x02",
        "-x",
        "del\x7f",
        "ʯ",
    ] {
        // A letter whose first byte is 0xCA cannot be stored by the incumbent.
        if name.as_bytes()[0] == 0xca {
            continue;
        }
        stream.rev("A name").add(
            File,
            &format!("trunk/{name}"),
            Content::both(&[("p", name.as_bytes())], name),
        );
        stream.add(Dir, &format!("trunk/d{name}"), Content::props(&[("q", b"")]));
        stream.file(&format!("trunk/d{name}/{name}"), format!("below {name}"));
    }
}

fn properties(stream: &mut DumpStream, random: &mut Random) {
    let mut set = |stream: &mut DumpStream, range: std::ops::Range<u32>| {
        let props: Vec<_> = range
            .map(|at| (format!("prop-{at}"), noise(random.next(), random.below(60))))
            .collect();
        let props: Vec<_> = props
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_slice()))
            .collect();
        stream.change(File, "trunk/props", Content::props(&props));
    };
    stream.rev("A file for properties").file("trunk/props", "p\n");
    stream.rev("Many properties");
    set(stream, 0..300);
    stream.rev("Most of them change");
    set(stream, 100..301);
    stream.rev("None is left");
    set(stream, 0..0);
    let long = [noise(5, 150_000), vec![0; 150_000]].concat();
    stream
        .rev("A long property")
        .change(Dir, "trunk", Content::props(&[("long", &long), ("nul", b"\0\0")]));
    stream
        .rev("It becomes short")
        .change(Dir, "trunk", Content::props(&[("long", b"short")]));
}

fn copies(stream: &mut DumpStream) {
    let before = |stream: &DumpStream, revisions| stream.youngest() - revisions;
    let copy_of_trunk = |stream: &mut DumpStream, to: &str, revisions| {
        let rev = before(stream, revisions);
        stream.copy(Dir, to, rev, "trunk");
    };
    stream.rev("A branch");
    copy_of_trunk(stream, "branches/a", 1);
    stream
        .rev("Changes on it")
        .edit("branches/a/é", "on a branch\n")
        .file("branches/a/dé/new", "new\n");
    let merged: &[(&str, &[u8])] = &[("svn:mergeinfo", b"/trunk:1-9")];
    stream
        .rev("Mergeinfo")
        .change(Dir, "branches/a", Content::props(merged))
        .change(
            File,
            "branches/a/é",
            Content::props(&[("svn:mergeinfo", b"/trunk/x:3")]),
        );
    stream.rev("A branch of the branch, with changes");
    let rev = before(stream, 1);
    stream.copy(Dir, "branches/b", rev, "branches/a");
    stream
        .delete("branches/b/empty")
        .delete("branches/b/é")
        .file("branches/b/é", "another file\n");
    stream.rev("A copy inside of a copy");
    let rev = before(stream, 2);
    stream
        .copy(Dir, "branches/c", rev, "branches/a")
        .delete("branches/c/dé");
    stream
        .copy(Dir, "branches/c/dé", 2, "trunk")
        .edit("branches/c/dé/long", "short");
    stream.rev("A move with a change").delete("trunk/é");
    let rev = before(stream, 1);
    stream.copy_with(
        File,
        "trunk/moved",
        rev,
        "trunk/é",
        Content::text("moved and changed\n"),
    );
    stream.rev("The branch goes").delete("branches/a");
    stream.rev("And comes back");
    let rev = before(stream, 2);
    stream
        .copy(Dir, "branches/a", rev, "branches/a")
        .edit("branches/a/dé/é", "below a lazy copy\n");
    stream.rev("A replacement by a copy");
    let rev = before(stream, 1);
    stream.replace_by_copy(Dir, "branches/c", rev, "trunk");
    stream
        .rev("A replacement")
        .replace(File, "branches/c/moved", Content::text("no history"));
    stream
        .rev("Properties of the root")
        .change(Dir, "", Content::props(&[("svn:mergeinfo", b"/a:1")]));
    stream.rev("Nothing");
}

/// A deep directory, and one with many entries.
fn directories(stream: &mut DumpStream) {
    stream.rev("A deep directory");
    let mut path = "trunk/deep".to_owned();
    stream.mkdirs([path.as_str()]);
    for level in 0..40 {
        path = format!("{path}/level {level} {}", "x".repeat(20));
        stream.mkdirs([path.as_str()]);
    }
    let leaf = format!("{path}/leaf");
    stream.file(&leaf, "leaf\n");
    stream.rev("A change deep below").edit(&leaf, "changed\n");
    stream.rev("Many entries").mkdirs(["trunk/many"]);
    for at in 0..700 {
        stream.file(
            &format!("trunk/many/a name of some length, number {at}"),
            format!("{}\n", at % 50),
        );
    }
    stream.rev("All but one go");
    for at in 1..700 {
        stream.delete(&format!("trunk/many/a name of some length, number {at}"));
    }
    stream
        .rev("And the last")
        .delete("trunk/many/a name of some length, number 0");
}

/// A long delta chain, with copies on the way.
fn chain(stream: &mut DumpStream, random: &mut Random) {
    stream.rev("A file that grows").file("trunk/log", "");
    let mut text = String::new();
    for at in 0..40 {
        for line in 0..20 {
            text.push_str(&format!("line {}\n", line * at * random.below(99)));
        }
        let number = at.to_string();
        stream.rev("It grows").edit("trunk/log", &text);
        if at % 3 == 0 {
            stream.change(Dir, "trunk", Content::props(&[("n", number.as_bytes())]));
        }
        if at % 4 == 1 {
            let rev = stream.youngest() - 1;
            stream.copy(Dir, &format!("tags/t{at}"), rev, "trunk");
        }
    }
    stream.rev("Changes on all copies");
    for at in (1..40).step_by(4) {
        stream.edit(&format!("tags/t{at}/log"), format!("change on {at}\n"));
    }
}

/// A text of two windows that is short enough for a container, and a delta against it behind the last packed shard.
fn base_in_a_container(stream: &mut DumpStream) {
    let mut text = noise(11, 120_000);
    stream.rev("A text of two windows").file("trunk/medium", &text);
    while stream.youngest() % SHARD != SHARD - 1 {
        stream.rev("Nothing");
    }
    for at in [7, 110_000] {
        text[at] ^= 1;
        stream.rev("A change").edit("trunk/medium", &text);
    }
}

/// Revisions of a shard.
const SHARD: u64 = 5;
