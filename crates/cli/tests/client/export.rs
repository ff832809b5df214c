//! `svn export`: the same output, the same trees with modes, times and links.
//!
//! `EXPORT_SEEDS=A..B` runs other random exports.

use std::fs::Permissions;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::path::Path;

use base::checksum::Md5;
use rand::{Rng as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;
use testkit::stream::{Content, DumpStream, RecordKind};
use testkit::{Repo, Side, Spec, Tool, build, sample_from, seeds};

use crate::twins::{Access, TwinClients};

/// The end of 2022: commits of the history are before, exports are after.
const FIRST_YEARS: i64 = 1_672_531_200;

/// Returns a repository with all that an export treats specially.
fn repository() -> Repo {
    let mut stream = DumpStream::new("1e720ca1-2b3c-4d4e-8f50-0123456789ab");
    let dirs = [
        "trunk",
        "trunk/a",
        "trunk/a/b",
        "trunk/empty",
        "trunk/dü",
        "other",
        "other/sub",
    ];
    stream.rev("dirs").mkdirs(dirs);
    let mut file = |path: &str, props: &[(&str, &[u8])], text: &[u8]| {
        stream.add(RecordKind::File, path, Content::both(props, text));
    };
    file("trunk/a/plain", &[], b"plain\n");
    file("trunk/a/empty", &[], b"");
    file("trunk/a/big", &[], &b"0123456789abcdef\n".repeat(20_000));
    file("trunk/a/program", &[("svn:executable", b"*")], b"#!/bin/sh\n");
    file("trunk/a/locked", &[("svn:needs-lock", b"*")], b"x\n");
    file("trunk/a/link", &[("svn:special", b"*")], b"link plain");
    file(
        "trunk/a/b/dangling",
        &[("svn:special", b"*")],
        b"link ../../nowhere",
    );
    file("trunk/a/b/to-dir", &[("svn:special", b"*")], b"link ../../empty");
    file(
        "trunk/a/b/special",
        &[("svn:special", b"*"), ("svn:executable", b"*")],
        b"nothing",
    );
    file(
        "trunk/a/b/two-lines",
        &[("svn:special", b"*")],
        b"link dangling\nrest",
    );
    file(
        "trunk/a/b/with-nul",
        &[("svn:special", b"*")],
        b"link dangling\0rest",
    );
    let mixed = b"one\r\ntwo\nthree\r$Id$\n$Date$ $Rev:: $ $Own$\n";
    for style in ["native", "LF", "CR", "CRLF", "unknown"] {
        let props: [(&str, &[u8]); 2] = [
            ("svn:eol-style", style.as_bytes()),
            ("svn:keywords", b"Id Rev Date Own=%u%_%P%_%R"),
        ];
        file(&format!("trunk/eol {style}"), &props, mixed);
    }
    file(
        "trunk/dü/fé",
        &[("svn:keywords", b"URL Header\nAuthor")],
        b"$URL$ $Header$ $Author$ $Id$",
    );
    file("other/file", &[], b"other\n");
    file("other/sub/file%20x", &[], b"sub\n");
    stream
        .rev("edit")
        .edit("trunk/a/plain", "changed\n")
        .delete("trunk/a/locked");
    stream
        .rev("move")
        .copy(RecordKind::Dir, "moved", 2, "trunk")
        .delete("trunk");
    stream.rev("back").copy(RecordKind::Dir, "trunk", 3, "moved");
    let inner: [(&str, &[u8]); 1] = [("svn:externals", b"^/other/file nested-file\n")];
    stream
        .rev("externals")
        .change(RecordKind::Dir, "other/sub", Content::props(&inner));
    let lines = b"^/other ext\n# comment\n-r1 ^/other@2 old\n../other/file one/two/file\n^/none missing\n^/other/sub \"with blank\"\n//bad\n";
    let outer: [(&str, &[u8]); 1] = [(
        "svn:externals",
        lines.strip_suffix(b"//bad\n").expect("it ends so"),
    )];
    stream.change(RecordKind::Dir, "trunk/a", Content::props(&outer));
    stream.rev("wrong externals").mkdirs(["wrong"]);
    let wrong: [(&str, &[u8]); 1] = [("svn:externals", b"^/other\n")];
    stream.change(RecordKind::Dir, "wrong", Content::props(&wrong));
    stream.copy(RecordKind::File, "renamed", 2, "other/file");
    build(&Spec::small("1.14").with(stream).named("export"))
}

/// Describes what is below the working directory of a side: kinds, modes, times of files, and contents. URLs in texts differ.
fn tree(twins: &TwinClients, side: Side) -> Vec<String> {
    let (top, url) = (&twins.dir(side), twins.url(side));
    let mut out = Vec::new();
    let mut folders = vec![top.to_owned()];
    while let Some(path) = folders.pop() {
        let found = path.symlink_metadata().expect("an entry");
        let file_name = path.file_name().unwrap_or_default().to_string_lossy();
        if file_name.len() == 10 && file_name.starts_with("svn-") {
            // The incumbent leaves temporary files if an export fails.
            continue;
        }
        let name = path.strip_prefix(top).expect("it is below").display().to_string();
        let mode = found.permissions().mode() & 0o7777;
        if found.is_symlink() {
            out.push(format!("{name} -> {:?}", path.read_link().expect("a link")));
        } else if found.is_dir() {
            out.push(format!("{name}/ {mode:o}"));
            let entries = path.read_dir().expect("a directory");
            folders.extend(entries.map(|entry| entry.expect("an entry").path()));
        } else {
            let mut text = std::fs::read(&path).expect("a file");
            if let Ok(words) = std::str::from_utf8(&text)
                && words.contains(url)
            {
                text = words.replace(url, "URL").into_bytes();
            }
            let is_new = found.mtime() > FIRST_YEARS;
            let time = if is_new {
                (0, 0)
            } else {
                (found.mtime(), found.mtime_nsec())
            };
            out.push(format!(
                "{name} {mode:o} {time:?} {} {}",
                text.len(),
                Md5::of(&text)
            ));
        }
    }
    out.sort();
    out
}

/// Removes what is below the working directories.
fn clear(twins: &TwinClients) {
    for side in Side::BOTH {
        let dir = twins.dir(side);
        std::fs::remove_dir_all(&dir).expect("it is there");
        std::fs::create_dir(&dir).expect("it is new");
    }
}

/// Removes the letters of temporary names.
pub fn without_temporary_names(text: &str) -> String {
    let mut parts = text.split("svn-");
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let end = part.char_indices().nth(6).map_or(part.len(), |(at, _)| at);
        out.push_str("svn-…");
        out.push_str(&part[end..]);
    }
    out
}

