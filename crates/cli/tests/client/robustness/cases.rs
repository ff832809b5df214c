//! The commands that are disturbed, and what must hold after each of them, however it ended.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use testkit::history::Random;
use testkit::stream::DumpStream;
use testkit::{Repo, Side, Spec, Tool, build};

use crate::mirrors::Mirrors;
use crate::twins::Access;

/// What a command does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Prints to standard output.
    Prints,
    /// Writes the tree of `trunk` to `TARGET`.
    Exports,
    /// Commits the tree of `trunk` as `NAME` of the repository `into`.
    Commits,
    /// Loads the dump of the source into the repository `NAME`.
    Loads,
    /// Copies the source to its mirror `NAME`.
    Mirrors,
}

/// A command.
#[derive(Clone, Copy, Debug)]
pub struct Case {
    pub tool: &'static str,
    pub line: &'static str,
    pub effect: Effect,
}

const fn case(tool: &'static str, line: &'static str, effect: Effect) -> Case {
    Case { tool, line, effect }
}

/// All commands.
const CASES: [Case; 13] = [
    case("svn", "log -v {source}", Effect::Prints),
    case("svn", "cat {source}/trunk/big", Effect::Prints),
    case("svn", "list -R -v {source}", Effect::Prints),
    case("svn", "info {source}/trunk/d1", Effect::Prints),
    case("svn", "diff -r1:5 {source}", Effect::Prints),
    case("svn", "blame {source}/trunk/d1/f1", Effect::Prints),
    case("svnrdump", "dump -q {source}", Effect::Prints),
    case("svn", "export -q {source}/trunk TARGET", Effect::Exports),
    case("svn", "import -q -m x TREE {into}/NAME", Effect::Commits),
    case(
        "svnmucc",
        "-m x cp 1 {into}/base {into}/NAME put TREE/big {into}/NAME/big",
        Effect::Commits,
    ),
    case("svn", "copy -q -m x {into}/whole {into}/NAME", Effect::Commits),
    case("svnrdump", "load -q {NAME}", Effect::Loads),
    case("svnsync", "sync -q {NAME} {source}", Effect::Mirrors),
];

/// Returns the commands of a seed: a third of them. Nine seeds in turn bring each command to each of the three ways of access that a seed
/// has by its number.
pub fn share(seed: u64) -> impl Iterator<Item = Case> {
    let first = (seed + seed / 3) as usize % 3;
    CASES.into_iter().skip(first).step_by(3)
}

/// Repositories and directories for the commands of one client.
pub struct Site {
    pub side: Side,
    pub mirrors: Mirrors,
    dump: Vec<u8>,
    /// What [`Mirrors::dump_of_revisions`] returns for the source.
    source: String,
    tree: BTreeMap<PathBuf, Vec<u8>>,
    printed: BTreeMap<&'static str, Vec<u8>>,
    runs: usize,
}

/// How a run ended.
pub struct Outcome {
    pub name: String,
    pub status: ExitStatus,
    pub stdout: Vec<u8>,
    pub stderr: String,
}

impl Site {
    /// Makes the repositories and serves them.
    pub fn new(side: Side, access: Access) -> Site {
        let repo = repository();
        let mirrors = Mirrors::new(&repo, access);
        let dir = mirrors.dir().to_owned();
        let tree = dir.join("TREE");
        let file_url = |name: &str| format!("file://{}", mirrors.path(name).display());
        let theirs = |tool: &str| Tool::new(tool).env("HOME", &dir);
        theirs("svn")
            .args(["export", "-q"])
            .arg(file_url("source/trunk"))
            .arg(&tree)
            .ok();
        mirrors.create("into");
        // `base` is the tree without the large file.
        let base = format!("{}/base", file_url("into"));
        theirs("svn")
            .args(["import", "-q", "-m", "base"])
            .arg(&tree)
            .arg(&base)
            .ok();
        let whole = format!("{}/whole", file_url("into"));
        theirs("svnmucc")
            .args(["-m", "base", "cp", "1"])
            .args([&base, &whole])
            .args(["rm"])
            .arg(format!("{base}/big"))
            .ok();
        Site {
            side,
            dump: theirs("svnadmin")
                .args(["dump", "-q"])
                .arg(mirrors.path("source"))
                .ok()
                .stdout,
            tree: files(&tree),
            source: mirrors.dump_of_revisions("source"),
            mirrors,
            printed: BTreeMap::new(),
            runs: 0,
        }
    }

