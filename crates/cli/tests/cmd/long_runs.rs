//! Sven's own options for long operations: `--progress`, `--max-rate`, `verify --state-file` and `hotcopy --resume`.
//!
//! The real tools read the results. Nothing is measured by time: a limited rate only makes sure that an operation is still
//! running when it is interrupted.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use testkit::repo::{Repo, Spec, build};
use testkit::stream::DumpStream;
use testkit::{Output, Side, Tool, scratch};

/// 64 revisions with a file of 8 KiB each, which does not compress.
fn large() -> Repo {
    let mut history = DumpStream::new("5a5a5a5a-1111-4222-8333-000000000064");
    let mut state = 1u64;
    for rev in 1..=64 {
        let text: Vec<u8> = (0..8192)
            .map(|_| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                (state >> 33) as u8
            })
            .collect();
        history
            .rev(&format!("Revision {rev}"))
            .file(&format!("file{rev}"), text);
    }
    build(&Spec::new("1.14").shard(16).named("long runs").with(history))
}

fn svnadmin(dir: &Path, line: &str) -> Output {
    let tool = Side::Ours.tool("svnadmin").args(line.split_whitespace());
    tool.dir(dir).run()
}

/// Starts a command, and interrupts it after a line of its standard output. Returns its last words on standard error.
fn interrupt(command: &mut Command, line: &str) -> String {
    let started = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let mut child = started.expect("because it is built");
    let stdout = child.stdout.take().expect("because it is a pipe");
    let mut printed = BufReader::new(stdout).lines().map_while(Result::ok);
    assert!(printed.any(|one| one == line), "'{line}' was not printed");
    signal(&child, Signal::INT);
    printed.for_each(drop);
    let output = child.wait_with_output().expect("because it ends");
    assert!(!output.status.success(), "it was not interrupted in time");
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn signal(child: &Child, signal: Signal) {
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    kill_process(pid.expect("a process ID"), signal).expect("because it runs");
}

fn copy(from: &Path, to: &Path) {
    Tool::new("cp").arg("-a").arg(from).arg(to).ok();
}

/// True for the line of totals.
fn is_totals(line: &str) -> bool {
    line.contains("Read ") && line.contains(" in 0:0") && line.ends_with("MiB/s")
}

#[test]
fn progress_is_printed_on_standard_error_alone() {
    let repo = large();
    let dir = scratch();
    let dump = Tool::new("svnadmin").args(["dump", "-q"]).arg(repo.path()).ok();
    fs::write(dir.path().join("dump"), &dump.stdout).expect("writes");
    let source = repo.path().display();
    for (line, what) in [
        (format!("dump {source}"), "Dumped 65 revisions. Read "),
        (format!("verify {source}"), "Verified 65 revisions. Read "),
        (format!("hotcopy {source} copy"), "Copied 65 revisions. Read "),
        ("pack copy".to_owned(), "Packed 64 revisions. Read "),
        ("verify copy -r 3:5".to_owned(), "Verified 3 revisions. Read "),
        ("build-repcache copy".to_owned(), "Processed 64 revisions. Read "),
        ("load -F dump new".to_owned(), "Read "),
        ("load-revprops -F dump copy".to_owned(), "Read "),
    ] {
        // Each command runs in three directories that are equal.
        let runs = ["", " --progress", " --progress -q"].map(|options| {
            let at = scratch();
            for name in ["dump", "copy", "new"] {
                if dir.path().join(name).exists() {
                    copy(&dir.path().join(name), at.path());
                }
            }
            let output = svnadmin(at.path(), &format!("{line}{options}")).expect_ok();
            (at, output)
        });
        if line.starts_with("hotcopy") {
            copy(&runs[0].0.path().join("copy"), dir.path());
            svnadmin(dir.path(), "create new").expect_ok();
        }
        let [plain, shown, quiet] = runs.map(|(_, output)| output);
        assert!(plain.out() == shown.out(), "{line}");
        let err = shown.err();
        assert!(
            err.lines().count() == 1 && is_totals(err.trim_end()),
            "{line}: {err}"
        );
        assert!(err.starts_with(what), "{line}: {err}");
        assert!(quiet.err().is_empty(), "{line}: {}", quiet.err());
        // Without the option, the output is Subversion's: other tests compare it.
        assert!(!plain.err().contains("MiB"), "{line}");
    }
}

#[test]
fn progress_on_a_terminal_replaces_the_lines() {
    let repo = large();
    let dir = scratch();
    let program = testkit::tool::tool_link("svnadmin");
    for (args, is_there, is_missing) in [
        ("verify --progress", "Verified ", "* Verified revision 7."),
        ("verify", "* Verified revision 7.", "MiB/s"),
        ("dump -F out", "* Dumped revision 7.", "MiB/s"),
    ] {
        let typed = format!("{} {args} {}", program.display(), repo.path().display());
        let shown = Tool::new("script")
            .args(["-qec", &typed, "typescript"])
            .dir(dir.path())
            .ok();
        let out = shown.out();
        assert!(
            out.contains(is_there) && !out.contains(is_missing),
            "{args}: {out}"
        );
    }
}

#[test]
fn rates_are_checked() {
    let dir = scratch();
    svnadmin(dir.path(), "create r").expect_ok();
    for (line, message) in [
        (
            "verify r --max-rate 10",
            "svnadmin: E205000: '10' is not a rate: the lowest is 64K\n",
        ),
        (
            "dump r --max-rate fast",
            "svnadmin: E205000: 'fast' is not a rate: use a number of bytes per second, or of K, M or G\n",
        ),
        (
            "info r --max-rate 1M",
            "Subcommand 'info' doesn't accept option '--max-rate ARG'\nType 'svnadmin help info' for usage.\n",
        ),
        (
            "load r --max-rate 1M",
            "Subcommand 'load' doesn't accept option '--max-rate ARG'\nType 'svnadmin help load' for usage.\n",
        ),
    ] {
        let output = svnadmin(dir.path(), line);
        assert_eq!((output.code, output.err()), (1, message.to_owned()), "{line}");
    }
    for line in [
        "verify -q r --max-rate 64K",
        "dump -q r --max-rate 1G",
        "hotcopy -q r h --max-rate 1m",
        "pack -q r --max-rate 65536",
    ] {
        svnadmin(dir.path(), line).expect_ok();
    }
}

/// A limited copy takes more than two seconds, and an interrupt ends it while it waits.
#[test]
fn an_interrupt_ends_a_limited_copy() {
    let repo = large();
    let dir = scratch();
    let tool = Side::Ours.tool("svnadmin").args(["hotcopy", "--max-rate=256K"]);
    let mut command = tool.arg(repo.path()).arg("copy").dir(dir.path()).command();
    let err = interrupt(&mut command, "* Copied revision 0.");
    assert_eq!(err, "svnadmin: E200015: Caught signal\n");
}

#[test]
fn an_interrupted_verification_is_continued() {
    let repo = large().copy();
    // Damage before and after the interruption.
    for rev in [3, 60] {
        let path = repo.db().join(format!("revs/{}/{rev}", rev / 16));
        let mut bytes = fs::read(&path).expect("reads");
        bytes[1000] ^= 1;
        fs::remove_file(&path).expect("removes");
        fs::write(&path, bytes).expect("writes");
    }
    let dir = scratch();
    let run = |options: &[&str]| {
        let tool = Side::Ours.tool("svnadmin").args(["verify", "--keep-going"]);
        tool.args(options).arg(repo.path()).dir(dir.path())
    };
    let whole = run(&[]).run();
    assert_eq!(whole.code, 1);
    let state = dir.path().join("state");
    let mut limited = run(&["--state-file=state", "--max-rate=256K"]).command();
    interrupt(&mut limited, "* Verified revision 5.");
    let text = fs::read_to_string(&state).expect("a state file");
    assert!(text.contains("step = \"revisions\""), "{text}");
    // Another commit belongs to the next verification.
    Tool::new("svn")
        .args(["mkdir", "-q", "-m", "later"])
        .arg(format!("{}/later", repo.url()))
        .ok();
    let rest = run(&["--state-file", "state"]).run();
    let err = rest.err();
    assert!(
        err.starts_with("Continuing the verification up to revision 64, interrupted at 20"),
        "{err}"
    );
    assert!(err.contains(", failures: 2.\n"), "{err}");
    assert!(!rest.out().contains("* Verified revision 5."), "{}", rest.out());
    assert!(rest.out().contains("* Verified revision 64."), "{}", rest.out());
    assert!(!rest.out().contains("65"), "{}", rest.out());
    // The summary has the failures of both runs.
    let summary = |output: &Output| {
        let text = output.out();
        let at = text.find("-----Summary").expect("there is one");
        text[at..].to_owned()
    };
    assert_eq!(summary(&rest), summary(&whole));
    assert!(summary(&rest).contains("r3:") && summary(&rest).contains("r60:"));
    assert_eq!(rest.code, 1);
    assert!(!state.exists(), "a finished run removes the file");
}

#[test]
fn a_state_file_belongs_to_one_verification() {
    let dir = scratch();
    for line in ["create r", "create other"] {
        svnadmin(dir.path(), line).expect_ok();
    }
    // A run that ends leaves no file.
    svnadmin(dir.path(), "verify -q r --state-file s").expect_ok();
    assert!(!dir.path().join("s").exists());
    for (line, message) in [
        (
            "verify r --state-file r/db/s",
            "State file 'r/db/s' is inside of the repository",
        ),
        (
            "verify r --state-file no/s",
            "Can't find the whole path of 'no': No such file or directory",
        ),
    ] {
        let output = svnadmin(dir.path(), line);
        assert!(
            output.code == 1 && output.err().contains(message),
            "{line}: {output:?}"
        );
    }
    fs::write(dir.path().join("s"), "version = 7").expect("writes");
    let output = svnadmin(dir.path(), "verify r --state-file s");
    assert_eq!(output.error_codes(), [200_002], "{output:?}");
    assert!(dir.path().join("s").exists());
}

#[test]
fn an_interrupted_hotcopy_is_continued() {
    let repo = large();
    let dir = scratch();
    let hotcopy = |options: &[&str], to: &str| {
        let tool = Side::Ours.tool("svnadmin").arg("hotcopy").args(options);
        tool.arg(repo.path()).arg(to).dir(dir.path())
    };
    hotcopy(&["-q"], "whole").ok();
    // The first run needs no option.
    let mut limited = hotcopy(&["--max-rate=256K"], "copy").command();
    interrupt(&mut limited, "* Copied revision 7.");
    let refused = hotcopy(&[], "copy").run();
    assert_eq!(refused.error_codes(), [200_011]);
    // A killed run leaves files of its own.
    let mut killed = hotcopy(&["--resume", "--max-rate=256K"], "copy")
        .command()
        .stdout(Stdio::piped())
        .spawn()
        .expect("because it is built");
    let mut first = String::new();
    let stdout = killed.stdout.take().expect("because it is a pipe");
    BufReader::new(stdout).read_line(&mut first).expect("reads");
    signal(&killed, Signal::KILL);
    killed.wait().expect("because it ends");
    fs::write(dir.path().join("copy/conf/authz.sven-copy"), "part").expect("writes");
    hotcopy(&["--resume", "-q"], "copy").ok();
    let difference = Tool::new("diff")
        .args(["-r", "-x", "uuid", "-x", "rep-cache.db", "whole", "copy"])
        .dir(dir.path())
        .run();
    assert_eq!(difference.out(), "");
    Tool::new("svnadmin")
        .args(["verify", "-q", "copy"])
        .dir(dir.path())
        .ok();
    let complete = hotcopy(&["--resume"], "copy").run();
    assert_eq!(complete.error_codes(), [200_011]);
    assert!(complete.err().contains("use --incremental"), "{complete:?}");
    // A directory of something else is left alone.
    fs::create_dir(dir.path().join("other")).expect("creates");
    fs::write(dir.path().join("other/file"), "text").expect("writes");
    let other = hotcopy(&["--resume"], "other").run();
    assert_eq!(other.error_codes(), [200_011]);
    // Without an earlier run the option has no effect.
    hotcopy(&["--resume", "-q"], "new").ok();
    Tool::new("svnadmin")
        .args(["verify", "-q", "new"])
        .dir(dir.path())
        .ok();
}
