//! `svn blame`.

use testkit::history::Random;
use testkit::random_history::RandomHistory;
use testkit::stream::RecordKind::{Dir, File};
use testkit::stream::{Content, DumpStream};
use testkit::{Repo, Spec, branch_history, build, each_seed, runs_all_cases, sample};

use super::log::{assert_same, set_raw_revprop, sorted_attributes};
use crate::twins::{Access, TwinClients};

#[test]
fn options_and_errors() {
    let repo = build(&Spec::new("1.14").with(history()).named("client-blame"));
    for access in Access::ALL {
        let twins = TwinClients::for_table(&repo, access);
        for line in sample(3, lines(include_str!("blame_commands.txt"))) {
            same(&twins, &line, access);
        }
    }
    let twins = TwinClients::new(&repo, Access::Disk);
    for line in sample(3, lines(include_str!("blame_misuse.txt"))) {
        same(&twins, &line, Access::Disk);
    }
    for name in ["praise", "ann", "annotate"] {
        same(&twins, &format!("svn {name} {{URL}}/f"), Access::Disk);
    }
}

#[test]
fn odd_revision_properties() {
    let repo = build(&Spec::new("1.14").with(history()).named("client-blame")).copy();
    for (rev, name, value) in [
        (
            1,
            "svn:author",
            &b"a\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9"[..],
        ),
        (2, "svn:author", b"x\xff\xc3\xa9\nb\x01<&>"),
        (2, "svn:date", b"nonsense"),
        (3, "svn:author", b""),
        (3, "svn:date", b""),
        (4, "svn:author", b"ab\0c"),
        (5, "svn:date", b"2020-02-29T23:59:60.000001Z"),
    ] {
        set_raw_revprop(&repo, rev, name, value);
    }
    for access in [Access::Disk, Access::Svn] {
        let twins = TwinClients::new(&repo, access);
        for line in [
            "svn blame {URL}/f",
            "svn blame -v {URL}/f",
            "svn blame --xml {URL}/f",
        ] {
            let words: Vec<&str> = line.split(' ').collect();
            for charset in ["C", "C.UTF-8"] {
                let outputs = twins.outputs(&words, |tool| tool.env("LC_ALL", charset));
                let [theirs, ours] = outputs.map(|text| sorted_attributes(&text));
                assert_same(&theirs, &ours, &format!("{charset} {line}"));
            }
        }
    }
}

/// Lines that a branch deleted and put back, and lines of the revision that was merged: which of them are marked as merged.
#[test]
fn merged_lines_are_older() {
    let mut s = DumpStream::new("1e720ca1-2b3c-4d4e-8f50-61728394a5ba");
    s.rev("r1").file("f", "x\ny\n");
    s.rev("r2").copy(File, "g", 1, "f");
    s.rev("r3").edit("g", "y\n").edit("f", "q\nx\ny\n");
    s.rev("r4").edit("g", "x\ny\nr\n");
    let merged = [("svn:mergeinfo", &b"/g:2-4"[..])];
    let text = "q\nx\ny\nr\n";
    s.rev("r5").change(File, "f", Content::both(&merged, text));
    s.rev("r6").edit("f", format!("{text}z\n"));
    let repo = build(&Spec::new("1.14").with(s).named("client-blame-merged"));
    let twins = TwinClients::new(&repo, Access::Svn);
    let ranges = (0..=6).flat_map(|start| (start..=6).map(move |end| (start, end)));
    let lines = ranges.flat_map(|(start, end)| {
        ["", " -v", " --xml"].map(|options| format!("svn blame -g{options} -r{start}:{end} {{URL}}/f"))
    });
    for line in sample(4, lines) {
        same(&twins, &line, Access::Svn);
    }
}

