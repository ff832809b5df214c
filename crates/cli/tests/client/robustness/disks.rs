//! Disks that are full, files that may not grow, and targets that are not what they should be: the errors of Subversion's client, and no
//! partial files. File systems and other users need root; without, those cases are skipped.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::MetadataExt as _;

use testkit::history::Random;
use testkit::stream::{Content, DumpStream, RecordKind};
use testkit::{Repo, Side, Spec, Tool, build, normalize};

use crate::export::without_temporary_names;
use crate::twins::{Access, TwinClients};

/// What a case needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Needs {
    Nothing,
    /// Mounts at `fs`.
    Mount(&'static str),
    /// Runs as an ordinary user.
    Nobody,
}

/// A shell script that prepares the current directory, one that runs in the client's process before the client, and the command, in which
/// `LONG` is a name that no file system takes.
type Case = (Needs, &'static str, &'static str, &'static str);

const TINY: Needs = Needs::Mount("size=4k");
const FULL: &str = "head -c 4096 /dev/zero > fs/full";

/// Programs that print, keep files in the configuration area, or write temporary files.
const OTHER_FILES: &[Case] = &[
    (TINY, FULL, "exec > fs/x;", "svn info -R {URL}"),
    (TINY, FULL, "exec > fs/x;", "svn propget -R svn:eol-style {URL}"),
    (TINY, FULL, "exec > fs/x;", "svn blame {URL}/trunk/words"),
    (TINY, FULL, "exec > fs/x;", "svn diff -c1 {URL}/trunk/words"),
    (TINY, FULL, "exec > fs/x;", "svn diff --summarize -c1 {URL}"),
    (TINY, FULL, "exec < s > fs/x;", "svndumpfilter exclude a"),
    (TINY, FULL, "exec < s > fs/x;", "svndumpfilter -q exclude a"),
    (TINY, FULL, "exec > fs/x;", "svnbench null-list {URL}"),
    (Needs::Mount("ro"), "", "export HOME=$PWD/fs;", "svn list {URL}"),
    (
        Needs::Mount("size=60k"),
        "mkdir fs/h; HOME=$PWD/fs/h svn help >/dev/null; HOME=$PWD/fs/h svn info file:///none 2>/dev/null; head -c 60k /dev/zero > fs/full || true",
        "export HOME=$PWD/fs/h;",
        "svn mkdir -m x --username harry --password secret --non-interactive {URL}/new",
    ),
    (
        TINY,
        FULL,
        "export SVN_EDITOR=true; cd fs;",
        "svn mkdir --username harry --password secret {URL}/edited",
    ),
    (
        TINY,
        FULL,
        "export TMPDIR=$PWD/fs;",
        "svn diff -c1 --diff-cmd true {URL}/trunk/words",
    ),
    (
        TINY,
        FULL,
        "export TMPDIR=$PWD/fs;",
        "svn import -q -m x --username harry --password secret s {URL}/s",
    ),
    (
        TINY,
        FULL,
        "export TMPDIR=$PWD/fs;",
        "svnmucc -m x --username harry --password secret put s {URL}/s2",
    ),
];

const CASES: [Case; 38] = [
    (
        Needs::Mount("size=1m"),
        "",
        "",
        "svn export -q {URL}/trunk/big fs/x",
    ),
    (
        Needs::Mount("size=1m"),
        "",
        "",
        "svn export -q {URL}/trunk/text fs/x",
    ),
    (Needs::Mount("size=1m"), "", "", "svn export -q {URL}/wide fs/x"),
    (TINY, FULL, "", "svn export -q {URL}/trunk/small fs/x"),
    (TINY, FULL, "", "svn export -q {URL}/trunk/words fs/x"),
    (TINY, FULL, "", "svn export -q {URL}/trunk/medium fs/x"),
    (TINY, FULL, "exec > fs/x;", "svn list -R {URL}"),
    (TINY, FULL, "exec > fs/x;", "svn log -v {URL}"),
    (TINY, FULL, "exec > fs/x;", "svn cat {URL}/trunk/big"),
    (TINY, FULL, "exec > fs/x;", "svnrdump dump -q {URL}"),
    (Needs::Mount("ro"), "", "", "svn export -q {URL}/trunk fs/x"),
    (Needs::Mount("ro"), "", "", "svn export -q --force {URL}/wide fs"),
    (
        Needs::Mount("nr_inodes=3"),
        "",
        "",
        "svn export -q {URL}/deep fs/x",
    ),
    (
        Needs::Nothing,
        "",
        "ulimit -f 100;",
        "svn export -q {URL}/trunk/big x",
    ),
    (
        Needs::Nothing,
        "",
        "ulimit -f 100; exec > x;",
        "svn cat {URL}/trunk/big",
    ),
    (
        Needs::Nothing,
        "",
        "ulimit -f 1;",
        "svn export -q {URL}/trunk/words x",
    ),
    (Needs::Nothing, "", "ulimit -n 16;", "svn export -q {URL}/deep x"),
    (
        Needs::Nothing,
        "mkdir real; ln -s real x",
        "",
        "svn export -q {URL}/trunk x",
    ),
    (
        Needs::Nothing,
        "mkdir real; ln -s real x",
        "",
        "svn export -q --force {URL}/trunk x",
    ),
    (
        Needs::Nothing,
        "ln -s nowhere x",
        "",
        "svn export -q --force {URL}/trunk x",
    ),
    (
        Needs::Nothing,
        "ln -s nowhere x",
        "",
        "svn export -q --force {URL}/trunk/small x",
    ),
    (
        Needs::Nothing,
        "echo a > f; ln -s f x",
        "",
        "svn export -q --force {URL}/trunk/small x",
    ),
    (
        Needs::Nothing,
        "mkdir x out; ln -s ../out x/d",
        "",
        "svn export -q --force {URL}/deep x",
    ),
    (
        Needs::Nothing,
        "mkdir x; ln -s d x/d",
        "",
        "svn export -q --force {URL}/deep x",
    ),
    (
        Needs::Nothing,
        "mkdir x; echo a > x/d",
        "",
        "svn export -q --force {URL}/deep x",
    ),
    (
        Needs::Nothing,
        "mkdir -p x/w",
        "",
        "svn export -q --force {URL}/wide x",
    ),
    (
        Needs::Nothing,
        "mkfifo x",
        "",
        "svn export -q --force {URL}/trunk/small x",
    ),
    (Needs::Nothing, "echo a > p", "", "svn export -q {URL}/trunk p/x"),
    (
        Needs::Nothing,
        "echo a > p",
        "",
        "svn export -q {URL}/trunk/small p/x",
    ),
    (Needs::Nothing, "", "", "svn export -q {URL}/trunk/small p/x"),
    (Needs::Nothing, "", "", "svn export -q {URL}/trunk LONG"),
    (
        Needs::Nothing,
        "",
        "",
        "svn export -q --force {URL}/trunk/small LONG/x",
    ),
    (
        Needs::Nobody,
        "mkdir -m 755 x",
        "",
        "svn export -q --force {URL}/trunk/small x/y",
    ),
    (
        Needs::Nobody,
        "mkdir -m 755 x",
        "",
        "svn export -q {URL}/trunk x/y",
    ),
    (
        Needs::Nobody,
        "mkdir -m 700 x",
        "",
        "svn export -q {URL}/trunk x/y",
    ),
    (
        Needs::Nobody,
        "mkdir -m 700 x",
        "",
        "svn export -q {URL}/trunk/small x/y",
    ),
    (
        Needs::Nobody,
        "mkdir -m 777 x; mkdir -m 755 x/d",
        "",
        "svn export -q --force {URL}/deep x",
    ),
    (
        Needs::Nobody,
        "mkdir -m 777 x; echo a > x/w; chmod 600 x/w",
        "",
        "svn export -q --force {URL}/wide x",
    ),
];

#[test]
fn disks_and_targets_refuse_alike() {
    same(&CASES);
}

#[test]
fn disks_of_other_files_refuse_alike() {
    same(OTHER_FILES);
}

/// Runs cases beside Subversion's client.
fn same(cases: &[Case]) {
    let twins = TwinClients::new(&repository(), Access::Svn);
    let is_root = fs::metadata("/proc/self").is_ok_and(|own| own.uid() == 0);
    for side in Side::BOTH {
        // For the ordinary user.
        let scratch = twins.dir(side).parent().expect("because it is below").to_owned();
        Tool::new("chmod")
            .arg("755")
            .args([scratch, twins.dir(side)])
            .ok();
    }
    let mut failed = Vec::new();
    for (number, case) in cases.iter().enumerate() {
        let (needs, prepare, limit, line) = *case;
        if needs != Needs::Nothing && !is_root {
            println!("skipped, as it needs root: {line}");
            continue;
        }
        let outcomes = Side::BOTH.map(|side| outcome(&twins, side, number, (needs, prepare, limit, line)));
        let [Some(theirs), Some(ours)] = outcomes else {
            println!("skipped, as nothing can be mounted: {line}");
            continue;
        };
        if ours.text != theirs.text {
            failed.push(format!(
                "{needs:?} {prepare} {limit} {line}\n--- theirs\n{}--- ours\n{}",
                theirs.text, ours.text
            ));
        }
        // Subversion's client leaves temporary files.
        let left: Vec<&String> = ours.files.difference(&theirs.files).collect();
        if !left.is_empty() {
            failed.push(format!(
                "{needs:?} {prepare} {limit} {line}\nleft behind: {left:?}; theirs: {:?}",
                theirs.files
            ));
        }
    }
    assert!(
        failed.is_empty(),
        "{} differ\n{}",
        failed.len(),
        failed.join("\n")
    );
}

/// A configuration area that a full disk has no room for: Sven's client works without it and leaves no parts of its files. Subversion's
/// fails, and leaves an empty file that stays.
#[test]
fn a_full_disk_has_no_part_of_the_configuration_area() {
    let twins = TwinClients::new(&repository(), Access::Disk);
    let case = (TINY, FULL, "export HOME=$PWD/fs;", "svn list {URL}");
    let Some(ours) = outcome(&twins, Side::Ours, 0, case) else {
        return;
    };
    assert_eq!(ours.text, "deep/\ntrunk/\nwide/\nexit 0\n");
    let left: Vec<&String> = ours.files.iter().filter(|file| file.contains(" f ")).collect();
    assert_eq!(left, ["fs/full f 644 ", "s f 644 "]);
}

struct Outcome {
    text: String,
    files: BTreeSet<String>,
}

/// Runs a case in a directory of its own; `None` if nothing can be mounted.
fn outcome(
    twins: &TwinClients,
    side: Side,
    number: usize,
    (needs, prepare, limit, line): Case,
) -> Option<Outcome> {
    let dir = twins.dir(side).join(format!("case-{number}"));
    fs::create_dir(&dir).expect("because it is new");
    let shell = |script: &str| Tool::new("sh").args(["-c", script]).dir(&dir).run();
    if let Needs::Mount(options) = needs {
        let read_only = options == "ro";
        let options = if read_only { "size=1m" } else { options };
        let mounted = shell(&format!("mkdir fs && mount -t tmpfs -o {options} tmpfs fs"));
        if mounted.code != 0 {
            return None;
        }
        if read_only {
            shell("mount -o remount,ro fs").expect_ok();
        }
    }
    fs::write(dir.join("s"), "SVN-fs-dump-format-version: 2\n\n").expect("because the directory is ours");
    shell(prepare).expect_ok();
    let line = line.replace("LONG", &"n".repeat(300));
    let command = twins.tool(side, &line.split(' ').collect::<Vec<_>>()).command();
    let user = match needs {
        Needs::Nobody => "setpriv --reuid=65534 --regid=65534 --clear-groups",
        _ => "",
    };
    let output = Tool::new("sh")
        .args(["-c", &format!("{limit} exec {user} \"$0\" \"$@\"")])
        .arg(command.get_program())
        .args(command.get_args())
        .env("HOME", "/nonexistent")
        .dir(&dir)
        .run();
    let listed = shell("find . -printf '%P %y %m %l\\n'; if [ -d fs ]; then umount fs; fi").expect_ok();
    let text = format!("{}{}exit {}\n", output.out(), output.err(), output.code);
    let text = normalize::replace(&text, &[(twins.url(side), "{URL}")]);
    Some(Outcome {
        text: without_temporary_names(&normalize::mask_dates(&text)),
        files: listed.out().lines().map(without_temporary_names).collect(),
    })
}

fn repository() -> Repo {
    let mut random = Random::new(2);
    let mut bytes = |count: usize| -> Vec<u8> { (0..count).map(|_| random.next() as u8).collect() };
    let mut stream = DumpStream::new("1e720ca1-2b3c-4d4e-8f50-0123456789ad");
    stream
        .rev("trees")
        .mkdirs(["trunk", "wide", "deep", "deep/d", "deep/d/e"]);
    stream
        .file("trunk/small", "small\n")
        .file("trunk/medium", bytes(9000))
        .file("trunk/big", bytes(3_000_000));
    let native: [(&str, &[u8]); 1] = [("svn:eol-style", b"CRLF")];
    let line = |lines: usize| b"a line of words\n".repeat(lines);
    for (path, text) in [("trunk/words", line(100)), ("trunk/text", line(200_000))] {
        stream.add(RecordKind::File, path, Content::both(&native, &text));
    }
    stream.file("wide/w", bytes(2_000_000)).file("deep/d/e/x", "x\n");
    build(&Spec::small("1.14").with(stream).named("disks"))
}
