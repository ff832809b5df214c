//! `svnsync` beside Subversion's: the same output and the same mirrors, and each continues what the other began.

use std::time::{Duration, Instant};

use testkit::history::Random;
use testkit::{Side, Spec, Tool, build, runs_all_cases, sample};

use crate::mirrors::Mirrors;
use crate::twins::Access;

const OURS: &str = "mirror-of-ours";
const THEIRS: &str = "mirror-of-theirs";

fn mirror_of(side: Side) -> &'static str {
    match side {
        Side::Ours => OURS,
        Side::Theirs => THEIRS,
    }
}

/// Runs a command with each program on its own mirror, which is called `{M}`.
pub fn same(mirrors: &Mirrors, line: &str) -> String {
    let [theirs, ours] = Side::BOTH.map(|side| {
        let name = mirror_of(side);
        let line = line.replace("{M}", &format!("{{{name}}}"));
        mirrors.run(side, "svnsync", &line, name)
    });
    assert!(theirs == ours, "{line}\n--- theirs\n{theirs}\n--- ours\n{ours}");
    theirs
}

/// Compares both mirrors and their bookkeeping.
pub fn same_mirrors(mirrors: &Mirrors) {
    assert!(
        mirrors.dump_of_revisions(THEIRS) == mirrors.dump_of_revisions(OURS),
        "the mirrors differ"
    );
    let [theirs, ours] = [THEIRS, OURS].map(|name| bookkeeping(mirrors, name));
    assert_eq!(theirs, ours, "the bookkeeping differs");
}

/// The properties of revision 0 of a mirror that is not being copied.
fn bookkeeping(mirrors: &Mirrors, name: &str) -> String {
    let tool = Tool::new("svn").args(["proplist", "-v", "--revprop", "-r0"]);
    tool.arg(format!("file://{}", mirrors.path(name).display()))
        .ok()
        .out()
}

/// Makes both mirrors.
pub fn begin(mirrors: &Mirrors, source: &str) {
    for name in [THEIRS, OURS] {
        mirrors.create(name);
    }
    same(mirrors, &format!("initialize {{M}} {source}"));
}

#[test]
fn histories_are_mirrored_alike() {
    let rich = build(&Spec::new("1.14").with(testkit::history::rich()));
    let revisions = if runs_all_cases() { 15 } else { 6 };
    let branches = testkit::branch_history::history(5, revisions).stream;
    let branches = build(&Spec::new("1.14").with(branches));
    for access in Access::ALL {
        // Subversion's server refuses some properties of the richer one over HTTP, or its client sends them wrong.
        let repo = match access {
            Access::Disk => &rich,
            Access::Svn | Access::Http | Access::HttpV1 | Access::Https => &branches,
        };
        let mirrors = Mirrors::new(repo, access);
        begin(&mirrors, "{source}");
        let text = same(&mirrors, "sync {M}");
        assert!(text.contains("Committed revision 1."), "{text}");
        same_mirrors(&mirrors);
        same(&mirrors, "info {M}");
        same(&mirrors, "sync -q {M}");
        same(&mirrors, "copy-revprops {M}");
        same(&mirrors, "copy-revprops --skip-unchanged -r 3:1 {M} {source}");
        same_mirrors(&mirrors);
    }
}

#[test]
fn wrong_use_is_refused_alike() {
    let small = build(&Spec::small("1.14"));
    let mirrors = Mirrors::new(&small, Access::Disk);
    for name in [THEIRS, OURS] {
        mirrors.create(name);
    }
    for line in [
        "",
        "nosuch",
        "-q",
        "--nosuch",
        "info",
        "info x y",
        "info x",
        "info -r 1 x",
        "sync",
        "sync a b c",
        "init {M}",
        "init {M} x",
        "init {M} {source} x",
        "copy-revprops",
        "copy-revprops -r x {M}",
        "copy-revprops -r BASE:3 {M}",
        "copy-revprops -r {2020-01-01} {M}",
        "copy-revprops -r 3 {M} 1:2",
        "copy-revprops {M} foo",
        "sync --disable-locking --steal-lock {M}",
        "sync --source-username a --username b {M}",
        "help nosuch",
        "sync -r1 {M}",
        "help -q",
        "info {M}",
        "sync {M}",
        "copy-revprops {M}",
        "init {M}/trunk {source}",
        "init {M} {nosuch}",
        "sync {M}/x",
        "init {M} {source}",
        "init {M} {source}",
        "sync {M} {M}",
        "sync {M}",
        "init {M} {source}",
        "copy-revprops -r 0:99 {M}",
        "copy-revprops {M} 99",
        "copy-revprops -r HEAD:1 {M}",
        "copy-revprops {M} 1",
        "init --allow-non-empty {M} {source}",
        "copy-revprops {M} {M}",
        "sync --config-option foo {M}",
        "init -M foo a b",
        "info --force-interactive --trust-server-cert {M}",
        "info --force-interactive --sync-trust-server-cert-failures=other",
        "info --force-interactive --source-trust-server-cert-failures= {M}",
    ] {
        same(&mirrors, line);
    }
    same_mirrors(&mirrors);
}

