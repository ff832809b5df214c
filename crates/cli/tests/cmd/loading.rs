//! `svnadmin load`: valid and invalid streams, and loads while other processes write.

use std::io::Write as _;
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::Stdio;
use std::thread::sleep;
use std::time::{Duration, Instant};

use testkit::stream::{DumpStream, RecordKind};
use testkit::{Output, Side, Spec, Tool, build, sample};

use crate::script::TwinDirectories;
use crate::streams;

fn dump(side: Side, repo: &Path, options: &[&str]) -> Vec<u8> {
    let dump = side.tool("svnadmin").args(["dump", "-q"]).args(options);
    dump.arg(repo).ok().stdout
}

fn load(side: Side, repo: &Path, stream: &[u8], options: &[&str]) -> Output {
    let load = side.tool("svnadmin").arg("load").args(options);
    load.arg(repo).stdin(stream).run()
}

fn create(repo: &Path, compatible: &str) {
    let create = Side::Ours.tool("svnadmin").arg("create");
    create.args(["--compatible-version", compatible]).arg(repo).ok();
}

#[test]
fn dumps_load_to_equal_repositories() {
    let scratch = testkit::scratch();
    // 3 has no common divisor with the numbers of dump options (2) and of versions (5).
    for (at, spec) in sample(3, testkit::repo::matrix().iter().enumerate()) {
        let repo = build(spec);
        let options: &[&str] = if at % 2 == 0 { &[] } else { &["--deltas"] };
        let stream = dump(Side::Theirs, repo.path(), options);
        let copy = scratch.path().join(format!("{at}"));
        let like = scratch.path().join(format!("{at}-theirs"));
        let compatible = ["1.14", "1.9", "1.8", "1.4", "1.3"][at % 5];
        create(&copy, compatible);
        create(&like, compatible);
        let options = ["-q", "--no-flush-to-disk"];
        load(Side::Ours, &copy, &stream, &options).expect_ok();
        load(Side::Theirs, &like, &stream, &options).expect_ok();
        // Old formats have no SHA-1s, so both dumps omit the same ones.
        let again = dump(Side::Theirs, &like, &[]);
        assert!(dump(Side::Theirs, &copy, &[]) == again, "{}", spec.name);
        assert!(dump(Side::Ours, &copy, &[]) == again, "{}", spec.name);
        if at % 5 != 4 {
            Tool::new("svnadmin").args(["verify", "-q"]).arg(&copy).ok();
        }
    }
}

#[test]
fn streams_load_in_parts() {
    let repo = build(&Spec::new("1.14"));
    let scratch = testkit::scratch();
    // The parts are with and without deltas in turn.
    for first in sample(2, [0, 1]) {
        let [theirs, ours] = ["theirs", "ours"].map(|side| scratch.path().join(format!("{side}{first}")));
        create(&ours, "1.14");
        create(&theirs, "1.14");
        for (at, range) in ["0:20", "21:21", "22:HEAD"].into_iter().enumerate() {
            let options: &[&str] = match (first + at) % 2 {
                0 => &["--incremental"],
                _ => &["--incremental", "--deltas"],
            };
            let part = dump(Side::Theirs, repo.path(), &[&["-r", range], options].concat());
            load(Side::Ours, &ours, &part, &["-q"]).expect_ok();
            load(Side::Theirs, &theirs, &part, &["-q", "--no-flush-to-disk"]).expect_ok();
        }
        assert!(dump(Side::Theirs, &ours, &[]) == dump(Side::Theirs, &theirs, &[]));
    }
    // A stream whose copy sources are before its first revision.
    let tail = dump(Side::Theirs, repo.path(), &["-r", "40:HEAD"]);
    let twin = TwinDirectories::new();
    twin.file("tail", tail);
    twin.run(
        "create r
         tail | load r
         lstxns r
         create below
         tail | load --parent-dir nosuch below",
    );
}

