//! The memory of the client while a large text passes through it.
//!
//! The text has 48 MiB and cannot be compressed. At any size of a text, a client needs 25 MiB for the program and its libraries (a debug
//! build), 10 MiB for the windows of a delta and the buffers of a connection, up to 16 MiB for revisions that `svnrdump` reads ahead, and
//! 16 MiB for the cache of a repository on disk. A client that holds the text needs 73 MiB at least.
//!
//! The kinds of access share the commands. With `MEMORY_MIB=N` each has all of them, and the text has N MiB; `MEMORY_SIDE=theirs` measures
//! Subversion's client.

use std::fs::{self, File};
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use testkit::history::Random;
use testkit::{Repo, Side, Tool, runs_all_cases};

use crate::mirrors::Mirrors;
use crate::twins::Access;

/// The most memory of a client, in KiB.
const MOST: u64 = 72 << 10;

/// The commands, in pairs of which the second one needs the first. Standard output goes to a file, which is the input of `load`.
const PAIRS: [[(&str, &str); 2]; 3] = [
    [
        ("svn", "export -q --force {source}/text exported"),
        ("svn", "import -q -m x exported {source}/imported"),
    ],
    [("svn", "cat {source}/text"), ("svn", "diff -r1:2 {source}")],
    [
        ("svnrdump", "dump -q -r0:1 {source}"),
        ("svnrdump", "load -q {loaded}"),
    ],
];

#[test]
fn a_large_text_is_not_held() {
    let other = std::env::var("MEMORY_MIB")
        .ok()
        .and_then(|text| text.parse().ok());
    let usual = if runs_all_cases() { 64 } else { 48 };
    let size = other.unwrap_or(usual) << 20;
    let repo = Repo::create("1.14");
    let scratch = testkit::scratch();
    commit_text(&repo, &scratch.path().join("text"), size);
    let mut wrong = Vec::new();
    // Without encryption, a client has fewer buffers.
    let plain = (other.is_some() || runs_all_cases()).then_some(Access::Http);
    let accesses = [Access::Disk, Access::Svn, Access::Https];
    for (number, access) in accesses.into_iter().chain(plain).enumerate() {
        let mirrors = Mirrors::new(&repo, access);
        mirrors.create("loaded");
        for (at, pair) in PAIRS.iter().enumerate() {
            if other.is_none() && number % PAIRS.len() != at {
                continue;
            }
            for (tool, line) in pair {
                let most = peak(&mirrors, tool, line);
                println!("{access:?} {tool} {line}: {} MiB", most >> 10);
                if most > MOST {
                    wrong.push(format!("{access:?} {tool} {line}: {most} KiB"));
                }
            }
            if pair[1].1.starts_with("load") {
                let tool = Tool::new("svnlook").arg("filesize").arg(mirrors.path("loaded"));
                let loaded = tool.arg("text").ok().out();
                assert_eq!(loaded.trim(), size.to_string(), "{access:?}");
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Commits a text as `text`, and then with an insertion.
fn commit_text(repo: &Repo, file: &Path, size: usize) {
    let mut random = Random::new(1);
    let words = std::iter::repeat_with(|| random.next()).take(size / 8);
    let mut bytes: Vec<u8> = words.flat_map(u64::to_le_bytes).collect();
    for insertion in ["", "inserted"] {
        let middle = bytes.len() / 2;
        bytes.splice(middle..middle, insertion.bytes());
        fs::write(file, &bytes).expect("because there is room");
        let put = Side::Theirs.tool("svnmucc").args(["-m", "text", "put"]).arg(file);
        let url = format!("{}/text", repo.url());
        put.arg(&url).args(["propset", "svn:mime-type", "a/b", &url]).ok();
    }
}

/// Runs a command. Returns the most memory that the process had, in KiB.
fn peak(mirrors: &Mirrors, tool: &str, line: &str) -> u64 {
    let side = match std::env::var("MEMORY_SIDE").as_deref() {
        Ok("theirs") => Side::Theirs,
        _ => Side::Ours,
    };
    let file = |name: &str| mirrors.dir().join(name);
    let input = match line.starts_with("load") {
        true => File::open(file("output"))
            .expect("because the command before wrote it")
            .into(),
        false => Stdio::null(),
    };
    let output = File::create(file("output.new")).expect("because the directory is ours");
    let mut child = mirrors
        .tool(side, tool, line)
        .dir(mirrors.dir())
        .command()
        .stdin(input)
        .stdout(output)
        .spawn()
        .expect("because the program is there");
    let status = format!("/proc/{}/status", child.id());
    let mut most = 0;
    let ended = loop {
        // A process that has ended has no such line.
        let text = fs::read_to_string(&status).unwrap_or_default();
        let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let number = line.and_then(|line| line.trim().trim_end_matches(" kB").parse().ok());
        most = most.max(number.unwrap_or(0));
        match child.try_wait().expect("because it is our child") {
            Some(ended) => break ended,
            None => std::thread::sleep(Duration::from_millis(5)),
        }
    };
    assert!(ended.success(), "{tool} {line}");
    fs::rename(file("output.new"), file("output")).expect("because it was written");
    most
}
