//! Single files and directories that an unprivileged user may not read, write or search, in a repository of that
//! user: both tools succeed or fail equally, with the same error number.
//!
//! `CLOSED_SEEDS` selects the combinations; `CLOSED_SEEDS=0..4727` is all of them.

use std::path::{Path, PathBuf};

use testkit::{Output, Side, Tool, scratch};

use super::{USER, can_run, sh};
use crate::random::short_or_all;

/// The commands; `R` is the repository, `U` its URL, `O` a directory that the user may write to.
const COMMANDS: [&str; 29] = [
    "svnadmin verify -q R",
    "svnadmin info R",
    "svnadmin lslocks R",
    "svnadmin lstxns R",
    "svnadmin hotcopy -q R O/copy",
    "svnadmin pack -q R",
    "svnadmin upgrade R",
    "svnadmin recover R",
    "svnadmin setlog --bypass-hooks -r 1 R O/text",
    "svnadmin delrevprop -r 1 R svn:author",
    "svnadmin setuuid R 11111111-2222-4333-8444-555555555555",
    "svnadmin load -q R -F O/stream",
    "svnadmin lock R /f1 nobody O/text opaquelocktoken:t",
    "svnadmin unlock R /locked nobody opaquelocktoken:of-nobody",
    "svnadmin rmlocks R /locked",
    "svnadmin rmtxns R 4-4",
    "svnadmin freeze R -- /bin/true",
    "svnadmin dump -q R",
    "svnlook tree R",
    "svnlook cat R f2",
    "svnlook lock R /locked",
    "svnlook log R",
    "svn ls U --config-dir O/config",
    "svn cat U/f2 --config-dir O/config",
    "svn log -v U/f1 --config-dir O/config",
    "svn mkdir -m m U/new --config-dir O/config",
    "svn lock U/f1 --config-dir O/config",
    "svn unlock --force U/locked --config-dir O/config",
    "svn propset --revprop -r 1 name value U --config-dir O/config",
];

const DIRECTORIES: [&str; 15] = [
    ".",
    "conf",
    "hooks",
    "locks",
    "db",
    "db/revs",
    "db/revs/0",
    "db/revs/2",
    "db/revprops",
    "db/revprops/0",
    "db/transactions",
    "db/transactions/4-4.txn",
    "db/txn-protorevs",
    "db/locks",
    "db/locks/bea",
];

/// The changes of a directory `D`.
const DIRECTORY_STATES: [&str; 5] = [
    "chmod a-w D",
    "chmod a-x D",
    "chmod 0 D",
    // With the sticky bit only the directory's owner may replace the files of others.
    "chown -R root D; chmod -R a+rwX D; chmod +t D",
    "chattr +i D",
];

const FILES: [&str; 22] = [
    "format",
    "db/format",
    "db/current",
    "db/write-lock",
    "db/txn-current",
    "db/txn-current-lock",
    "db/pack-lock",
    "db/rep-cache.db",
    "db/fsfs.conf",
    "db/uuid",
    "db/min-unpacked-rev",
    "db/fs-type",
    "db/revs/0/1",
    "db/revs/2/4",
    "db/revprops/0/1",
    "locks/db.lock",
    "db/txn-protorevs/4-4.rev",
    "db/txn-protorevs/4-4.rev-lock",
    "conf/passwd",
    "hooks/post-commit.tmpl",
    "db/transactions/4-4.txn/node.0.0",
    "db/locks/bea/beaaf9b2c0feca5671aada168b625a18",
];

/// The changes of a file `D`.
const FILE_STATES: [&str; 4] = [
    "chown root D; chmod 444 D",
    "chown root D; chmod 0 D",
    "chattr +i D",
    "chattr +a D",
];

/// Known differences: the beginning of the command, and the path (`*` at its end matches anything).
const KNOWN: [(&str, &str); 18] = [
    // The command reads no revisions.
    ("svnadmin info", "db/revs*"),
    // Transactions are not copied.
    ("svnadmin hotcopy", "db/transactions*"),
    ("svnadmin hotcopy", "db/txn-protorevs*"),
    // No lock can keep a load from committing.
    ("svnadmin load", "db/locks*"),
    // The command changes a file under that lock.
    ("svnadmin setuuid", "db/write-lock"),
    // `current` is read when the repository is opened.
    ("svnadmin setuuid", "db/current"),
    ("svnadmin rmlocks", "db/current"),
    ("svnadmin rmtxns", "db/current"),
    ("svn ", "db/current"),
    // SQLite's error numbers; Subversion prints a warning if a load cannot share representations.
    ("svnadmin hotcopy", "db/rep-cache.db"),
    ("svnadmin load", "db/rep-cache.db"),
    // The node is not read.
    ("svnadmin lock", "db/revs/0/1"),
    ("svn lock", "db/revs/0/1"),
    ("svnadmin rmtxns", "db/transactions/4-4.txn/node.0.0"),
    // Subversion gives the directory of a lock the permissions of `db`, and then cannot write to it.
    ("svnadmin lock", "db"),
    ("svn lock", "db"),
    // Locks are written together: where one cannot be, that is the error of the command, not of a path.
    ("svn lock", "db/locks"),
    // A copy has lock files of its own.
    ("svnadmin hotcopy", "locks"),
];