#[test]
fn streams_load_below_a_directory() {
    let repo = build(&Spec::new("1.14"));
    let stream = dump(Side::Theirs, repo.path(), &[]);
    let mut top = DumpStream::new("694022bd-e2dc-46c0-8d31-6eccbe7cc197");
    top.rev("top").mkdirs(["some", "some/where"]);
    let twin = TwinDirectories::new();
    twin.file("top", top.bytes());
    twin.file("stream", stream);
    twin.run(
        "create r
         top | load -q r
         stream | load --parent-dir /some/where r
         stream | load -q --ignore-dates --parent-dir some r
         $ svnadmin verify -q r",
    );
    let [theirs, ours] =
        Side::BOTH.map(|side| dump(Side::Theirs, &twin.dir(side).join("r"), &["-r", "0:70"]));
    assert!(ours == theirs);
}

/// The second copy of a directory onto itself is detected at the commit of the revision, in a group with earlier
/// revisions.
#[test]
fn revisions_before_a_failed_one_are_committed() {
    let mut stream = DumpStream::new("694022bd-e2dc-46c0-8d31-6eccbe7cc197");
    stream.rev("one").mkdirs(["a"]);
    stream.rev("two").mkdirs(["b"]);
    stream.rev("three").copy(RecordKind::Dir, "c", 2, "a");
    stream.copy(RecordKind::Dir, "c", 2, "a");
    let twin = TwinDirectories::new();
    twin.file("stream", stream.bytes());
    twin.run(
        "create r
         stream | load r
         $ svnlook youngest r
         $ svnadmin verify -q r
         stream | load -q r
         $ svnlook youngest r",
    );
}

/// Version 1 of the format has no UUID; otherwise it equals version 2.
#[test]
fn streams_of_version_1_load() {
    let twin = TwinDirectories::new();
    let mut names = String::new();
    let specs = [Spec::small("1.14"), Spec::new("1.14"), Spec::small("1.3")];
    let specs = specs.iter().enumerate();
    // Also version 1 with a UUID, and with fields of later versions.
    let cases = specs.flat_map(|(at, spec)| ["old", "uuid", "deltas"].map(|kind| (at, spec, kind)));
    for (at, spec, kind) in sample(2, cases) {
        let options: &[&str] = if kind == "deltas" { &["--deltas"] } else { &[] };
        let stream = dump(Side::Theirs, build(spec).path(), options);
        let bytes = match kind {
            "old" => {
                let end = stream
                    .windows(17)
                    .position(|w| w == b"\nRevision-number:")
                    .expect("because there is one");
                [b"SVN-fs-dump-format-version: 1\n", &stream[end..]].concat()
            }
            _ => [b"SVN-fs-dump-format-version: 1", &stream[29..]].concat(),
        };
        twin.file(&format!("{kind}{at}"), bytes);
        names.push_str(&format!(
            "create {kind}r{at}\n{kind}{at} | load -q {kind}r{at}\n$ svnadmin dump -q {kind}r{at}\n"
        ));
    }
    for version in ["0", "4"] {
        let name = format!("v{version}");
        twin.file(
            &name,
            format!("SVN-fs-dump-format-version: {version}\n\n").into_bytes(),
        );
        names.push_str(&format!("create r{name}\n{name} | load r{name}\n"));
    }
    twin.run(&names);
}

const HEAD: &str = "SVN-fs-dump-format-version: 2\n\n";

fn revision(number: u64, log: &str) -> String {
    let props = format!("K 7\nsvn:log\nV {}\n{log}\nPROPS-END\n", log.len());
    let length = props.len();
    format!("Revision-number: {number}\nProp-content-length: {length}\nContent-length: {length}\n\n{props}\n")
}

fn node(headers: &str, text: &str) -> String {
    let length = text.len();
    format!("{headers}Text-content-length: {length}\nContent-length: {length}\n\n{text}\n\n")
}

