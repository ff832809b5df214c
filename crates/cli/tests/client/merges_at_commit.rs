//! Commits that are merged with a revision made since they began: which fit is decided alike, in FSFS and in FSX.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::{Duration, Instant};

use tempfile::TempDir;
use testkit::{Side, Tool, sample_from, scratch};

/// A hook that keeps a commit with the log message `wait` until the file `go` is there, when its transaction is complete.
const HOOK: &str = r#"#!/bin/sh
case "$(svnlook log -t "$2" "$1")" in
wait) touch "$1/../waits"; while [ ! -e "$1/../go" ]; do sleep 0.01; done ;;
esac
"#;

/// Commits to the directory `D`, whose properties the waiting commit changes. `two; steps` are two commits.
const MEANWHILE: [&str; 17] = [
    "put ../text D/f",
    "propset a b D/f",
    "put ../text D/new",
    "rm D/f",
    "rm D/f put ../text D/f",
    "rm D/f cp 1 D/f D/f",
    "rm D/f cp 1 other D/f",
    "rm D/f mkdir D/f",
    "put ../text D/sub/new",
    "rm D/sub mkdir D/sub",
    "rm D/sub cp 1 D/sub D/sub",
    "mv D/f D/g",
    "rm D/f put ../text D/f; put ../text D/f",
    "rm D/f; cp 1 D/f D/f",
    "put ../text D/new; rm D/new",
    "propset q v D",
    "propset p v D",
];

#[test]
fn properties_of_a_directory_and_its_entries() {
    for (number, fs_type) in ["fsfs", "fsx"].into_iter().enumerate() {
        let templates = Side::BOTH.map(|side| (side, template(side, fs_type)));
        for meanwhile in sample_from(number, 2, MEANWHILE) {
            let [theirs, ours] = std::thread::scope(|scope| {
                templates
                    .each_ref()
                    .map(|(side, template)| scope.spawn(move || merge(*side, template.path(), meanwhile)))
                    .map(|run| run.join().expect("because both sides run"))
            });
            assert_eq!(theirs, ours, "{fs_type}: {meanwhile}");
        }
    }
}

/// Makes a repository with a tree and the hook, and what commits need beside it.
fn template(side: Side, fs_type: &str) -> TempDir {
    let root = scratch();
    let repository = root.path().join("repository");
    let create = side.tool("svnadmin").args(["create", "--fs-type", fs_type]);
    create.arg(&repository).ok();
    std::fs::write(root.path().join("text"), "text\n").expect("because the folder is empty");
    std::fs::create_dir(root.path().join("cwd")).expect("because the folder is empty");
    let tree = "mkdir D put ../text D/f mkdir D/sub put ../text D/sub/x put ../text other";
    commit(side, root.path(), "tree", tree).ok();
    let hook = repository.join("hooks/pre-commit");
    std::fs::write(&hook, HOOK).expect("because the repository is new");
    std::fs::set_permissions(&hook, Permissions::from_mode(0o755)).expect("because it is ours");
    root
}

/// Returns the exit code and the error codes of the commit that waits for the others, in a copy of the template.
fn merge(side: Side, template: &Path, meanwhile: &str) -> (i32, Vec<i32>) {
    let root = scratch();
    let everything = template.join(".");
    Tool::new("cp").arg("-r").arg(everything).arg(root.path()).ok();
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| commit(side, root.path(), "wait", "propset p v D").run());
        let begun = Instant::now();
        while !root.path().join("waits").exists() {
            assert!(begun.elapsed() < Duration::from_secs(60), "the hook did not run");
            std::thread::sleep(Duration::from_millis(2));
        }
        for actions in meanwhile.split("; ") {
            commit(side, root.path(), "meanwhile", actions).ok();
        }
        std::fs::write(root.path().join("go"), "").expect("because the folder is ours");
        let output = waiting.join().expect("because the program ends");
        (output.code, output.error_codes())
    })
}

fn commit(side: Side, root: &Path, message: &str, actions: &str) -> Tool {
    let url = format!("file://{}/repository", root.display());
    let tool = side.tool("svnmucc").args(["-m", message, "-U", &url]);
    tool.args(actions.split(' ')).dir(&root.join("cwd"))
}
