//! Programs of a user who may start no more threads, or may open few files.

use testkit::tool::tool_link;
use testkit::{Side, Spec, Tool, build, scratch};

use super::{GROUP, can_run, sh};

/// A user without other processes. Root is not limited.
const USER: &str = "47110";

#[test]
fn commands_need_no_threads() {
    if !can_run() {
        return;
    }
    let folder = scratch();
    let repo = build(&Spec::small("1.14").shard(3));
    for command in [
        "svn list -R URL",
        "svn log -v URL",
        "svn export -q URL out",
        "svn mkdir -m made URL/made",
        "svnlook tree R",
        "svnadmin verify R",
        "svnadmin dump R",
        "svnadmin pack R",
        "svnadmin hotcopy R out",
        "svnmucc -m made mkdir URL/made",
    ] {
        let outputs = Side::BOTH.map(|side| {
            let root = folder.path().join(format!("{side:?}"));
            sh(&format!(
                "chmod 755 {folder}; rm -rf {root}; mkdir {root}; cp -a {repo} {root}/r; chown -R {USER} {root}",
                folder = folder.path().display(),
                repo = repo.path().display(),
                root = root.display()
            ));
            let words: Vec<String> = command
                .split(' ')
                .map(|word| match word {
                    "R" => root.join("r").display().to_string(),
                    word => word.replace("URL", &format!("file://{}/r", root.display())),
                })
                .collect();
            let program = match side {
                Side::Theirs => words[0].clone(),
                Side::Ours => tool_link(&words[0]).display().to_string(),
            };
            let output = Tool::new("setpriv")
                .args(["--reuid", USER, "--regid", GROUP, "--clear-groups"])
                .args(["sh", "-c", "ulimit -u 0; exec \"$@\"", "sh"])
                .arg(program)
                .args(&words[1..])
                .env("HOME", &root)
                .dir(&root)
                .run();
            let printed = output.out().replace(&root.display().to_string(), "ROOT");
            (output.code, testkit::normalize::mask_dates(&printed), output.err())
        });
        let [theirs, ours] = outputs;
        assert_eq!(ours, theirs, "{command}");
        assert_eq!(ours.0, 0, "{command}: {}", ours.2);
    }
}
