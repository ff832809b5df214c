//! The programs as an unprivileged user: on read-only files, with unusual umasks, in repositories of a group. If the
//! tests run as root, the programs are started with `setpriv`. Both tools must accept the same commands, print the
//! same standard error, and leave files with the same modes and owners.

mod closed;
mod few_processes;
mod full_disk;
mod served;
mod shared;

use std::path::{Path, PathBuf};

use testkit::tool::tool_link;
use testkit::{Output, Side, Tool, sample, scratch};

/// The user ID of the programs: `nobody`.
const USER: &str = "65534";
/// The group ID of repositories: `games` on Debian.
const GROUP: &str = "60";

/// The owner and permissions of a repository's files.
#[derive(Clone, Copy, Debug, PartialEq)]
enum FileOwnership {
    /// Owned by the user.
    Own,
    /// Read-only for all.
    ReadOnly,
    /// Owned by root and writable for the group; new files get the group.
    Group,
    /// Owned by root and writable for the group, without the set-group-ID bit.
    GroupWithoutBit,
}

/// The commands; `R` is the repository, `O` a directory that the user may write to. Each line gets its own
/// repository.
const COMMANDS: [&str; 30] = [
    "svnadmin verify -q R",
    "svnadmin dump -q R",
    "svnadmin dump -q -F O/dump R",
    "svnadmin dump-revprops -q R",
    "svnadmin info R",
    "svnadmin lslocks R",
    "svnadmin lstxns R",
    "svnadmin hotcopy -q R O/copy",
    "svnadmin hotcopy -q R O/copy; svnadmin hotcopy -q --incremental R O/copy",
    "svnadmin hotcopy -q R O/copy; svnadmin pack -q O/copy; svnadmin verify -q O/copy",
    "svnadmin hotcopy -q R O/no/such/copy",
    "svnadmin pack -q R",
    "svnadmin upgrade R",
    "svnadmin recover R",
    "svnadmin setlog --bypass-hooks -r 1 R O/text",
    "svnadmin setrevprop -r 1 R name O/text",
    "svnadmin delrevprop -r 1 R svn:author",
    "svnadmin setuuid R 11111111-2222-4333-8444-555555555555",
    "svnadmin load -q --force-uuid R -F O/stream",
    "svnadmin lock R /f1 nobody O/text opaquelocktoken:t; svnadmin lslocks R; svnadmin unlock R /f1 nobody opaquelocktoken:t",
    "svnadmin rmlocks R /locked",
    "svnadmin rmtxns R 4-4",
    "svnadmin setrevprop -t 4-4 R svn:log O/text",
    "svnadmin create O/new; svnadmin load -q O/new -F O/stream",
    "svnadmin create --compatible-version 1.6 O/new",
    "svnadmin create R/db/new",
    "svnlook youngest R; svnlook log R; svnlook changed R; svnlook cat R f2; svnlook author R",
    "svnlook tree R; svnlook proplist --revprop R; svnlook diff -r 2 R",
    "svnlook lock R /locked; svnlook propget --revprop R svn:log; svnlook history R f2",
    "svnadmin freeze R -- /bin/true",
];

fn main_repository(root: &Path, version: &str) -> PathBuf {
    let path = root.join("template");
    let create = Tool::new("svnadmin").args(["create", "--compatible-version", version]);
    create.arg(&path).ok();
    let format = path.join("db/format");
    let text = std::fs::read_to_string(&format).expect("because it was just made");
    _ = std::fs::remove_file(&format);
    std::fs::write(&format, text.replace("sharded 1000", "sharded 2")).expect("because it was just made");
    let url = format!("file://{}", path.display());
    for rev in 1..=4 {
        let mucc =
            Tool::new("svnmucc").args(["--non-interactive", "-U", &url, "-m", "text", "--", "put", "-"]);
        let name = if rev == 4 {
            "locked".to_owned()
        } else {
            format!("f{rev}")
        };
        mucc.arg(name).stdin(format!("text {rev}\n")).ok();
    }
    std::fs::write(root.join("text"), "a text").expect("because the folder is ours");
    let lock = Tool::new("svnadmin")
        .arg("lock")
        .arg(&path)
        .args(["/locked", "root"]);
    lock.arg(root.join("text")).arg("opaquelocktoken:of-root").ok();
    let stream = Tool::new("svnadmin")
        .args(["dump", "-q", "--incremental", "-r", "2"])
        .arg(&path)
        .ok();
    std::fs::write(root.join("stream"), stream.stdout.replace_name()).expect("because the folder is ours");
    path
}

