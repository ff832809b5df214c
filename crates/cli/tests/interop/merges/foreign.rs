//! Programs that copy whole histories, with random histories of branches: `svnrdump` and `svnsync` in both
//! directions, and `git svn`, with the incumbent's server and with Sven, over svn:// and http://.
//!
//! `FOREIGN_SEEDS=100..200 cargo test -p sven --test interop copied_histories` runs these seeds; `FOREIGN_GIT` adds
//! `git svn`, which is slow.

use std::fs;
use std::path::Path;

use testkit::normalize::sorted_lines;
use testkit::server::transport::Transport;
use testkit::{Output, Repo, Side, Tool, branch_history, scratch};

use super::peer::MergePeer;
use crate::pair::compare;

#[test]
fn copied_histories_are_equal() {
    for seed in testkit::seeds("FOREIGN_SEEDS", 0..1) {
        let history = branch_history::history(seed, 35);
        let repo = Repo::create("1.14");
        repo.load(history.stream.bytes());
        for transport in [Transport::Svn, Transport::Http] {
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
            let [theirs, ours] = std::thread::scope(|scope| {
                let ours = scope.spawn(|| results_of(&peers[1], &repo, seed));
                let theirs = results_of(&peers[0], &repo, seed);
                [theirs, ours.join().expect("because our side runs")]
            });
            if theirs != ours {
                eprintln!("FOREIGN_SEEDS={seed} over {transport:?}");
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

/// Returns the results of the programs for a peer's repository, and for others on its server.
fn results_of(peer: &MergePeer, repo: &Repo, seed: u64) -> String {
    let mut results_of = String::new();
    let mut note = |what: &str, output: &Output, result: String| {
        results_of += &format!(
            "{what}: {} {}\n{result}\n",
            output.code,
            peer.shown(output, false)
        );
    };
    let url = peer.url();
    let other = |name: &str| format!("{}/{name}", url.trim_end_matches("/repo"));
    let path = |name: &str| peer.repository.with_file_name(name);
    let quiet = |tool: Tool| {
        let output = tool.run();
        // Different deltas can make the same text.
        Output {
            stdout: Vec::new(),
            ..output
        }
    };
    let run = |program: &str, args: &[&str]| Tool::new(program).args(args).arg("--non-interactive").run();

    // From the server to files.
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
        note(
            "svnrdump dump",
            &Output {
                stdout: Vec::new(),
                ..dump
            },
            String::new(),
        );
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

    // From files to the server.
    let dump = Tool::new("svnadmin")
        .args(["dump", "-q"])
        .arg(repo.path())
        .ok()
        .stdout;
    let load = Tool::new("svnrdump")
        .args(["load", "-q", "--non-interactive", &other("dumped")])
        .stdin(dump);
    let served = |name: &str| {
        peer.server.storage().bring_back(&path(name));
        dump_of(&path(name))
    };
    note("svnrdump load", &quiet(load), served("dumped"));
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
    if std::env::var_os("FOREIGN_GIT").is_some() {
        results_of += &with_git(peer);
    }
    results_of
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