/// Invalid streams: the same output, exit code, revisions and transactions.
#[test]
fn invalid_streams_fail_as_with_the_incumbent() {
    let add = |path: &str| {
        node(
            &format!("Node-path: {path}\nNode-kind: file\nNode-action: add\n"),
            "hi",
        )
    };
    let bare = |headers: &str| format!("{headers}\n\n");
    let first = revision(1, "one") + &add("f");
    let second = |record: String| first.clone() + &revision(2, "two") + &record;
    let copy = |rev: u64, path: &str, more: &str| {
        bare(&format!(
            "Node-path: g\nNode-kind: file\nNode-action: add\nNode-copyfrom-rev: {rev}\nNode-copyfrom-path: {path}\n{more}"
        ))
    };
    let zeros = "00000000000000000000000000000001";
    let change = |more: &str, text: &str| {
        node(
            &format!("Node-path: f\nNode-kind: file\nNode-action: change\n{more}"),
            text,
        )
    };
    let prop = |name: &str| {
        let props = format!("K {}\n{name}\nV 1\n1\nPROPS-END\n", name.len());
        let length = props.len();
        format!(
            "Node-path: g\nNode-kind: file\nNode-action: add\nProp-content-length: {length}\nContent-length: {length}\n\n{props}\n\n"
        )
    };
    let streams = [
        second(copy(1, "f", &format!("Text-copy-source-md5: {zeros}\n"))),
        second(copy(7, "f", "")),
        second(copy(1, "nosuch", "")),
        second(change(&format!("Text-content-md5: {zeros}\n"), "new")),
        second(change(
            &format!("Text-delta: true\nText-delta-base-md5: {zeros}\n"),
            "SVN\0\0\0\x01\x02\x01\u{1}X",
        )),
        second(change("Text-delta: true\n", "garbage!")),
        second(change("Text-delta: true\n", "SVN\0\0\u{5}\u{1}\u{2}\u{1}X")),
        second(node("Node-path: f\nNode-kind: file\nNode-action: foo\n", "x")),
        second(node("Node-path: f\nNode-kind: file\n", "x")),
        second(bare("Node-path: g\nNode-kind: sock\nNode-action: add\n")),
        second(bare("Node-path: g\nNode-action: add\n")),
        second(bare("Node-path: g\nNode-action: delete\n")),
        second(bare("Node-path: g\nNode-kind: file\nNode-action: change\n")),
        second(node("Node-path: g\nNode-kind: file\nNode-action: change\n", "x")),
        second(node("Node-path: g\nNode-kind: file\nNode-action: replace\n", "x")),
        second(bare("Node-path: f\nNode-action: delete\n")),
        second(add("f")),
        second(add("x/../y")),
        second(add("/x//y/")),
        second(add("/g/")),
        second(add("x\u{1}")),
        second(bare("Node-path: \nNode-action: delete\n")),
        second(prop("svn:wc:x")),
        second(prop("svn:entry:x")),
        second(prop("plain")),
        first.clone() + &revision(2, "two") + &revision(1, "one") + &revision(5, "five"),
        first.clone() + &revision(2, "t\r\nwo") + &add("g"),
        revision(0, "zero") + &add("f"),
        "UUID: nonsense\n\n".to_owned() + &first,
        first.clone() + "Nonsense\n\n",
        first[..first.len() - 4].to_owned(),
    ];
    let twin = TwinDirectories::new();
    twin.run("create empty");
    for (at, stream) in streams.iter().enumerate() {
        twin.file("stream", HEAD.to_owned() + stream);
        for side in Side::BOTH {
            let dir = twin.dir(side);
            streams::copy(&dir.join("empty"), &dir.join(at.to_string()));
        }
        twin.run(&format!("stream | load --no-flush-to-disk {at}"));
        // Read from the files: `svnlook youngest` and `svnadmin lstxns` for every stream take long.
        let [theirs, ours] =
            Side::BOTH.map(|side| youngest_and_transactions(&twin.dir(side).join(at.to_string())));
        assert_eq!(ours, theirs, "{stream}");
        twin.run(&format!(
            "$ svnlook tree {at}
             $ svnadmin verify -q {at}"
        ));
    }
}