/// Makes a directory with the directories `repo` and `out` of the user.
fn template(root: &Path) -> PathBuf {
    sh(&format!(
        "cd {}; svnadmin create --compatible-version 1.9 template; cd template; sed -i 's/sharded 1000/sharded 2/' db/format; \
         for i in f1 f2 f3 locked; do echo $i > ../f; svnmucc -m m -U file://$PWD put ../f $i > ../out; done; \
         printf text > ../text; svnadmin lock . /locked nobody ../text opaquelocktoken:of-nobody > ../out; \
         printf '#!/bin/sh\\nkill -9 $PPID\\n' > hooks/start-commit; chmod +x hooks/start-commit; \
         svn mkdir -m m file://$PWD/folder > ../out 2>&1 || true; rm hooks/start-commit; test -d db/transactions/4-4.txn; \
         svnadmin dump -q --incremental -r 2 . | sed 's/^Node-path: f2/Node-path: g2/' > ../stream; \
         cd ..; mkdir root root/out; mv template root/repo; mv text stream root/out; chmod 755 root; chown -R {USER}:{USER} root/*",
        root.display()
    ));
    root.join("root")
}

fn run(side: Side, template: &Path, command: &str, change: &str, path: &str) -> Output {
    let folder = scratch();
    let root = &folder.path().join("root");
    let repo = root.join("repo");
    let change = change.replace('D', &repo.join(path).display().to_string());
    sh(&format!(
        "chmod 755 {}; cp -a {} {}",
        folder.path().display(),
        template.display(),
        root.display()
    ));
    // The path does not exist in this format.
    if repo.join(path).exists() {
        Tool::new("sh").args(["-c", &change]).run();
    }
    let words = command.split(' ').map(|word| match word {
        "R" => repo.display().to_string(),
        word => match word.strip_prefix("O/") {
            Some(name) => root.join("out").join(name).display().to_string(),
            None => match word.strip_prefix('U') {
                Some(path) => format!("file://{}{path}", repo.display()),
                None => word.to_owned(),
            },
        },
    });
    let words: Vec<String> = words.collect();
    let program = match side {
        Side::Theirs => words[0].clone(),
        Side::Ours => testkit::tool::tool_link(&words[0]).display().to_string(),
    };
    let output = Tool::new("setpriv")
        .args(["--reuid", USER, "--regid", USER, "--clear-groups"])
        .arg(program)
        .args(&words[1..])
        .run();
    Tool::new("chattr").args(["-R", "-i", "-a"]).arg(root).run();
    output
}

/// Returns the path, its change, and the command.
fn combination(number: usize) -> (&'static str, &'static str, &'static str) {
    let directories = DIRECTORIES.len() * DIRECTORY_STATES.len();
    let (command, at) = (COMMANDS[number % COMMANDS.len()], number / COMMANDS.len());
    match at < directories {
        true => {
            let (path, state) = (at / DIRECTORY_STATES.len(), at % DIRECTORY_STATES.len());
            (DIRECTORIES[path], DIRECTORY_STATES[state], command)
        }
        false => {
            let at = at - directories;
            let (path, state) = (at / FILE_STATES.len(), at % FILE_STATES.len());
            (FILES[path], FILE_STATES[state], command)
        }
    }
}

#[test]
fn commands_on_unreadable_files_and_directories() {
    if !can_run() {
        return;
    }
    let folder = scratch();
    sh(&format!("chmod 755 {}", folder.path().display()));
    let template = template(folder.path());
    let count =
        (DIRECTORIES.len() * DIRECTORY_STATES.len() + FILES.len() * FILE_STATES.len()) * COMMANDS.len();
    let is_usual = std::env::var_os("CLOSED_SEEDS").is_none();
    let mut differences = String::new();
    for seed in testkit::seeds("CLOSED_SEEDS", short_or_all(0..COMMANDS.len() as u64, 0..45)) {
        // The default run is spread over all combinations, with each command once in the first ones.
        let number = match is_usual {
            true => (seed as usize) * 1009 % count,
            false => seed as usize % count,
        };
        let (path, change, command) = combination(number);
        let is_known = |(known, at): &(&str, &str)| {
            let is_at = match at.strip_suffix('*') {
                Some(prefix) => path.starts_with(prefix),
                None => path == *at,
            };
            command.starts_with(known) && is_at
        };
        if KNOWN.iter().any(is_known) {
            continue;
        }
        let [theirs, ours] = Side::BOTH.map(|side| run(side, &template, command, change, path));
        let response = |output: &Output| (output.code, output.error_codes().first().copied());
        if response(&theirs) != response(&ours) {
            differences.push_str(&format!(
                "CLOSED_SEEDS={number} {path}: {change}: {command}\n  theirs {} {}  ours {} {}",
                theirs.code,
                theirs.err(),
                ours.code,
                ours.err()
            ));
        }
    }
    assert!(differences.is_empty(), "{differences}");
}
