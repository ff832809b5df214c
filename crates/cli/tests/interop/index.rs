//! Servers with a history index: the responses are those of the incumbent, and the server keeps the index up to date.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use testkit::repo::{Repo, build};
use testkit::server::{TestServer, free_port};
use testkit::stream::DumpStream;
use testkit::tool::sven_binary;
use testkit::{Side, Spec, Tool, scratch};

use crate::history::{blames, logs, merges};
use crate::pair::ServerPair;

fn index(repo: &Path, args: &[&str]) -> String {
    Tool::new(sven_binary())
        .arg("index")
        .arg(repo)
        .args(args)
        .ok()
        .out()
}

/// Adds revisions with changes of one file, by another process.
fn commit(repo: &Repo, revisions: usize, text: &str) {
    let mut stream = DumpStream::new("5d3f4c1a-2b1f-4f2e-9a55-3f6a3c6d1e78");
    for number in 0..revisions {
        stream.rev("m");
        stream.edit("iota", format!("{text} {number}"));
    }
    repo.load(stream.part(1, stream.youngest()));
}

/// Asks the server until the index covers all revisions.
fn wait_until_covered(repo: &Path, url: &str) {
    let end = Instant::now() + Duration::from_secs(60);
    loop {
        let asked = Tool::new("svn")
            .args(["log", "-q", "-l", "1", "--non-interactive", url])
            .run();
        let status = index(repo, &["--status"]);
        if asked.code == 0 && status.contains("covers all revisions") {
            return;
        }
        assert!(Instant::now() < end, "{asked:?} {status}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn responses_are_the_same() {
    let repo = build(&Spec::new("1.14").shard(4).busy().named("f8-indexed")).copy();
    index(repo.path(), &["-q"]);
    let pair = ServerPair::serving(&repo, &[]);
    pair.same(logs);
    pair.same(blames);
    pair.same(merges);
}

#[test]
fn a_server_extends_it_in_the_background() {
    let repo = build(&Spec::small("1.14")).copy();
    index(repo.path(), &["-q"]);
    commit(&repo, 70, "before");
    assert!(index(repo.path(), &["--status"]).contains("up to 11 of 81"));
    let server = TestServer::svnserve(Side::Ours, repo.path(), &[]);
    let url = server.url("");
    wait_until_covered(repo.path(), &url);
    // The server is running, and another process commits.
    commit(&repo, 70, "after");
    wait_until_covered(repo.path(), &url);
    index(repo.path(), &["--check"]);
}

#[test]
fn a_server_makes_it_if_so_configured() {
    let repo = build(&Spec::small("1.14")).copy();
    let (folder, port) = (scratch(), free_port());
    let file = folder.path().join("sven.toml");
    for mode in ["keep", "build"] {
        let text = format!(
            "[listen]\nsvn = '127.0.0.1:{port}'\n[serve]\nroot = '{}'\n[cache]\nhistory-index = '{mode}'\n",
            repo.path().display()
        );
        std::fs::write(&file, text).expect("written");
        let mut server = Command::new(sven_binary())
            .args(["serve", "--config"])
            .arg(&file)
            .stdout(Stdio::null())
            .spawn()
            .expect("because it was built");
        let url = format!("svn://127.0.0.1:{port}/");
        match mode {
            "keep" => {
                let end = Instant::now() + Duration::from_secs(20);
                while Tool::new("svn")
                    .args(["info", "--non-interactive", &url])
                    .run()
                    .code
                    != 0
                {
                    assert!(Instant::now() < end);
                    std::thread::sleep(Duration::from_millis(50));
                }
                assert_eq!(index(repo.path(), &["--status"]), "There is no history index.\n");
            }
            _ => wait_until_covered(repo.path(), &url),
        }
        server.kill().expect("because it runs");
        server.wait().expect("because it is our child");
    }
    index(repo.path(), &["--check"]);
}