/// Runs an export on both sides and compares outputs and trees. Over HTTP the incumbent requests files one by one, so the order of lines
/// is that of the responses.
fn difference(
    twins: &TwinClients,
    access: Access,
    words: &[&str],
    prepare: impl Fn(Tool) -> Tool,
) -> Option<String> {
    let outputs = twins.outputs(words, prepare);
    let is_http = matches!(access, Access::Http | Access::HttpV1 | Access::Https);
    let [theirs, ours] = outputs.map(|output| {
        let output = without_temporary_names(&output);
        let (out, rest) = output.split_once("\n--- stderr\n").expect("a shape");
        let mut lines: Vec<&str> = out.lines().collect();
        if is_http {
            lines.sort_unstable();
        }
        let failed = !rest.ends_with("exit 0");
        match is_http && failed && !words.iter().any(|word| word.contains("@6")) {
            true => rest.to_owned(),
            false => format!("{}\n{rest}", lines.join("\n")),
        }
    });
    if ours != theirs {
        return Some(format!(
            "{access:?} {words:?}
--- theirs
{theirs}
--- ours
{ours}"
        ));
    }
    if theirs.ends_with("exit 0") || theirs.contains("E205011") {
        let [theirs, ours] = Side::BOTH.map(|side| tree(twins, side));
        if ours != theirs {
            return Some(format!(
                "{access:?} {words:?}
--- theirs
{theirs:#?}
--- ours
{ours:#?}"
            ));
        }
    }
    None
}

fn assert_none(differences: &[String]) {
    assert!(
        differences.is_empty(),
        "{} exports differ\n{}",
        differences.len(),
        differences.join("\n")
    );
}

#[test]
fn trees_files_and_options() {
    let mut differences = Vec::new();
    let repo = repository();
    for (number, access) in Access::ALL.into_iter().enumerate() {
        let twins = TwinClients::new(&repo, access);
        let lines = [
            "svn export {URL}/trunk --ignore-externals",
            "svn export {URL}/trunk out -r2",
            "svn export {URL}/trunk@2 out -r1",
            "svn export {URL}/trunk@4 out",
            "svn export -r 3 {URL}/moved@HEAD ./x//y/../z/",
            "svn export {URL}/trunk out -N",
            "svn export {URL}/trunk out --depth empty",
            "svn export {URL}/trunk out --depth immediates",
            "svn export {URL}/trunk out -N --depth infinity",
            "svn export {URL}/trunk out --native-eol CRLF --ignore-externals",
            "svn export {URL}/trunk out --native-eol CR --ignore-keywords --ignore-externals",
            "svn export -q {URL}/trunk out --ignore-externals",
            "svn export {URL}/trunk/a/plain",
            "svn export {URL}/trunk/a/link",
            "svn export {URL}/trunk/a/b/special out",
            "svn export {URL}/trunk/a/program out@",
            "svn export {URL}/trunk/d%C3%BC/f%C3%A9",
            "svn export {URL}/trunk/a/plain no/such/directory",
            "svn export {URL}/trunk/nothing",
            "svn export {URL}/trunk@99 out",
            "svn export -r99 {URL}/trunk out",
            "svn export -r0 {URL}/trunk out",
            "svn export -r{2001-01-01} {URL}/trunk out",
            "svn export -r 2 {URL}/renamed .",
            "svn export {URL}/trunk .",
            "svn export --force {URL}/trunk@4 .",
            "svn export {URL}@6 out --ignore-externals",
            "svn export -q {URL}/trunk/a out",
            "svn export {URL}/trunk/a out",
            "svn export --force {URL}/trunk/a out",
            "svn export {URL}/wrong out",
        ];
        for line in sample_from(number, 4, lines) {
            clear(&twins);
            let words: Vec<&str> = line.split(' ').collect();
            differences.extend(difference(&twins, access, &words, |tool| tool));
        }
    }
    assert_none(&differences);
}

#[test]
fn arguments() {
    let twins = TwinClients::new(&repository(), Access::Disk);
    for line in [
        "svn export",
        "svn export a b c",
        "svn export -r1:2",
        "svn export -r PREV {URL}",
        "svn export -r PREV file:///nowhere/x",
        "svn export {URL}@BASE",
        "svn export {URL} {URL}",
        "svn export {URL} {URL}@1",
        "svn export {URL} out@3",
        "svn export {URL} out@@3",
        "svn export {URL}@x out",
        "svn export x@x out",
        "svn export nothing",
        "svn export nothing@2 out",
        "svn export ../x/../nothing/ out",
        "svn export /",
        "svn export ..",
        "svn export . out",
        "svn export {URL} --native-eol lf",
        "svn export nothing --native-eol lf -r1:2",
        "svn export {URL} --depth unknown",
        "svn export {URL} --depth exclude -N",
        "svn export {URL} --quiet=3",
        "svn export file:///nowhere/x",
        "svn export foo://127.0.0.1:1/x",
        "svn export {URL}/../x",
        "svn export {URL}/%zz",
        "svn export {URL} /proc/nothing",
    ] {
        twins.same(line);
    }
    twins.same_words(&["svn", "export", "{URL}/trunk", ""]);
    twins.same_words(&["svn", "export", "", "out"]);
}

/// Puts something at a target.
type Prepare = fn(&Path);

#[test]
fn what_is_in_the_way() {
    let mut differences = Vec::new();
    let repo = repository();
    let accesses = [Access::Disk, Access::Svn, Access::Http];
    for (number, access) in accesses.into_iter().enumerate() {
        let twins = TwinClients::new(&repo, access);
        let cases: [(&str, Prepare); 10] = [
            ("a file", |target| std::fs::write(target, "old").expect("new")),
            ("an empty directory", |target| {
                std::fs::create_dir(target).expect("new")
            }),
            ("a link to nothing", |target| {
                symlink("nowhere", target).expect("new")
            }),
            ("a link to a directory", |target| {
                symlink("..", target).expect("new")
            }),
            ("a file for a directory", |target| {
                std::fs::create_dir(target)
                    .and_then(|()| std::fs::write(target.join("b"), "old"))
                    .expect("new");
            }),
            ("a link for a directory", |target| {
                std::fs::create_dir(target)
                    .and_then(|()| symlink("..", target.join("b")))
                    .expect("new");
            }),
            ("a directory for a file", |target| {
                std::fs::create_dir_all(target.join("plain/x")).expect("new")
            }),
            ("a file for a file", |target| {
                std::fs::create_dir(target)
                    .and_then(|()| std::fs::write(target.join("plain"), "old"))
                    .expect("new");
            }),
            ("a link for a file", |target| {
                std::fs::create_dir(target)
                    .and_then(|()| symlink("../x", target.join("plain")))
                    .expect("new");
            }),
            ("a file above", |target| {
                std::fs::write(target, "old").expect("new")
            }),
        ];
        let sources = ["{URL}/trunk/a@4", "{URL}/trunk/a/plain"];
        let all = cases.into_iter().flat_map(|case| {
            let ways = sources.map(|source| [(case, source, &[][..]), (case, source, &["--force"][..])]);
            ways.into_iter().flatten()
        });
        for ((name, put), source, force) in sample_from(number, 3, all) {
            clear(&twins);
            for side in Side::BOTH {
                put(&twins.dir(side).join("out"));
            }
            let target = if name == "a file above" { "out/x/y" } else { "out" };
            let words = [&["svn", "export", source, target], force].concat();
            differences.extend(difference(&twins, access, &words, |tool| tool));
        }
    }
    assert_none(&differences);
}

/// What is in the way of one of many files: the lines for the files before it are printed, and none for those behind it.
#[test]
fn what_is_in_the_way_of_one_of_many_files() {
    let mut stream = DumpStream::new("1e720ca1-2b3c-4d4e-8f50-0123456789ac");
    stream.rev("files").mkdirs(["many"]);
    for number in 0..500 {
        let text = format!("text {number}\n").repeat(number);
        stream.add(
            RecordKind::File,
            &format!("many/f{number}"),
            Content::both(&[], text.as_bytes()),
        );
    }
    let repo = build(&Spec::small("1.14").with(stream).named("export-many"));
    let mut differences = Vec::new();
    for access in [Access::Disk, Access::Svn, Access::Http] {
        let twins = TwinClients::new(&repo, access);
        for number in [0, 77, 250, 499] {
            clear(&twins);
            for side in Side::BOTH {
                let obstacle = twins.dir(side).join(format!("out/f{number}/x"));
                std::fs::create_dir_all(obstacle).expect("new");
            }
            let words = ["svn", "export", "--force", "{URL}/many", "out"];
            differences.extend(difference(&twins, access, &words, |tool| tool));
        }
    }
    assert_none(&differences);
}

#[test]
fn permissions_time_zones_and_character_sets() {
    let mut differences = Vec::new();
    let repo = repository();
    let twins = TwinClients::new(&repo, Access::Disk);
    for (name, mode) in [("ro", 0o555), ("rw", 0o755)] {
        for side in Side::BOTH {
            let dir = twins.dir(side).join(name);
            std::fs::create_dir(&dir).expect("new");
            std::fs::set_permissions(&dir, Permissions::from_mode(mode)).expect("it is ours");
        }
    }
    for line in [
        "svn export {URL}/trunk ro/out",
        "svn export {URL}/trunk ro/out/deeper",
        "svn export {URL}/trunk/a/plain ro/out",
        "svn export --force {URL}/trunk/a@4 ro",
        "svn export --force {URL}/trunk/a@4 rw",
    ] {
        let words: Vec<&str> = line.split(' ').collect();
        differences.extend(difference(
            &twins,
            Access::Disk,
            &words,
            Tool::bound_by_permissions,
        ));
    }
    for zone in ["America/New_York", "Asia/Kolkata", "UTC"] {
        clear(&twins);
        let words = ["svn", "export", "--ignore-externals", "{URL}/trunk"];
        differences.extend(difference(&twins, Access::Disk, &words, |tool| {
            tool.env("TZ", zone)
        }));
    }
    for words in [
        ["svn", "export", "{URL}/trunk@4", "out"],
        ["svn", "export", "{URL}/trunk/d%C3%BC", "d"],
        ["svn", "export", "{URL}/trunk/d%C3%BC/f%C3%A9", "f"],
        ["svn", "export", "-q", "{URL}/trunk/d%C3%BC/f%C3%A9"],
    ] {
        differences.extend(difference(&twins, Access::Disk, &words, |tool| {
            tool.env("LC_ALL", "C")
        }));
    }
    assert_none(&differences);
}

#[test]
fn the_umask_counts() {
    let twins = TwinClients::new(&repository(), Access::Disk);
    for umask in ["000", "027", "033", "077", "133"] {
        clear(&twins);
        // The shell sets the umask; the program is that of each side.
        for side in Side::BOTH {
            let program = side.tool("svn").command().get_program().to_owned();
            let url = format!("file://{}/trunk@4", twins.repository(side).display());
            let script = format!("umask {umask} && exec \"$0\" export -q {url} out");
            Tool::new("sh")
                .arg("-c")
                .arg(script)
                .arg(program)
                .dir(&twins.dir(side))
                .ok();
        }
        let [theirs, ours] = Side::BOTH.map(|side| tree(&twins, side));
        assert_eq!(ours, theirs, "umask {umask}");
    }
}

#[test]
fn random_exports() {
    let mut differences = Vec::new();
    let repo = repository();
    let all: Vec<(Access, TwinClients)> = Access::ALL
        .into_iter()
        .map(|access| (access, TwinClients::new(&repo, access)))
        .collect();
    for seed in seeds("EXPORT_SEEDS", 0..40) {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let (access, twins) = &all[random.random_range(0..all.len())];
        let paths = [
            "",
            "/trunk",
            "/trunk/a",
            "/other",
            "/moved/a",
            "/wrong",
            "/trunk/a/plain",
            "/none",
            "/trunk/d%C3%BC",
        ];
        let mut words = vec!["svn".to_owned(), "export".to_owned()];
        let peg = match random.random_range(0..4) {
            0 => format!("@{}", random.random_range(0..9)),
            1 => "@HEAD".to_owned(),
            _ => String::new(),
        };
        words.push(format!(
            "{{URL}}{}{peg}",
            paths[random.random_range(0..paths.len())]
        ));
        if random.random_bool(0.3) {
            words.push(format!("-r{}", random.random_range(0..9)));
        }
        let options = [
            "--force",
            "-q",
            "-N",
            "--depth=files",
            "--depth=immediates",
            "--depth=empty",
            "--ignore-externals",
            "--ignore-keywords",
            "--native-eol=CRLF",
            "--native-eol=LF",
            "--native-eol=CR",
        ];
        for option in options {
            if random.random_bool(0.15) {
                words.push(option.to_owned());
            }
        }
        let targets = ["out", ".", "d", "d/new", "f", "", "x/y"];
        words.push(targets[random.random_range(0..targets.len())].to_owned());
        clear(twins);
        for side in Side::BOTH {
            let dir = twins.dir(side);
            std::fs::create_dir(dir.join("d")).expect("new");
            std::fs::write(dir.join("f"), "old").expect("new");
        }
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let difference = difference(twins, *access, &words, |tool| tool);
        differences.extend(difference.map(|text| format!("seed {seed} {text}")));
    }
    assert_none(&differences);
}
