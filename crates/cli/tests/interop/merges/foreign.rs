//! Programs that copy whole histories, with random histories of branches: `svnrdump` and `svnsync` in both
//! directions, and `git svn`, with the incumbent's server and with Sven, over svn:// and http://.
//!
//! `FOREIGN_SEEDS=100..200 cargo test -p sven --test interop copied_histories` runs these seeds; `FOREIGN_GIT` adds
//! `git svn`, which is slow. Without them the histories are short, and each direction runs over one of the transports.

use std::fs;
use std::path::Path;

use testkit::normalize::sorted_lines;
use testkit::server::transport::Transport;
use testkit::{Output, Repo, Side, Tool, branch_history, runs_all_cases, sample, scratch};

use super::peer::MergePeer;
use crate::pair::compare;

/// The direction of a copy.
#[derive(Clone, Copy, Debug)]
enum CopyDirection {
    FromServer,
    ToServer,
}

#[test]
fn copied_histories_are_equal() {
    let is_short = !runs_all_cases() && std::env::var_os("FOREIGN_SEEDS").is_none();
    let (revisions, step) = if is_short { (15, 3) } else { (35, 1) };
    let directions = [CopyDirection::FromServer, CopyDirection::ToServer];
    for seed in testkit::seeds("FOREIGN_SEEDS", 0..1) {
        let history = branch_history::history(seed, revisions);
        let repo = Repo::create("1.14");
        repo.load(history.stream.bytes());
        let transports = [Transport::Svn, Transport::Http];
        let cases = transports
            .into_iter()
            .flat_map(|over| directions.map(|direction| (over, direction)));
        for (transport, direction) in sample(step, cases) {
            let peers = Side::BOTH.map(|side| {
                let peer = MergePeer::new(side, transport, &repo);
                let empty = Repo::create("1.14");
                empty.copy_to(&peer.repository.with_file_name("dumped"));
                empty.copy_to(&peer.repository.with_file_name("mirror"));
                for name in ["dumped", "mirror"] {
                    let path = peer.repository.with_file_name(name);
                    let conf = path.join("conf/svnserve.conf");
                    fs::write(conf, "[general]\nanon-access = write\n").expect("because it is a copy");
                    permit(&path);
                    peer.server.storage().add(&path);
                }
                peer
            });
            let results_of = |peer: &MergePeer| match direction {
                CopyDirection::FromServer => copies_from(peer, &repo, seed),
                CopyDirection::ToServer => copies_to(peer, &repo),
            };
            let [theirs, ours] = std::thread::scope(|scope| {
                let ours = scope.spawn(|| results_of(&peers[1]));
                let theirs = results_of(&peers[0]);
                [theirs, ours.join().expect("because our side runs")]
            });
            if theirs != ours {
                eprintln!("FOREIGN_SEEDS={seed} over {transport:?}, {direction:?}");
            }
            compare(&theirs, &ours);
        }
    }
}

/// Permits changes of revision properties.
fn permit(repository: &Path) {
    let hook = repository.join("hooks/pre-revprop-change");
    fs::write(&hook, "#!/bin/sh\n").expect("because the repository is ours");
    Tool::new("chmod").arg("+x").arg(&hook).ok();
}

/// Returns the results of the programs that copy a peer's repository to files.
fn copies_from(peer: &MergePeer, repo: &Repo, seed: u64) -> String {
    let mut results = String::new();
    let mut note = |what: &str, output: &Output, result: String| {
        results += &shown_result(peer, what, output, &result);
    };
    let url = peer.url();
    let last = repo.youngest();
    let part = format!("-r{}:{}", 1 + seed % 9, last - seed % 7);
    for (at, args) in [
        (&url, &["-q"][..]),
        (&url, &["-q", &part, "--incremental"]),
        (&format!("{url}/trunk"), &["-q"]),
    ] {
        let dump = Tool::new("svnrdump")
            .args(["dump", at, "--non-interactive"])
            .args(args)
            .run();
        let copy = Repo::create("1.14");
        let load = Tool::new("svnadmin")
            .args(["load", "-q"])
            .arg(copy.path())
            .stdin(dump.stdout.clone())
            .run();
        // Different deltas can make the same text.
        note("svnrdump dump", &quiet_of(dump), String::new());
        note("loaded", &quiet_of(load), dump_of(copy.path()));
    }
    let mirror = Repo::create("1.14");
    permit(mirror.path());
    note(
        "svnsync init",
        &run("svnsync", &["init", "-q", &mirror.url(), &url]),
        String::new(),
    );
    note(
        "svnsync",
        &run("svnsync", &["sync", "-q", &mirror.url()]),
        dump_of(mirror.path()),
    );
    if std::env::var_os("FOREIGN_GIT").is_some() {
        results += &with_git(peer);
    }
    results
}

