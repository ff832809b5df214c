//! Sparse working copies: every kind with every command that takes a depth or a target, with the stock client.
//!
//! The default run has every 37th combination, with `SVEN_ALL_CASES` every thirteenth;
//! `SPARSE_ALL=1 cargo test -p sven --test interop sparse` has all.

use testkit::stream::{Content, DumpStream, RecordKind};
use testkit::{Spec, Tool, runs_all_cases};

use crate::pair::{ScenarioClient, ServerPair};

/// The kinds of working copies, with the commands that make `wc`.
const SHAPES: &[(&str, &[&str])] = &[
    ("empty", &["checkout -q --depth empty URL wc"]),
    ("files", &["checkout -q --depth files -r 2 URL wc"]),
    ("immediates", &["checkout -q --depth immediates -r 2 URL wc"]),
    ("infinity", &["checkout -q -r 2 URL wc"]),
    (
        "one file of an empty directory",
        &[
            "checkout -q --depth empty URL wc",
            "update -q -r 1 --parents wc/A/B/f",
        ],
    ),
    (
        "mixed depths",
        &[
            "checkout -q --depth immediates -r 3 URL wc",
            "update -q -r 3 --set-depth files wc/A",
            "update -q -r 1 --set-depth immediates wc/E",
            "update -q -r 2 --depth immediates wc/A/B",
        ],
    ),
    (
        "excluded",
        &[
            "checkout -q -r 3 URL wc",
            "update -q --set-depth exclude wc/A/B",
            "update -q --set-depth exclude wc/E",
        ],
    ),
    (
        "excluded and older",
        &[
            "checkout -q -r 5 URL wc",
            "update -q --set-depth exclude wc/A/B/C",
            "update -q -r 1 wc/A",
        ],
    ),
    (
        "switched",
        &[
            "checkout -q -r 4 URL wc",
            "switch -q --ignore-ancestry URL/A-branch@3 wc/A",
            "switch -q --ignore-ancestry URL/E/f wc/f",
        ],
    ),
    (
        "switched below a sparse directory",
        &[
            "checkout -q --depth immediates URL wc",
            "update -q --depth immediates wc/A",
            "switch -q --ignore-ancestry --set-depth files URL/A-branch/B wc/A/B",
        ],
    ),
    (
        "a target that is gone",
        &[
            "checkout -q -r 3 URL wc",
            "update -q -r 1 wc/A/B",
            "update -q -r 5 wc/A/gone",
        ],
    ),
];

/// The commands.
const COMMANDS: &[&str] = &[
    "update --depth empty wc/A",
    "update --depth files wc/A",
    "update --depth immediates wc/A",
    "update --depth infinity wc/A",
    "update wc/A",
    "update -r 1 wc/A",
    "update -r 1 --depth empty wc",
    "update --depth files wc",
    "update --depth immediates wc",
    "update wc",
    "update wc/A/B/f wc/E",
    "update wc/nothing",
    "update --depth empty wc/A/B/C",
    "update --set-depth empty wc/A",
    "update --set-depth files wc/A",
    "update --set-depth immediates wc/A",
    "update --set-depth infinity wc/A",
    "update --set-depth exclude wc/A",
    "update --set-depth files wc",
    "update --set-depth immediates wc",
    "update --set-depth infinity wc",
    "update --parents wc/A/B/C/f",
    "update --parents wc/A/B/C",
    "update --parents --depth empty wc/A/B/C",
    "update --parents --depth files wc/A/B",
    "update --parents --set-depth immediates wc/A/B",
    "update --parents -r 1 --depth files wc/A/B/C wc/E/F",
    "switch --ignore-ancestry URL/A-branch wc/A",
    "switch --ignore-ancestry --depth files URL/A-branch wc/A",
    "switch --ignore-ancestry --set-depth empty URL/E wc/A",
    "switch --ignore-ancestry --set-depth infinity URL/A-branch wc/A",
    "switch URL/A-branch/B@3 wc/A/B",
    "switch --ignore-ancestry --depth immediates URL/A wc",
    "status -u wc",
    "status -u -v wc/A",
    "status -u --depth immediates wc",
    "status -u -v --depth files wc/A/B",
    "status -u --depth empty wc",
    "diff -r 1:HEAD wc/A",
    "diff -r HEAD wc",
    "diff -r 1 --depth files wc/A",
    "diff -r BASE:HEAD --depth immediates wc",
    "diff -r HEAD:1 --depth empty wc/A",
    "merge URL/A-branch wc/A",
    "merge -c 6 --depth files URL/A-branch wc/A",
    "merge --ignore-ancestry -r 1:6 --depth immediates URL/A-branch wc/A",
    "info --depth immediates -r HEAD wc",
    "log -q --limit 2 wc/A",
    "proplist -v --depth immediates -r HEAD wc",
];

