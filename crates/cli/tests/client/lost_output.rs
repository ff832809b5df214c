//! Standard output that is full, or a pipe that nothing reads: which commands do their work all the same, and what they end with.

use std::fs::{self, File, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::process::Stdio;

use testkit::{Side, Tool, sample_from};

use crate::read_repo;
use crate::twins::{Access, TwinClients};

/// Where output is lost.
#[derive(Clone, Copy, Debug)]
enum Sink {
    Full,
    ClosedPipe,
}

impl Sink {
    fn open(self) -> Stdio {
        match self {
            Sink::Full => File::options()
                .write(true)
                .open("/dev/full")
                .expect("because Linux has it")
                .into(),
            Sink::ClosedPipe => {
                let (_, writer) = std::io::pipe().expect("because there are descriptors left");
                writer.into()
            }
        }
    }
}

/// The commands. The first one prints more than a buffer holds, as `LONG` is a directory with a long path.
const LINES: [&str; 32] = [
    "svn export --ignore-externals {URL} LONG/SINK",
    "svn export {URL}/P/d/g {DIR}/SINK-file",
    "svn propset --revprop -r 1 name value {URL}",
    "svn propdel --revprop -r 1 name {URL}",
    "svn lock {URL}/P/d/g",
    "svn unlock {URL}/P/d/g",
    "svn help",
    "svn help log",
    "svnsync help",
    "svnrdump help",
    "svnbench help",
    "svnlook help",
    "svn --version",
    "svn log -v {URL}",
    "svn list -R {URL}",
    "svn info {URL}",
    "svn log --xml {URL}",
    "svn list --xml -R {URL}",
    "svn info --xml {URL} {URL}/nosuch",
    "svn diff --summarize --xml -r1:2 {URL}",
    "svn blame --xml {URL}/P/d/g",
    "svn proplist --xml --revprop -r1 {URL}",
    "svnlook proplist --xml {REPO} P",
    "svn info {URL} {URL}/nosuch",
    "svn list {URL} {URL}/nosuch",
    "svn cat {URL}/P/d/g {URL}/nosuch",
    "svn diff -r1:2 {URL}",
    "svnrdump dump {URL}",
    "svn mkdir -m made {URL}/SINK",
    "svn copy -m copied {URL}/P/d {URL}/SINK/copy",
    "svn import -m imported {DIR}/SINK-file {URL}/SINK/imported",
    "svnmucc -m moved mv {URL}/SINK/copy {URL}/SINK/moved",
];

#[test]
fn lost_output_ends_the_same_commands() {
    let repo = read_repo::repository();
    let twins = TwinClients::new(&repo, Access::Disk);
    let long = ["n".repeat(250), "a".repeat(250), "m".repeat(250), "e".repeat(250)].join("/");
    for side in Side::BOTH {
        let hook = twins.repository(side).join("hooks/pre-revprop-change");
        fs::write(&hook, "#!/bin/sh\n").expect("because the directory is there");
        fs::set_permissions(&hook, Permissions::from_mode(0o755)).expect("because it was written");
        fs::create_dir_all(twins.dir(side).join(&long)).expect("because it is new");
    }
    let mut failed = Vec::new();
    for (number, sink) in [Sink::Full, Sink::ClosedPipe].into_iter().enumerate() {
        // Those with `SINK` need each other.
        let own: Vec<&str> =
            sample_from(number, 2, LINES.into_iter().filter(|line| !line.contains("SINK"))).collect();
        for line in LINES {
            if !line.contains("SINK") && !own.contains(&line) {
                continue;
            }
            let line = line.replace("SINK", &format!("{sink:?}")).replace("LONG", &long);
            let words: Vec<&str> = line.split(' ').collect();
            let [theirs, ours] = Side::BOTH.map(|side| outcome(&twins.tool(side, &words), sink));
            if theirs != ours {
                failed.push(format!(
                    "{sink:?}: {line}\n--- theirs\n{theirs}\n--- ours\n{ours}"
                ));
            }
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n"));
    let [theirs, ours] = Side::BOTH.map(|side| {
        let listed = Tool::new("find")
            .arg("-printf")
            .arg("%P\\n")
            .dir(&twins.dir(side))
            .ok();
        let mut lines: Vec<String> = listed.out().lines().map(str::to_owned).collect();
        lines.sort_unstable();
        lines
    });
    let only = |these: &[String], others: &[String]| -> Vec<String> {
        let names = these.iter().filter(|name| !others.contains(name));
        names.cloned().collect()
    };
    assert_eq!(only(&theirs, &ours), only(&ours, &theirs));
    twins.same_repositories();
}

/// Returns the exit code and what was printed on standard error, without the name of the program: Subversion's name another one in some cases.
/// They may also print an error twice.
fn outcome(tool: &Tool, sink: Sink) -> String {
    let output = tool
        .command()
        .stdin(Stdio::null())
        .stdout(sink.open())
        .output()
        .expect("because the tool is installed");
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    let error = |line: &'_ str| line.split_once(": ").map_or(line, |(_, rest)| rest).to_owned();
    let mut lines: Vec<String> = text.lines().map(error).collect();
    lines.dedup();
    // A closed pipe kills the incumbent's `svnmucc`; ours ends with 1.
    let code = output.status.code().unwrap_or(1);
    format!("{code}\n{}", lines.join("\n"))
}
