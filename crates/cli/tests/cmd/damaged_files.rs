//! Commands on repositories in which a file is missing, empty, truncated, a directory, a FIFO or unreadable, compared
//! with the incumbent. The exit codes must be equal, and no command waits for a FIFO.
//!
//! The default run has a part of the table; `DAMAGED_FILES=all TMPDIR=/dev/shm cargo test -p sven --test cmd
//! damaged_files` runs all of it.
//!
//! The ordinary run takes some of the table; `DAMAGED_FILES=all TMPDIR=/dev/shm cargo test -p sven --test cmd damaged_files` all.

use std::fs;
use std::path::{Path, PathBuf};

use testkit::{Output, Side, Tool};

use crate::random::short_or_all;

#[test]
fn commands_on_damaged_files_have_the_incumbents_exit_code() {
    let scratch = testkit::scratch();
    let template = template(scratch.path());
    let is_whole = std::env::var("DAMAGED_FILES").is_ok();
    let mut differences = Vec::new();
    let mut cells = 0;
    for (row, file) in FILES.iter().enumerate() {
        for (column, damage) in DAMAGES.iter().enumerate() {
            for (at, command) in COMMANDS.iter().enumerate() {
                // A few cells, with each file, each damage and each command.
                let number = (row * DAMAGES.len() + column) * COMMANDS.len() + at;
                if !is_whole && !number.is_multiple_of(short_or_all(85, 17)) {
                    continue;
                }
                cells += 1;
                let run = |side: Side| run(side, scratch.path(), &template, file, damage, command);
                let (theirs, ours) = (run(Side::Theirs), run(Side::Ours));
                let is_equal = match theirs.code {
                    // Subversion was killed because it waited for the FIFO, or crashed. Sven must end by itself.
                    KILLED | ABORTED | CRASHED | -1 => (0..=1).contains(&ours.code),
                    code => ours.code == code,
                };
                if !is_equal && !is_known(file, damage, command) {
                    differences.push(format!(
                        "{file} {damage}: {command}\n  theirs {} {}\n  ours {} {}",
                        theirs.code,
                        theirs.err().trim_end(),
                        ours.code,
                        ours.err().trim_end()
                    ));
                }
            }
        }
    }
    println!("{cells} cells");
    assert!(
        differences.is_empty(),
        "{} of {cells}\n{}",
        differences.len(),
        differences.join("\n")
    );
}

/// True for differences that `docs/KNOWN-DIFFERENCES.md` lists.
fn is_known(file: &str, damage: &str, command: &str) -> bool {
    let tool = command.rsplit_once(" R").map_or(command, |(tool, _)| tool);
    if file == "format" && damage == "truncated" {
        // The incumbent reads beyond the end of a file without a line end, with random results.
        return true;
    }
    match (tool, file) {
        // These commands read fewer or more files that they do not need than the incumbent's.
        (
            "svnadmin info" | "svnadmin lstxns" | "svnadmin lslocks" | "svnadmin upgrade"
            | "svnlook youngest",
            "db/format",
        ) => true,
        ("svnadmin info", "db/revs/0.pack/pack") => true,
        ("svnadmin setuuid", "db/current" | "db/write-lock") => true,
        // Copied files are checked, and optional files may be missing.
        ("svnadmin hotcopy -q", _) => true,
        ("svnadmin pack -q", "db/pack-lock") => true,
        // Lock files that are dangling links are created.
        ("svnadmin recover" | "svnadmin upgrade", _) if file.ends_with("-lock") => damage == "dangling",
        // Directories and FIFOs are not taken for revision files.
        ("svnadmin recover", "db/revs/3/6" | "db/revs/0.pack/pack") => damage == "directory",
        ("svnadmin recover", "db/revprops/3/6") => matches!(damage, "fifo" | "dangling"),
        ("svnadmin recover", "db/current") => damage == "unreadable",
        ("svnadmin recover" | "svnadmin verify -q", "db/rep-cache.db") => damage == "dangling",
        ("svnadmin lslocks", "db/locks") => damage == "fifo",
        _ => false,
    }
}