/// Returns the content of `current`, and the names of the transactions, from the files of a repository.
fn youngest_and_transactions(repo: &Path) -> (String, Vec<std::ffi::OsString>) {
    let current = std::fs::read_to_string(repo.join("db/current")).expect("because it is a repository");
    let entries = std::fs::read_dir(repo.join("db/transactions")).expect("because it is a repository");
    let names = entries.map(|entry| entry.expect("because the folder is ours").file_name());
    let mut names: Vec<_> = names.collect();
    names.sort();
    (current, names)
}

#[test]
fn hooks_run_for_each_revision() {
    use std::os::unix::fs::PermissionsExt as _;
    let twin = TwinDirectories::new();
    let mut history = DumpStream::new("694022bd-e2dc-46c0-8d31-6eccbe7cc197");
    for name in ["a", "b", "stop", "c"] {
        history.rev(name).file(name, name);
    }
    twin.file("stream", history.bytes());
    let mut failing = DumpStream::new("694022bd-e2dc-46c0-8d31-6eccbe7cc197");
    failing.rev("fail").file("fail", "");
    twin.file("failing", failing.bytes());
    twin.run("create r");
    for side in Side::BOTH {
        for (hook, script) in [
            (
                "pre-commit",
                "echo pre \"$2\" >> \"$1/hook-output\"; svnlook changed -t \"$2\" \"$1\" >> \"$1/hook-output\"\n\
                 svnlook log -t \"$2\" \"$1\" | grep -q stop && { echo no >&2; exit 1; }; exit 0\n",
            ),
            (
                "post-commit",
                "echo post \"$2 $3\" >> \"$1/hook-output\"; svnlook youngest \"$1\" >> \"$1/hook-output\"\n\
                 svnlook log -r \"$2\" \"$1\" | grep -q fail && { echo late >&2; exit 3; }; exit 0\n",
            ),
        ] {
            let path = twin.dir(side).join("r/hooks").join(hook);
            let script = format!("#!/bin/sh\nPATH=/bin:/usr/bin\n{script}");
            std::fs::write(&path, script).expect("because the repository is there");
            let mode = std::fs::Permissions::from_mode(0o755);
            std::fs::set_permissions(&path, mode).expect("because it is ours");
        }
    }
    twin.run(
        "stream | load -r 1 r
         lstxns r
         failing | load --use-post-commit-hook r
         stream | load -r 1:2 --use-pre-commit-hook r
         stream | load -r 1:2 --use-post-commit-hook r
         stream | load --use-pre-commit-hook --use-post-commit-hook r
         $ svnlook youngest r",
    );
    let [theirs, ours] = Side::BOTH.map(|side| youngest_and_transactions(&twin.dir(side).join("r")));
    assert_eq!(ours, theirs);
    twin.same_file("r/hook-output");
}

/// Values that a revision has already are not looked at.
#[test]
fn equal_revision_properties_stay_as_they_are() {
    let twin = TwinDirectories::new();
    let stream = |log: &str| {
        let zero = revision(0, log);
        format!("SVN-fs-dump-format-version: 2\n\n{zero}{}", revision(1, log))
    };
    for (name, log) in [("old", "a\r\nb"), ("other", "a\r\nc"), ("plain", "a")] {
        twin.file(name, stream(log));
    }
    twin.run(
        "create r
         old | load --bypass-prop-validation r
         old | load-revprops r
         old | load-revprops --normalize-props r
         dump -q -r 0 r
         other | load-revprops r
         other | load-revprops --normalize-props r
         dump -q -r 0:1 r
         create s
         old | load-revprops -r 0 --bypass-prop-validation s
         plain | load s
         create t
         old | load-revprops -r 0 --bypass-prop-validation t
         old | load -r 0 t
         old | load -r 0 --normalize-props t
         dump -q t",
    );
}

/// A running load whose stream stays open.
struct SlowLoad {
    child: std::process::Child,
    input: Option<std::process::ChildStdin>,
}