/// Returns the results of the programs that copy files to other repositories of a peer's server.
fn copies_to(peer: &MergePeer, repo: &Repo) -> String {
    let mut results = String::new();
    let mut note = |what: &str, output: &Output, result: String| {
        results += &shown_result(peer, what, output, &result);
    };
    let url = peer.url();
    let other = |name: &str| format!("{}/{name}", url.trim_end_matches("/repo"));
    let path = |name: &str| peer.repository.with_file_name(name);
    let dump = Tool::new("svnadmin")
        .args(["dump", "-q"])
        .arg(repo.path())
        .ok()
        .stdout;
    let load = Tool::new("svnrdump")
        .args(["load", "-q", "--non-interactive", &other("dumped")])
        .stdin(dump)
        .run();
    let served = |name: &str| {
        peer.server.storage().bring_back(&path(name));
        dump_of(&path(name))
    };
    note("svnrdump load", &quiet_of(load), served("dumped"));
    note(
        "svnsync init",
        &run("svnsync", &["init", "-q", &other("mirror"), &repo.url()]),
        String::new(),
    );
    note(
        "svnsync",
        &run("svnsync", &["sync", "-q", &other("mirror")]),
        served("mirror"),
    );
    note(
        "svnsync info",
        &run("svnsync", &["info", &other("mirror")]),
        String::new(),
    );
    for name in ["dumped", "mirror"] {
        Tool::new("svnadmin").args(["verify", "-q"]).arg(path(name)).ok();
    }
    results
}

fn run(program: &str, args: &[&str]) -> Output {
    Tool::new(program).args(args).arg("--non-interactive").run()
}

/// Returns the output of a program without the parts that may differ, and its result.
fn shown_result(peer: &MergePeer, what: &str, output: &Output, result: &str) -> String {
    format!(
        "{what}: {} {}\n{result}\n",
        output.code,
        peer.shown(output, false)
    )
}

fn quiet_of(output: Output) -> Output {
    Output {
        stdout: Vec::new(),
        ..output
    }
}

/// Returns a dump without the properties that a mirror adds to revision 0.
fn dump_of(repository: &Path) -> String {
    let dump = Tool::new("svnadmin").args(["dump", "-q"]).arg(repository).ok();
    let text = String::from_utf8_lossy(&dump.stdout);
    let start = text.find("Revision-number: 1\n").unwrap_or(text.len());
    text[start..].to_owned()
}

/// Runs `git svn`: a clone, another fetch, and a commit back.
fn with_git(peer: &MergePeer) -> String {
    let root = scratch();
    let git = |args: &[&str]| {
        Tool::new("git")
            .args(args)
            .env("GIT_AUTHOR_NAME", "x")
            .env("GIT_AUTHOR_EMAIL", "x@x")
            .env("GIT_COMMITTER_NAME", "x")
            .env("GIT_COMMITTER_EMAIL", "x@x")
            .dir(&root.path().join(if args[1] == "clone" { "." } else { "g" }))
            .run()
    };
    let mut results_of = String::new();
    let url = peer.url();
    for args in [
        &[
            "svn",
            "clone",
            "-q",
            "-s",
            "--rewrite-root=http://h/r",
            "--prefix=s/",
            &url,
            "g",
        ][..],
        &[
            "log",
            "--all",
            "--topo-order",
            "--format=%T %an %ad %s %D",
            "--date=iso",
        ],
        &["svn", "fetch", "-q"],
        &["svn", "rebase", "-q"],
    ] {
        let output = git(args);
        let (out, err) = (output.out(), output.err());
        // Branches that change in one revision are in hash order.
        let lines = [sorted_lines(&out), sorted_lines(&err)].concat().join("\n");
        for line in lines.lines() {
            // The first missing one, in hash order.
            results_of += line.split(" (eg ").next().unwrap_or_default();
            results_of.push('\n');
        }
        results_of += &format!("git {}: {}\n", args[0], output.code);
    }
    fs::write(root.path().join("g/by-git"), "of git\n").expect("because the clone is there");
    for args in [
        &["add", "-A"][..],
        &["commit", "-q", "-m", "by git"],
        &["svn", "dcommit", "-q"],
        &["svn", "log", "--oneline", "--limit=3"],
    ] {
        let output = git(args);
        // The name of a new commit contains its date.
        results_of += &format!("git {}: {} {}\n", args[0], output.code, output.err());
    }
    results_of = results_of
        .replace(&url, "URL")
        .replace(&root.path().display().to_string(), "ROOT");
    results_of += &peer.dump();
    results_of
}