/// Files that are merged from a revision after their last own one: the text is that of the other branch.
#[test]
fn texts_of_other_branches() {
    let texts = ["a\nx\ny\nz\nq\nr\ns\n", "a\nb\n", "", "n\nx\nm\nz"];
    for (name, text) in ["longer", "shorter", "empty", "no-end"].into_iter().zip(texts) {
        let mut s = DumpStream::new("1e720ca1-2b3c-4d4e-8f50-61728394a5bb");
        let merged = Content::props(&[("svn:mergeinfo", b"/g:2-7")]);
        s.rev("r1").file("f", "x\ny\nz\n").file("e", "");
        s.rev("r2").copy(File, "g", 1, "f");
        s.rev("r3").change(File, "f", merged).change(File, "e", merged);
        s.rev("r4").edit("f", "n\nx\ny\nz\n");
        s.rev("r5").edit("f", "n\nx\ny\nz\nw\n").edit("e", "x\n");
        s.rev("r6").edit("f", "n\nx\nm\nz\nw\nl\n");
        s.rev("r7").edit("g", text);
        let name = format!("client-blame-{name}");
        let repo = build(&Spec::new("1.14").with(s).named(&name));
        let twins = TwinClients::new(&repo, Access::Svn);
        for start in [1, 4, 5, 7] {
            for options in ["", " --xml"] {
                for file in ["f", "e"] {
                    let line = format!("svn blame -g{options} -r{start}:HEAD {{URL}}/{file}");
                    same(&twins, &line, Access::Svn);
                }
            }
        }
    }
}

/// Long texts with few kinds of lines, which can be aligned in many ways.
#[test]
fn random_texts() {
    let count = if runs_all_cases() { 6 } else { 4 };
    each_seed("BLAME_SEEDS", 0..count, |seed| {
        let mut random = Random::new(seed);
        random.next();
        let repo = Repo::create("1.14");
        let revisions = 3 + random.below(25) as u64;
        repo.load(random_stream(&mut random, revisions).bytes());
        let access = Access::ALL[random.below(4)];
        let twins = TwinClients::new(&repo, access);
        for _ in sample(2, 0..10) {
            let mut words = options(&mut random, revisions, false);
            words.push("{URL}/f".to_owned());
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            same_words(&twins, &words, &format!("{access:?}"));
        }
    });
}

#[test]
fn random_branches() {
    each_seed("BLAME_SEEDS", 44..48, |seed| {
        let mut random = Random::new(seed);
        random.next();
        let history = branch_history::history(seed, 6 + random.below(30) as u64);
        let repo = Repo::create("1.14");
        repo.load(history.stream.bytes());
        let access = Access::ALL[random.below(4)];
        let twins = TwinClients::new(&repo, access);
        for _ in 0..12 {
            // Ours reads the repository itself: see the known differences of servers.
            let mut words = options(&mut random, history.youngest, access != Access::Disk);
            words.push(file(&mut random, &history));
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            same_words(&twins, &words, &format!("{access:?}"));
        }
    });
}

fn options(random: &mut Random, youngest: u64, may_merge: bool) -> Vec<String> {
    let mut words: Vec<String> = vec!["svn".into(), "blame".into()];
    match random.below(3) {
        0 => words.push("--xml".into()),
        1 => words.push("-v".into()),
        _ => {}
    }
    let is_merging = may_merge && random.below(2) == 0;
    if is_merging {
        words.push("-g".into());
    }
    if random.below(4) == 0 {
        let values = ["-b", "-w", "--ignore-eol-style", "-w --ignore-eol-style"];
        words.extend(["-x".into(), values[random.below(values.len())].into()]);
    }
    let rev = |random: &mut Random| random.below(youngest as usize + 1);
    match random.below(3) {
        0 => words.push(format!("-r{}", rev(random))),
        1 => {
            let (mut start, mut end) = (rev(random), rev(random));
            if is_merging && start > end {
                std::mem::swap(&mut start, &mut end);
            }
            words.push(format!("-r{start}:{end}"));
        }
        _ => {}
    }
    words
}

/// Returns a file in one of the revisions in which it existed, if there is any.
fn file(random: &mut Random, history: &RandomHistory) -> String {
    for _ in 0..20 {
        let rev = random.below(history.trees.len());
        let files: Vec<&String> = history.trees[rev]
            .iter()
            .filter(|(_, kind)| **kind == File)
            .map(|(path, _)| path)
            .collect();
        if !files.is_empty() {
            return format!("{{URL}}/{}@{rev}", files[random.below(files.len())]);
        }
    }
    "{URL}/nope".to_owned()
}