    /// Starts a command, whose outcome [`Site::check`] examines. Returns the name of this run.
    pub fn start(&mut self, case: Case) -> (String, Child) {
        self.runs += 1;
        let name = format!("run-{}", self.runs);
        if matches!(case.effect, Effect::Loads | Effect::Mirrors) {
            self.mirrors.create(&name);
        }
        if case.effect == Effect::Mirrors {
            let urls = ["source", &name].map(|name| format!("file://{}", self.mirrors.path(name).display()));
            let [source, mirror] = urls;
            Tool::new("svnsync").args(["init", "-q", &mirror, &source]).ok();
        }
        let line = case
            .line
            .replace("NAME", &name)
            .replace("TARGET", &format!("{name}.exported"));
        let mut command = self
            .mirrors
            .tool(self.side, case.tool, &line)
            .dir(self.mirrors.dir())
            .command();
        let stdin = match case.effect {
            Effect::Loads => {
                let path = self.mirrors.path("dump");
                fs::write(&path, &self.dump).expect("because the directory is there");
                fs::File::open(&path).expect("because it was written").into()
            }
            _ => Stdio::null(),
        };
        let output = |suffix: &str| {
            fs::File::create(self.mirrors.path(&format!("{name}.{suffix}")))
                .expect("because the directory is there")
        };
        let child = command
            .stdin(stdin)
            .stdout(output("out"))
            .stderr(output("err"))
            .spawn()
            .expect("because the program is there");
        (name, child)
    }

    /// Waits for the end of a run; a run that takes longer than `time` is killed and reported.
    pub fn finish(&self, (name, mut child): (String, Child), time: Duration) -> Result<Outcome, String> {
        let end = Instant::now() + time;
        let status = loop {
            match child.try_wait().expect("because it is our child") {
                Some(status) => break status,
                None if Instant::now() > end => {
                    child.kill().expect("because it is our child");
                    child.wait().expect("because it is our child");
                    return Err(format!("it did not end within {time:?}"));
                }
                None => std::thread::sleep(Duration::from_millis(2)),
            }
        };
        let read = |suffix: &str| {
            fs::read(self.mirrors.path(&format!("{name}.{suffix}"))).expect("because the file was made")
        };
        Ok(Outcome {
            status,
            stdout: read("out"),
            stderr: String::from_utf8_lossy(&read("err")).into_owned(),
            name,
        })
    }

    /// Runs a command without a disturbance. Returns the time that it took.
    pub fn measure(&mut self, case: Case) -> Duration {
        let began = Instant::now();
        let run = self.start(case);
        let outcome = self
            .finish(run, Duration::from_secs(60))
            .expect("because nothing disturbs it");
        let time = began.elapsed();
        assert!(outcome.status.success(), "{case:?}: {}", outcome.stderr);
        self.printed.insert(case.line, outcome.stdout.clone());
        let checked = self.check(case, &outcome);
        assert_eq!(checked, Ok(()), "{case:?}");
        time
    }

    /// Examines what a run left behind.
    pub fn check(&self, case: Case, outcome: &Outcome) -> Result<(), String> {
        let is_killed = outcome.status.signal() == Some(9);
        let succeeded = outcome.status.success();
        if outcome.stderr.contains("panicked") {
            return Err("it panicked".into());
        }
        match case.effect {
            Effect::Prints => {
                let whole = &self.printed[case.line];
                match succeeded {
                    true if outcome.stdout == *whole => Ok(()),
                    true => Err("success with another output".into()),
                    // What was printed is never wrong, only incomplete.
                    false if whole.starts_with(&outcome.stdout) => Ok(()),
                    false => Err("printed what is not a part of the output".into()),
                }
            }
            Effect::Exports => {
                let target = self.mirrors.path(&format!("{}.exported", outcome.name));
                self.check_tree(&files(&target), succeeded, is_killed)
            }
            Effect::Commits => self.check_commit(&outcome.name, succeeded),
            Effect::Loads => self.check_revisions(&outcome.name, succeeded),
            Effect::Mirrors => {
                self.check_revisions(&outcome.name, succeeded)?;
                self.check_continuation(&outcome.name)
            }
        }
    }

    /// Examines exported files: each is complete.
    fn check_tree(
        &self,
        found: &BTreeMap<PathBuf, Vec<u8>>,
        is_whole: bool,
        is_killed: bool,
    ) -> Result<(), String> {
        for (path, bytes) in found {
            match self.tree.get(path) {
                Some(expected) if expected == bytes => {}
                Some(expected) => {
                    return Err(format!(
                        "{} has {} of {} bytes",
                        path.display(),
                        bytes.len(),
                        expected.len()
                    ));
                }
                None if is_killed && path.to_string_lossy().contains("svn-") => {}
                None => return Err(format!("{} was left behind", path.display())),
            }
        }
        match is_whole && found.len() < self.tree.len() {
            true => Err(format!(
                "success with {} of {} files",
                found.len(),
                self.tree.len()
            )),
            false => Ok(()),
        }
    }

