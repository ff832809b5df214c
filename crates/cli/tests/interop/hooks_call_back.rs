//! Hooks that are clients of the server that runs them. Their requests do not wait for the threads of the commits.

use std::fs;
use std::path::Path;

use testkit::server::TestServer;
use testkit::server::cluster::ServedStorage;
use testkit::server::http::HttpSite;
use testkit::{Repo, Side, Tool, scratch};

use crate::twins::write_program;

/// The number of threads of the server.
const THREADS: usize = 4;
/// The number of commits whose hooks run at the same time.
const COMMITS: usize = 3 * THREADS;

/// A hook that waits until the hooks of all commits run, then requests the log from the server. It fails after 30
/// seconds.
const HOOK: &str = r#"#!/bin/sh
PATH=/bin:/usr/bin
at="$1/../in"
: > "$at/$$"
n=0
while [ "$(ls "$at" | wc -l)" -lt COMMITS ]; do
  n=$((n + 1)); [ $n -lt 300 ] || { echo "the other hooks do not come" >&2; exit 1; }
  sleep 0.1
done
timeout 60 svn log -q -l 1 --non-interactive --no-auth-cache --config-dir "$1/../config" "$(cat "$1/../url")" 2>&1 >> "$1/../log" || { echo "no answer" >&2; exit 1; }
"#;

/// Makes `COMMITS` commits at the same time, each of which waits for the hooks of all others.
fn commit_all(storage: &ServedStorage, root: &Path, url: &str, hook: &str) {
    let repo = root.join("repo");
    for name in ["in", "config"] {
        fs::create_dir(root.join(name)).expect("because the folder is ours");
    }
    Tool::new("svnmucc")
        .args(["-m", "first", "-U", url, "mkdir", "first"])
        .ok();
    fs::write(root.join("url"), url).expect("because the folder is ours");
    let text = HOOK.replace("COMMITS", &COMMITS.to_string());
    let text = storage.own_hook(&text, &repo);
    write_program(&repo.join("hooks").join(hook), &text);
    let outputs: Vec<testkit::Output> = std::thread::scope(|scope| {
        let commit = |number: usize| {
            let name = format!("d{number}");
            let mucc = ["-m", "text", "-U", url, "--non-interactive", "mkdir", &name];
            Tool::new("svnmucc").args(mucc).run()
        };
        let all: Vec<_> = (0..COMMITS)
            .map(|number| scope.spawn(move || commit(number)))
            .collect();
        all.into_iter()
            .map(|one| one.join().expect("because a program was run"))
            .collect()
    });
    for output in outputs {
        assert!(output.code == 0 && output.stderr.is_empty(), "{output:?}");
    }
    let log = fs::read_to_string(root.join("log")).expect("because hooks write it");
    assert_eq!(log.lines().filter(|line| line.starts_with('r')).count(), COMMITS);
}

/// Makes a directory with the repository `repo`, with write access for everyone.
fn folder() -> tempfile::TempDir {
    let root = scratch();
    let path = root.path().join("repo");
    Repo::create("1.14").copy_to(&path);
    let conf = "[general]\nanon-access = write\n";
    fs::write(path.join("conf/svnserve.conf"), conf).expect("because the repository is ours");
    root
}

#[test]
fn over_svn() {
    for hook in ["start-commit", "pre-commit", "post-commit"] {
        let root = folder();
        let threads = THREADS.to_string();
        let server = TestServer::svnserve(Side::Ours, root.path(), &["--max-threads", &threads]);
        commit_all(&server.storage(), root.path(), &server.url("repo"), hook);
    }
}

#[test]
fn over_http() {
    for hook in ["start-commit", "pre-commit", "post-commit"] {
        let root = folder();
        let ours = format!("[limits]\nthreads = {THREADS}\n");
        let site = HttpSite {
            ours: &ours,
            ..HttpSite::plain(root.path())
        };
        let server = TestServer::http_site(Side::Ours, &site);
        let url = format!("http://127.0.0.1:{}/repo", server.port());
        commit_all(&server.storage(), root.path(), &url, hook);
    }
}