fn random_stream(random: &mut Random, revisions: u64) -> DumpStream {
    let mut stream = DumpStream::new("1e720ca1-2b3c-4d4e-8f50-61728394a5b9");
    let kinds = 1 + random.below(6);
    let line = |random: &mut Random| {
        let content = ["a", "b", "", " a", "a  b", "}"][random.below(kinds)];
        let end = ["\n", "\n", "\n", "\n", "\n", "\n", "\r\n", "\r"][random.below(8)];
        format!("{content}{end}")
    };
    let mut lines: Vec<String> = (0..random.below(200)).map(|_| line(random)).collect();
    for number in 1..=revisions {
        for _ in 0..random.below(4) {
            let at = random.below(lines.len() + 1);
            let gone = random.below(6).min(lines.len() - at);
            let come: Vec<String> = (0..random.below(6)).map(|_| line(random)).collect();
            lines.splice(at..at + gone, come);
        }
        stream.rev(&format!("r{number}"));
        let mut text = lines.concat();
        if random.below(4) == 0 {
            text.push_str("no end");
        }
        match number {
            1 => stream.file("f", &text),
            _ => stream.edit("f", &text),
        };
    }
    stream
}

fn history() -> DumpStream {
    let mut s = DumpStream::new("1e720ca1-2b3c-4d4e-8f50-61728394a5b8");
    s.rev("r1").file("f", "hello\nworld\nno end");
    s.rev("r2").edit("f", "hello\nworld2\nno end");
    s.rev("r3").edit("f", "new\nhello\nworld2\nno end\r\nx");
    s.rev("r4").edit("f", "new\n hello\nworld2\n\nx");
    s.rev("r5").edit("f", "new\n hello\nworld3\nx\nx\n").file("e", "");
    s.rev("r6").edit("f", "x\nnew\n hello\nx\nx\n");
    s.rev("r7").copy(File, "g", 4, "f").file("eol", EOLS);
    s.rev("r8")
        .edit("eol", [EOLS, b"\n\n"].concat())
        .file("bin", "b\n");
    let lines: Vec<u8> = EOLS
        .iter()
        .map(|byte| if *byte == b'\r' { b'\n' } else { *byte })
        .collect();
    s.rev("r9").edit("eol", &lines).edit("bin", "b\nc\n");
    let binary = [("svn:mime-type", &b"image/png; charset=x"[..])];
    s.rev("r10").change(File, "bin", Content::both(&binary, "b\nd\n"));
    s.rev("r11")
        .change(File, "bin", Content::both(&[], "b\nd\ne\n"))
        .mkdirs(["trunk"])
        .file("trunk/m", "1\n2\n3\n");
    s.rev("r12")
        .copy(Dir, "branch", 11, "trunk")
        .edit("branch/m", "1\n2b\n3\n");
    s.rev("r13").edit("trunk/m", "1\n2b\n3\nt\n").change(
        Dir,
        "trunk",
        Content::props(&[("svn:mergeinfo", b"/branch:12")]),
    );
    s.rev("r14").change(File, "bin", Content::props(&binary));
    s
}

const EOLS: &[u8] = b"a\rb\nc\r\nd\n\re\n\n\r\rf\0g\n\xff\xfe\n\xc3\xa9 \x01\x7f\ttab";

fn lines(table: &str) -> Vec<String> {
    let lines = table.lines().filter(|line| !line.starts_with('#'));
    lines.map(|line| format!("svn blame {line}")).collect()
}

fn same(twins: &TwinClients, line: &str, access: Access) {
    let words: Vec<&str> = line
        .trim_end()
        .split(' ')
        .map(|word| if word == "''" { "" } else { word })
        .collect();
    same_words(twins, &words, &format!("{access:?}"));
}

fn same_words(twins: &TwinClients, words: &[&str], about: &str) {
    let [theirs, ours] = twins
        .outputs(words, |tool| tool)
        .map(|text| sorted_attributes(&text));
    assert_same(&theirs, &ours, &format!("{about} {words:?}"));
}