    /// Examines the tree of a commit: all of it is there, or nothing.
    fn check_commit(&self, name: &str, succeeded: bool) -> Result<(), String> {
        let target = self.mirrors.path(&format!("{name}.committed"));
        let url = format!("file://{}/{name}", self.mirrors.path("into").display());
        let exported = Tool::new("svn")
            .args(["export", "-q"])
            .arg(url)
            .arg(&target)
            .run();
        match exported.code {
            0 => self.check_tree(&files(&target), true, false),
            _ if succeeded => Err("success without a commit".into()),
            _ => Ok(()),
        }
    }

    /// Examines the revisions of a mirror: they are those of the source.
    fn check_revisions(&self, name: &str, succeeded: bool) -> Result<(), String> {
        let mirror = self.mirrors.dump_of_revisions(name);
        let youngest = |repository: &str| {
            Tool::new("svnlook")
                .arg("youngest")
                .arg(self.mirrors.path(repository))
                .ok()
                .out()
                .trim()
                .to_owned()
        };
        if succeeded {
            return match mirror == self.source {
                true => Ok(()),
                false => Err("success with other revisions".into()),
            };
        }
        // The properties of the last revision may be incomplete.
        let count = youngest(name).parse::<usize>().expect("because it is a number");
        let first = |dump: &str| {
            dump.split("\nRevision-number: ")
                .take(count)
                .collect::<Vec<_>>()
                .join("\n")
        };
        match first(&mirror) == first(&self.source) {
            true => Ok(()),
            false => Err("the revisions differ".into()),
        }
    }

    /// Continues the work on a mirror: nothing has to be removed by hand.
    fn check_continuation(&self, name: &str) -> Result<(), String> {
        // A lock of Subversion's program whose process was killed stays.
        let options = if self.side == Side::Theirs {
            "--steal-lock"
        } else {
            ""
        };
        let url = format!("file://{}", self.mirrors.path(name).display());
        let source = format!("file://{}", self.mirrors.path("source").display());
        let tool = self
            .side
            .tool("svnsync")
            .args(["sync", "-q", "--non-interactive"])
            .args(options.split_whitespace());
        let output = tool.args([&url, &source]).env("HOME", self.mirrors.dir()).run();
        if output.code != 0 {
            return Err(format!("can't continue: {}{}", output.out(), output.err()));
        }
        self.check_revisions(name, true)
    }

    /// Waits until the repository that commits go to has no transaction, for at most five seconds.
    pub fn check_transactions(&self, repository: &str) -> Result<(), String> {
        let end = Instant::now() + Duration::from_secs(5);
        loop {
            let left = Tool::new("svnadmin")
                .arg("lstxns")
                .arg(self.mirrors.path(repository))
                .ok()
                .out();
            if left.is_empty() {
                return Ok(());
            }
            if Instant::now() > end {
                return Err(format!("transactions of {repository} are left: {left}"));
            }
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// Removes what a run made.
    pub fn clear(&self, outcome: &Outcome) {
        for suffix in ["out", "err"] {
            _ = fs::remove_file(self.mirrors.path(&format!("{}.{suffix}", outcome.name)));
        }
        for suffix in ["", ".exported", ".committed"] {
            _ = fs::remove_dir_all(self.mirrors.path(&format!("{}{suffix}", outcome.name)));
        }
    }
}

/// Returns the files below a directory, by their paths in it.
pub fn files(top: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut dirs = vec![top.to_owned()];
    while let Some(dir) = dirs.pop() {
        for entry in fs::read_dir(&dir).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() {
                dirs.push(path);
            } else {
                let bytes = fs::read(&path).unwrap_or_default();
                let name = path.strip_prefix(top).expect("because it is below").to_owned();
                found.insert(name, bytes);
            }
        }
    }
    found
}

/// Returns a repository whose `trunk` has some directories of files and a large one, and some revisions.
fn repository() -> Repo {
    let mut random = Random::new(16);
    let mut stream = DumpStream::new("1e720ca1-2b3c-4d4e-8f50-0123456789ac");
    let mut lines = |count: usize| -> Vec<u8> {
        let line = |_| format!("{:012x}\n", random.next() & 0xffff_ffff_ffff);
        (0..count).map(line).collect::<String>().into_bytes()
    };
    stream.rev("trees").mkdirs(["trunk"]);
    for dir in 0..8 {
        stream.mkdirs([format!("trunk/d{dir}").as_str()]);
        for file in 0..10 {
            stream.file(&format!("trunk/d{dir}/f{file}"), lines(20 + 30 * file));
        }
    }
    stream.file("trunk/big", lines(40_000));
    for rev in 0..6 {
        stream.rev(&format!("change {rev}"));
        for dir in 0..8 {
            stream.edit(&format!("trunk/d{dir}/f1"), lines(60));
            stream.edit(&format!("trunk/d{dir}/f{}", 2 + rev), lines(200));
        }
    }
    build(&Spec::small("1.14").with(stream).named("robustness"))
}
