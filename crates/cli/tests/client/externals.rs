//! Random definitions in `svn:externals`: which are refused when they are set, and what an export and a list make of them.
//! `EXTERNAL_SEEDS=A..B` sets the seeds.

use std::path::Path;

use testkit::history::Random;
use testkit::stream::{Content, DumpStream, RecordKind};
use testkit::{Repo, Side, Tool, each_seed, scratch};

/// URLs of the repository, of another one beside it, and of nothing.
const URLS: &[&str] = &[
    "^/a",
    "^/a/f",
    "^/g",
    "^/nope",
    "^/%61",
    "^/%zz",
    "^a",
    "a",
    "../a/f",
    "../../other",
    "../../../../../../../../x",
    "^/../other",
    "^/../../../../../../../../x",
    "^/./a/./f",
    "^/a/../g",
    "^//a//f",
    "/x/../y",
    "//h/../y",
    "/nowhere",
    "//h.invalid/x",
    "file://{TOP}/repo/a/f",
    "file://{TOP}/other",
    "FILE://{TOP}/other",
    "x://y/z",
    ".",
    "''",
    "\"^/a\"",
];
const PEGS: &[&str] = &[
    "",
    "",
    "",
    "@",
    "@1",
    "@r1",
    "@9",
    "@head",
    "@BASE",
    "@{2001-01-01}",
    "@x",
    "@-1",
    "@1@2",
    "@99999999999999999999",
];
const TARGETS: &[&str] = &[
    "x",
    "x",
    "y",
    "y/z",
    "y/z/w",
    "./v",
    "u//t/",
    ".",
    "..",
    "../x",
    "/x",
    "x/..",
    "x/../y",
    "''",
    "\"b c\"",
    "'b c",
    "b\\ c",
    "b\\\\ c",
    "\\b",
    "b\"c",
    "'b'c",
    "#b",
    "-r1",
    "^/a",
    "http://h/x",
    "x@1",
    "\u{e4}",
];
const REVS: &[&str] = &[
    "",
    "",
    "",
    "-r1 ",
    "-r 1 ",
    "-rr1 ",
    "-r9 ",
    "-rHEAD ",
    "-r{2001-01-01} ",
    "-r-1 ",
    "-r ",
    "-rx ",
];

fn pick<'a>(random: &mut Random, words: &[&'a str]) -> &'a str {
    words[random.below(words.len())]
}

fn line(random: &mut Random) -> String {
    let url = format!("{}{}", pick(random, URLS), pick(random, PEGS));
    let (target, rev) = (pick(random, TARGETS), pick(random, REVS));
    match random.below(8) {
        0 => format!("{target} {rev}{url}"),
        1 => format!("{url} {rev}{target}"),
        2 => format!("{url}\t{target} {}", pick(random, TARGETS)),
        3 => format!("#{url} {target}"),
        _ => format!("{rev}{url} {target}"),
    }
}

/// Returns what both programs say of a definition that is set.
fn set(top: &Path) -> [String; 2] {
    Side::BOTH.map(|side| {
        let command = side.tool("svnmucc").args(["-m", "m", "-U"]);
        let command = command.arg(format!("file://{}/repo", top.display()));
        let words = ["propsetf", "svn:externals", "value", "c"];
        let output = command.args(words).dir(top).run();
        format!("{:?} {}", output.code, output.err())
    })
}

/// Returns what both programs print and write for the directory `d`, which has the definition.
fn read(top: &Path, words: &[&str]) -> [String; 2] {
    Side::BOTH.map(|side| {
        let folder = scratch();
        let url = format!("file://{}/repo/d", top.display());
        let output = side.tool("svn").args(words).arg(url).dir(folder.path()).run();
        let find = Tool::new("find")
            .args([".", "-printf", "%P %y %s\\n"])
            .dir(folder.path());
        let found = find.ok().out();
        let mut files: Vec<&str> = found
            .lines()
            .filter(|line| !line.contains("svn-") && !line.ends_with(|c: char| !c.is_ascii_digit()))
            .collect();
        files.sort_unstable();
        let printed = format!("{:?}\n{}{}", output.code, output.out(), output.err());
        let printed = printed.replace(&folder.path().display().to_string(), "{DIR}");
        format!("{printed}{}", files.join("\n"))
    })
}

#[test]
fn random_definitions() {
    each_seed("EXTERNAL_SEEDS", 0..2, |seed| {
        let mut random = Random::new(seed);
        let folder = scratch();
        let top = folder.path();
        for name in ["repo", "other"] {
            Tool::new("svnadmin").args(["create", name]).dir(top).ok();
        }
        let mut stream = DumpStream::new("3fa56e05-0b4f-4b5c-8b9e-1f0f8f6b7a11");
        stream
            .rev("tree")
            .mkdirs(["a", "c", "d"])
            .file("a/f", "text\n")
            .file("g", "text\n");
        let (repo, other) = (Repo::at(&top.join("repo")), Repo::at(&top.join("other")));
        repo.load(stream.part(1, 1));
        other.load(stream.part(1, 1));
        stream.rev("change").edit("a/f", "other\n").delete("g");
        repo.load(stream.part(2, 2));
        for rev in 3..20 {
            let lines: Vec<String> = (0..=random.below(4)).map(|_| line(&mut random)).collect();
            let value = lines.join("\n").replace("{TOP}", &top.display().to_string());
            let props: [(&str, &[u8]); 1] = [("svn:externals", value.as_bytes())];
            stream
                .rev("definition")
                .change(RecordKind::Dir, "d", Content::props(&props));
            repo.load(stream.part(rev, rev));
            std::fs::write(top.join("value"), &value).expect("because the folder is ours");
            for (what, [theirs, ours]) in [
                ("set", set(top)),
                ("export", read(top, &["export"])),
                ("list", read(top, &["list", "--include-externals"])),
            ] {
                assert_eq!(theirs, ours, "{what}, definition {rev}: {value:?}");
            }
        }
    });
}