trait ReplaceName {
    fn replace_name(self) -> Vec<u8>;
}

impl ReplaceName for Vec<u8> {
    /// Replaces the name of the stream's file by an unused one.
    fn replace_name(self) -> Vec<u8> {
        String::from_utf8(self)
            .expect("because it is text")
            .replace("Node-path: f2", "Node-path: g2")
            .into_bytes()
    }
}

fn sh(command: &str) {
    Tool::new("sh").args(["-ec", command]).ok();
}

/// Makes a directory with `repo` in the state and a directory `out`, which the user may write to.
fn prepare(template: &Path, root: &Path, state: FileOwnership) {
    let (repo, out) = (root.join("repo"), root.join("out"));
    let (repo, out) = (repo.display(), out.display());
    let texts = template
        .parent()
        .expect("because it has one")
        .display()
        .to_string();
    let owner = match state {
        FileOwnership::Own => format!("chown -R {USER}:{USER} {repo}"),
        FileOwnership::ReadOnly => format!("chmod -R a-w,a+rX {repo}"),
        FileOwnership::Group => {
            format!(
                "chgrp -R {GROUP} {repo}; chmod -R g+rwX,o-rwx {repo}; find {repo} -type d | xargs chmod g+s"
            )
        }
        FileOwnership::GroupWithoutBit => {
            format!("chgrp -R {GROUP} {repo}; chmod -R g+rwX {repo}; find {repo} -type d | xargs chmod g-s")
        }
    };
    sh(&format!(
        "chmod 755 {root}; cp -a {template} {repo}; mkdir {out}; cp {texts}/text {texts}/stream {out}; chown -R {USER}:{USER} {out}; {owner}",
        root = root.display(),
        template = template.display(),
    ));
}

fn run(side: Side, root: &Path, umask: &str, line: &str) -> Vec<Output> {
    let commands = line.split("; ").map(|command| {
        let words = command.split(' ').map(|word| match word {
            "R" => root.join("repo").display().to_string(),
            word if word.starts_with("R/") => root.join("repo").join(&word[2..]).display().to_string(),
            word if word.starts_with("O/") => root.join("out").join(&word[2..]).display().to_string(),
            word => word.to_owned(),
        });
        let words: Vec<String> = words.collect();
        let program = match side {
            Side::Theirs => words[0].clone(),
            Side::Ours => tool_link(&words[0]).display().to_string(),
        };
        Tool::new("setpriv")
            .args(["--reuid", USER, "--regid", USER, "--groups", GROUP])
            .args(["sh", "-c", &format!("umask {umask}; exec \"$@\""), "sh"])
            .arg(program)
            .args(&words[1..])
            .env("HOME", root.join("out"))
            .run()
    });
    commands.collect()
}

/// Returns modes, owners and names of all files that both tools make.
fn listing(root: &Path) -> String {
    let found = Tool::new("find")
        .arg(root)
        .args(["-printf", "%M %u %g %P\n"])
        .ok()
        .out();
    let own = [
        "rep-cache.db-journal",
        "pack-lock",
        "fsfs.conf",
        ".tmpl",
        "README.txt",
    ];
    let mut lines: Vec<&str> = found
        .lines()
        .filter(|line| !own.iter().any(|own| line.ends_with(own)))
        .collect();
    lines.sort_by_key(|line| line.rsplit(' ').next());
    lines.join("\n")
}

fn shape(root: &Path, outputs: &[Output]) -> String {
    let text = |output: &Output| {
        let text = format!("{}\n{}=> {}\n", output.out(), output.err(), output.code);
        testkit::normalize::mask_dates(&testkit::normalize::mask_uuids(&text))
    };
    let text: String = outputs.iter().map(text).collect();
    let text = text.replace(&root.display().to_string(), "ROOT");
    let is_told = |line: &&str| !line.contains("Configuration: ") && !line.starts_with("Instance ID");
    text.lines().filter(is_told).collect::<Vec<_>>().join("\n") + "\n" + &listing(root)
}