/// Makes a repository with packed and unpacked revisions, revision properties, a lock and an open transaction.
fn template(folder: &Path) -> PathBuf {
    let repo = folder.join("template");
    let script = r#"
        svnadmin create $1
        chmod u+w $1/db/format
        sed -i 's/sharded 1000/sharded 2/' $1/db/format
        for rev in 1 2 3 4 5; do svn mkdir -q -m m file://$1/d$rev; done
        echo text | svnmucc --non-interactive -U file://$1 -m m -- put - f
        svnadmin pack -q $1
        echo comment > $1.text
        svnadmin lock -q $1 /f root $1.text opaquelocktoken:of-root
        mkdir $1/db/transactions/6-6.txn
    "#;
    Tool::new("sh").args(["-ec", script, "sh"]).arg(&repo).ok();
    fs::remove_dir(repo.join("db/transactions/6-6.txn")).expect("because it was made");
    repo
}

fn run(side: Side, folder: &Path, template: &Path, file: &str, damage: &str, command: &str) -> Output {
    let (repo, out) = (folder.join("repo"), folder.join("out"));
    let script = r#"
        rm -rf $2 $3
        cp -a $1 $2
        cd $2
        case $5 in
        missing) rm -r $4;;
        empty) if [ -d $4 ]; then rm -r $4; mkdir $4; else chmod u+w $4; : > $4; fi;;
        directory) rm -r $4; mkdir $4;;
        fifo) rm -r $4; mkfifo $4;;
        truncated) if [ -f $4 ]; then chmod u+w $4; truncate -s $(($(stat -c %s $4) / 2)) $4; fi;;
        unreadable) chmod a-rw $4;;
        dangling) rm -r $4; ln -s nosuch $4;;
        esac
    "#;
    let prepare = Tool::new("sh").args(["-ec", script, "sh"]);
    prepare
        .arg(template)
        .arg(&repo)
        .arg(&out)
        .args([file, damage])
        .ok();
    let mut words = command.split(' ');
    let program = words.next().expect("because it has a name");
    let tool = Tool::new("timeout").args(["-s", "KILL"]);
    let tool = match side {
        Side::Theirs => tool.arg("1").arg(program),
        Side::Ours => tool.arg("30").arg(testkit::tool::tool_link(program)),
    };
    let words = words.map(|word| match word {
        "R" => repo.clone().into_os_string(),
        "O" => out.clone().into_os_string(),
        word => word.into(),
    });
    let tool = tool.args(words);
    match damage {
        "unreadable" => tool.bound_by_permissions().run(),
        _ => tool.run(),
    }
}

const KILLED: i32 = 137;
const ABORTED: i32 = 134;
const CRASHED: i32 = 139;

const FILES: &[&str] = &[
    "format",
    "db/format",
    "db/current",
    "db/uuid",
    "db/fs-type",
    "db/fsfs.conf",
    "db/revs/3/6",
    "db/revs/0.pack/pack",
    "db/revprops/3/6",
    "db/revprops/0.pack/manifest",
    "db/revprops/0/0",
    "db/txn-current",
    "db/min-unpacked-rev",
    "db/rep-cache.db",
    "db/write-lock",
    "db/txn-current-lock",
    "db/pack-lock",
    "db/locks",
    "locks/db.lock",
    "conf/svnserve.conf",
    "hooks",
];

const DAMAGES: &[&str] = &[
    "missing",
    "empty",
    "directory",
    "fifo",
    "truncated",
    "unreadable",
    "dangling",
];

const COMMANDS: &[&str] = &[
    "svnadmin recover R",
    "svnadmin verify -q R",
    "svnadmin dump -q R",
    "svnadmin info R",
    "svnadmin lstxns R",
    "svnadmin setuuid R",
    "svnadmin pack -q R",
    "svnadmin upgrade R",
    "svnadmin hotcopy -q R O",
    "svnadmin lslocks R",
    "svnlook youngest R",
    "svnlook tree R",
    "svnlook info R",
    "svnlook changed R",
];