/// What a run that was interrupted leaves behind, and what only damage can.
#[test]
fn every_state_of_the_bookkeeping_is_treated_alike() {
    let small = build(&Spec::small("1.14"));
    let mirrors = Mirrors::new(&small, Access::Disk);
    begin(&mirrors, "{source}");
    same(&mirrors, "sync -q {M}");
    for (last, copying) in [
        ("3", "3"),
        ("3", "4"),
        ("2", "3"),
        ("1", "1"),
        ("2", "2"),
        ("1", "2"),
        ("4", "4"),
        ("4", "5"),
        ("2", "x"),
        ("x", "1"),
        ("2", ""),
        ("", ""),
        ("3", ""),
    ] {
        for name in [THEIRS, OURS] {
            for (prop, value) in [
                ("svn:sync-last-merged-rev", last),
                ("svn:sync-currently-copying", copying),
            ] {
                let url = format!("file://{}", mirrors.path(name).display());
                let tool = Tool::new("svn");
                match value {
                    "" => tool
                        .args(["propdel", "-q", "--revprop", "-r0", prop])
                        .arg(url)
                        .ok(),
                    _ => tool
                        .args(["propset", "-q", "--revprop", "-r0", prop, value])
                        .arg(url)
                        .ok(),
                };
            }
        }
        same(&mirrors, "sync {M}");
        same_mirrors(&mirrors);
    }
}

#[test]
fn hooks_refuse_alike() {
    let small = build(&Spec::small("1.14"));
    let mirrors = Mirrors::new(&small, Access::Svn);
    begin(&mirrors, "{source}");
    let both = |hook: &str, script: &str| {
        for name in [THEIRS, OURS] {
            mirrors.hook(name, hook, script);
        }
    };
    let refuse = |prop: &str| format!("[ \"$4$5\" = {prop} ] && {{ echo no >&2; exit 1; }}; exit 0");
    both("pre-revprop-change", &refuse("svn:sync-lockA"));
    same(&mirrors, "sync {M}");
    both("pre-revprop-change", &refuse("svn:dateM"));
    same(&mirrors, "sync {M}");
    both("pre-revprop-change", "exit 0");
    both("pre-commit", "echo blocked >&2; exit 1");
    same(&mirrors, "sync {M}");
    both("pre-commit", "exit 0");
    both("start-commit", "echo blocked >&2; exit 1");
    same(&mirrors, "sync {M}");
    both("start-commit", "exit 0");
    both("post-commit", "echo failed >&2; exit 1");
    same(&mirrors, "sync {M}");
    same_mirrors(&mirrors);
}

#[test]
fn a_foreign_lock_is_respected_and_can_be_stolen() {
    let small = build(&Spec::small("1.14"));
    let mirrors = Mirrors::new(&small, Access::Disk);
    begin(&mirrors, "{source}");
    for name in [THEIRS, OURS] {
        let url = format!("file://{}", mirrors.path(name).display());
        let tool = Tool::new("svn").args(["propset", "-q", "--revprop", "-r0", "svn:sync-lock", "host:lock"]);
        tool.arg(url).ok();
    }
    let started = Instant::now();
    same(&mirrors, "sync --steal-lock {M}");
    assert!(
        started.elapsed() < Duration::from_secs(60),
        "no wait for a lock that is stolen"
    );
    same_mirrors(&mirrors);
}

/// Random histories and subtrees; the programs take turns on one mirror, and are killed at random moments.
#[test]
fn either_program_continues_what_the_other_began() {
    testkit::each_seed("SYNC_SEEDS", 0..sample(2, 0..2).count() as u64, |seed| {
        let mut random = Random::new(seed);
        random.next();
        let history = match random.below(2) {
            0 => testkit::random_history::history(seed, 12, false),
            _ => testkit::branch_history::history(seed, 12),
        };
        let repo = build(&Spec::new("1.14").with(history.stream.clone()));
        let access = Access::ALL[random.below(4)];
        let mirrors = Mirrors::new(&repo, access);
        let source = match random.below(3) {
            0 => {
                let paths: Vec<&String> = history
                    .paths
                    .iter()
                    .filter(|path| !path.contains([' ', '%', '@']))
                    .collect();
                match paths.is_empty() {
                    true => "{source}".to_owned(),
                    false => format!("{{source}}{}", paths[random.below(paths.len())]),
                }
            }
            _ => "{source}".to_owned(),
        };
        let context = format!("seed {seed} {access:?} {source}");
        println!("{context}");
        begin(&mirrors, &source);
        let done = mirrors
            .tool(Side::Theirs, "svnsync", &format!("sync -q {{{THEIRS}}}"))
            .run();
        if done.err().contains("Unexpected HTTP status 400") {
            // Subversion's client sends properties of some revisions wrong over HTTP: it cannot mirror this history.
            return;
        }
        let whole = mirrors.dump_of_revisions(THEIRS);
        let mut runs = 0;
        // A run that is killed after the last revision leaves its lock.
        let mut was_killed = true;
        while was_killed || mirrors.dump_of_revisions(OURS) != whole {
            runs += 1;
            assert!(runs < 60, "{context}: the mirror is not completed");
            let side = Side::BOTH[random.below(2)];
            let is_killed = random.below(3) > 0 && runs < 30;
            was_killed = is_killed;
            let options = match side {
                // Subversion's program does not know that the owner of a lock is dead.
                Side::Theirs => "--steal-lock",
                Side::Ours => "",
            };
            let tool = mirrors.tool(side, "svnsync", &format!("sync -q {options} {{{OURS}}}"));
            if is_killed {
                let mut child = tool.command().spawn().expect("because the program is there");
                std::thread::sleep(Duration::from_millis(random.below(250) as u64));
                child.kill().expect("because it is our child");
                child.wait().expect("because it is our child");
                // Requests that it sent come to their end.
                std::thread::sleep(Duration::from_millis(100));
                continue;
            }
            let output = tool.run();
            let is_taken = side == Side::Ours && output.out().contains("currently held by");
            if is_taken {
                // The other program was killed: its lock is foreign, and has to be stolen.
                mirrors
                    .tool(Side::Ours, "svnsync", &format!("sync -q --steal-lock {{{OURS}}}"))
                    .run();
                continue;
            }
            let expected = done.err().replace(THEIRS, OURS);
            assert_eq!(output.err(), expected, "{context}");
        }
        same_mirrors(&mirrors);
    });
}
