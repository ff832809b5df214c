//! `svnadmin` commands that print what they are doing: they complete, and say nothing, if nothing reads it or there is no room for it.

use std::fs::{self, File};
use std::path::Path;
use std::process::Stdio;

use testkit::{Side, Spec, Tool, build, scratch};

/// Commands in a directory with the repository `r`, a dump of it in `dump` and an empty repository `empty`.
const COMMANDS: [&str; 8] = [
    "hotcopy r copy",
    "verify r",
    "verify --keep-going r",
    "pack r",
    "build-repcache r",
    "load -F dump empty",
    "load-revprops -F dump r",
    "hotcopy --incremental r again",
];

fn output_to(sink: &str) -> Stdio {
    match sink {
        "full" => File::options()
            .write(true)
            .open("/dev/full")
            .expect("because Linux has it")
            .into(),
        _ => {
            let (_, writer) = std::io::pipe().expect("because there are descriptors left");
            writer.into()
        }
    }
}

/// Runs the command. Returns the exit code, standard error, and what it has left.
fn outcome(side: Side, command: &str, sink: &str) -> String {
    let folder = scratch();
    let dir = folder.path();
    let source = build(&Spec::small("1.14").shard(3));
    Tool::new("cp")
        .arg("-a")
        .arg(source.path())
        .arg(dir.join("r"))
        .ok();
    let dump = Tool::new("svnadmin").args(["dump", "-q"]).arg(source.path()).ok();
    fs::write(dir.join("dump"), dump.stdout).expect("because the directory is ours");
    Tool::new("svnadmin").arg("create").arg(dir.join("empty")).ok();
    let tool = side.tool("svnadmin").args(command.split(' ')).dir(dir);
    let output = tool
        .command()
        .stdin(Stdio::null())
        .stdout(output_to(sink))
        .output()
        .expect("because the tool is installed");
    let unpacked = fs::read_to_string(dir.join("r/db/min-unpacked-rev")).unwrap_or_default();
    let youngest = |name: &str| youngest(&dir.join(name));
    format!(
        "{:?} {}packed up to {}youngest: {} {} {}",
        output.status.code(),
        String::from_utf8_lossy(&output.stderr),
        unpacked,
        youngest("copy"),
        youngest("again"),
        youngest("empty")
    )
}

fn youngest(repository: &Path) -> String {
    let output = Tool::new("svnlook").arg("youngest").arg(repository).run();
    output.out().trim().to_owned()
}

#[test]
fn work_is_done_if_its_progress_is_lost() {
    for command in COMMANDS {
        for sink in ["full", "closed pipe"] {
            let [theirs, ours] = Side::BOTH.map(|side| outcome(side, command, sink));
            assert_eq!(ours, theirs, "{command}, {sink}");
            assert!(ours.starts_with("Some(0) "), "{command}, {sink}: {ours}");
        }
    }
}