/// Commands without a working copy.
const QUESTIONS: &[&str] = &[
    "ls --depth empty URL/A",
    "ls --depth files URL",
    "ls --depth immediates URL/A@2",
    "ls -v --depth infinity URL@3",
    "ls --depth files URL/A/f",
    "info --depth empty URL/A",
    "info --depth files URL/A",
    "info --depth immediates URL@2",
    "info --depth infinity -r 4 URL/A-branch",
    "export -q --depth files -r 2 URL/A files",
    "export -q --depth immediates URL immediates",
    "checkout --depth files URL/A/B c1",
    "checkout --depth empty -r 2 URL/A c2",
    "diff --depth files URL/A@1 URL/A-branch",
    "diff --depth immediates --notice-ancestry URL/A-branch URL/E",
    "diff --depth empty -r 1:6 URL/A",
    "diff --summarize --depth files -r 1:HEAD URL",
    "log -q --limit 1 URL/A/B/f@2",
    "log -q -r 1:HEAD --limit 3 URL/A-branch@6 B E",
    "log -q --stop-on-copy -r HEAD:0 URL/A-branch",
    "blame -r HEAD:1 URL/A/B/f",
    "proplist -v --depth immediates URL/A",
    "proplist --show-inherited-props -v URL/A/B/f",
];

fn history() -> DumpStream {
    let mut stream = DumpStream::new("5d3f4c1a-2b1f-4f2e-9a55-3f6a3c6d1e77");
    stream.rev("r1");
    stream.mkdirs(["A", "A/B", "A/B/C", "A/B/C/D", "A/gone", "E", "E/F"]);
    for path in [
        "f",
        "A/f",
        "A/B/f",
        "A/B/g",
        "A/B/C/f",
        "A/B/C/D/f",
        "A/gone/f",
        "E/f",
        "E/F/f",
    ] {
        stream.file(path, format!("first line of {path}\n"));
    }
    stream.rev("r2");
    stream.edit("A/f", "second\n").edit("A/B/C/f", "second\n");
    stream.change(RecordKind::Dir, "A/B", Content::props(&[("p", b"1")]));
    stream.rev("r3");
    stream.copy(RecordKind::Dir, "A-branch", 2, "A");
    stream.edit("E/F/f", "third\n");
    stream.rev("r4");
    stream.delete("A/gone");
    stream.mkdirs(["A/B/new"]);
    stream.file("A/B/new/f", "new\n").file("A/n", "new\n");
    stream.rev("r5");
    stream.edit("f", "fifth\n").delete("E/f");
    stream.change(
        RecordKind::Dir,
        "A",
        Content::props(&[("svn:ignore", b"*.o\n"), ("q", b"2")]),
    );
    stream.rev("r6");
    stream
        .edit("A-branch/f", "sixth\n")
        .edit("A-branch/B/g", "sixth\n");
    stream.mkdirs(["A-branch/B/more"]);
    stream
}

/// Runs every `step`th combination from the `first` one on.
fn all(c: &mut ScenarioClient, first: usize, step: usize) {
    let mut at = 0;
    for (name, making) in SHAPES {
        c.all(making);
        for command in COMMANDS {
            at += 1;
            if at % step != first {
                continue;
            }
            c.note(&format!("{name}: {command}"));
            c.tool(Tool::new("cp").args(["-a", "wc", "before"]));
            let args: Vec<&str> = command.split(' ').collect();
            match args[0] {
                "diff" => c.svn_by_file(&args),
                "log" => c.svn(&args),
                "proplist" | "info" => c.svn_by_paragraph(&args),
                _ => c.svn_sorted(&args),
            }
            if ["update", "switch", "merge"].contains(&args[0]) {
                c.svn(&["info", "-R", "wc"]);
                c.note_tree("wc");
            }
            c.tool(Tool::new("rm").args(["-r", "wc"]));
            c.tool(Tool::new("mv").args(["before", "wc"]));
        }
        c.tool(Tool::new("rm").args(["-r", "wc"]));
    }
    for question in c.part(2, QUESTIONS) {
        let args: Vec<&str> = question.split(' ').collect();
        match args[0] {
            "diff" => c.svn_by_file(&args),
            "log" | "blame" => c.svn(&args),
            _ => c.svn_sorted(&args),
        }
    }
    for made in ["files", "immediates", "c1", "c2"] {
        c.note_tree(made);
    }
}

fn step() -> usize {
    if std::env::var_os("SPARSE_ALL").is_some() {
        1
    } else if runs_all_cases() {
        13
    } else {
        37
    }
}

#[test]
fn every_kind_of_working_copy_with_every_command() {
    let step = step();
    ServerPair::of(&Spec::new("1.14").with(history())).same(|c| all(c, 4 % step, step));
}

#[test]
fn every_kind_of_working_copy_with_every_command_over_http() {
    let step = step();
    let readable = testkit::server::http::READ_FREELY;
    ServerPair::over_http(&Spec::new("1.14").with(history()), readable).same(|c| all(c, 7 % step, step));
}
