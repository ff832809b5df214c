//! No command of a client needs more requests with Sven than with Apache.

use std::thread::{self, sleep};
use std::time::Duration;

use testkit::server::TestServer;
use testkit::server::http::HttpSite;
use testkit::server::transport::Transport;
use testkit::{Repo, Side, Tool, scratch};

use crate::twins::greek_repo;

/// The commands, run in a directory with the working copy `wc`.
const COMMANDS: &[&str] = &[
    "checkout -q URL wc",
    "list -v URL/A",
    "list -R URL",
    "log -v URL",
    "cat URL/iota",
    "info URL/A/mu",
    "propget -R svn:ignore URL",
    "blame URL/iota",
    "diff -r 0:1 URL",
    "mkdir -m m URL/new",
    "commit -q -m m wc",
    "update -q wc",
    "update -q -r 1 wc",
    "status -u wc",
    "lock -q wc/A/D/gamma",
    "copy -m m URL/A URL/copy",
    "switch -q --ignore-ancestry URL/A wc",
    "mergeinfo URL/A URL/copy",
    "export -q URL/A out",
    "delete -m m URL/new",
];

/// Returns the requests in the access log, after the server has logged all of them.
fn complete_log(server: &TestServer) -> Vec<String> {
    let mut seen = server.requests();
    loop {
        sleep(Duration::from_millis(80));
        let now = server.requests();
        if now.len() == seen.len() {
            return now;
        }
        seen = now;
    }
}

/// Returns the requests of each command.
fn counted(side: Side, repo: &Repo) -> Vec<Vec<String>> {
    let (root, dir) = (scratch(), scratch());
    let copy = root.path().join("repo");
    repo.copy_to(&copy);
    let conf = "[general]\nanon-access = write\n";
    std::fs::write(copy.join("conf/svnserve.conf"), conf).expect("because it is a copy");
    let transport = Transport::chosen_http();
    let site = HttpSite {
        transport,
        ..HttpSite::plain(root.path())
    };
    let server = TestServer::http_site(side, &site);
    let url = format!(
        "{}://{}:{}/repo",
        transport.scheme(),
        transport.host(),
        server.port()
    );
    let mut counts = Vec::new();
    let mut before = 0;
    for command in COMMANDS {
        if command.starts_with("commit") {
            for file in ["iota", "A/mu", "A/B/lambda"] {
                std::fs::write(dir.path().join("wc").join(file), "changed").expect("because it is ours");
            }
        }
        let args: Vec<String> = command.split(' ').map(|arg| arg.replace("URL", &url)).collect();
        let output_text = Tool::new("svn")
            .args(args)
            .args(["--non-interactive", "--no-auth-cache"])
            .dir(dir.path())
            .run();
        // Anonymous users may not lock.
        assert_eq!(
            output_text.code,
            i32::from(command.contains("lock -q")),
            "{output_text:?}"
        );
        let mut log = complete_log(&server);
        counts.push(log.split_off(before));
        before += counts.last().map_or(0, Vec::len);
    }
    counts
}

#[test]
fn no_command_needs_more_requests_than_with_apache() {
    let repo = greek_repo();
    let [theirs, ours] = thread::scope(|scope| {
        let theirs = scope.spawn(|| counted(Side::Theirs, &repo));
        let ours = counted(Side::Ours, &repo);
        [theirs.join().expect("because Apache is there"), ours]
    });
    for ((command, theirs), ours) in COMMANDS.iter().zip(theirs).zip(ours) {
        assert!(!theirs.is_empty(), "{command}: Apache wrote nothing down");
        assert!(
            ours.len() <= theirs.len(),
            "{command}: {} requests, {} with Apache\n--- theirs\n{theirs:#?}\n--- ours\n{ours:#?}",
            ours.len(),
            theirs.len()
        );
    }
}