fn can_run() -> bool {
    let probe = scratch();
    sh(&format!("chmod 755 {}", probe.path().display()));
    let is_root =
        std::fs::read_to_string("/proc/self/status").is_ok_and(|text| text.contains("\nUid:\t0\t0"));
    let run = |program: PathBuf| {
        Tool::new("setpriv")
            .args(["--reuid", USER, "--regid", USER, "--groups", GROUP])
            .arg(program)
            .args(["--version", "-q"])
            .run()
    };
    let is_tested = is_root
        && Tool::new("sh").args(["-c", "command -v setpriv"]).run().code == 0
        && run(tool_link("svnadmin")).code == 0;
    if !is_tested {
        println!("NOT TESTED: an ordinary user (needs root, setpriv and programs that others may run)");
    }
    is_tested
}

/// Compares every `step`-th pair of a state with a umask and a command, or all of them as [`sample`].
fn compare(version: &str, states: &[(FileOwnership, &str)], commands: &[&str], step: usize) {
    if !can_run() {
        return;
    }
    let folder = scratch();
    sh(&format!("chmod 755 {}", folder.path().display()));
    let template = main_repository(folder.path(), version);
    let mut differences = Vec::new();
    let cases = states
        .iter()
        .flat_map(|(state, umask)| commands.iter().map(move |line| (*state, *umask, *line)));
    for (state, umask, line) in sample(step, cases) {
        let prepared = folder.path().join(format!("{state:?}"));
        if !prepared.exists() {
            std::fs::create_dir(&prepared).expect("because it is new");
            prepare(&template, &prepared, state);
        }
        let [theirs, ours] = Side::BOTH.map(|side| {
            let root = folder.path().join(format!("{side:?}"));
            Tool::new("cp").arg("-a").arg(&prepared).arg(&root).ok();
            let outputs = run(side, &root, umask, line);
            let shape = shape(&root, &outputs);
            std::fs::remove_dir_all(&root).expect("because we are root");
            shape
        });
        if theirs != ours {
            let lines = |one: &str, other: &str| -> String {
                let other: Vec<&str> = other.lines().collect();
                one.lines()
                    .filter(|line| !other.contains(line))
                    .map(|line| format!("    {line}\n"))
                    .collect()
            };
            differences.push(format!(
                "{version} {state:?}, umask {umask}: {line}\n  theirs\n{}  ours\n{}",
                lines(&theirs, &ours),
                lines(&ours, &theirs)
            ));
        }
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

/// Returns the commands without those whose lines contain one of these words.
fn without(words: &[&str]) -> Vec<&'static str> {
    let is_wanted = |line: &&str| words.iter().all(|word| !line.contains(word));
    COMMANDS.into_iter().filter(is_wanted).collect()
}

#[test]
fn commands_on_read_only_repositories() {
    // Sven fails at a lock file, Subversion at a temporary file or another lock.
    let words = ["upgrade", "setuuid", "--force-uuid", "freeze", "svnlook tree"];
    compare("1.14", &[(FileOwnership::ReadOnly, "022")], &without(&words), 2);
}

#[test]
fn commands_on_repositories_of_a_group() {
    let states = [FileOwnership::Group, FileOwnership::GroupWithoutBit].map(|state| (state, "022"));
    let commands = without(&["upgrade", "svnadmin lock ", "svnlook"]);
    compare("1.14", &states, &commands, 2);
}

#[test]
fn commands_with_unusual_umasks() {
    let writing = without(&["svnlook", "verify", "upgrade", "svnadmin lock "]);
    let states = [
        (FileOwnership::Own, "000"),
        (FileOwnership::Own, "077"),
        (FileOwnership::Group, "027"),
    ];
    // Each command once.
    compare("1.14", &states, &writing, 3);
}

#[test]
fn commands_on_old_formats() {
    let states = [FileOwnership::ReadOnly, FileOwnership::Group].map(|state| (state, "022"));
    compare("1.3", &states, &["svnadmin hotcopy -q R O/copy"], 1);
}