impl SlowLoad {
    fn start(repo: &Path, first: &[u8]) -> Self {
        let tool = Side::Ours.tool("svnadmin").arg("load").arg(repo);
        let mut child = tool
            .command()
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("because it is built");
        let mut input = child.stdin.take().expect("because it was piped");
        input.write_all(first).expect("because it reads");
        SlowLoad {
            child,
            input: Some(input),
        }
    }
}

fn youngest(repo: &Path) -> String {
    Tool::new("svnlook").arg("youngest").arg(repo).ok().out()
}

fn wait_for(what: &str, mut done: impl FnMut() -> bool) {
    let end = Instant::now() + Duration::from_secs(60);
    while !done() {
        assert!(Instant::now() < end, "{what}");
        sleep(Duration::from_millis(20));
    }
}

#[test]
fn other_clients_commit_during_a_slow_load() {
    let mut history = DumpStream::new("694022bd-e2dc-46c0-8d31-6eccbe7cc197");
    history.rev("a").file("a", "a");
    history.rev("b").file("b", "b".repeat(1000));
    let bytes = history.bytes();
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let second = text.find("Revision-number: 2").expect("because it is there");
    // The stream pauses in the first revision, whose transaction is open then, and within the text of the second one.
    for (cut, complete) in [(second + 30, 0), (bytes.len() - 500, 1)] {
        let scratch = testkit::scratch();
        let repo = scratch.path().join("r");
        create(&repo, "1.14");
        let mut slow = SlowLoad::start(&repo, &bytes[..cut]);
        wait_for("a transaction on what is complete", || {
            let list = Tool::new("svnadmin").arg("lstxns").arg(&repo).ok().out();
            list.starts_with(&format!("{complete}-")) && youngest(&repo) == format!("{complete}\n")
        });
        let url = format!("file://{}/other", repo.display());
        Tool::new("svn").args(["mkdir", "-q", "-m", "x", &url]).ok();
        assert_eq!(youngest(&repo), format!("{}\n", complete + 1));
        let mut input = slow.input.take().expect("because it is open");
        input.write_all(&bytes[cut..]).expect("because it reads");
        drop(input);
        assert!(slow.child.wait().expect("because it runs").success());
        assert_eq!(youngest(&repo), "3\n");
        Tool::new("svnadmin").args(["verify", "-q"]).arg(&repo).ok();
        let tree = Tool::new("svnlook").arg("tree").arg(&repo).ok().out();
        let mut lines: Vec<&str> = tree.lines().collect();
        lines.sort_unstable();
        assert_eq!(lines, [" a", " b", " other/", "/"]);
    }
}

#[test]
fn an_interrupted_load_keeps_complete_revisions() {
    let scratch = testkit::scratch();
    let repo = scratch.path().join("r");
    create(&repo, "1.14");
    let mut history = DumpStream::new("694022bd-e2dc-46c0-8d31-6eccbe7cc197");
    for at in 0..50 {
        history.rev("more").file(&format!("f{at}"), "text");
    }
    let bytes = history.bytes();
    let mut slow = SlowLoad::start(&repo, &bytes[..bytes.len() / 2]);
    wait_for("some revisions", || youngest(&repo) != "0\n");
    Tool::new("kill")
        .args(["-INT", &slow.child.id().to_string()])
        .ok();
    // Sven does not wait for the open stream (Subversion waits for more input).
    wait_for("its end", || {
        slow.child.try_wait().is_ok_and(|status| status.is_some())
    });
    let output = slow.child.wait_with_output().expect("because it runs");
    assert_eq!(output.status.signal(), Some(2), "{output:?}");
    assert_eq!(
        String::from_utf8_lossy(&output.stderr),
        "svnadmin: E200015: Caught signal\n"
    );
    let kept: u64 = youngest(&repo).trim().parse().expect("because it is a number");
    assert!((1..50).contains(&kept), "{kept}");
    Tool::new("svnadmin").args(["verify", "-q"]).arg(&repo).ok();
    // The rest can be loaded behind them.
    let range = format!("{}:50", kept + 1);
    load(Side::Theirs, &repo, &bytes, &["-q", "-r", &range]).expect_ok();
    assert_eq!(youngest(&repo), "50\n");
}
