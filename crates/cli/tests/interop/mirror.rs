//! Programs that copy whole repositories: svnsync, svnrdump, git-svn.

use testkit::{Repo, Spec, Tool, repo, sample};

use crate::pair::{ScenarioClient, ServerPair};

fn specs() -> Vec<Spec> {
    let wanted = ["f1", "f4-packed", "f7", "f8", "f8-packed-zlib"];
    let mut specs = vec![Spec::small("1.8").named("small-f6")];
    let matrix = repo::matrix().into_iter();
    specs.extend(matrix.filter(|spec| wanted.contains(&&*spec.name)));
    specs
}

#[test]
fn svnsync_makes_the_same_mirror() {
    for spec in sample(3, specs()) {
        ServerPair::of(&spec).same(synchronized);
    }
}

/// The commands of [`svnsync_makes_the_same_mirror`].
pub fn synchronized(c: &mut ScenarioClient) {
    let mirror = Repo::create("1.14");
    let hook = mirror.path().join("hooks/pre-revprop-change");
    std::fs::write(&hook, "#!/bin/sh\n").expect("because the repository is ours");
    Tool::new("chmod").arg("+x").arg(&hook).ok();
    let sync = |args: &[&str]| c.tool(Tool::new("svnsync").args(args).args(["-q", "--non-interactive"]));
    let ended = [
        sync(&["init", &mirror.url(), &c.url]).code,
        sync(&["sync", &mirror.url()]).code,
    ];
    let dump = Tool::new("svnadmin").args(["dump", "-q"]).arg(mirror.path()).ok();
    // The mirror has its own UUID, and properties of its source on revision 0.
    let text = String::from_utf8_lossy(&dump.stdout);
    let start = text.find("Revision-number: 1\n").unwrap_or(0);
    c.note(&format!(
        "{ended:?} {:?}",
        base::checksum::Md5::of(&text.as_bytes()[start..])
    ));
}

#[test]
fn svnsync_of_a_directory() {
    ServerPair::of(&Spec::new("1.14").busy().named("f8")).same(folders);
}

/// The commands of [`svnsync_of_a_directory`].
pub fn folders(c: &mut ScenarioClient) {
    for folder in c.part(3, ["branches/b2", "trunk", "trunk/many"]) {
        let mirror = Repo::create("1.14");
        let hook = mirror.path().join("hooks/pre-revprop-change");
        std::fs::write(&hook, "#!/bin/sh\n").expect("because the repository is ours");
        Tool::new("chmod").arg("+x").arg(&hook).ok();
        let from = format!("{}/{folder}", c.url);
        let sync = |args: &[&str]| c.tool(Tool::new("svnsync").args(args).args(["-q", "--non-interactive"]));
        let ended = [
            sync(&["init", &mirror.url(), &from]),
            sync(&["sync", &mirror.url()]),
        ]
        .map(|output| (output.code, output.error_codes()));
        let dump = Tool::new("svnadmin").args(["dump", "-q"]).arg(mirror.path()).ok();
        let text = String::from_utf8_lossy(&dump.stdout);
        let start = text.find("Revision-number: 1\n").unwrap_or(0);
        c.note(&format!(
            "{folder} {ended:?} {:?}",
            base::checksum::Md5::of(&text.as_bytes()[start..])
        ));
    }
}

#[test]
fn svnrdump_dumps_the_same_history() {
    // In the other order, so that a sample has another format than those that svnsync mirrors.
    for spec in sample(6, specs().into_iter().rev()) {
        ServerPair::of(&spec).same(dumped);
    }
}

/// The commands of [`svnrdump_dumps_the_same_history`].
pub fn dumped(c: &mut ScenarioClient) {
    let whole = c.url.clone();
    let trunk = format!("{whole}/trunk");
    let dumps = [
        (&whole, &["-r0:HEAD"][..]),
        (&whole, &["-r10:30"]),
        (&whole, &["-r10:30", "--incremental"]),
        (&whole, &["-r3"]),
        (&trunk, &[]),
    ];
    for (url, revisions) in c.part(2, dumps) {
        let dump = Tool::new("svnrdump")
            .args(["dump", "-q", "--non-interactive", url])
            .args(revisions);
        let output = c.tool(dump);
        c.note(&format!("{} {revisions:?}", output.code));
        for line in headers(&output.stdout) {
            c.note(&line);
        }
    }
    // Different deltas can make the same text.
    let output = c.tool(Tool::new("svnrdump").args(["dump", "-q", "--non-interactive", &whole]));
    let copy = Repo::create("1.14");
    copy.load(output.stdout);
    let dump = Tool::new("svnadmin").args(["dump", "-q"]).arg(copy.path()).ok();
    c.note(&format!("{:?}", base::checksum::Md5::of(&dump.stdout)));
}

/// Returns the headers of a dump without the lengths of deltas, sorted within a revision that is dumped as a whole
/// tree.
fn headers(dump: &[u8]) -> Vec<String> {
    let wanted = ["Node-", "Text-content-md5: ", "Text-delta-base-md5: "];
    let mut nodes: Vec<(u64, Vec<String>)> = Vec::new();
    let mut revision = 0;
    for line in dump
        .split(|b| *b == b'\n')
        .filter_map(|line| std::str::from_utf8(line).ok())
    {
        if let Some(number) = line.strip_prefix("Revision-number: ") {
            revision = number.parse().unwrap_or(0);
        }
        if line.starts_with("Node-path: ") {
            nodes.push((revision, Vec::new()));
        }
        if let (Some((_, node)), true) = (nodes.last_mut(), wanted.iter().any(|w| line.starts_with(w))) {
            node.push(line.to_owned());
        }
    }
    nodes.sort();
    nodes
        .into_iter()
        .map(|(revision, node)| format!("r{revision} {}", node.join(" ")))
        .collect()
}

#[test]
fn git_svn_clones_the_same_history() {
    let specs = [
        Spec::small("1.14").named("small-f8"),
        Spec::new("1.9").shard(7).named("f7"),
    ];
    for spec in sample(2, specs) {
        ServerPair::of(&spec).same(cloned);
    }
}

/// The commands of [`git_svn_clones_the_same_history`].
pub fn cloned(c: &mut ScenarioClient) {
    let cloned = c.tool(
        Tool::new("git")
            .args(["svn", "clone", "-q", &c.url, "clone"])
            .env("GIT_AUTHOR_NAME", "x")
            .env("GIT_COMMITTER_NAME", "x")
            .env("GIT_COMMITTER_EMAIL", "x@x"),
    );
    let output_text = cloned.err();
    let output_text: Vec<&str> = output_text
        .lines()
        .filter(|line| !line.contains("Updating files"))
        .collect();
    c.note(&format!("{} {}", cloned.code, output_text.join("\n")));
    let log = c.tool(Tool::new("git").args(["-C", "clone", "log", "--format=%T %an %ad %s", "--date=iso"]));
    c.note(&log.out());
}
